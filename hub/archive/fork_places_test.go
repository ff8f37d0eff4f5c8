package archive_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// forksAll forks every conversation of a log at every event that may be shared, and each fork behind the event that began it, and holds the result against the rules of an import. Every tenth is forked where
// there are many events.
func forksAll(t *testing.T, j journal.Journal) {
	t.Helper()
	made := int64(0)
	withHub(t, j, func(h *hub.Hub) {
		root := as(t, h, "root", parley.ScopeAdmin)
		for _, row := range must[[]journal.Listed](t)(j.Labeled("", 0, 1000)) {
			id := row.Conversation
			if strings.HasPrefix(id, "~") || strings.HasPrefix(id, "ses_") {
				continue
			}
			s := must[*parley.Snapshot](t)(root.GetConversation(t.Context(), &parley.GetConversationParams{ConversationID: id}))
			last := s.LatestSeq
			if s.Status == parley.StatusClosed {
				last--
			}
			for seq := last; seq > 0; seq -= 1 + seq/50*9 {
				fork := must[*parley.Snapshot](t)(root.ForkConversation(t.Context(),
					&parley.ForkConversationParams{ConversationID: id, Seq: seq, ForkID: fmt.Sprintf("%s-%d", id, seq)}))
				must[*parley.Snapshot](t)(root.ForkConversation(t.Context(),
					&parley.ForkConversationParams{ConversationID: fork.ConversationID, Seq: seq + 1}))
				made += 3 // the second has two in it
			}
		}
	})
	if n, err := archive.CheckForks(t.Context(), j); n != made || err != nil || made == 0 {
		t.Errorf("%d forks, %v; %d were made", n, err, made)
	}
	next := memory.New()
	defer next.Close()
	importInto(t, next, exportOf(t, j))
	importInto(t, next, backupOf(t, j)) // after which nothing is new but the hub's own
	withHub(t, next, func(h *hub.Hub) {
		root := as(t, h, "root", parley.ScopeAdmin)
		for _, row := range must[[]journal.Listed](t)(next.Labeled("", 0, 1000)) {
			must[*parley.Snapshot](t)(root.GetConversation(t.Context(),
				&parley.GetConversationParams{ConversationID: row.Conversation}))
		}
	})
}

// TestForksOfAnythingAreArchived: an import accepts a fork of any log.
func TestForksOfAnythingAreArchived(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	for name, fill := range map[string]func(t *testing.T, j journal.Journal){
		"approvals": approve,
		"sessions":  func(t *testing.T, j journal.Journal) { withHub(t, j, func(h *hub.Hub) { begins(t, h) }) },
		"talk":      func(t *testing.T, j journal.Journal) { withHub(t, j, func(h *hub.Hub) { talk(t, h) }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := memory.New()
				defer j.Close()
				fill(t, j)
				forksAll(t, j)
			})
		})
	}
	t.Run("triggers", func(t *testing.T) {
		j := newBolt(t)
		withHub(t, j, func(h *hub.Hub) { wakes(t, h) })
		forksAll(t, j)
	})
}
