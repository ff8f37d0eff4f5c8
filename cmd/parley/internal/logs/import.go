package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/files"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

func newImportCommand(a *cli.App) *cobra.Command {
	var data string
	var o archive.CheckOptions
	c := &cobra.Command{
		Use:   "import FILE|-",
		Short: "import an export or a backup into the log of a stopped hub",
		Long: `import appends the events of FILE that the log in --data lacks. The directory is created if it is
absent. So conversations move from a directory to NATS servers and back (--data
nats://host:4222?stream=NAME, see docs/guides/several-hubs.md), with the same hashes. First it checks all of FILE,
and that each conversation in it continues the one of the log: if anything is wrong, nothing is
written, and the line is named.

It may be repeated: existing events do not change. Repeat an interrupted import before you start a
hub on the log.

Attachments that are missing or damaged in the log are restored if FILE has them. The output counts
the attachments that neither the log nor FILE has. They are no fault if FILE marks them as missing.

A backup brings its tokens with it, into a log without tokens or with older ones of the same hub;
tokens that were revoked after the backup are valid again. An export brings none.`,
		Args: cobra.ExactArgs(1),
	}
	c.Flags().StringVar(&data, "data", "", "log: a directory, or the URL of a log on NATS servers (default: "+
		journals.DataDirectoryHelp()+")")
	c.Flags().BoolVar(&o.WithoutAttachments, withoutAttachments, false,
		"accept an export without attachments")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if err := journals.CheckDataFlag(c, data); err != nil {
			return err
		}
		dir, err := journals.DataDirectory(data)
		if err != nil {
			return err
		}
		f, err := openImport(a, args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		done, err := importFile(ctx, f, args[0], dir, &o)
		if err != nil {
			return err
		}
		return printImported(a, done, dir)
	})
}

// openImport opens a file, or a copy of stdin.
func openImport(a *cli.App, name string) (*os.File, error) {
	if name == "-" {
		return files.Spool(a.In)
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
	return files.Spool(f) // such as a pipe
}

// importFile checks f, called name, and then imports it. Nothing is made in dir before the check
// has passed.
func importFile(ctx context.Context, f io.ReadSeeker, name, dir string, o *archive.CheckOptions) (done archive.Imported,
	err error) {
	if err := checkNotEmpty(f, name); err != nil {
		return done, err
	}
	var j journal.Journal
	if journals.IsShared(dir) || bolt.Exists(dir) {
		if j, err = journals.Open(dir); err != nil {
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
		if j, err = journals.Open(dir); err != nil {
			return done, err
		}
		if j.Last() > 0 { // another process made a log there meanwhile, and f was not checked against it
			err = checkImport(ctx, f, name, j, o)
		}
		if err != nil {
			return done, err
		}
	}
	done, err = archive.Import(ctx, f, j, o)
	if err != nil {
		return done,
			exit.WithHint(fmt.Errorf("the import of %s ended after %s: %w", name, cli.Count(done.Added, "event"), err),
				"repeat it: it continues from there")
	}
	return done, nil
}

// checkNotEmpty refuses a file without a line, and leaves f at its beginning.
func checkNotEmpty(f io.Seeker, name string) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size == 0 {
		return exit.WithHint(fmt.Errorf("%s is empty: nothing was imported", name), emptyFileHint)
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// checkImport checks f against j, and returns to its beginning.
func checkImport(ctx context.Context, f io.ReadSeeker, name string, j journal.Journal, o *archive.CheckOptions) error {
	if err := archive.CheckImport(ctx, f, j, o); err != nil {
		return importError(ctx, name, err)
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// importError says why nothing was imported.
func importError(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, archive.ErrNoAttachment) {
		return fileError(name, err)
	}
	return exit.WithHint(fmt.Errorf("%s: nothing was imported: %w", name, err),
		"'parley log verify FILE' checks a file by itself")
}

func printImported(a *cli.App, done archive.Imported, dir string) error {
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(done)
	}
	what := fmt.Sprintf("%s added to the log in %s", cli.Count(done.Added, "event"), dir)
	if done.Present > 0 {
		what += fmt.Sprintf(", %d were there already", done.Present)
	}
	a.Out.Linef("%s; %s%s in the file", what, cli.Count(done.Conversations, "conversation"),
		AttachmentsText(done.Attachments))
	printMissing(a, done.Missing)
	return nil
}
