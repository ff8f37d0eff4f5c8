package cli

import (
	"context"
	"iter"

	"github.com/parleyhub/parley"
)

// ListConversations pages through listConversations.
func (a *App) ListConversations(ctx context.Context, client parley.Client,
	q parley.ListConversationsParams) iter.Seq2[parley.ConversationSummary, error] {
	return Paginate(func(cursor string) ([]parley.ConversationSummary, string, error) {
		q.Limit, q.Cursor = 100, cursor
		page, err := Call(ctx, a, client.ListConversations, &q)
		if err != nil {
			return nil, "", err
		}
		return page.Conversations, page.NextCursor, nil
	})
}

// Paginate yields the rows of all pages of a method. ask returns the page after a cursor, which is
// empty for the first page, and the next cursor, which is empty after the last page.
func Paginate[T any](ask func(cursor string) (page []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			page, next, err := ask(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}

// ReadEvents yields the events that the log has now.
func (a *App) ReadEvents(ctx context.Context, client parley.Client, id string, since int64) iter.Seq2[parley.Event,
	error] {
	return func(yield func(parley.Event, error) bool) {
		p := &parley.TailParams{ConversationID: id, SinceSeq: since, Limit: parley.MaxPage}
		for {
			page, err := Call(ctx, a, client.Tail, p)
			if err != nil {
				yield(parley.Event{}, err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			if page.NextSeq >= page.LatestSeq {
				return
			}
			p.SinceSeq = page.NextSeq
		}
	}
}
