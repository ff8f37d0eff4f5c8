package registry

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/internal/turns"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// RegisterBlueprints replaces the agents of the executor of p's connection. Without blueprints the
// executor leaves. The calls of a connection take effect in their order.
func (r *Registry) RegisterBlueprints(
	p *auth.Principal, q *parley.RegisterBlueprintsParams, done func(parley.RegisterBlueprintsResult, error),
) {
	_, err := executorOf(r.auth, p)
	if err == nil {
		err = r.engine.Begin()
	}
	if err != nil {
		done(parley.RegisterBlueprintsResult{}, err)
		return
	}
	answered := make(chan struct{})
	before := turns.ConnectionOf(p).QueueBlueprints(answered)
	r.engine.Go(func() { // because schemas take time to compile
		defer r.engine.End()
		if before != nil {
			<-before
		}
		result, err := r.register(p, q)
		close(answered)
		done(result, err)
	})
}

func executorOf(a *auth.Service, p *auth.Principal) (*fold.Executor, error) {
	if err := a.AllowClaims(p, methods.RegisterBlueprints); err != nil {
		return nil, err
	}
	if x := turns.ConnectionOf(p).Registration(); x != nil {
		return x, nil
	}
	return nil, page.Invalid("registerExecutor before", "the connection is registered as no executor")
}

func (r *Registry) register(
	p *auth.Principal, q *parley.RegisterBlueprintsParams,
) (out parley.RegisterBlueprintsResult, err error) {
	executor, err := executorOf(r.auth, p) // again: the connection may be closed now
	if err != nil {
		return out, err
	}
	if err := r.engine.CatchUp(r.engine.Context()); err != nil { // the record is compared with the known one
		return out, err
	}
	ref := parley.RunnerRef{RunnerID: executor.ID, ParticipantID: executor.Owner}
	if len(q.Blueprints) == 0 {
		out.Agents = []parley.RegisteredBlueprint{}
		return out, r.leave(ref)
	}
	blueprints, err := checkBlueprints(p, q.Blueprints)
	if err != nil {
		return out, err
	}
	x := newRunner(&parley.RunnerRecord{
		RunnerRef: ref, Blueprints: blueprints, Labels: executor.Labels, Workspaces: watchableBy(p),
		Internal: executor.Internal,
	})
	if err := x.compile(); err != nil {
		return out, err
	}
	if err := r.save(x); err != nil {
		return out, err
	}
	out.Agents = r.namesOf(x)
	return out, nil
}

func (r *Registry) leave(ref parley.RunnerRef) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if !r.Has(ref) {
		return nil
	}
	return r.write(0, ref, parley.System{Kind: parley.KindRunnerLeft, RunnerRef: &ref, Reason: reasonLeft})
}

// save writes the record of x, unless it is the current one.
func (r *Registry) save(x *Runner) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	if isKnown, err := r.admit(x); err != nil || isKnown {
		return err
	}
	if err := r.budgets.spend(x.ParticipantID, x.bytes); err != nil {
		return err
	}
	err := r.write(0, x.RunnerRef, parley.System{Kind: parley.KindRunnerRegistered, RunnerRecord: &x.RunnerRecord})
	if err == nil && !r.Has(x.RunnerRef) { // another hub wrote the id first
		return errRunnerTaken(x.RunnerID)
	}
	return err
}

// admit refuses a runner whose id belongs to another participant, or whose agents do not fit into
// an answer of listAgents. It reports whether the record is the current one.
func (r *Registry) admit(x *Runner) (isKnown bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.runners[x.RunnerID]
	if old != nil && old.ParticipantID != x.ParticipantID {
		return false, errRunnerTaken(x.RunnerID)
	}
	bytes := sumBytes(r.hubAgents) + x.bytes
	for _, other := range r.runners {
		if other != old {
			bytes += other.bytes
		}
	}
	if bytes > limits.MaxPageBytes {
		return false, parley.Refuse(parley.ErrTooLarge,
			"the agents no longer fit into one answer", "fewer blueprints, or smaller schemas")
	}
	return old != nil && isSame(&old.RunnerRecord, &x.RunnerRecord), nil
}

func errRunnerTaken(id string) error {
	return parley.Refuse(parley.ErrAlreadyExists, "the runner "+id+" is another participant's", "another executorId")
}

// Bounds of the bytes that one participant may write to the log of runners. The log only grows, and
// each start of the hub reads it.
const (
	maxBurst       = 4 << 20
	bytesPerSecond = 1 << 10
	maxBudgets     = 10_000 // beyond that all participants get new ones
)

// budgets bound what each participant writes to the log.
type budgets map[string]*rate.Limiter

// spend refuses n bytes of a participant that wrote too much.
func (b budgets) spend(participant string, n int) error {
	budget := b[participant]
	if budget == nil {
		if len(b) >= maxBudgets {
			clear(b)
		}
		budget = rate.NewLimiter(bytesPerSecond, maxBurst)
		b[participant] = budget
	}
	now := time.Now()
	reserved := budget.ReserveN(now, min(n, maxBurst))
	wait := reserved.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reserved.CancelAt(now)
	return &parley.Error{
		Err: parley.ErrRateLimited, Message: "the blueprints have changed too often",
		RetryAfterMs: wait.Milliseconds() + 1,
		Expected:     fmt.Sprintf("the same blueprints again, or at most %d bytes of others each second", bytesPerSecond),
	}
}

// Narrow implements turns.Runners. It removes from the record of a runner, which another token may
// have registered, the rights that p does not have. They return when a token that has them
// registers the blueprints again.
func (r *Registry) Narrow(p *auth.Principal, ref parley.RunnerRef) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.mu.Lock()
	x := r.findLocked(ref)
	r.mu.Unlock()
	if x == nil {
		return nil
	}
	record, isNarrower := narrowRecord(p, x.RunnerRecord)
	if !isNarrower {
		return nil
	}
	return r.write(0, ref, parley.System{Kind: parley.KindRunnerRegistered, RunnerRecord: &record})
}

// narrowRecord removes the workspaces that p does not grant and the subscriptions of agents as
// which p may not speak. It reports whether there are any.
func narrowRecord(p *auth.Principal, record parley.RunnerRecord) (_ parley.RunnerRecord, isNarrower bool) {
	granted, all := watchableBy(p), record.Workspaces
	record.Workspaces = slices.DeleteFunc(slices.Clone(all), func(w string) bool { return !auth.IsGranted(granted, w) })
	isNarrower = len(record.Workspaces) < len(all)
	record.Blueprints = slices.Clone(record.Blueprints)
	for i := range record.Blueprints {
		if b := &record.Blueprints[i]; checkSubscriber(p, b) != nil {
			b.Subscriptions, isNarrower = nil, true
		}
	}
	return record, isNarrower
}

// watchableBy returns the workspaces that the agents of p's runner may watch: none if the token of
// p is restricted to some conversations.
func watchableBy(p *auth.Principal) []string {
	if !p.IsUnrestricted() {
		return nil
	}
	return slices.Clone(p.Workspaces())
}
