package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

// approvalsLook is how often a hub is asked for new approvals.
const approvalsLook = time.Second

func (a *app) approvalsWatchCommand() *cobra.Command {
	var f approvalsFlags
	c := &cobra.Command{
		Use:   "watch",
		Short: "print approvals as they are asked for, and how they end, until you stop it",
		Long: `watch prints each approval that waits for an answer, those that wait already first, and a line when one of them has ended. With -o json each line is an
approval, and one that has ended comes again. The hub is asked once a second, over any number of reconnects.`,
		Args: cobra.NoArgs,
	}
	f.add(c)
	return a.does(c, func(ctx context.Context, _ []string) error {
		n := &notices{}
		n.to(func(text string) { a.err.line("-- " + text) })
		client, err := a.dialTelling(ctx, f.as, n)
		if err != nil {
			return err
		}
		defer client.Close()
		w := &approvalsWatch{app: a, client: client, flags: &f, waiting: map[string]parley.Approval{}, every: approvalsLook}
		return w.run(ctx)
	})
}

// approvalsWatch tells of approvals that wait.
type approvalsWatch struct {
	app     *app
	client  parley.Client
	flags   *approvalsFlags
	waiting map[string]parley.Approval // those that were told and have not ended
	every   time.Duration
}

func (w *approvalsWatch) run(ctx context.Context) error {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errTimeout) && !errors.Is(err, parley.ErrUnavailable) {
			return err
		}
		if err := w.app.out.failure(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil // a signal is how one stops watching
		}
	}
}

// look asks what waits now, and tells what is new and what has ended.
func (w *approvalsWatch) look(ctx context.Context) error {
	pending := map[string]bool{}
	for p, err := range w.app.approvals(ctx, w.client, w.flags) {
		if err != nil {
			return err
		}
		pending[p.ApprovalID] = true
		if _, told := w.waiting[p.ApprovalID]; told {
			continue
		}
		w.waiting[p.ApprovalID] = p
		if err := w.tell(&p); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.waiting)) {
		if pending[id] {
			continue
		}
		if err := w.ended(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// ended tells how an approval has ended that waits no longer. One that the token does not see any more has no end to tell.
func (w *approvalsWatch) ended(ctx context.Context, id string) error {
	p, err := call(ctx, w.app, w.client.GetApproval, &parley.GetApprovalParams{ApprovalID: id})
	if errors.Is(err, parley.ErrNotFound) {
		delete(w.waiting, id)
		return nil
	}
	if err != nil || !p.Status.Resolved() {
		return err
	}
	delete(w.waiting, id)
	return w.tell(p)
}

func (w *approvalsWatch) tell(p *parley.Approval) error {
	if w.app.format == formatJSON {
		return w.app.out.json(p)
	}
	w.app.out.line(approvalLine(p))
	return nil
}

// approvalLine says in a line what is asked for, or how that has ended.
func approvalLine(p *parley.Approval) string {
	r := parley.ApprovalRecord{ApprovalID: p.ApprovalID, Title: p.Title, ExpiresAt: p.ExpiresAt, Status: p.Status, By: p.By, Comment: p.Comment}
	if p.Status.Resolved() {
		return approvalEndText(&r)
	}
	text := approvalAskText(p.AgentID, &r)
	if !p.MayAnswer {
		text += ", for others to answer"
	}
	return text
}
