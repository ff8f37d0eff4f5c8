package a2a

import "testing"

// Files of 0.3 over HTTP+JSON become base64 of base64 in both variants, and nothing else changes.
func TestDoubleFiles(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"base64", `{"file":{"fileWithBytes":"AAEC/w=="}}`, `{"file":{"fileWithBytes":"QUFFQy93PT0="}}`},
		{"the other name", `{"file":{"file_with_bytes": "AAEC/w=="},"x":1}`,
			`{"file":{"file_with_bytes": "QUFFQy93PT0="},"x":1}`},
		{"base64 of base64", `{"fileWithBytes":"QUFFQy93PT0="}`, `{"fileWithBytes":"QUFFQy93PT0="}`},
		{"several", `[{"fileWithBytes":"AAEC/w=="},{"fileWithBytes":"QUFFQy93PT0="},{"fileWithBytes":"/w=="}]`,
			`[{"fileWithBytes":"QUFFQy93PT0="},{"fileWithBytes":"QUFFQy93PT0="},{"fileWithBytes":"L3c9PQ=="}]`},
		{"empty", `{"fileWithBytes":""}`, `{"fileWithBytes":""}`},
		{"no base64", `{"fileWithBytes":"*"}`, `{"fileWithBytes":"*"}`},
		{"in a text", `{"text":"\"fileWithBytes\":\"AAEC/w==\""}`, `{"text":"\"fileWithBytes\":\"AAEC/w==\""}`},
		{"none", `{"text":"x"}`, `{"text":"x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(doubleFiles([]byte(c.body))); got != c.want {
				t.Errorf("%s and not %s", got, c.want)
			}
		})
	}
}
