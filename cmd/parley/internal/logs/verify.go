package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
)

// namedMissing is how many files that are missing are named.
const namedMissing = 3

// incompleteError reports that everything except some attachments was written.
type incompleteError struct{ missing []journal.Hash }

// newIncompleteError is nil where nothing is missing.
func newIncompleteError(missing []journal.Hash) error {
	if len(missing) == 0 {
		return nil
	}
	return exit.WithHint(&incompleteError{missing},
		"the rest was written; 'parley log import' of a backup that has them brings them back into the log")
}

// Report names it incomplete.
func (e *incompleteError) Report() exit.Failure {
	return exit.Failure{What: e.Error(), Reason: "incomplete", Exit: exit.CodeFailure}
}

func (e *incompleteError) Error() string {
	var names []string
	for _, h := range e.missing[:min(len(e.missing), namedMissing)] {
		names = append(names, fmt.Sprintf("%x", h))
	}
	if more := len(e.missing) - namedMissing; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s gone or damaged where the log is: %s", cli.Count(int64(len(e.missing)), "attachment"),
		strings.Join(names, ", "))
}

func newVerifyCommand(a *cli.App) *cobra.Command {
	var data string
	var o archive.CheckOptions
	c := &cobra.Command{
		Use:   "verify [FILE|-]",
		Short: "verify that a log, an export or a backup is unchanged",
		Long: `verify reads everything: of the log of a hub that is not running (--data), every record
with its checksum and hash chain, and every fork with the hash that it says of the events it shares;
of an export or a backup (- is stdin), every line with its hash chain, every fork, and every
attachment. It names the first place that is wrong and ends with code 1. Attachments of which FILE
says itself that they are missing are counted, and no fault.

A truncated export is valid up to its end: compare the head hash with 'parley conversation show'. A
backup has an end marker.`,
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().StringVar(&data, "data", "", "log: a directory, or the URL of a log on NATS servers (default: "+
		journals.DataDirectoryHelp()+")")
	c.Flags().BoolVar(&o.WithoutAttachments, withoutAttachments, false,
		"accept an export without attachments")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if err := journals.CheckDataFlag(c, data); err != nil {
			return err
		}
		if len(args) == 0 {
			return verifyData(ctx, a, data)
		}
		if data != "" {
			return exit.Usagef("name a FILE or --data, not both")
		}
		if args[0] == "-" {
			return verifyLines(a, a.In, "stdin", &o)
		}
		f, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		return verifyLines(a, f, args[0], &o)
	})
}

func verifyData(ctx context.Context, a *cli.App, data string) error {
	j, err := journals.OpenExisting(data)
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
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(map[string]int64{"events": r.Records, "conversations": r.Conversations, "bytes": r.Bytes,
			"missing": missing, "forks": forks})
	}
	a.Out.Line(VerifiedText(a, r))
	printMissing(a, missing)
	return nil
}

// missingFiles counts the attachments that events name and the log does not have. The others were
// verified.
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

// printMissing reports attachments that a log lacks, after an import without them or after a
// removal.
func printMissing(a *cli.App, n int64) {
	if n > 0 {
		a.Err.Linef("%s named and not in the log: reading one returns an error", cli.Count(n, "attachment"))
	}
}

// VerifiedText describes the result of a verification.
func VerifiedText(a *cli.App, r journal.Report) string {
	return a.Out.Paint(cli.StyleGood, "ok") + fmt.Sprintf(": %s in %s, %d bytes: every checksum and every hash is right",
		cli.Count(r.Records, "event"), cli.Count(r.Conversations, "conversation"), r.Bytes)
}

// verifyLines checks an export or a backup, called name.
func verifyLines(a *cli.App, from io.Reader, name string, o *archive.CheckOptions) error {
	r, err := archive.Check(from, o)
	if err != nil {
		return fileError(name, err)
	}
	if r.Events == 0 && r.Attachments == 0 && r.Backup == nil { // every line is one of these
		a.Err.Line(cli.Clean(name) + " is empty: " + emptyFileHint)
	}
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(r)
	}
	for _, h := range r.Conversations {
		state := "open"
		if h.Closed {
			state = "closed"
		}
		a.Out.Linef("%s  seq %d  %s  %s", cli.Clean(h.ConversationID), h.Seq, state, h.HeadHash)
	}
	a.Out.Line(a.Out.Paint(cli.StyleGood, "ok") + ": " + contentsText(r) + ": every hash is right")
	if r.UnseenForks > 0 {
		a.Err.Linef("%s not compared with the events that it shares, which are not together in the file: import the file "+
			"and verify the log", cli.Count(r.UnseenForks, "fork"))
	}
	return nil
}

// emptyFileHint says what an empty file may be.
const emptyFileHint = "an export of nothing, or a copy that failed"

// contentsText says what an export or backup holds.
func contentsText(r archive.Report) string {
	what := fmt.Sprintf("%s in %s%s", cli.Count(r.Events, "event"), cli.Count(int64(len(r.Conversations)), "conversation"),
		AttachmentsText(r.Attachments))
	if r.Missing > 0 {
		what += fmt.Sprintf(" (%s not in the file)", cli.Count(r.Missing, "attachment"))
	}
	if r.Backup != nil {
		what = fmt.Sprintf("backup of %s: %s", r.Backup.At, what)
	}
	return what
}

// fileError says what is wrong with a file of lines, and what to do.
func fileError(name string, err error) error {
	var line *archive.LineError
	switch {
	case !errors.As(err, &line):
		return fmt.Errorf("%s: %w", name, err)
	case errors.Is(err, archive.ErrNoAttachment):
		return exit.WithHint(fmt.Errorf("%s: %w", name, err), "--"+withoutAttachments+
			" takes a file that was written without them")
	}
	return exit.WithHint(fmt.Errorf("%s: the file is not what was written: %w", name, err), "take it again from the hub")
}
