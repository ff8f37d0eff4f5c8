package torture

import (
	"fmt"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
)

const (
	writers       = 64
	conversations = 8
)

// writer says numbered messages in one conversation, each under its own key, and remembers what was
// acknowledged.
type writer struct {
	id           string
	conversation string
	acked        []int64 // the seq of each message
}

func (w *writer) key(n int) string { return fmt.Sprintf("%s-%d", w.id, n) }

// createSeats makes the conversations and the writers that share them.
func createSeats(t *testing.T, h *hubproc.Hub) ([]string, []*writer) {
	t.Helper()
	c, err := dial(h, "auditor")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var ids []string
	var ws []*writer
	for i := range conversations {
		p := parley.CreateConversationParams{
			ConversationID: fmt.Sprintf("torture-%d", i),
			Policy:         &parley.Policy{Kind: parley.PolicyOpen},
			Limits:         &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
		}
		for j := range writers / conversations {
			w := &writer{id: fmt.Sprintf("w%d.%d", i, j), conversation: p.ConversationID}
			p.Participants = append(p.Participants, parley.Participant{ID: w.id, Kind: parley.KindAgent})
			ws = append(ws, w)
		}
		var snap parley.Snapshot
		if err := c.Call(methods.CreateConversation, p, &snap); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ConversationID)
	}
	return ids, ws
}
