package rpc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// subscribed is a blueprint that messages tagged ask wake, and whose context is the last page.
const subscribed = `{"name":"bot","parameters_schema":{"type":"object"},` +
	`"subscriptions":{"selectors":[{"any_tags":["ask"]},{"schema_name":"page.v1","role":"context","fetch":"latest"}]}}`

// results returns the results of a call by JSON-RPC, over the socket and over POST, and by its
// route.
func (w *world) results(token, method, params, verb, target, body string) map[string][]byte {
	w.t.Helper()
	socket := w.with(token)
	defer socket.close()
	posted := w.plain(bearer(token), http.MethodPost, "/rpc",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"c1","method":%q,"params":%s}`, method, params))
	var reply struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(posted.body), &reply); err != nil || reply.Result == nil {
		w.t.Fatalf("%s: %v", posted, err)
	}
	routed := w.plain(bearer(token), verb, target, body)
	if routed.status != http.StatusOK {
		w.t.Fatalf("%s %s: %s", verb, target, routed)
	}
	return map[string][]byte{"WebSocket": socket.must(method, params), "POST /rpc": reply.Result,
		"plain HTTP": []byte(routed.body)}
}

// TestContextIsTheSameAtEveryDoor: the context and the dry run are the same bytes over every
// transport, for any content.
func TestContextIsTheSameAtEveryDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		token := w.as("admin").token(`{"agentId":"bot"}`)
		bot, ann := w.with(token), w.as("ann")
		bot.must(methods.RegisterExecutor, `{"executorId":"h","agents":[],"mode":"push","capacity":10,"graceMs":180000}`)
		bot.must(methods.RegisterBlueprints, `{"blueprints":[`+subscribed+`]}`)
		ann.create(`{"conversationId":"case","policy":{"kind":"triggers"},"participants":[{"id":"ann","kind":"human"},` +
			`{"id":"bot","kind":"agent"}]}`)
		const page = `{"html":"<b>&\u2028é</b>","n":1.0e5,"none":null}`
		ann.must(methods.SendNote, `{"conversationId":"case","payload":{"schema":"page.v1","data":`+page+`}}`)
		ann.must(methods.SendMessage,
			`{"conversationId":"case","payload":{"text":"<&>?","tags":["ask"]},"finality":"turn"}`)
		const want = `{"trigger":{"conversation_id":"case","seq":3,"type":"message","from":"ann",` +
			`"at":"2000-01-01T00:00:00.000Z","tags":["ask"],"text":"<&>?"},"page":` + page + `}`
		for door, result := range w.results(token, methods.GetContext, `{"conversationId":"case"}`, http.MethodPost,
			"/conversations/case/context", `{}`) {
			var got parley.GetContextResult
			if err := json.Unmarshal(result, &got); err != nil {
				t.Fatal(err)
			}
			if string(got.Context) != want || got.Bytes != len(want) || !slices.Equal(got.Triggers, []int64{3}) {
				t.Errorf("%s: %s\n%s", door, result, want)
			}
		}
		explained := w.results(token, methods.ExplainTriggers, `{"conversationId":"case","seq":3}`, http.MethodGet,
			"/conversations/case/triggers/3", "")
		for door, result := range explained {
			var got parley.ExplainTriggersResult
			if err := json.Unmarshal(result, &got); err != nil {
				t.Fatal(err)
			}
			if string(result) != string(explained["WebSocket"]) || len(got.Agents) != 1 || !got.Agents[0].Woken ||
				got.Agents[0].State != parley.TriggerPending {
				t.Errorf("%s: %s", door, result)
			}
		}
		for target, want := range map[string]string{
			"/conversations/case/triggers/1": "validation_failed", "/conversations/case/triggers/0": "validation_failed",
			"/conversations/case/triggers/99": "validation_failed",
			"/conversations/case/triggers/x":  "invalid_params", "/conversations/case/triggers/3?seq=3": "invalid_params",
			"/conversations/absent/triggers/3": "not_found",
		} {
			if got := w.plain(bearer(token), http.MethodGet, target, ""); got.reason() != want {
				t.Errorf("%s: %s, want %s", target, got, want)
			}
		}
	})
}

// TestWorkspacesAtEveryDoor: a conversation is created in a workspace, and listed and read by it.
// Tokens that may only read cannot write to it.
func TestWorkspacesAtEveryDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		maker := w.as("admin").token(`{"agentId":"ann","workspaces":["w"]}`)
		reader := w.as("admin").token(`{"agentId":"zed","workspaces":["w"]}`)
		if made := w.plain(bearer(maker), http.MethodPost, "/conversations",
			`{"conversationId":"case","workspace":"w",`+
				`"participants":[{"id":"ann","kind":"human"}]}`); made.status != http.StatusCreated {
			t.Fatal(made)
		}
		if made := w.plain(bearer(maker), http.MethodPost, "/conversations",
			`{"workspace":"v","participants":[{"id":"ann","kind":"human"}]}`); made.reason() != "forbidden" {
			t.Errorf("in another workspace: %s", made)
		}
		for door, result := range w.results(reader, methods.ListConversations, `{"workspace":"w"}`, http.MethodGet,
			"/conversations?workspace=w", "") {
			var got parley.ListConversationsResult
			if err := json.Unmarshal(result, &got); err != nil || len(got.Conversations) != 1 ||
				got.Conversations[0].ConversationID != "case" || got.Conversations[0].Workspace != "w" {
				t.Errorf("%s: %s, %v", door, result, err)
			}
		}
		for door, result := range w.results(reader, methods.GetConversation, `{"conversationId":"case"}`, http.MethodGet,
			"/conversations/case", "") {
			var got parley.Snapshot
			if err := json.Unmarshal(result, &got); err != nil || got.Workspace != "w" || len(got.Events) != 1 {
				t.Errorf("%s: %s, %v", door, result, err)
			}
		}
		if got := w.plain(bearer(reader), http.MethodGet, "/conversations?workspace=v", ""); got.reason() != "forbidden" {
			t.Errorf("another workspace: %s", got)
		}
		if got := w.plain(bearer(reader), http.MethodPost, "/conversations/case/notes",
			`{"payload":{"schema":"x","data":1}}`); got.reason() != "forbidden" {
			t.Errorf("a reader writes: %s", got)
		}
	})
}
