package logs

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/files"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/hub/archive"
)

func newBackupCommand(a *cli.App) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "backup FILE|-",
		Short: "write a backup of a running hub",
		Long: `backup writes everything that the hub has at that moment to FILE: all conversations, attachments and
the hashes of tokens. The hub continues meanwhile. 'parley log import' makes a log of it again,
'parley log verify' checks it.

It asks the hub (PARLEY_URL) with a token of scope admin, or reads the log of a hub that is not
running with --data. The data are checked on the way. FILE is there whole or not at all, and never
in the directory of a log. With - it goes to stdout: a backup that was cut off lacks its last line
there, and the code is not 0.

An attachment that is missing or damaged on the hub's disk does not stop it: FILE has everything
else and marks it as missing. Then the code is 1, and a line on stderr names some.

Keep it like the hub's data: it has all messages, and its hashes identify a token.`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&data, "data", "",
		"log of a stopped hub: a directory, or the URL of a log on NATS servers")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if err := journals.CheckDataFlag(c, data); err != nil {
			return err
		}
		if args[0] == "-" {
			r, err := copyBackup(ctx, a, data, a.Out)
			if err == nil {
				err = newIncompleteError(r.Lost)
			}
			return err
		}
		return writeBackup(ctx, a, data, args[0])
	})
}

// writeBackup writes a backup to a file, which is there whole or not at all.
func writeBackup(ctx context.Context, a *cli.App, data, name string) error {
	if err := files.CheckReplaceable(name); err != nil {
		return err
	}
	f, err := files.Create(name)
	if err != nil {
		return err
	}
	defer f.Discard()
	r, err := copyBackup(ctx, a, data, f)
	if err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	if a.Format != cli.FormatJSON {
		a.Err.Linef("%s, %d bytes", contentsText(r), f.Bytes)
		return newIncompleteError(r.Lost)
	}
	if err := a.Out.JSON(map[string]any{
		"file": name, "at": r.Backup.At, "events": r.Events, "conversations": len(r.Conversations),
		"attachments": r.Attachments, "missing": r.Missing,
		"bytes": f.Bytes,
	}); err != nil {
		return err
	}
	return newIncompleteError(r.Lost)
}

var errNoBackup = errors.New("what came is no backup")

// copyBackup copies a backup to w and checks it on the way.
func copyBackup(ctx context.Context, a *cli.App, data string, w io.Writer) (r archive.Report, err error) {
	check := func(from io.Reader) error {
		r, err = archive.Check(io.TeeReader(from, w), nil)
		if err == nil && r.Backup == nil {
			err = errNoBackup
		}
		return err
	}
	if data != "" {
		return r, readBackup(ctx, data, check)
	}
	return r, fetchBackup(ctx, a, check)
}

// readBackup passes a backup of a closed log to check.
func readBackup(ctx context.Context, data string, check func(io.Reader) error) error {
	j, err := journals.OpenExisting(data)
	if err != nil {
		return err
	}
	defer j.Close()
	out, in := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, err := archive.WriteBackup(ctx, in, j, cli.Version(), nil)
		in.CloseWithError(err)
	}()
	err = check(out)
	out.CloseWithError(io.ErrClosedPipe) // the rest that check did not read
	<-written
	return err
}
