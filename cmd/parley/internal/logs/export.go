package logs

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// ExportFile exports all of a journal to a file, and reads it again.
func ExportFile(ctx context.Context, j journal.Journal, name string) (archive.Report, error) {
	f, err := os.Create(name)
	if err != nil {
		return archive.Report{}, err
	}
	defer f.Close()
	e := newExporter(f, archive.FromJournal(j))
	if err := errors.Join(e.exportAll(ctx, j), e.out.Flush()); err != nil {
		return archive.Report{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return archive.Report{}, err
	}
	r, err := archive.Check(f, nil)
	if err == nil && r.Events != e.lines.Events {
		err = fmt.Errorf("%s: %d events of %d", name, r.Events, e.lines.Events)
	}
	return r, err
}

func newExportCommand(a *cli.App) *cobra.Command {
	var data, as string
	var without bool
	c := &cobra.Command{
		Use:   "export [ID...]",
		Short: "export conversations in a format that can be verified",
		Long: `export writes one JSON object a line: conversationId, seq, hash and the event as it is
stored, and each attachment before the event that names it. 'parley log verify FILE' checks it
without a hub, 'parley log import' puts it into another log. Without IDs it writes all
conversations.

With --data it reads the log of a hub that is not running. Else it asks the hub (PARLEY_URL), and
compares the end with the hub's headHash; the token must see every event: traces are only for their
authors, scope trace and admins.

A missing or damaged attachment does not stop the export: its line marks it as missing. Then the
exit code is 1, and a line on stderr names some of the attachments.`,
	}
	cli.AddAsFlag(c, &as)
	c.Flags().StringVar(&data, "data", "",
		"log of a stopped hub: a directory, or the URL of a log on NATS servers")
	c.Flags().BoolVar(&without, withoutAttachments, false, "omit the attachments")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if err := journals.CheckDataFlag(c, data); err != nil {
			return err
		}
		args = uniqueIDs(args)
		if data != "" {
			return exportData(ctx, a, data, args, without)
		}
		return exportOverWire(ctx, a, as, args, without)
	})
}

// uniqueIDs returns each id once, in the order of its first occurrence.
func uniqueIDs(ids []string) []string {
	var each []string
	for _, id := range ids {
		if !slices.Contains(each, id) {
			each = append(each, id)
		}
	}
	return each
}

// AttachmentsText returns the number of attachments, if there are any.
func AttachmentsText(n int64) string {
	if n == 0 {
		return ""
	}
	return ", " + cli.Count(n, "attachment")
}

// exporter writes lines and counts them.
type exporter struct {
	out           *bufio.Writer
	lines         *archive.Writer
	conversations int64
}

// newExporter writes to w. fetch returns the attachments. Nil omits them.
func newExporter(w io.Writer, fetch archive.Fetch) *exporter {
	out := bufio.NewWriter(w)
	return &exporter{out: out, lines: archive.NewWriter(out, fetch)}
}

// finishExport ends an export.
func finishExport(a *cli.App, e *exporter) error {
	if err := e.out.Flush(); err != nil {
		return err
	}
	a.Err.Linef("%s in %s%s", cli.Count(e.lines.Events, "event"), cli.Count(e.conversations, "conversation"),
		AttachmentsText(e.lines.Attachments))
	return newIncompleteError(e.lines.Missing)
}

// Chain is the hash chain of one conversation as far as it was followed.
type Chain struct {
	id   string
	Head journal.Head
}

// NewChain returns the chain of a conversation before its first event.
func NewChain(id string) *Chain { return &Chain{id: id, Head: journal.Head{Hash: journal.Genesis(id)}} }

// Append adds an event.
func (c *Chain) Append(event []byte) {
	c.Head = journal.Head{Seq: c.Head.Seq + 1, Hash: c.Head.Hash.Next(event)}
}

func (c *Chain) HeadHash() string { return hex.EncodeToString(c.Head.Hash[:]) }

func (e *exporter) writeEvent(c *Chain, event []byte) error {
	return e.lines.Event(c.id, c.Head.Seq, c.Head.Hash, event)
}

func exportData(ctx context.Context, a *cli.App, data string, ids []string, without bool) error {
	j, err := journals.OpenExisting(data)
	if err != nil {
		return err
	}
	defer j.Close()
	fetch := archive.FromJournal(j)
	if without {
		fetch = nil
	}
	e := newExporter(a.Out, fetch)
	if len(ids) == 0 {
		err = e.exportAll(ctx, j)
	}
	for _, id := range ids {
		if err == nil {
			err = e.exportOne(ctx, j, id)
		}
	}
	if err != nil {
		return err
	}
	return finishExport(a, e)
}

// exportAll exports every conversation of a journal but the hub's own, which begin with "~".
func (e *exporter) exportAll(ctx context.Context, j journal.Journal) error {
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
			if err := e.exportOne(ctx, j, l.Conversation); err != nil {
				return err
			}
		}
	}
}

// exportOne exports one conversation of a journal, and holds each record to the chain on the way.
func (e *exporter) exportOne(ctx context.Context, j journal.Journal, id string) error {
	c := NewChain(id)
	for {
		page, err := j.Read(id, c.Head.Seq, parley.MaxPage, limits.MaxPageBytes)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			c.Append(r.Data)
			if c.Head.Hash != r.Hash || c.Head.Seq != r.Seq {
				return &journal.DamageError{Position: r.Position, Conversation: id, Seq: r.Seq, What: "hash chain"}
			}
			if err := e.writeEvent(c, r.Data); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if c.Head.Seq == 0 {
		return parley.Refuse(parley.ErrNotFound, fmt.Sprintf("no conversation %q in this log", id), "")
	}
	e.conversations++
	return nil
}
