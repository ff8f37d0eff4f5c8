package console

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestShareIsClosed checks that no message can end the script that contains it, and that the policy
// names the script and the style of the file.
func TestShareIsClosed(t *testing.T) {
	hostile := "</script><script>alert(1)</script><!-- {{script}} \u2028 \" ' \\"
	event, err := json.Marshal(map[string]any{"seq": 1, "type": "message", "payload": map[string]string{"text": hostile}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Shared{ConversationID: "c1", Title: hostile, LatestSeq: 1, Records: []ShareRecord{{Seq: 1, Event: string(event)},
		{Seq: 2, Event: `{"text":"` + hostile[:9] + `"}`}}}
	var b strings.Builder
	if err := Share(&b, s); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("the page has %d scripts, want 2", n)
	}
	if n := strings.Count(page, "</script>"); n != 2 {
		t.Errorf("%d scripts end, want 2", n)
	}
	if n := strings.Count(page, "const m1 ="); n != 1 {
		t.Errorf("the script is there %d times, want once: what was put in was looked at again", n)
	}
	for _, place := range []string{"{{policy}}", "{{title}}", "{{style}}", "{{shared}}"} {
		if strings.Contains(page, place) {
			t.Errorf("nothing was put in the place of %s", place)
		}
	}
	script := between(t, page, `<script type="module">`, "</script>")
	style := between(t, page, "<style>", "</style>")
	policy := between(t, page, `http-equiv="Content-Security-Policy" content="`, `"`)
	for _, source := range []string{hashSource(script), hashSource(style)} {
		if !strings.Contains(policy, source) {
			t.Errorf("the policy does not name %s: %s", source, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("the policy is open: %s", policy)
	}
	var got Shared
	if err := json.Unmarshal([]byte(between(t, page, `id="shared">`, "</script>")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Records[0].Event != string(event) || got.Version != ShareVersion {
		t.Errorf("the record is %q, want %q", got.Records[0].Event, event)
	}
}

func TestBundle(t *testing.T) {
	modules := map[string]string{
		"a.js": "/** @param {import('./x.js').T} t */\nimport { two, three as drei } from './b.js';\nimport { one } from " +
			"'./c.js';\nexport function f() { return two + drei + one; }\n",
		"b.js": "// words\nimport { one } from './c.js';\nexport const two = one + 1;\nexport class three {}\n",
		"c.js": "export const one = 1;\n",
	}
	read := func(name string) (string, error) {
		text, ok := modules[name]
		if !ok {
			return "", errors.New("no such module")
		}
		return text, nil
	}
	got, err := bundle(read, "a.js")
	if err != nil {
		t.Fatal(err)
	}
	defined := regexp.MustCompile(`const m(\d)`).FindAllString(got, -1)
	if !slices.Equal(defined, []string{"const m1", "const m2", "const m3"}) || strings.Contains(got, "import") ||
		strings.Contains(got, "export") || !strings.Contains(got, "three: drei") {
		t.Errorf("the script is\n%s", got)
	}
	for name, text := range map[string]string{
		"missing":  "import { x } from './y.js';\n",
		"circle":   "import { x } from './a.js';\n",
		"default":  "export default 1;\n",
		"star":     "import * as x from './b.js';\n",
		"again":    "export { one } from './c.js';\n",
		"dynamic":  "const x = import('./b.js');\n",
		"ends":     "export const x = '</SCRIPT>';\n",
		"comments": "export const x = '<!--';\n",
	} {
		modules["a.js"] = text
		if script, err := bundle(read, "a.js"); err == nil {
			t.Errorf("%s was taken:\n%s", name, script)
		}
	}
}

func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, from)
	inner, _, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("there is no %s", from)
	}
	return inner
}
