// Package logs has the command log, which verifies, exports, backs up, imports and compacts logs.
//
//	root.AddCommand(logs.NewCommand(app))
package logs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// NewCommand returns the command log.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{Use: "log", Short: "verify, export, back up, import and compact the log"},
		newVerifyCommand(a), newExportCommand(a), newBackupCommand(a), newImportCommand(a), newCompactCommand(a))
}

// withoutAttachments is the flag of the commands that read or write files of lines.
const withoutAttachments = "without-attachments"

func newCompactCommand(a *cli.App) *cobra.Command {
	var data string
	var drop bool
	c := &cobra.Command{
		Use:   "compact",
		Short: "release unused space in the log of a stopped hub",
		Long: `compact rewrites the log without unused space. No event is lost: the new files are read through
before they replace the old ones. It needs as much free space as the log has events, and may be
stopped or killed at any time.

Interrupted uploads leave attachments that no event names; --drop-unused-attachments removes them.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&data, "data", "", "directory of the log (default: "+journals.DataDirectoryHelp()+")")
	c.Flags().BoolVar(&drop, "drop-unused-attachments", false, "remove attachments that no event names")
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		if err := journals.CheckDataFlag(c, data); err != nil {
			return err
		}
		done, err := compact(ctx, data, drop)
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(map[string]int64{
				"before": done.Before, "after": done.After, "attachments": done.Blobs, "attachmentBytes": done.BlobBytes,
			})
		}
		a.Out.Linef("%d bytes before, %d after", done.Before, done.After)
		if drop {
			a.Out.Linef("%s removed, %d bytes", cli.Count(done.Blobs, "unused attachment"), done.BlobBytes)
		}
		return nil
	})
}

func compact(ctx context.Context, data string, drop bool) (done bolt.Compacted, err error) {
	if journals.IsShared(data) {
		return done, exit.Usagef("--data: a log on NATS servers is never compacted: nothing of it is unused")
	}
	j, err := journals.OpenExisting(data)
	if err != nil {
		return done, err
	}
	defer func() {
		if e := j.Close(); err == nil {
			err = e
		}
	}()
	o := &bolt.CompactOptions{}
	if drop {
		named, err := archive.Attachments(ctx, j)
		if err != nil {
			return done, err
		}
		o.KeepBlob = func(h journal.Hash) bool {
			_, keep := named[h]
			return keep
		}
	}
	return j.(*bolt.Journal).Compact(ctx, o) // no other lies in a directory
}
