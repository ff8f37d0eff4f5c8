package rpc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// names are members that a caller might use to name another author.
var names = []string{"from", "agentId", "author", "participantId", "role", "seq", "at", "token", "executorId", "by",
	"createdBy", "type", "From", "conversationID"}

// attempts sends a call over every transport that has it, and returns the reasons of the refusals.
func (w *world) attempts(p *peer, agent, method, params string) map[string]string {
	w.t.Helper()
	header := speaks(agent)
	_, _, posted := w.post(header, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`,
		method, params)))
	got := map[string]string{"socket": parseReply(w.t, p.call(method, params)).reason(),
		"POST": parseReply(w.t, posted).reason()}
	if m, _ := methods.ByName(method); strings.HasPrefix(m.Route, "POST /conversations/{conversationId}/") {
		var members map[string]json.RawMessage
		unmarshal(w.t, params, &members)
		delete(members, "conversationId")
		body, err := json.Marshal(members)
		if err != nil {
			w.t.Fatal(err)
		}
		got["plain"] = w.plain(header, "POST", strings.Replace(strings.TrimPrefix(m.Route, "POST "), "{conversationId}",
			"case", 1), string(body)).reason()
	}
	return got
}

// TestParamsDoNotNameAuthor: no param of a write sets the author, over any transport. In a payload
// such a name has no meaning.
func TestParamsDoNotNameAuthor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice, mallory := w.as("alice"), w.as("mallory")
		alice.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"human"},{"id":"mallory",` +
			`"kind":"human"}],"policy":{"kind":"open"}}`)
		writes := map[string]string{
			methods.SendMessage: `{"conversationId":"case","payload":{"text":"x"},"finality":"turn","NAME":"alice"}`,
			methods.SendTrace:   `{"conversationId":"case","payload":{"kind":"k"},"NAME":"alice"}`,
			methods.SendNote:    `{"conversationId":"case","payload":{"schema":"s","data":1},"NAME":"alice"}`,
			methods.SendDelta:   `{"conversationId":"case","turn":1,"index":0,"text":"x","NAME":"alice"}`,
		}
		before := len(w.stored("case"))
		for method, params := range writes {
			for _, name := range names {
				for door, reason := range w.attempts(mallory, "mallory", method, strings.Replace(params, "NAME", name, 1)) {
					if reason != "invalid_params" {
						t.Errorf("%s with the param %s (%s): %q", method, name, door, reason)
					}
				}
			}
		}
		if after := len(w.stored("case")); after != before {
			t.Fatalf("%d events were written all the same", after-before)
		}
		payload := map[string]any{"text": "x", "kind": "k"}
		for _, name := range names {
			payload[name] = "alice"
		}
		body, err := json.Marshal(map[string]any{"conversationId": "case", "payload": payload, "finality": "turn"})
		if err != nil {
			t.Fatal(err)
		}
		for door, reason := range w.attempts(mallory, "mallory", methods.SendMessage, string(body)) {
			if reason != "" {
				t.Errorf("words in a payload (%s): %q", door, reason)
			}
		}
		for _, raw := range w.stored("case")[before:] {
			var e parley.Event
			unmarshal(t, raw, &e)
			if e.From != "mallory" || e.Type != parley.TypeMessage {
				t.Errorf("mallory's words are of %s: %s", e.From, raw)
			}
		}
	})
}

// TestOnlyTheHeaderShowsAToken: a token in a cookie or another header is ignored, and so is an id
// that a proxy might set.
func TestOnlyTheHeaderShowsAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(`{"conversationId":"case","participants":[{"id":"alice","kind":"human"}]}`)
		for name, value := range map[string]string{
			"Cookie": "token=" + devToken + "; Authorization=Bearer " + devToken, "X-Api-Key": devToken,
			"X-Auth-Token": devToken, "Proxy-Authorization": "Bearer " + devToken,
			"X-Forwarded-User": "alice", "Remote-User": "alice", "Parley-Agent": "alice",
			"Sec-Websocket-Protocol": "bearer, " + devToken, "Authorization": devToken,
		} {
			header := http.Header{name: {value}}
			for _, target := range []string{"/conversations/case", "/conversations/case/events",
				"/conversations/case/wait?sinceSeq=0", "/metrics", "/backup", "/stats"} {
				if a := w.plain(header, "GET", target, ""); a.status != http.StatusUnauthorized {
					t.Errorf("%s by %s: %v", target, name, a)
				}
			}
			if status, _, body := w.post(header, strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); status != http.StatusUnauthorized {
				t.Errorf("POST /rpc by %s: HTTP %d %s", name, status, body)
			}
			if name == "Authorization" {
				continue // the upgrade itself is refused
			}
			p := w.dial("nobody", header)
			if reason := parseReply(t, p.call(methods.GetConversation,
				`{"conversationId":"case"}`)).reason(); reason != "unauthenticated" {
				t.Errorf("a socket by %s: %q", name, reason)
			}
			p.close()
		}
	})
}
