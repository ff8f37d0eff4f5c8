package approval

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

// pollInterval is how often a hub is asked for new approvals.
const pollInterval = time.Second

func newWatchCommand(a *cli.App) *cobra.Command {
	var f listFlags
	c := &cobra.Command{
		Use:   "watch",
		Short: "print approvals as they are asked for, and how they end, until you stop it",
		Long: `watch prints each approval that waits for an answer, those that wait already first, and a line when one of them has ended. With -o json each line is an
approval, and one that has ended comes again. The hub is asked once a second, over any number of reconnects.`,
		Args: cobra.NoArgs,
	}
	f.addTo(c)
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		n := &cli.ConnectionNotices{}
		n.SendTo(func(text string) { a.Err.Line("-- " + text) })
		client, err := a.DialNotifying(ctx, f.as, n)
		if err != nil {
			return err
		}
		defer client.Close()
		w := &watcher{app: a, client: client, flags: &f, waiting: map[string]parley.Approval{}, every: pollInterval}
		return w.run(ctx)
	})
}

// watcher tells of approvals that wait.
type watcher struct {
	app     *cli.App
	client  parley.Client
	flags   *listFlags
	waiting map[string]parley.Approval // those that were told and have not ended
	every   time.Duration
}

func (w *watcher) run(ctx context.Context) error {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		if err := w.poll(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, exit.ErrTimeout) && !errors.Is(err, parley.ErrUnavailable) {
			return err
		}
		if err := w.app.Out.WriteError(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil // a signal is how one stops watching
		}
	}
}

// poll asks what waits now, and tells what is new and what has ended.
func (w *watcher) poll(ctx context.Context) error {
	pending := map[string]bool{}
	for p, err := range list(ctx, w.app, w.client, w.flags) {
		if err != nil {
			return err
		}
		pending[p.ApprovalID] = true
		if _, told := w.waiting[p.ApprovalID]; told {
			continue
		}
		w.waiting[p.ApprovalID] = p
		if err := w.print(&p); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.waiting)) {
		if pending[id] {
			continue
		}
		if err := w.reportEnd(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// reportEnd tells how an approval has ended that waits no longer. One that the token does not see any more has no end to tell.
func (w *watcher) reportEnd(ctx context.Context, id string) error {
	p, err := cli.Call(ctx, w.app, w.client.GetApproval, &parley.GetApprovalParams{ApprovalID: id})
	if errors.Is(err, parley.ErrNotFound) {
		delete(w.waiting, id)
		return nil
	}
	if err != nil || !p.Status.Resolved() {
		return err
	}
	delete(w.waiting, id)
	return w.print(p)
}

func (w *watcher) print(p *parley.Approval) error {
	if w.app.Format == cli.FormatJSON {
		return w.app.Out.JSON(p)
	}
	w.app.Out.Line(lineText(p))
	return nil
}

// lineText says in a line what is asked for, or how that has ended.
func lineText(p *parley.Approval) string {
	r := parley.ApprovalRecord{ApprovalID: p.ApprovalID, Title: p.Title, ExpiresAt: p.ExpiresAt, Status: p.Status, By: p.By, Comment: p.Comment}
	if p.Status.Resolved() {
		return view.ApprovalEndText(&r)
	}
	text := view.ApprovalRequestText(p.AgentID, &r)
	if !p.MayAnswer {
		text += ", for others to answer"
	}
	return text
}
