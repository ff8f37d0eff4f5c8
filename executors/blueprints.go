package executors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
)

// present tells the hub which deterministic agents are run here, after each registration, until ctx ends or the hub refuses while turns are taken.
func (r *runner) present(taking, ctx context.Context) error {
	if len(r.opts.Blueprints) == 0 {
		return nil
	}
	for {
		select {
		case <-r.fresh:
		case <-ctx.Done():
			return nil
		}
		if err := r.presentOnce(taking, ctx); err != nil {
			return fmt.Errorf("register the blueprints of %s: %w", r.opts.ExecutorID, err)
		}
	}
}

// presentOnce does so until the hub has answered, or there is a newer registration: then what this one has brought does not count. Whether the client
// is at its end the registration finds out.
func (r *runner) presentOnce(taking, ctx context.Context) error {
	p, pauses := &parley.RegisterBlueprintsParams{Blueprints: r.opts.Blueprints}, r.opts.newPauses()
	for {
		result, err := r.client.RegisterBlueprints(ctx, p)
		switch {
		case ctx.Err() != nil || len(r.fresh) > 0:
			return nil
		case err == nil:
			r.presented(result)
			return nil
		case taking.Err() == nil && !parley.ErrorRowOf(err).Retryable: // later there may be no registration for a moment
			return err
		}
		r.log.Debug("tried again", "error", err)
		if pause(ctx, pauses.next()) != nil {
			return nil
		}
	}
}

func (r *runner) presented(result *parley.RegisterBlueprintsResult) {
	r.log.Debug("the blueprints are registered", "agents", len(result.Agents))
	if r.opts.Registered != nil {
		r.opts.Registered(result)
	}
}

// leave takes the blueprints back: nobody is to wait for this runner. It is not done where the registration has ended: then they are another's, or the hub is
// gone. When it cannot be done the hub waits for the runner until it counts as offline.
func (r *runner) leave(registered context.Context) {
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
	if err := r.sayNone(ctx); err != nil && registered.Err() == nil {
		r.log.Warn("the hub was not told that this runner leaves", "error", err)
	}
}

// sayNone registers no blueprints. That can be refused only where there is no registration at the moment.
func (r *runner) sayNone(ctx context.Context) error {
	p, pauses := &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{}}, r.opts.newPauses()
	for ctx.Err() == nil {
		_, err := r.client.RegisterBlueprints(ctx, p)
		if err == nil || !mends(err) && !errors.Is(err, parley.ErrValidationFailed) {
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
