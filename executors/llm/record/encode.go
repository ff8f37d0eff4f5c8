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
	// MaxBytes is what the data of one trace takes at most, as JSON: an event holds it whatever stands around it.
	MaxBytes = 512 << 10
	// maxSaid bounds the text of a trace.
	maxSaid = 16 << 10
	// maxNesting is how deep data may nest to stand in an event as it is.
	maxNesting = limits.MaxDepth - 16
)

// CutMark ends a text that was cut.
const CutMark = "\n[cut: the rest was too large to be kept]"

// Cut gives a text in at most so many bytes, with CutMark where some is missing.
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

// cut bounds the texts of a step, and leaves out what cannot be cut.
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
	t.Arguments, t.InjectedArgs = marked(t.Arguments, most), marked(t.InjectedArgs, most)
}

func (t *ToolEnded) cut(most int) {
	t.Text, t.Error = Cut(t.Text, most), Cut(t.Error, most)
	t.Metadata.InjectedArgs = marked(t.Metadata.InjectedArgs, most)
}

// marked gives raw, or the beginning of its text where that is too large.
func marked(raw json.RawMessage, most int) json.RawMessage {
	if len(raw) <= most {
		return raw
	}
	b, _ := json.Marshal(Cut(string(raw), most)) // a string is always encoded
	return b
}

// asText holds data that an event does not take as it is: its JSON as a text.
type asText struct {
	JSON *string `json:"parley.json"`
}

// encode gives v as JSON that an event takes. What is too large is cut, more and more.
func encode(v any, cut func(most int)) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	b, err := fitting(v)
	for most := MaxBytes / 2; err == nil && len(b) > MaxBytes && cut != nil && most >= 64; most /= 2 {
		cut(most)
		b, err = fitting(v)
	}
	switch {
	case err != nil:
		return nil, err
	case len(b) > MaxBytes:
		return json.Marshal(map[string]any{"omitted": true, "bytes": len(b)})
	}
	return b, nil
}

// fitting gives v as JSON, as a text where that is nothing that a hub keeps as JSON.
func fitting(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil || len(raw) > MaxBytes || IsKept(raw) { // what is too large is cut first
		return raw, err
	}
	text := string(raw)
	return json.Marshal(asText{JSON: &text})
}

// unwrap gives back what fitting was given, as JSON.
func unwrap(data json.RawMessage) (json.RawMessage, error) {
	if !bytes.HasPrefix(data, []byte(`{"parley.json":`)) {
		return data, nil
	}
	var t asText
	if err := json.Unmarshal(data, &t); err != nil || t.JSON == nil {
		return nil, fmt.Errorf("data is not as it was written: %w", err)
	}
	return json.RawMessage(*t.JSON), nil
}

var errNotKept = errors.New("not JSON that is kept exactly")

// IsKept reports whether a hub keeps JSON as it is, wherever it stands in an event.
func IsKept(raw json.RawMessage) bool { return kept(raw) == nil }

// kept fails for JSON that a hub may refuse: it nests too deep, has a name twice, or may have half a surrogate pair.
func kept(raw []byte) error {
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
			err = n.take(token)
		}
		if err != nil {
			return err
		}
	}
}

// names follows the tokens of a JSON value.
type names struct {
	open []map[string]bool // the names of each open object; nil for a list
	next bool              // the next text is a name
}

func (n *names) take(token json.Token) error {
	name, isText := token.(string)
	if isText && n.next {
		n.next = false // its value comes
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
