package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"

	"github.com/parleyhub/parley/executors/llm"
)

// canonical returns a request with sorted members, and without the members that the comparison
// ignores.
func canonical(req *llm.Request) (json.RawMessage, error) {
	r := *req
	r.IdempotencyKey, r.TraceID, r.Metadata = "", "", nil
	r.MaxTokens = 0 // it depends on the rest of a budget
	raw, err := json.Marshal(&r)
	if err != nil {
		return nil, err
	}
	return sorted(raw)
}

// sorted returns JSON with sorted members. Numbers keep their text.
func sorted(raw json.RawMessage) (json.RawMessage, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return encode(v), nil
}

func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // v was decoded, or is a string
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// madeIDs matches ids that a hub or a runner generates. They differ in every run.
var madeIDs = regexp.MustCompile(`(cnv_|ses_)[a-z2-7]{24}\b|(run-)[a-z2-7]{16}\b`)

// maskIDs replaces generated ids.
func maskIDs(text []byte) []byte { return madeIDs.ReplaceAll(text, []byte("${1}${2}*")) }

// hashOf identifies a request of a provider, or the arguments of a tool.
func hashOf(kind, name string, request json.RawMessage) string {
	h := sha256.New()
	h.Write([]byte(kind + "\x00" + name + "\x00"))
	h.Write(maskIDs(request))
	return hex.EncodeToString(h.Sum(nil))
}
