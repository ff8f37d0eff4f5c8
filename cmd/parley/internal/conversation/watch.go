package conversation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// listWatch prints conversations, and again each that changes.
type listWatch struct {
	app    *cli.App
	client parley.Client
	params parley.ListConversationsParams
	cursor string
	table  *listTable // printed last
}

func (w *listWatch) run(ctx context.Context) error {
	err := w.listAll(ctx)
	for err == nil && ctx.Err() == nil {
		if err = w.next(ctx); err == nil {
			err = w.app.Out.WriteError()
		}
	}
	if ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())) {
		return nil // a signal is how one stops watching
	}
	return err
}

// listAll takes a cursor and lists what is there then.
func (w *listWatch) listAll(ctx context.Context) error {
	r, err := cli.Call(ctx, w.app, w.client.WatchConversations,
		&parley.WatchConversationsParams{Workspace: w.params.Workspace})
	if err != nil {
		return err
	}
	w.cursor = r.Cursor
	w.table = newListTable(w.app)
	return w.table.addAll(ctx, w.client, w.params)
}

// next waits for changes and prints them. After a restart of the hub the changes are unknown, and
// it lists everything again.
func (w *listWatch) next(ctx context.Context) error {
	r, err := w.client.WatchConversations(ctx, &parley.WatchConversationsParams{
		Cursor: w.cursor, Workspace: w.params.Workspace, Limit: 100, TimeoutMs: parley.MaxWaitMs,
	})
	if err != nil {
		return err
	}
	if r.Reset {
		return w.listAll(ctx)
	}
	w.cursor = r.Cursor
	for i := range r.Conversations {
		if err := w.print(&r.Conversations[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *listWatch) print(s *parley.ConversationSummary) error {
	switch {
	case !w.matches(s):
		return nil
	case w.app.Format == cli.FormatJSON:
		return w.app.Out.JSON(s)
	}
	w.app.Out.Line(w.table.formatLine(s, time.Now()))
	return nil
}

// matches reports whether a conversation is one of those that are listed.
func (w *listWatch) matches(s *parley.ConversationSummary) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(w.params.Text)) }
	return (w.params.Status == "" || s.Status == w.params.Status) &&
		(w.params.Participant == "" || slices.Contains(s.Participants, w.params.Participant)) &&
		(has(s.ConversationID) || has(s.Title))
}
