package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley/internal/limits"
)

const (
	// MaxBytes limits the data of one trace as JSON, so that the event stays below its limit.
	MaxBytes = 512 << 10
	// maxSaid limits the text of a trace.
	maxText = 16 << 10
	// maxNesting is the deepest nesting that an event stores as JSON.
	maxNesting = limits.MaxDepth - 16
)

// CutMark is the end of a text that was cut.
const CutMark = "\n[cut: the rest was too large to be kept]"

// Cut returns at most the given number of bytes of a text. A text that was cut ends with CutMark.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	keep := max(0, most-len(CutMark))
	for keep > 0 && !utf8.RuneStart(text[keep]) {
		keep--
	}
	return text[:keep] + CutMark
}

// cut limits the texts of a step, and removes data that cannot be cut.
func (s *Step) cut(most int) {
	s.Message.Opaque = nil
	s.Truncated = s.Truncated || len(s.Message.Text) > most
	s.Message.Text, s.Refusal = Cut(s.Message.Text, most), Cut(s.Refusal, most)
	calls := append(s.Message.ToolCalls[:0:0], s.Message.ToolCalls...)
	for i := range calls {
		calls[i].Arguments = Cut(calls[i].Arguments, most/len(calls))
	}
	s.Message.ToolCalls = calls
}

func (t *ToolStarted) cut(most int) {
	t.Arguments, t.InjectedArgs = cutJSON(t.Arguments, most), cutJSON(t.InjectedArgs, most)
}

func (t *ToolEnded) cut(most int) {
	t.Text, t.Error = Cut(t.Text, most), Cut(t.Error, most)
	t.Metadata.InjectedArgs = cutJSON(t.Metadata.InjectedArgs, most)
}

// cutJSON returns raw, or a JSON string with its beginning and CutMark if it is too large.
func cutJSON(raw json.RawMessage, most int) json.RawMessage {
	if len(raw) <= most {
		return raw
	}
	b, _ := json.Marshal(Cut(string(raw), most)) // encoding a string cannot fail
	return b
}

// asText has JSON that an event cannot store as it is, in the form of a string.
type asText struct {
	JSON *string `json:"parley.json"`
}

// encode returns v as JSON for an event. It cuts more and more of data that is too large.
func encode(v any, cut func(most int)) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	b, err := storable(v)
	for most := MaxBytes / 2; err == nil && len(b) > MaxBytes && cut != nil && most >= 64; most /= 2 {
		cut(most)
		b, err = storable(v)
	}
	switch {
	case err != nil:
		return nil, err
	case len(b) > MaxBytes:
		return json.Marshal(map[string]any{"omitted": true, "bytes": len(b)})
	}
	return b, nil
}

// storable returns v as JSON. It returns asText if the hub would not store the JSON unchanged.
func storable(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil || len(raw) > MaxBytes || IsKept(raw) { // data that is too large is cut first
		return raw, err
	}
	text := string(raw)
	return json.Marshal(asText{JSON: &text})
}

// unwrap is the inverse of storable.
func unwrap(data json.RawMessage) (json.RawMessage, error) {
	if !bytes.HasPrefix(data, []byte(`{"parley.json":`)) {
		return data, nil
	}
	var t asText
	if err := json.Unmarshal(data, &t); err != nil || t.JSON == nil {
		return nil, fmt.Errorf("invalid data of a trace: %w", err)
	}
	return json.RawMessage(*t.JSON), nil
}

var errNotKept = errors.New("JSON that is not stored unchanged")

// IsKept reports whether a hub stores JSON unchanged, anywhere in an event.
func IsKept(raw json.RawMessage) bool { return checkKept(raw) == nil }

// checkKept refuses JSON that a hub may refuse: deep nesting, duplicate names, and escapes of
// surrogates.
func checkKept(raw []byte) error {
	if strings.Contains(strings.ToLower(string(raw)), `\ud`) {
		return errNotKept
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	n := names{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = n.addToken(token)
		}
		if err != nil {
			return err
		}
	}
}

// names checks the tokens of a JSON value.
type names struct {
	open []map[string]bool // the names in each open object; nil for a list
	next bool              // the next string is a name
}

func (n *names) addToken(token json.Token) error {
	name, isText := token.(string)
	if isText && n.next {
		n.next = false // the value follows
		inner := n.open[len(n.open)-1]
		if inner[name] {
			return errNotKept
		}
		inner[name] = true
		return nil
	}
	switch token {
	case json.Delim('{'):
		n.open = append(n.open, map[string]bool{})
	case json.Delim('['):
		n.open = append(n.open, nil)
	case json.Delim('}'), json.Delim(']'):
		n.open = n.open[:len(n.open)-1]
	}
	if len(n.open) > maxNesting {
		return errNotKept
	}
	n.next = len(n.open) > 0 && n.open[len(n.open)-1] != nil
	return nil
}
