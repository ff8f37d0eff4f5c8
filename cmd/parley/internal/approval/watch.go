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
		Short: "print new approvals and their decisions until interrupted",
		Long: `watch prints each pending approval, the existing ones first, and a line when one of them
is resolved. With -o json each line is an approval, and a resolved one is printed again. It polls
the hub once a second, and continues after reconnects.`,
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

// watcher prints approvals that wait.
type watcher struct {
	app     *cli.App
	client  parley.Client
	flags   *listFlags
	waiting map[string]parley.Approval // the printed ones that have not ended
	every   time.Duration
}

func (w *watcher) run(ctx context.Context) error {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		if err := w.poll(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, exit.ErrTimeout) &&
			!errors.Is(err, parley.ErrUnavailable) {
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

// poll lists the pending approvals, and prints new ones and ended ones.
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

// reportEnd prints how an approval ended that is no longer pending. It prints nothing for one that
// the token cannot see any more.
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

// lineText returns the request, or how it ended, in one line.
func lineText(p *parley.Approval) string {
	r := parley.ApprovalRecord{ApprovalID: p.ApprovalID, Title: p.Title, ExpiresAt: p.ExpiresAt, Status: p.Status,
		By: p.By, Comment: p.Comment}
	if p.Status.Resolved() {
		return view.ApprovalEndText(&r)
	}
	text := view.ApprovalRequestText(p.AgentID, &r)
	if !p.MayAnswer {
		text += ", for others to answer"
	}
	return text
}
