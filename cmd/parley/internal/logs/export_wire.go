package logs

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
)

func exportOverWire(ctx context.Context, a *cli.App, as string, ids []string, without bool) error {
	client, err := a.Dial(ctx, as)
	if err != nil {
		return err
	}
	defer client.Close()
	if len(ids) == 0 {
		for s, err := range a.ListConversations(ctx, client, parley.ListConversationsParams{}) {
			if err != nil {
				return err
			}
			ids = append(ids, s.ConversationID)
		}
	}
	fetch := fetchOverWire(ctx, a, client)
	if without {
		fetch = nil
	}
	e := newExporter(a.Out, fetch)
	for _, id := range ids {
		if err := exportConversation(ctx, a, client, e, id); err != nil {
			return fmt.Errorf("export %s: %w", id, err)
		}
	}
	return finishExport(a, e)
}

// exportConversation exports what the log holds when it is asked, up to the head of a snapshot,
// whose hash the chain must meet.
func exportConversation(ctx context.Context, a *cli.App, client parley.Client, e *exporter, id string) error {
	snap, err := cli.Call(ctx, a, client.GetConversation, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		return err
	}
	c := NewChain(id)
	for ev, err := range a.ReadEvents(ctx, client, id, 0) {
		if err != nil {
			return err
		}
		if ev.Seq > snap.LatestSeq {
			break
		}
		if ev.Seq != c.Head.Seq+1 {
			return hiddenEventError(c.Head.Seq + 1)
		}
		event := view.RawEvent(&ev)
		c.Append(event)
		if err := e.writeEvent(c, event); err != nil {
			return err
		}
	}
	if c.Head.Seq < snap.LatestSeq {
		return hiddenEventError(c.Head.Seq + 1)
	}
	if c.HeadHash() != snap.HeadHash {
		return fmt.Errorf("the events have head hash %.12s, the hub reports %.12s", c.HeadHash(), snap.HeadHash)
	}
	e.conversations++
	return nil
}

func hiddenEventError(seq int64) error {
	return exit.WithHint(parley.Refuse(parley.ErrForbidden,
		fmt.Sprintf("this token does not see seq %d, and a chain has no gaps", seq), ""),
		"export with a token that has scope trace or admin, or with --data")
}

// fetchOverWire reads files part by part.
func fetchOverWire(ctx context.Context, a *cli.App, client parley.Client) archive.Fetch {
	return func(conversation string, h journal.Hash, size int64) ([]byte, error) {
		data := make([]byte, 0, size)
		for {
			part, err := cli.Call(ctx, a, client.GetAttachment, &parley.GetAttachmentParams{
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
