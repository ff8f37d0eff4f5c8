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
	"github.com/parleyhub/parley/hub/journal/bolt"
)

func (a *app) logImportCommand() *cobra.Command {
	var data string
	var o archive.CheckOptions
	c := &cobra.Command{
		Use:   "import FILE|-",
		Short: "put an export or a backup into the log of a hub that is not running",
		Long: `import appends what FILE has and the log in --data has not; the directory is made if it is absent. So conversations move from a directory to
NATS servers and back (--data nats://host:4222?stream=NAME, see docs/scale.md), with every hash as it was. First it checks all of FILE, and that each
conversation in it goes on from what the log has: if anything is wrong, nothing is written, and the line is named.

It may be repeated: what is there already stays as it is. So one that was interrupted goes on where it ended. Do so before a hub is
started there.

Attachments that are gone or damaged in the log are put back if FILE has them. Those that neither has are counted, and no fault if FILE says
that they are missing.

A backup brings its tokens with it, into a log that has none or older ones of the same hub; those that were revoked after it was taken are
good again. An export brings none.`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&data, "data", "", "the log: a directory, or the address of one on NATS servers (default: "+displayDataDir()+")")
	c.Flags().BoolVar(&o.WithoutAttachments, withoutAttachments, false, "take an export that was written without its files")
	return a.does(c, func(ctx context.Context, args []string) error {
		if err := givenData(c, data); err != nil {
			return err
		}
		dir, err := dataDir(data)
		if err != nil {
			return err
		}
		f, err := a.openImport(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		done, err := importFile(ctx, f, args[0], dir, &o)
		if err != nil {
			return err
		}
		return a.imported(done, dir)
	})
}

// openImport opens a file, or what stdin gives as one.
func (a *app) openImport(name string) (*os.File, error) {
	if name == "-" {
		return spool(a.in)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.Mode().IsRegular() {
		return f, nil
	}
	defer f.Close()
	return spool(f) // such as a pipe
}

// importFile checks f, called name, and then imports it. Nothing is made in dir before the check has passed.
func importFile(ctx context.Context, f io.ReadSeeker, name, dir string, o *archive.CheckOptions) (done archive.Imported, err error) {
	if err := notEmpty(f, name); err != nil {
		return done, err
	}
	var j journal.Journal
	if isShared(dir) || bolt.Exists(dir) {
		if j, err = openData(dir); err != nil {
			return done, err
		}
	}
	defer func() {
		if j != nil {
			err = errors.Join(err, j.Close())
		}
	}()
	if err := checkImport(ctx, f, name, j, o); err != nil {
		return done, err
	}
	if j == nil {
		if j, err = openData(dir); err != nil {
			return done, err
		}
		if j.Last() > 0 { // somebody has made a log there meanwhile, and f was not held against it
			err = checkImport(ctx, f, name, j, o)
		}
		if err != nil {
			return done, err
		}
	}
	done, err = archive.Import(ctx, f, j, o)
	if err != nil {
		return done, withHint(fmt.Errorf("the import of %s ended after %s: %w", name, count(done.Added, "event"), err),
			"repeat it: it goes on from there")
	}
	return done, nil
}

// notEmpty refuses a file without a line, and leaves f at its beginning.
func notEmpty(f io.Seeker, name string) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size == 0 {
		return withHint(fmt.Errorf("%s is empty: nothing was imported", name), nothingIn)
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// checkImport holds f against j, and goes back to its beginning.
func checkImport(ctx context.Context, f io.ReadSeeker, name string, j journal.Journal, o *archive.CheckOptions) error {
	if err := archive.CheckImport(ctx, f, j, o); err != nil {
		return notImportable(ctx, name, err)
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// notImportable says why nothing was imported.
func notImportable(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, archive.ErrNoAttachment) {
		return notAsWritten(name, err)
	}
	return withHint(fmt.Errorf("%s: nothing was imported: %w", name, err), "'parley log verify FILE' checks a file by itself")
}

func (a *app) imported(done archive.Imported, dir string) error {
	if a.format == formatJSON {
		return a.out.json(done)
	}
	what := fmt.Sprintf("%s added to the log in %s", count(done.Added, "event"), dir)
	if done.Present > 0 {
		what += fmt.Sprintf(", %d were there already", done.Present)
	}
	a.out.linef("%s; %s%s in the file", what, count(done.Conversations, "conversation"), andFiles(done.Attachments))
	a.tellMissing(done.Missing)
	return nil
}
