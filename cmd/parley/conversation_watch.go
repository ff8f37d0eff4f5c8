package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
)

// listWatch prints conversations, and again each that changes.
type listWatch struct {
	app    *app
	client parley.Client
	params parley.ListConversationsParams
	cursor string
	table  *listTable // printed last
}

func (w *listWatch) run(ctx context.Context) error {
	err := w.begin(ctx)
	for err == nil && ctx.Err() == nil {
		if err = w.next(ctx); err == nil {
			err = w.app.out.failure()
		}
	}
	if ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())) {
		return nil // a signal is how one stops watching
	}
	return err
}

// begin takes a cursor and lists what is there then.
func (w *listWatch) begin(ctx context.Context) error {
	r, err := call(ctx, w.app, w.client.WatchConversations, &parley.WatchConversationsParams{Workspace: w.params.Workspace})
	if err != nil {
		return err
	}
	w.cursor = r.Cursor
	w.table = w.app.newListTable()
	return w.table.fill(ctx, w.client, w.params)
}

// next waits for changes and prints them. What has changed before a restart of the hub is not known: then all is listed again.
func (w *listWatch) next(ctx context.Context) error {
	r, err := w.client.WatchConversations(ctx, &parley.WatchConversationsParams{
		Cursor: w.cursor, Workspace: w.params.Workspace, Limit: 100, TimeoutMs: parley.MaxWaitMs,
	})
	if err != nil {
		return err
	}
	if r.Reset {
		return w.begin(ctx)
	}
	w.cursor = r.Cursor
	for i := range r.Conversations {
		if err := w.tell(&r.Conversations[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *listWatch) tell(s *parley.ConversationSummary) error {
	switch {
	case !w.wants(s):
		return nil
	case w.app.format == formatJSON:
		return w.app.out.json(s)
	}
	w.app.out.line(w.table.line(s, time.Now()))
	return nil
}

// wants reports whether a conversation is one of those that are listed.
func (w *listWatch) wants(s *parley.ConversationSummary) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(w.params.Text)) }
	return (w.params.Status == "" || s.Status == w.params.Status) && (w.params.Participant == "" || slices.Contains(s.Participants, w.params.Participant)) &&
		(has(s.ConversationID) || has(s.Title))
}
