package scripted

import (
	"slices"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// asked has the properties of a request that scripts use.
type asked struct {
	req *llm.Request
	// step is the number of the answer since the last message of a user.
	step int
	// last is the text of that message. users has all messages of users.
	last  string
	users []llm.Message
	// fresh are the tool results of the last message.
	fresh []llm.ToolResult
	calls int // number of earlier tool calls
}

func newAsked(req *llm.Request) *asked {
	a := &asked{req: req, step: 1}
	for _, m := range req.Messages {
		a.fresh = nil
		a.calls += len(m.ToolCalls)
		switch m.Role {
		case llm.RoleUser:
			a.step, a.last = 1, m.Text
			a.users = append(a.users, m)
		case llm.RoleAssistant:
			a.step++
		case llm.RoleTool:
			a.fresh = m.Results
		}
	}
	return a
}

// param returns the value at a path of the JSON in the messages of users, from the latest message
// that has it.
func (a *asked) param(path []step) (any, bool) {
	for _, m := range slices.Backward(a.users) {
		for _, d := range slices.Backward(documents(m.Text)) {
			if v, ok := lookup(d, path); ok {
				return unmarked(v), true
			}
		}
	}
	return nil, false
}

// marks reverses the escaping that agents apply to text inside their marks.
var marks = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// unmarked returns a value with all texts unescaped.
func unmarked(v any) any {
	switch v := v.(type) {
	case string:
		return marks.Replace(v)
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = unmarked(item)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for name, value := range v {
			all[marks.Replace(name)] = unmarked(value)
		}
		return all
	}
	return v
}

// result returns the text of the latest result of a tool.
func (a *asked) result(tool string) (string, bool) {
	for _, m := range slices.Backward(a.req.Messages) {
		for _, r := range slices.Backward(m.Results) {
			if r.Name == tool {
				return r.Text, true
			}
		}
	}
	return "", false
}

// String describes the request to the author of a script without a matching turn.
func (a *asked) String() string {
	var b strings.Builder
	addField := func(name, text string) {
		if text != "" {
			b.WriteString("; " + name + ": " + brief(text))
		}
	}
	b.WriteString("step " + itoa(a.step))
	addField("last", a.last)
	for _, r := range a.fresh {
		addField("result of "+r.Name, r.Text)
	}
	addField("instructions", a.req.Instructions)
	var tools []string
	for _, t := range a.req.Tools {
		tools = append(tools, t.Name)
	}
	addField("offers", strings.Join(tools, ", "))
	if a.req.Output != nil {
		addField("schema", a.req.Output.Name)
	}
	return b.String()
}

// brief returns a text on one line and shortened.
func brief(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return `"` + string(runes[:most]) + `..."`
	}
	return `"` + text + `"`
}
