package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
)

func (a *app) logExportCommand() *cobra.Command {
	var data, as string
	var without bool
	c := &cobra.Command{
		Use:   "export [ID...]",
		Short: "write conversations as lines that verify by themselves",
		Long: `export writes one JSON object a line: conversationId, seq, hash and the event as it is stored, and each attachment before the event that
names it. 'parley log verify FILE' checks it without a hub, 'parley log import' puts it into another log. Without IDs it writes all
conversations.

With --data it reads the log of a hub that is not running. Else it asks the hub (PARLEY_URL), and compares the end with the
hub's headHash; the token must see every event: traces are only for their authors, scope trace and admins.

An attachment that is gone or damaged on the hub's disk holds nothing up: its line says that it is missing. Then the code is 1, and a line
on stderr names some.`,
	}
	asFlag(c, &as)
	c.Flags().StringVar(&data, "data", "", "log of a hub that is not running: a directory, or the address of one on NATS servers")
	c.Flags().BoolVar(&without, withoutAttachments, false, "leave the files out")
	return a.does(c, func(ctx context.Context, args []string) error {
		if err := givenData(c, data); err != nil {
			return err
		}
		args = once(args)
		if data != "" {
			return a.exportData(ctx, data, args, without)
		}
		return a.exportOverWire(ctx, as, args, without)
	})
}

// once gives each of ids in its first place.
func once(ids []string) []string {
	var each []string
	for _, id := range ids {
		if !slices.Contains(each, id) {
			each = append(each, id)
		}
	}
	return each
}

// andFiles tells of attachments where there are some.
func andFiles(n int64) string {
	if n == 0 {
		return ""
	}
	return ", " + count(n, "attachment")
}

// exporter writes lines and counts them.
type exporter struct {
	out           *bufio.Writer
	lines         *archive.Writer
	conversations int64
}

// newExporter writes to w. fetch gives the attachments; nil leaves them out.
func newExporter(w io.Writer, fetch archive.Fetch) *exporter {
	out := bufio.NewWriter(w)
	return &exporter{out: out, lines: archive.NewWriter(out, fetch)}
}

// exported ends an export.
func (a *app) exported(e *exporter) error {
	if err := e.out.Flush(); err != nil {
		return err
	}
	a.err.linef("%s in %s%s", count(e.lines.Events, "event"), count(e.conversations, "conversation"), andFiles(e.lines.Attachments))
	return incomplete(e.lines.Missing)
}

// chain is the hash chain of one conversation as far as it was followed.
type chain struct {
	id   string
	head journal.Head
}

func newChain(id string) *chain { return &chain{id: id, head: journal.Head{Hash: journal.Genesis(id)}} }

// next adds an event.
func (c *chain) next(event []byte) {
	c.head = journal.Head{Seq: c.head.Seq + 1, Hash: c.head.Hash.Next(event)}
}

func (c *chain) headHash() string { return hex.EncodeToString(c.head.Hash[:]) }

func (e *exporter) write(c *chain, event []byte) error {
	return e.lines.Event(c.id, c.head.Seq, c.head.Hash, event)
}

func (a *app) exportData(ctx context.Context, data string, ids []string, without bool) error {
	j, err := openExisting(data)
	if err != nil {
		return err
	}
	defer j.Close()
	fetch := archive.FromJournal(j)
	if without {
		fetch = nil
	}
	e := newExporter(a.out, fetch)
	if len(ids) == 0 {
		err = e.allOf(ctx, j)
	}
	for _, id := range ids {
		if err == nil {
			err = e.journaled(ctx, j, id)
		}
	}
	if err != nil {
		return err
	}
	return a.exported(e)
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
			c.next(r.Data)
			if c.head.Hash != r.Hash || c.head.Seq != r.Seq {
				return &journal.DamageError{Position: r.Position, Conversation: id, Seq: r.Seq, What: "hash chain"}
			}
			if err := e.write(c, r.Data); err != nil {
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
