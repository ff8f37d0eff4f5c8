package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/hub/journal"
)

func (a *app) logVerifyCommand() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "verify [FILE.jsonl]",
		Short: "check that a log or an export is what was written",
		Long: `verify reads everything: of the log of a hub that is not running (--data), every record with its checksum and hash chain; of an
export, every line with its hash chain. It names the first place that is wrong and ends with code 1.

An export from whose end lines were cut off is whole as far as it goes: compare the head hash with 'parley conversation show'.`,
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().StringVar(&data, "data", "", "directory of the log (default: "+displayDataDir()+")")
	return a.does(c, func(ctx context.Context, args []string) error {
		if len(args) == 0 {
			return a.verifyData(ctx, data)
		}
		if data != "" {
			return usagef("give a FILE or --data, not both")
		}
		return a.verifyFile(args[0])
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
	if a.format == formatJSON {
		return a.out.json(map[string]int64{"events": r.Records, "conversations": r.Conversations, "bytes": r.Bytes})
	}
	a.out.line(a.verified(r))
	return nil
}

func (a *app) verified(r journal.Report) string {
	return a.out.paint(styleGood, "ok") + fmt.Sprintf(": %s in %s, %d bytes: every checksum and every hash is right",
		count(r.Records, "event"), count(r.Conversations, "conversation"), r.Bytes)
}

func (a *app) verifyFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := verifyExport(f)
	if err != nil {
		return withHint(fmt.Errorf("%s: %w", name, err), "take the export again from the hub")
	}
	if r.Events == 0 {
		return fmt.Errorf("%s: %w", name, errors.New("nothing in it"))
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
	a.out.line(a.out.paint(styleGood, "ok") + fmt.Sprintf(": %s in %s: every hash is right",
		count(r.Events, "event"), count(int64(len(r.Conversations)), "conversation")))
	return nil
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
