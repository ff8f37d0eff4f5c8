package scripted

import (
	"slices"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// asked is what there is to know of a request.
type asked struct {
	req *llm.Request
	// step is which answer it is since the last message of a user.
	step int
	// last is that message's text, and users all of users.
	last  string
	users []llm.Message
	// fresh are the results that tools have just given.
	fresh []llm.ToolResult
	calls int // the calls of tools so far
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

// param gives what stands at a path of the JSON in what users have said: the latest that has it.
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

// marks are how agents write <, > and & of others, so that nobody can forge what they mark.
var marks = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// unmarked gives a value whose texts are as they were said.
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

// result gives the text of the latest result of a tool.
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

// String tells what was asked, for who has to write the turn that is missing.
func (a *asked) String() string {
	var b strings.Builder
	tell := func(name, text string) {
		if text != "" {
			b.WriteString("; " + name + ": " + brief(text))
		}
	}
	b.WriteString("step " + itoa(a.step))
	tell("last", a.last)
	for _, r := range a.fresh {
		tell("result of "+r.Name, r.Text)
	}
	tell("instructions", a.req.Instructions)
	var tools []string
	for _, t := range a.req.Tools {
		tools = append(tools, t.Name)
	}
	tell("offers", strings.Join(tools, ", "))
	if a.req.Output != nil {
		tell("schema", a.req.Output.Name)
	}
	return b.String()
}

// brief keeps a text on one line, and short.
func brief(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return `"` + string(runes[:most]) + `..."`
	}
	return `"` + text + `"`
}
