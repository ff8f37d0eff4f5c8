package selector_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
)

// include, exclude and the template apply in this order, and keep the order and the text of the
// data.
func TestApply(t *testing.T) {
	const data = `{"z": 1.0, "user":{"name":"<Ada>\u00fc","mail":"a@b","tags":["x","y"]}, "items":[{"id":1,"n":{"a":1,` +
		`"b":2}},7,[{"id":2}]], "a":null, "e":1e400}`
	for _, c := range []struct{ hints, data, want string }{
		{`{}`, data, `{"z":1.0,"user":{"name":"<Ada>\u00fc","mail":"a@b","tags":["x","y"]},"items":[{"id":1,"n":{"a":1,` +
			`"b":2}},7,[{"id":2}]],"a":null,"e":1e400}`},
		{`{"include":["a","z"]}`, data, `{"z":1.0,"a":null}`},
		{`{"include":["e","none"]}`, data, `{"e":1e400}`},
		{`{"include":[]}`, data, `{}`},
		{`{"include":["user.name","none.x"]}`, data, `{"user":{"name":"<Ada>\u00fc"}}`},
		{`{"include":["user.name","user"]}`, data, `{"user":{"name":"<Ada>\u00fc","mail":"a@b","tags":["x","y"]}}`},
		{`{"include":["user","user.name"]}`, data, `{"user":{"name":"<Ada>\u00fc","mail":"a@b","tags":["x","y"]}}`},
		{`{"include":["items.id"]}`, data, `{"items":[{"id":1},null,[{"id":2}]]}`},
		{`{"include":["items.n.b"]}`, data, `{"items":[{"n":{"b":2}},null,[{}]]}`},
		{`{"include":["z.x"]}`, data, `{"z":null}`},
		{`{"exclude":["user","items","e","none"]}`, data, `{"z":1.0,"a":null}`},
		{`{"exclude":["user.mail","user.tags","items.n","e","a","z.x"]}`, data,
			`{"z":1.0,"user":{"name":"<Ada>\u00fc"},"items":[{"id":1},7,[{"id":2}]]}`},
		{`{"include":["user"],"exclude":["user.name","user.tags"]}`, data, `{"user":{"mail":"a@b"}}`},
		{`{"template":"{{user.name}} has {{ user.tags }} & {{z}}{{none}}{{a}} }}"}`, data,
			`"<Ada>ü has [\"x\",\"y\"] & 1.0null }}"`},
		{`{"template":"{{items.id}}"}`, data, `"[1,[2]]"`},
		{`{"exclude":["user.name"],"template":"{{user.name}}-{{user.mail}}"}`, data, `"-a@b"`},
		{`{"template":"only\nwords"}`, data, `"only\nwords"`},
		{`{"include":["a"]}`, `7`, `null`},
		{`{"include":["a"]}`, `"a"`, `null`},
		{`{"include":["a"]}`, `[{"a":1,"b":2},3]`, `[{"a":1},null]`},
		{`{"exclude":["a"]}`, `7`, `7`},
		{`{"template":"{{a}}"}`, `7`, `""`},
		{`{"include":["a"]}`, `null`, `null`},
		{`{"exclude":["a"]}`, ``, `null`},
	} {
		set := compile(t, `[{"llm_hints":`+c.hints+`}]`)
		got, err := set.Apply(0, json.RawMessage(c.data))
		if err != nil || string(got) != c.want {
			t.Errorf("%s of %s\nis  %s, %v\nnot %s", c.hints, c.data, got, err, c.want)
		}
		if len(got) > 0 && !json.Valid(got) {
			t.Errorf("%s is no JSON", got)
		}
	}
}

// Without hints, the data is unchanged, byte by byte.
func TestApplyNothing(t *testing.T) {
	set := compile(t, `[{}]`)
	for _, data := range []string{`{"a": [ 1 ]}`, ``, `null`} {
		for _, i := range []int{0, -1, 7} {
			if got, err := set.Apply(i, json.RawMessage(data)); err != nil || string(got) != data {
				t.Errorf("%q is %q, %v", data, got, err)
			}
		}
	}
}

// A template cannot produce more than an event may have.
func TestApplyIsLimited(t *testing.T) {
	set := compile(t, `[{"llm_hints":{"template":"`+strings.Repeat("{{a}}", 800)+`"}}]`)
	if _, err := set.Apply(0, json.RawMessage(`{"a":"`+strings.Repeat("x", 10_000)+`"}`)); !errors.Is(err,
		parley.ErrTooLarge) {
		t.Error(err)
	}
	if _, err := set.Apply(0, json.RawMessage(`{"a"`)); err == nil {
		t.Error("half an object has hints")
	}
}
