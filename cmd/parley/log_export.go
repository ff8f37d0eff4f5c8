package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

func (a *app) logExportCommand() *cobra.Command {
	var data, as string
	c := &cobra.Command{
		Use:   "export [ID...]",
		Short: "write conversations as lines that verify by themselves",
		Long: `export writes one JSON object a line: conversationId, seq, hash and the event as it is stored. 'parley log verify FILE' checks it
without a hub. Without IDs it writes all conversations.

With --data it reads the log of a hub that is not running. Else it asks the hub (PARLEY_URL), and compares the end with the
hub's headHash; the token must see every event: traces are only for their authors, scope trace and admins.`,
	}
	asFlag(c, &as)
	c.Flags().StringVar(&data, "data", "", "directory of the log of a hub that is not running")
	return a.does(c, func(ctx context.Context, args []string) error {
		out := bufio.NewWriter(a.out)
		e := &exporter{out: out}
		var err error
		if data != "" {
			err = e.fromData(ctx, data, args)
		} else {
			err = a.exportOverWire(ctx, e, as, args)
		}
		if err != nil {
			return err
		}
		a.err.linef("%s in %s", count(e.events, "event"), count(e.conversations, "conversation"))
		return out.Flush()
	})
}

// exporter writes lines and counts them.
type exporter struct {
	out                   io.Writer
	events, conversations int64
}

func (e *exporter) write(l exportLine) error {
	e.events++
	_, err := e.out.Write(l.encode())
	return err
}

func (e *exporter) fromData(ctx context.Context, data string, ids []string) error {
	j, err := openExisting(data)
	if err != nil {
		return err
	}
	defer j.Close()
	if len(ids) > 0 {
		for _, id := range ids {
			if err := e.journaled(ctx, j, id); err != nil {
				return err
			}
		}
		return nil
	}
	return e.allOf(ctx, j)
}

// allOf exports every conversation of a journal but the hub's own, which begin with "~".
func (e *exporter) allOf(ctx context.Context, j journal.Journal) error {
	var after journal.Position
	for {
		page, err := j.Labeled("", after, parley.MaxPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, l := range page {
			after = l.Position
			if strings.HasPrefix(l.Conversation, "~") {
				continue
			}
			if err := e.journaled(ctx, j, l.Conversation); err != nil {
				return err
			}
		}
	}
}

// journaled exports one conversation of a journal, and holds each record to the chain on the way.
func (e *exporter) journaled(ctx context.Context, j journal.Journal, id string) error {
	c := newChain(id)
	for {
		page, err := j.Read(id, c.head.Seq, parley.MaxPage, parley.MaxPageBytes)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			line := c.next(r.Data, r.Final)
			if c.head.Hash != r.Hash || line.Seq != r.Seq {
				return &journal.DamageError{Position: r.Position, Conversation: id, Seq: r.Seq, What: "hash chain"}
			}
			if err := e.write(line); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if c.head.Seq == 0 {
		return parley.Refuse(parley.ErrNotFound, fmt.Sprintf("no conversation %q in this log", id), "")
	}
	e.conversations++
	return nil
}

func (a *app) exportOverWire(ctx context.Context, e *exporter, as string, ids []string) error {
	client, err := a.dial(ctx, as)
	if err != nil {
		return err
	}
	defer client.Close()
	if len(ids) == 0 {
		for s, err := range a.summaries(ctx, client, "") {
			if err != nil {
				return err
			}
			ids = append(ids, s.ConversationID)
		}
	}
	for _, id := range ids {
		if err := a.exportConversation(ctx, client, e, id); err != nil {
			return fmt.Errorf("export %s: %w", id, err)
		}
	}
	return nil
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
		if err := e.write(c.next(rawEvent(&ev), ev.Closes())); err != nil {
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
