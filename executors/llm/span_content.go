package llm

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

const (
	// maxContent bounds what one attribute of a span tells of messages, and maxContentText each of their texts. Where more was said the newest messages are told.
	maxContent     = 128 << 10
	maxContentText = 16 << 10
)

// toldMessage is one as the GenAI semantic conventions have it.
type toldMessage struct {
	Role   Role         `json:"role"`
	Parts  []toldPart   `json:"parts"`
	Finish FinishReason `json:"finish_reason,omitempty"`
}

// toldPart is a part of one: text, tool_call or tool_call_response.
type toldPart struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

// contentOf gives the attributes that tell what was said. The result may be nil.
func contentOf(req *Request, r *Result) []parley.Attribute {
	var all []parley.Attribute
	add := func(key string, v any) {
		if b, err := json.Marshal(v); err == nil { // what cannot be told is not
			all = append(all, parley.Attribute{Key: key, Value: string(b)})
		}
	}
	if req.Instructions != "" {
		add(parley.AttrGenAISystemInstructions, []toldPart{{Type: "text", Content: clip(req.Instructions, maxContent)}})
	}
	add(parley.AttrGenAIInputMessages, newest(req.Messages))
	if r != nil {
		m := toldOf(&r.Message)
		if r.Refusal != "" {
			m.Parts = append(m.Parts, toldPart{Type: "text", Content: clip(r.Refusal, maxContentText)})
		}
		m.Finish = r.Finish
		add(parley.AttrGenAIOutputMessages, []toldMessage{m})
	}
	return all
}

// newest gives as many of the last messages as may be told.
func newest(messages []Message) []toldMessage {
	all, size := []toldMessage{}, 0
	for i := len(messages) - 1; i >= 0; i-- {
		m := toldOf(&messages[i])
		b, err := json.Marshal(m)
		if size += len(b); err != nil || size > maxContent {
			break
		}
		all = append(all, m)
	}
	slices.Reverse(all)
	return all
}

// toldOf tells a message.
func toldOf(m *Message) toldMessage {
	t := toldMessage{Role: m.Role, Parts: []toldPart{}}
	if m.Text != "" {
		t.Parts = append(t.Parts, toldPart{Type: "text", Content: clip(m.Text, maxContentText)})
	}
	for _, c := range m.ToolCalls {
		t.Parts = append(t.Parts, toldPart{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: argumentsOf(c.Arguments)})
	}
	for _, r := range m.Results {
		t.Parts = append(t.Parts,
			toldPart{Type: "tool_call_response", ID: r.CallID, Name: r.Name, Response: clip(r.Text, maxContentText)})
	}
	return t
}

// argumentsOf gives the arguments of a call as they are, or as a text where they are no JSON or too long.
func argumentsOf(s string) json.RawMessage {
	if len(s) <= maxContentText && json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	b, _ := json.Marshal(clip(s, maxContentText)) // a string is always encoded
	return b
}

// clip gives the beginning of a text, in whole code points.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
