package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
)

func (a *app) logVerifyCommand() *cobra.Command {
	var data string
	var o archive.CheckOptions
	c := &cobra.Command{
		Use:   "verify [FILE|-]",
		Short: "check that a log, an export or a backup is what was written",
		Long: `verify reads everything: of the log of a hub that is not running (--data), every record with its checksum and hash chain, and every fork with
the hash that it says of the events it shares; of an export or a backup (- is stdin), every line with its hash chain, every fork, and every
attachment. It names the first place that is wrong and ends with code 1. Attachments of which FILE says itself that they are missing are counted, and no fault.

An export from whose end lines were cut off is whole as far as it goes: compare the head hash with 'parley conversation show'. A backup
says itself where it ends.`,
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().StringVar(&data, "data", "", "the log: a directory, or the address of one on NATS servers (default: "+displayDataDir()+")")
	c.Flags().BoolVar(&o.WithoutAttachments, withoutAttachments, false, "take an export that was written without its files")
	return a.does(c, func(ctx context.Context, args []string) error {
		if err := givenData(c, data); err != nil {
			return err
		}
		if len(args) == 0 {
			return a.verifyData(ctx, data)
		}
		if data != "" {
			return usagef("give a FILE or --data, not both")
		}
		if args[0] == "-" {
			return a.verifyLines(a.in, "stdin", &o)
		}
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		return a.verifyLines(f, args[0], &o)
	})
}

func (a *app) verifyData(ctx context.Context, data string) error {
	j, err := openExisting(data)
	if err != nil {
		return err
	}
	defer j.Close()
	r, err := j.Verify(ctx)
	if err != nil {
		return err
	}
	missing, err := missingFiles(ctx, j)
	if err != nil {
		return err
	}
	forks, err := archive.CheckForks(ctx, j)
	if err != nil {
		return err
	}
	if a.format == formatJSON {
		return a.out.json(map[string]int64{"events": r.Records, "conversations": r.Conversations, "bytes": r.Bytes, "missing": missing, "forks": forks})
	}
	a.out.line(a.verified(r))
	a.tellMissing(missing)
	return nil
}

// missingFiles counts the attachments that events name and that are not there. What is there was verified.
func missingFiles(ctx context.Context, j journal.Journal) (n int64, err error) {
	named, err := archive.Attachments(ctx, j)
	if err != nil {
		return 0, err
	}
	for h := range named {
		switch _, err := j.GetBlob(h); {
		case errors.Is(err, journal.ErrNoBlob):
			n++
		case err != nil:
			return 0, err
		}
	}
	return n, nil
}

// tellMissing tells of attachments that a log lacks, after an import without them or because somebody has removed them.
func (a *app) tellMissing(n int64) {
	if n > 0 {
		a.err.linef("%s named and not in the log: who asks for them gets an error", count(n, "attachment"))
	}
}

func (a *app) verified(r journal.Report) string {
	return a.out.paint(styleGood, "ok") + fmt.Sprintf(": %s in %s, %d bytes: every checksum and every hash is right",
		count(r.Records, "event"), count(r.Conversations, "conversation"), r.Bytes)
}

// verifyLines checks an export or a backup, called name.
func (a *app) verifyLines(from io.Reader, name string, o *archive.CheckOptions) error {
	r, err := archive.Check(from, o)
	if err != nil {
		return notAsWritten(name, err)
	}
	if r.Events == 0 && r.Attachments == 0 && r.Backup == nil { // every line is one of these
		a.err.line(clean(name) + " is empty: " + nothingIn)
	}
	if a.format == formatJSON {
		return a.out.json(r)
	}
	for _, h := range r.Conversations {
		state := "open"
		if h.Closed {
			state = "closed"
		}
		a.out.linef("%s  seq %d  %s  %s", clean(h.ConversationID), h.Seq, state, h.HeadHash)
	}
	a.out.line(a.out.paint(styleGood, "ok") + ": " + whatIn(r) + ": every hash is right")
	if r.UnseenForks > 0 {
		a.err.linef("%s not held against the events that it shares, which do not stand together: import the file and verify the log", count(r.UnseenForks, "fork"))
	}
	return nil
}

// nothingIn says what an empty file may be.
const nothingIn = "an export of nothing, or a copy that failed"

// whatIn says what an export or backup holds.
func whatIn(r archive.Report) string {
	what := fmt.Sprintf("%s in %s%s", count(r.Events, "event"), count(int64(len(r.Conversations)), "conversation"), andFiles(r.Attachments))
	if r.Missing > 0 {
		what += fmt.Sprintf(" (%s not in the file)", count(r.Missing, "attachment"))
	}
	if r.Backup != nil {
		what = fmt.Sprintf("backup of %s: %s", r.Backup.At, what)
	}
	return what
}

// notAsWritten says what is wrong with a file of lines, and what to do.
func notAsWritten(name string, err error) error {
	var line *archive.LineError
	switch {
	case !errors.As(err, &line):
		return fmt.Errorf("%s: %w", name, err)
	case errors.Is(err, archive.ErrNoAttachment):
		return withHint(fmt.Errorf("%s: %w", name, err), "--"+withoutAttachments+" takes a file that was written without them")
	}
	return withHint(fmt.Errorf("%s: the file is not what was written: %w", name, err), "take it again from the hub")
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
