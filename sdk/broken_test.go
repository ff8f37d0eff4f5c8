package sdk_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/rpc"
	"github.com/parleyhub/parley/sdk"
)

// badDisk is a journal of which a number of reads fail.
type badDisk struct {
	journal.Journal
	fail atomic.Int64
}

func (j *badDisk) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	if j.fail.Add(-1) >= 0 {
		return nil, errors.New("the disk gives nothing")
	}
	return j.Journal.Read(conversation, after, limit, maxBytes)
}

// TestEventsOverABrokenConversation: a hub that loses the state of a conversation ends its
// subscriptions. The loop continues after its cursor.
func TestEventsOverABrokenConversation(t *testing.T) {
	t.Parallel()
	j := memory.New()
	disk := &badDisk{Journal: j}
	h, err := hub.Open(disk, &hub.Options{RootToken: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	door := rpc.NewServer(h, nil)
	web := httptest.NewServer(door)
	t.Cleanup(func() {
		if err := door.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		web.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		journaltest.CheckInvariants(t, j)
	})
	as := func(agent string) *sdk.Client {
		c, err := sdk.Dial(t.Context(), web.URL, &sdk.Options{Token: "dev", AgentID: agent, MinBackoff: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	a, b := as("a"), as("b")
	p := ab()
	p.Participants[0].Kind = parley.KindPeer // no claims among the events
	created, err := a.CreateConversation(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	say := func(f parley.Finality) error {
		_, err := a.SendMessage(
			t.Context(),
			&parley.SendMessageParams{ConversationID: created.ConversationID, Payload: text("x"), Finality: f},
		)
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := int64(1)
	for e, err := range b.Events(ctx, created.ConversationID, 0) {
		if err != nil {
			t.Fatalf("after event %d: %v", next-1, err)
		}
		if e.Seq != next {
			t.Fatalf("event %d, expected %d", e.Seq, next)
		}
		next++
		switch e.Seq {
		case 1:
			err = say(parley.FinalityNone)
		case 2:
			disk.fail.Store(1)
			j.FailNext(journal.ErrStorageFull) // after which the conversation is read again
			if err := say(parley.FinalityNone); !errors.Is(err, parley.ErrStorageFull) {
				t.Errorf("the append: %v", err)
			}
			err = say(parley.FinalityConversation)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if next != 4 {
		t.Errorf("the loop ended before event %d", next)
	}
}
