package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/hub/archive"
)

func (a *app) logBackupCommand() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "backup FILE|-",
		Short: "write all that a hub holds, while it runs",
		Long: `backup writes everything that the hub holds at that moment to FILE: all conversations, attachments and the hashes of tokens. The hub goes
on meanwhile. 'parley log import' makes a log of it again, 'parley log verify' checks it.

It asks the hub (PARLEY_URL) with a token of scope admin, or reads the log of a hub that is not running with --data. What comes is checked on
the way; FILE is there whole or not at all, and never in the directory of a log. With - it goes to stdout: there a backup that was cut off
lacks its last line, and the code is not 0.

An attachment that is gone or damaged on the hub's disk holds nothing up: FILE has everything else and says that it is missing. Then the code
is 1, and a line on stderr names some.

Keep it like the hub's data: it has all that was said, and who has its hashes can tell a token when he sees one.`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&data, "data", "", "log of a hub that is not running: a directory, or the address of one on NATS servers")
	return a.does(c, func(ctx context.Context, args []string) error {
		if err := givenData(c, data); err != nil {
			return err
		}
		if args[0] == "-" {
			r, err := a.backUp(ctx, data, a.out)
			if err == nil {
				err = incomplete(r.Lost)
			}
			return err
		}
		return a.backUpTo(ctx, data, args[0])
	})
}

// backUpTo writes a backup to a file, which is there whole or not at all.
func (a *app) backUpTo(ctx context.Context, data, name string) error {
	if err := mayReplace(name); err != nil {
		return err
	}
	f, err := createWhole(name)
	if err != nil {
		return err
	}
	defer f.discard()
	r, err := a.backUp(ctx, data, f)
	if err != nil {
		return err
	}
	if err := f.commit(); err != nil {
		return err
	}
	if a.format != formatJSON {
		a.err.linef("%s, %d bytes", whatIn(r), f.bytes)
		return incomplete(r.Lost)
	}
	if err := a.out.json(map[string]any{
		"file": name, "at": r.Backup.At, "events": r.Events, "conversations": len(r.Conversations), "attachments": r.Attachments, "missing": r.Missing,
		"bytes": f.bytes,
	}); err != nil {
		return err
	}
	return incomplete(r.Lost)
}

var errNoBackup = errors.New("what came is no backup")

// backUp copies a backup to w and checks it on the way.
func (a *app) backUp(ctx context.Context, data string, w io.Writer) (r archive.Report, err error) {
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
	return r, a.fetchBackup(ctx, check)
}

// readBackup gives check a backup of a log that no hub has open.
func readBackup(ctx context.Context, data string, check func(io.Reader) error) error {
	j, err := openExisting(data)
	if err != nil {
		return err
	}
	defer j.Close()
	out, in := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, err := archive.WriteBackup(ctx, in, j, version(), nil)
		in.CloseWithError(err)
	}()
	err = check(out)
	out.CloseWithError(io.ErrClosedPipe) // what check did not want to read nobody does
	<-written
	return err
}
