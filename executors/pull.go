package executors

import (
	"context"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// lookAgain is after how many looks all conversations are gone through again, for one that the client was added to later.
const lookAgain = 30

// look watches each active conversation in which the client takes part, those to come included, until ctx ends.
func (r *runner) look(ctx context.Context) error {
	select {
	case <-r.registered:
	case <-ctx.Done():
		return nil
	}
	p := r.opts.newPauses()
	from := "" // the cursor of the last page; what comes is listed behind it
	for looks := 0; ; looks++ {
		if looks%lookAgain == 0 {
			from = ""
		}
		next := r.opts.PollEvery
		last, err := r.list(ctx, from)
		from = last
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			p.reset()
		case !mends(err):
			return fmt.Errorf("list conversations as %s: %w", r.client.AgentID(), err)
		default:
			r.log.Warn("conversations could not be listed", "error", err)
			next = p.next()
		}
		if pause(ctx, next) != nil {
			return nil
		}
	}
}

// list starts a watch for each conversation that has none, and gives the cursor of the last page.
func (r *runner) list(ctx context.Context, from string) (string, error) {
	for {
		page, err := r.client.ListConversations(
			ctx, &parley.ListConversationsParams{Status: parley.StatusActive, Limit: 100, Cursor: from})
		if err != nil {
			return from, err
		}
		for _, c := range page.Conversations {
			if slices.Contains(c.Participants, r.client.AgentID()) && r.opts.Accept(c.ConversationID) {
				r.watch(ctx, seat{c.ConversationID, r.client.AgentID()})
			}
		}
		if page.NextCursor == "" {
			return from, nil
		}
		from = page.NextCursor
	}
}
