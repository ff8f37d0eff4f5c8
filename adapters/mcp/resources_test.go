package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

const conversations = "parley://conversations/"

// serverOf returns an adapter for one participant.
func serverOf(t *testing.T, h *sdktest.Hub, agentID string) *mcp.Server {
	t.Helper()
	return mcp.NewServer(&mcp.Options{Connect: mcp.Client(h.Client(t, agentID)), Version: "test"})
}

// readResource reads a resource with one content.
func (w *wire) readResource(uri string, into any) {
	w.t.Helper()
	var r struct {
		Contents   []struct{ URI, MIMEType, Text string }
		ResultType string
		CacheScope string
	}
	w.must("resources/read", map[string]any{"uri": uri}, &r)
	if len(r.Contents) != 1 || r.Contents[0].URI != uri || r.Contents[0].MIMEType != "application/json" {
		w.t.Fatalf("%s: %+v", uri, r)
	}
	if r.CacheScope != "private" || w.era >= modern && r.ResultType != "complete" {
		w.t.Errorf("%s: %+v", uri, r)
	}
	if err := json.Unmarshal([]byte(r.Contents[0].Text), into); err != nil {
		w.t.Fatalf("%s: %v in %s", uri, err, r.Contents[0].Text)
	}
}

// The state and the messages of a conversation can be read, with the call that reads the next page.
func TestResources(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := h.Create(t, "bob", "alice")
	bob := h.Client(t, "bob")
	for n := range 60 {
		postAs(t, bob, id, fmt.Sprintf("word %d", n), parley.FinalityNone)
	}
	s := serverOf(t, h, "alice")
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			w := newWire(t, s, era, map[string]any{})
			var state map[string]any
			w.readResource(conversations+id, &state)
			if state["status"] != "active" || state["you"] != "alice" || state["latest_seq"].(float64) < 61 ||
				state["events"] != conversations+id+"/events" {
				t.Errorf("%v", state)
			}
			var page struct {
				Events   []struct{ Text string }
				SinceSeq int64 `json:"since_seq"`
				More     bool
				Next     string
			}
			w.readResource(conversations+id+"/events", &page)
			if len(page.Events) != mcp.MaxEvents || page.Events[0].Text != "word 0" || !page.More || !strings.Contains(page.Next,
				fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d}", id, page.SinceSeq)) {
				t.Errorf("%d events, %+v", len(page.Events), page.Next)
			}
			var templates struct {
				ResourceTemplates []struct{ URITemplate string }
			}
			w.must("resources/templates/list", map[string]any{}, &templates)
			if len(templates.ResourceTemplates) != 2 {
				t.Errorf("%+v", templates)
			}
		})
	}
}

// The list has the newest active conversations of the caller, newest first, up to a limit, and none
// of other participants.
func TestResourceList(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	h := sdktest.NewHub(t)
	alice, bob := h.Client(t, "alice"), h.Client(t, "bob")
	var mine []string
	for range 120 {
		mine = append(mine, h.Create(t, "alice"))
	}
	foreign := h.Create(t, "bob")
	if _, err := alice.CloseConversation(t.Context(),
		&parley.CloseConversationParams{ConversationID: mine[119]}); err == nil {
		t.Fatal("an agent closed a conversation that it did not create")
	}
	if _, err := h.Admin(t).CloseConversation(t.Context(),
		&parley.CloseConversationParams{ConversationID: mine[119]}); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.GetConversation(t.Context(), &parley.GetConversationParams{ConversationID: foreign}); err != nil {
		t.Fatal(err)
	}
	s := serverOf(t, h, "alice")
	for _, era := range eras {
		var list struct {
			Resources  []struct{ URI string }
			CacheScope string
		}
		newWire(t, s, era, map[string]any{}).must("resources/list", map[string]any{}, &list)
		if len(list.Resources) != 50 || list.Resources[0].URI != conversations+mine[118] ||
			list.Resources[49].URI != conversations+mine[69] {
			t.Errorf("%s: %d, %+v", era, len(list.Resources), list.Resources)
		}
		if list.CacheScope != "private" {
			t.Errorf("%s: the list may be shared: %q", era, list.CacheScope)
		}
	}
}

// Invisible, missing and invalid resources are refused in the same words, with the code of the
// revision.
func TestMissingResource(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	foreign := h.Create(t, "bob")
	s := serverOf(t, h, "alice")
	for era, code := range map[string]int64{modern: -32602, legacy: -32002, "2025-06-18": -32002} {
		w := newWire(t, s, era, map[string]any{})
		for _, uri := range []string{
			conversations + foreign, conversations + "nowhere", conversations + foreign + "/events", conversations +
				"nowhere/events", conversations, conversations + "a b/\x07",
			conversations + "%2e%2e", conversations + strings.Repeat("x",
				5000), "parley://sessions/1", "file:///etc/passwd", "nothing",
		} {
			_, read := w.call("resources/read", map[string]any{"uri": uri})
			_, subscribe := w.subscribe(uri)
			for _, e := range []*struct {
				what string
				code int64
				text string
				data json.RawMessage
			}{{"read", read.Code, read.Message, read.Data}, {"subscribe", subscribe.Code, subscribe.Message, subscribe.Data}} {
				var data struct{ URI string }
				if err := json.Unmarshal(e.data, &data); err != nil || data.URI != uri || e.code != code ||
					e.text != "Resource not found" {
					t.Errorf("%s: %s %.60q: %d %s %.80s", era, e.what, uri, e.code, e.text, e.data)
				}
			}
		}
	}
}

// Resources and the prompt belong to the toolset of conversations.
func TestToolsetsOfResources(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	s := mcp.NewServer(&mcp.Options{Connect: mcp.Client(h.Client(t, "alice")), Toolsets: []mcp.Toolset{mcp.Agents}})
	var r struct {
		Capabilities struct{ Resources, Prompts map[string]any }
	}
	newWire(t, s, modern, map[string]any{}).must("server/discover", map[string]any{}, &r)
	if r.Capabilities.Resources != nil || r.Capabilities.Prompts != nil {
		t.Errorf("%+v", r)
	}
	r.Capabilities.Resources, r.Capabilities.Prompts = nil, nil
	newWire(t, serverOf(t, h, "alice"), modern, map[string]any{}).must("server/discover", map[string]any{}, &r)
	if r.Capabilities.Resources["subscribe"] != true || r.Capabilities.Resources["listChanged"] != nil ||
		r.Capabilities.Prompts == nil {
		t.Errorf("%+v", r)
	}
}
