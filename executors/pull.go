package executors

import (
	"context"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// lookAgain is the number of polls after which all conversations are listed again, to find
// conversations to which the client was added later.
const lookAgain = 30

// pollConversations watches each active conversation of the client, including future ones, until
// ctx ends.
func (r *runner) pollConversations(ctx context.Context) error {
	select {
	case <-r.registered:
	case <-ctx.Done():
		return nil
	}
	p := r.opts.newPauses()
	from := "" // cursor of the last page; new conversations follow it
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
		case !isTemporary(err):
			return fmt.Errorf("list conversations as %s: %w", r.client.AgentID(), err)
		default:
			r.log.Warn("listing conversations failed", "error", err)
			next = p.next()
		}
		if pause(ctx, next) != nil {
			return nil
		}
	}
}

// list starts a watch for each conversation without one, and returns the cursor of the last page.
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
