package llm

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

const (
	// maxContent limits one span attribute with messages, and maxContentText each text in it. If a
	// conversation is longer, only the newest messages are set.
	maxContent     = 128 << 10
	maxContentText = 16 << 10
)

// spanMessage is a message in the form of the GenAI semantic conventions.
type spanMessage struct {
	Role   Role         `json:"role"`
	Parts  []spanPart   `json:"parts"`
	Finish FinishReason `json:"finish_reason,omitempty"`
}

// spanPart is a part of a message: text, tool_call or tool_call_response.
type spanPart struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

// contentAttributes returns the span attributes with the messages. The result may be nil.
func contentAttributes(req *Request, r *Result) []parley.Attribute {
	var all []parley.Attribute
	add := func(key string, v any) {
		if b, err := json.Marshal(v); err == nil { // a value that cannot be encoded is left out
			all = append(all, parley.Attribute{Key: key, Value: string(b)})
		}
	}
	if req.Instructions != "" {
		add(spannames.AttrGenAISystemInstructions, []spanPart{{Type: "text", Content: clip(req.Instructions, maxContent)}})
	}
	add(spannames.AttrGenAIInputMessages, newestMessages(req.Messages))
	if r != nil {
		m := toSpanMessage(&r.Message)
		if r.Refusal != "" {
			m.Parts = append(m.Parts, spanPart{Type: "text", Content: clip(r.Refusal, maxContentText)})
		}
		m.Finish = r.Finish
		add(spannames.AttrGenAIOutputMessages, []spanMessage{m})
	}
	return all
}

// newestMessages returns as many of the last messages as fit into maxContent.
func newestMessages(messages []Message) []spanMessage {
	all, size := []spanMessage{}, 0
	for i := len(messages) - 1; i >= 0; i-- {
		m := toSpanMessage(&messages[i])
		b, err := json.Marshal(m)
		if size += len(b); err != nil || size > maxContent {
			break
		}
		all = append(all, m)
	}
	slices.Reverse(all)
	return all
}

// toSpanMessage converts a message.
func toSpanMessage(m *Message) spanMessage {
	t := spanMessage{Role: m.Role, Parts: []spanPart{}}
	if m.Text != "" {
		t.Parts = append(t.Parts, spanPart{Type: "text", Content: clip(m.Text, maxContentText)})
	}
	for _, c := range m.ToolCalls {
		t.Parts = append(t.Parts, spanPart{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: argumentsJSON(c.Arguments)})
	}
	for _, r := range m.Results {
		t.Parts = append(t.Parts,
			spanPart{Type: "tool_call_response", ID: r.CallID, Name: r.Name, Response: clip(r.Text, maxContentText)})
	}
	return t
}

// argumentsJSON returns the arguments of a call as JSON, or as a JSON string if they are not JSON
// or too long.
func argumentsJSON(s string) json.RawMessage {
	if len(s) <= maxContentText && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	b, _ := json.Marshal(clip(s, maxContentText)) // encoding a string cannot fail
	return b
}

// clip returns the first bytes of s, at most the given number, without splitting a rune.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
