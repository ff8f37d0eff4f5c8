package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
)

func (a *app) exportOverWire(ctx context.Context, as string, ids []string, without bool) error {
	client, err := a.dial(ctx, as)
	if err != nil {
		return err
	}
	defer client.Close()
	if len(ids) == 0 {
		for s, err := range a.summaries(ctx, client, parley.ListConversationsParams{}) {
			if err != nil {
				return err
			}
			ids = append(ids, s.ConversationID)
		}
	}
	fetch := a.fetchOverWire(ctx, client)
	if without {
		fetch = nil
	}
	e := newExporter(a.out, fetch)
	for _, id := range ids {
		if err := a.exportConversation(ctx, client, e, id); err != nil {
			return fmt.Errorf("export %s: %w", id, err)
		}
	}
	return a.exported(e)
}

// exportConversation exports what the log holds when it is asked, up to the head of a snapshot, whose hash the chain must meet.
func (a *app) exportConversation(ctx context.Context, client parley.Client, e *exporter, id string) error {
	snap, err := call(ctx, a, client.GetConversation, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		return err
	}
	c := newChain(id)
	for ev, err := range a.pages(ctx, client, id, 0) {
		if err != nil {
			return err
		}
		if ev.Seq > snap.LatestSeq {
			break
		}
		if ev.Seq != c.head.Seq+1 {
			return hidden(c.head.Seq + 1)
		}
		event := rawEvent(&ev)
		c.next(event)
		if err := e.write(c, event); err != nil {
			return err
		}
	}
	if c.head.Seq < snap.LatestSeq {
		return hidden(c.head.Seq + 1)
	}
	if c.headHash() != snap.HeadHash {
		return fmt.Errorf("the events give head hash %.12s, the hub says %.12s", c.headHash(), snap.HeadHash)
	}
	e.conversations++
	return nil
}

func hidden(seq int64) error {
	return withHint(parley.Refuse(parley.ErrForbidden, fmt.Sprintf("this token does not see seq %d, and a chain has no gaps", seq), ""),
		"export with a token that has scope trace or admin, or with --data")
}

// fetchOverWire reads files part by part.
func (a *app) fetchOverWire(ctx context.Context, client parley.Client) archive.Fetch {
	return func(conversation string, h journal.Hash, size int64) ([]byte, error) {
		data := make([]byte, 0, size)
		for {
			part, err := call(ctx, a, client.GetAttachment, &parley.GetAttachmentParams{
				ConversationID: conversation, SHA256: hex.EncodeToString(h[:]), Offset: int64(len(data)),
			})
			if errors.Is(err, parley.ErrInternal) { // the hub logs what is wrong with the file
				return nil, &journal.DamageError{File: fmt.Sprintf("attachment %x", h), What: err.Error()}
			}
			if err != nil {
				return nil, err
			}
			data = append(data, part.Data...)
			switch {
			case int64(len(data)) >= size:
				return data, nil
			case len(part.Data) == 0:
				return nil, errors.New("the hub gave less than the whole file")
			}
		}
	}
}
