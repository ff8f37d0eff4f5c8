package triggerinput_test

import (
	"encoding/json"
	"testing"

	"github.com/parleyhub/parley/internal/triggerinput"
)

// TestParameters checks the parameters for an event. An empty want means that the input is refused.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		declared         []string
		text, data, want string
	}{
		{[]string{"n"}, "", `{"input":{"n":12345678901234567890}}`, `{"n":12345678901234567890}`},
		{[]string{"n"}, "words", ` {"input" : { "n" : 1 } } `, `{"n":1}`},
		{[]string{"prompt"}, "words", `{"input":"a <b>"}`, `{"prompt":"a <b>"}`},
		{[]string{"prompt"}, "words", `{"input":"a \u003cb\u003e"}`, `{"prompt":"a <b>"}`},
		{[]string{"n"}, "", `{"input":"a \"b\""}`, `{"prompt":"a \"b\""}`}, // the schema refuses it
		{[]string{"prompt"}, "", `{"input":1,"input":{}}`, `{}`},
		{[]string{"prompt"}, "words", `{"input":null}`, ``},
		{[]string{"prompt"}, "words", `{"input":["a"]}`, ``},
		{[]string{"n"}, "words", `{"input":7}`, ``},
		{[]string{"prompt"}, "words & \"more\"", `{"a":1}`, `{"prompt":"words & \"more\""}`},
		{[]string{"prompt"}, "", `{ "a": "<b>" }`, `{"prompt":"{\"a\":\"<b>\"}"}`},
		{[]string{"prompt"}, "", `["input"]`, `{"prompt":"[\"input\"]"}`},
		{[]string{"prompt"}, "", ``, `{"prompt":""}`},
		{[]string{"n", "prompt"}, "words", `{"a":1}`, `{}`},
		{nil, "words", ``, `{}`},
	} {
		got, wrong := triggerinput.Parameters(c.declared, c.text, json.RawMessage(c.data))
		switch {
		case string(got) != c.want:
			t.Errorf("%q, %q to %q: %s, expected %s", c.text, c.data, c.declared, got, c.want)
		case c.want == "" && (len(wrong) != 1 || wrong[0].Path != "$.input"), c.want != "" && wrong != nil:
			t.Errorf("%q, %q to %q: %+v", c.text, c.data, c.declared, wrong)
		}
	}
}
