package hub

import (
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
)

// narrow takes from what a runner has said, by another token perhaps, the workspaces that p's token does not grant and the subscriptions of agents as which it may
// not speak: they count again when it says so anew, by a token that may.
func (r *runners) Narrow(p *auth.Principal, ref parley.RunnerRef) error {
	r.saying.Lock()
	defer r.saying.Unlock()
	record := r.narrowed(p, ref)
	if record == nil {
		return nil
	}
	written := make(chan error, 1)
	r.write(0, parley.System{Kind: parley.KindRunnerRegistered, RunnerRecord: record}, func(err error) { written <- err })
	err := <-written
	if err == nil {
		r.hub.triggers.QueueWaiting(false)
	}
	return err
}

// narrowed is what is left of what a runner has said; nil where that is all, or it is not known.
func (r *runners) narrowed(p *auth.Principal, ref parley.RunnerRef) *parley.RunnerRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.byID[ref.RunnerID]
	if x == nil || x.ParticipantID != ref.ParticipantID {
		return nil
	}
	record, grants, less := x.RunnerRecord, watchableBy(p), false
	record.Workspaces = nil
	for _, w := range x.Workspaces {
		if auth.IsGranted(grants, w) {
			record.Workspaces = append(record.Workspaces, w)
		} else {
			less = true
		}
	}
	record.Blueprints = slices.Clone(record.Blueprints)
	for i := range record.Blueprints {
		if b := &record.Blueprints[i]; checkSubscriber(p, b) != nil {
			b.Subscriptions, less = nil, true
		}
	}
	if !less {
		return nil
	}
	return &record
}
