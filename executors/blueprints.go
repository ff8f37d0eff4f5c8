package executors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// registerBlueprints registers the blueprints after each registration of the executor. It ends with
// ctx, or if the hub refuses while turns are taken.
func (r *runner) registerBlueprints(taking, ctx context.Context) error {
	if len(r.opts.Blueprints) == 0 {
		return nil
	}
	for {
		select {
		case <-r.fresh:
		case <-ctx.Done():
			return nil
		}
		if err := r.registerBlueprintsOnce(taking, ctx); err != nil {
			return fmt.Errorf("register the blueprints of %s: %w", r.opts.ExecutorID, err)
		}
	}
}

// registerBlueprintsOnce repeats the call until the hub answers, or until there is a newer
// registration of the executor, which makes the answer irrelevant. It ignores a closed client,
// which register reports.
func (r *runner) registerBlueprintsOnce(taking, ctx context.Context) error {
	p, pauses := &parley.RegisterBlueprintsParams{Blueprints: r.opts.Blueprints}, r.opts.newPauses()
	for {
		result, err := r.client.RegisterBlueprints(ctx, p)
		switch {
		case ctx.Err() != nil || len(r.fresh) > 0:
			return nil
		case err == nil:
			r.notifyRegistered(result)
			return nil
		case taking.Err() == nil && !parley.ErrorRowOf(err).Retryable: // while draining, the executor may be unregistered for a moment
			return err
		}
		r.log.Debug("retrying", "error", err)
		if pause(ctx, pauses.next()) != nil {
			return nil
		}
	}
}

func (r *runner) notifyRegistered(result *parley.RegisterBlueprintsResult) {
	r.log.Debug("the blueprints are registered", "agents", len(result.Agents))
	if r.opts.Registered != nil {
		r.opts.Registered(result)
	}
}

// unregisterBlueprints removes the blueprints from the hub, so that no one waits for this runner.
// It does nothing if the registration ended, because the blueprints then belong to another runner,
// or the hub is gone. If it fails, the hub keeps them until the runner counts as offline.
func (r *runner) unregisterBlueprints(registered context.Context) {
	if len(r.opts.Blueprints) == 0 {
		return
	}
	select {
	case <-r.registered:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(registered, hurriedTimeout)
	defer cancel()
	if err := r.registerNone(ctx); err != nil && registered.Err() == nil {
		r.log.Warn("unregistering the blueprints failed", "error", err)
	}
}

// registerNone registers an empty list of blueprints. The hub refuses that only while the executor
// is not registered.
func (r *runner) registerNone(ctx context.Context) error {
	p, pauses := &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{}}, r.opts.newPauses()
	for ctx.Err() == nil {
		_, err := r.client.RegisterBlueprints(ctx, p)
		if err == nil || !isTemporary(err) && !errors.Is(err, parley.ErrValidationFailed) {
			return err
		}
		t := time.NewTimer(pauses.next())
		select {
		case <-r.fresh:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
	return context.Cause(ctx)
}
