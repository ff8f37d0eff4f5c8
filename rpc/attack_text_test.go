package rpc_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley/internal/methods"
)

// TestOddText: ambiguous text is refused over every transport, or returned unchanged. The socket
// stays open in both cases.
func TestOddText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"human"}],"policy":{"kind":"open"}}`)
		call := func(params string) string {
			return `{"jsonrpc":"2.0","id":"t","method":"sendMessage","params":` + params + `}`
		}
		say := func(payload string) string {
			return call(`{"conversationId":"case","finality":"turn","payload":` + payload + `}`)
		}
		nested := func(n int) string { return `{"data":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
		for _, c := range []struct{ name, frame, want string }{
			{"a byte order mark", "\ufeff" + say(`{"text":"x"}`), "parse_error"},
			{"invalid UTF-8", say("{\"text\":\"\xff\"}"), "parse_error"},
			{"half a pair", say(`{"text":"\ud800"}`), "invalid_params"},
			{"half a pair in a name", say(`{"text":"x","\udc00":1}`), "invalid_params"},
			{"a name twice", call(`{"conversationId":"case","conversationId":"other","finality":"turn","payload":{"text":"x"}}`),
				"invalid_params"},
			{"a name twice, once escaped",
				call(`{"conversationId":"case","\u0063onversationId":"other","finality":"turn","payload":{"text":"x"}}`),
				"invalid_params"},
			{"a name in another case", call(
				`{"conversationId":"case","CONVERSATIONID":"other","finality":"turn","payload":{"text":"x"}}`), "invalid_params"},
			{"a name twice in a payload", say(`{"text":"x","text":"y"}`), "invalid_params"},
			{"a method twice", `{"jsonrpc":"2.0","id":"t","method":"ping","method":"stats"}`, "invalid_request"},
			{"params twice", `{"jsonrpc":"2.0","id":"t","method":"tail","params":{"conversationId":"case","sinceSeq":0},` +
				`"params":{}}`, "invalid_request"},
			{"NaN", say(`{"text":"x","n":NaN}`), "parse_error"},
			{"a comment", say(`{"text":"x"/* */}`), "parse_error"},
			{"a comma at the end", say(`{"text":"x",}`), "parse_error"},
			{"two requests", say(`{"text":"x"}`) + say(`{"text":"y"}`), "parse_error"},
			{"a line feed in a string", say("{\"text\":\"a\nb\"}"), "parse_error"},
			{"65 levels", say(nested(62)), "parse_error"},
			{"500,000 levels", strings.Repeat("[", 500_000), "parse_error"},
			{"an empty batch", `[]`, "invalid_request"},
			{"a batch", `[` + say(`{"text":"x"}`) + `]`, "invalid_request"},
			{"a batch of 300,000", `[` + strings.Repeat("{},", 300_000) + `{}]`, "invalid_request"},
			{"a notification", `{"jsonrpc":"2.0","method":"sendMessage","params":{"conversationId":"case","finality":"turn",` +
				`"payload":{"text":"x"}}}`, "invalid_request"},
			{"another version", `{"jsonrpc":"1.0","id":"t","method":"ping"}`, "invalid_request"},
		} {
			alice.send(c.frame)
			overSocket := alice.find("a reply", func(f string) bool { return strings.HasPrefix(f, `{"jsonrpc":"2.0","id":`) })
			_, _, posted := w.post(speaks("alice"), strings.NewReader(c.frame))
			for door, frame := range map[string]string{"socket": overSocket, "POST": posted} {
				if got := parseReply(t, frame).reason(); got != c.want {
					t.Errorf("%s (%s): %q, want %q: %.200s", c.name, door, got, c.want, frame)
				}
			}
		}
		if n := len(w.stored("case")); n != 1 {
			t.Fatalf("%d events were written all the same", n-1)
		}
		for i, payload := range []string{
			`{"text":"\u0000","n":1e999}`, `{"text":"x","n":9007199254740993,"m":-0,"k":1.00}`,
			`{"text":"\u2028\u202e\ufeff<script>&"}`, `{"text":"x","a":{"":null,"A":1,"a":2}}`,
			`{"text":"\ud83d\ude00 😀"}`, `{"text":"x","data":` + strings.Repeat("[", 58) + strings.Repeat("]", 58) + `}`,
		} {
			alice.must(methods.SendMessage, fmt.Sprintf(`{"conversationId":"case","finality":"turn","payload":%s}`,
				payload))
			if stored := w.stored("case")[i+1]; !bytes.Contains([]byte(stored), []byte(`"payload":`+payload)) {
				t.Errorf("%s comes back as %s", payload, stored)
			}
		}
	})
}
