package parley

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"
)

// AgentConfigHash returns the SHA-256, in lower-case hex, of an agent config in its canonical JSON
// (RFC 8785). Two configs with the same values have the same hash, however they are written. The
// traces of an LLM agent have the hash of the config of each call. The configs are in listAgents
// with includeConfig, and in the events runner_registered.
func AgentConfigHash(config json.RawMessage) (string, error) {
	var v any
	if err := json.Unmarshal(config, &v); err != nil {
		return "", fmt.Errorf("hash an agent config: %w", err)
	}
	var b bytes.Buffer
	if err := appendCanonical(&b, v); err != nil {
		return "", fmt.Errorf("hash an agent config: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// appendCanonical appends the canonical form of a value that was decoded from JSON.
func appendCanonical(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case map[string]any:
		return appendMembers(b, v)
	case []any:
		return appendItems(b, v)
	case string:
		appendText(b, v)
		return nil
	case float64:
		v += 0 // which makes 0 of -0
		return appendPlain(b, v)
	}
	return appendPlain(b, v)
}

// appendPlain appends numbers, true, false and null, which encoding/json writes as RFC 8785
// requires.
func appendPlain(b *bytes.Buffer, v any) error {
	raw, err := json.Marshal(v)
	b.Write(raw)
	return err
}

func appendItems(b *bytes.Buffer, list []any) error {
	b.WriteByte('[')
	for i, v := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := appendCanonical(b, v); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func appendMembers(b *bytes.Buffer, object map[string]any) error {
	b.WriteByte('{')
	for i, name := range slices.SortedFunc(maps.Keys(object), inUTF16) {
		if i > 0 {
			b.WriteByte(',')
		}
		appendText(b, name)
		b.WriteByte(':')
		if err := appendCanonical(b, object[name]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// inUTF16 compares names by their UTF-16 code units, as RFC 8785 requires.
func inUTF16(a, b string) int {
	return cmp.Or(slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))), cmp.Compare(a, b))
}

// shortEscapes are the characters with a two-character escape.
var shortEscapes = map[rune]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// appendText appends a text with the escapes that it needs and no others, unlike encoding/json.
func appendText(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s {
		short, ok := shortEscapes[r]
		switch {
		case ok:
			b.Write([]byte{'\\', short})
		case r < ' ':
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
