package mcp_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// A wait returns the notes among the messages, each once, and no withdrawn events.
func TestWaitReturnsNotes(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	note := func(text string) {
		t.Helper()
		n := parley.Note{Schema: "chart.v1", Data: raw(t, text)}
		if _, err := bob.SendNote(t.Context(), &parley.SendNoteParams{ConversationID: id, Payload: n}); err != nil {
			t.Fatal(err)
		}
	}
	note("first")
	failTurn(t, bob, id, "dead one")
	note("second")
	postAs(t, h.Client(t, "bob"), id, "alive", parley.FinalityTurn)
	note("third")
	var heard []string
	for since, more := int64(0), true; more; {
		var u struct {
			Messages []readEvent
			SinceSeq int64 `json:"since_seq"`
			More     bool
		}
		text := alice.must("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": since, "until": "any",
			"wait_seconds": 0}, &u)
		if !strings.Contains(text, "bob (note)") {
			t.Errorf("no note: %s", text)
		}
		for _, e := range u.Messages {
			heard = append(heard, e.Type+" "+e.Text+string(e.Data))
		}
		since, more = u.SinceSeq, u.More
	}
	if got := strings.Join(heard, "|"); got != `note "first"|note "second"|message alive|note "third"` {
		t.Errorf("read %s", got)
	}
}
