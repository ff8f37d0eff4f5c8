package hub

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/parleyhub/parley/hub/internal/conv"

	"golang.org/x/time/rate"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/selector"
)

// runnersConversation is where the hub keeps what runners have said: an ordinary log that only admins see.
const runnersConversation = "~runners"

// runner is one that has registered blueprints and has not left.
type runner struct {
	parley.RunnerRecord
	agents map[string]*blueprint // by plain name
	bytes  int                   // about those of its rows in listAgents
	away   parley.Timestamp      // since when no connection of it is there; 0 while one is
}

// blueprint is an agent of a runner.
type blueprint struct {
	parley.Blueprint
	runner     *runner
	parameters *paramschema.Schema
	set        *selector.Set // nil where it subscribes to nothing
}

// runners are a fold of runnersConversation, and of who is connected. A name belongs to the runner that was the first to have it.
type runners struct {
	hub   *Hub
	alarm *conv.Clock // by runner id: when one that is away is gone

	saying  sync.Mutex               // held from looking whether there is room for what a runner says until that is written; guards the field below
	budgets map[string]*rate.Limiter // by participant

	folding sync.Mutex // held while the log is read; guards the field below
	folded  int64      // the last event of the log that was taken in

	mu    sync.Mutex // guards the fields below
	byID  map[string]*runner
	names map[string][]*blueprint // by plain name, the first runner's first
	bytes int
	lost  map[string]*runner // that have just been taken to be offline; of a hub that shares its journal
}

func newRunners(h *Hub) *runners {
	r := &runners{hub: h, byID: make(map[string]*runner), names: make(map[string][]*blueprint), lost: make(map[string]*runner)}
	r.alarm = conv.NewClock(h.conv, r.check)
	return r
}

// load folds the log. All runners are away: the time that the hub was down does not count. Schemas are compiled at the end, of those who are still there: the log
// may be long.
func (r *runners) load() error {
	if _, err := r.read(func(*runner) bool { return true }); err != nil {
		return err
	}
	for _, x := range r.all() {
		r.compiles(x)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, places := range r.names {
		r.hub.setTriggers(name, places)
	}
	clear(r.lost) // nobody is connected yet
	return nil
}

// read takes in what the log has that was not taken in, and gives the runners that it is about. One that is not good is not put in.
func (r *runners) read(good func(*runner) bool) (about []parley.RunnerRef, err error) {
	r.folding.Lock()
	defer r.folding.Unlock()
	for {
		records, err := r.hub.journal.Read(runnersConversation, r.folded, 1000, 4<<20)
		if err != nil || len(records) == 0 {
			return about, err
		}
		for _, record := range records {
			var e parley.Event
			if err := json.Unmarshal(record.Data, &e); err != nil {
				return about, err
			}
			ref, err := r.fold(&e, good)
			if err != nil {
				return about, err
			}
			if r.folded = record.Seq; ref != nil {
				about = append(about, *ref)
			}
		}
	}
}

// follow takes in what others have written, and has looked after what that is of use to, or the end of. A hub that is alone takes in its own events as they are committed.
func (r *runners) follow() error {
	about, err := r.read(r.compiles)
	if len(about) == 0 {
		return err
	}
	for _, ref := range about {
		r.hub.sessions.QueueOfRunner(ref, true)
		r.stays(ref)
	}
	r.hub.triggers.QueueWaiting(true)
	return err
}

func (r *runners) all() []*runner {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.byID))
}

// take folds one event of the log. Events must be taken in the order of their seqs.
func (r *runners) take(e *parley.Event) error {
	_, err := r.fold(e, r.compiles)
	return err
}

// fold is take; a runner that is not good is not put in. It gives the runner that the event is about.
func (r *runners) fold(e *parley.Event, good func(*runner) bool) (*parley.RunnerRef, error) {
	sys, err := e.System()
	switch {
	case err != nil:
		return nil, err
	case sys.Kind == parley.KindRunnerRegistered && sys.RunnerRecord != nil:
		if x := newRunner(sys.RunnerRecord); good(x) {
			r.put(x)
		}
		return &sys.RunnerRecord.RunnerRef, nil
	case sys.Kind == parley.KindRunnerLeft && sys.RunnerRef != nil:
		r.remove(*sys.RunnerRef, sys.Reason == runnerOffline)
		return sys.RunnerRef, nil
	}
	return nil, nil
}

// newRunner is a runner whose schemas are not compiled yet.
func newRunner(record *parley.RunnerRecord) *runner {
	x := &runner{RunnerRecord: *record, agents: make(map[string]*blueprint, len(record.Blueprints))}
	for i := range record.Blueprints {
		b := &blueprint{Blueprint: record.Blueprints[i], runner: x}
		x.agents[b.Name] = b
		x.bytes += b.rowBytes()
	}
	return x
}

func (x *runner) compile() error {
	for _, b := range x.agents {
		var err error
		if b.parameters, err = paramschema.Compile(b.ParametersSchema); err != nil {
			return err
		}
		if err := b.subscribe(); err != nil {
			return atBlueprint(b.Name, err)
		}
	}
	return nil
}

// subscribe compiles what it subscribes to.
func (b *blueprint) subscribe() error {
	if len(b.Subscriptions) == 0 {
		return nil
	}
	set, faults := selector.Compile(b.Subscriptions)
	if len(faults) > 0 {
		return parley.Refuse(parley.ErrValidationFailed, "subscriptions: "+told(faults), "subscriptions as docs/blueprint.schema.json says")
	}
	b.set = set
	return nil
}

// compiles compiles the schemas and subscriptions of x. Where that fails they were taken by a version that knew fewer bounds: it is not there until it says it anew.
func (r *runners) compiles(x *runner) bool {
	err := x.compile()
	if err != nil {
		r.hub.log.Error("what a runner has said is not taken any more", "runner", x.RunnerID, "error", err)
		r.remove(x.RunnerRef, false)
	}
	return err == nil
}

// isCommand reports whether it is a command: it is run once, by whoever has taken its session. What an LLM agent, a function or a workflow does stands in the log.
func (b *blueprint) isCommand() bool { return b.Kind() == parley.AgentTypeDeterministic }

// maxClaimMs is how long its agent, which is no command, may hold a turn of a session that allows more than usual; 0 for the usual.
func (b *blueprint) maxClaimMs() int64 {
	whole := b.TimeoutMs + parley.SessionSlackMs
	if b.isCommand() || whole <= (&parley.Limits{}).MaxClaim() {
		return 0
	}
	return whole
}

func (b *blueprint) rowBytes() int {
	n := 400 + 2*len(b.Name) + 6*len(b.Description) + len(b.ParametersSchema) + len(b.OutputSchema) + len(b.AgentConfig) + len(b.Subscriptions)
	for k, v := range b.labels() {
		n += 6 * (len(k) + len(v))
	}
	return n
}

// labels are those of the blueprint and of its runner.
func (b *blueprint) labels() map[string]string {
	all := maps.Clone(b.runner.Labels)
	if all == nil {
		all = make(map[string]string, len(b.Labels))
	}
	maps.Copy(all, b.Labels)
	return all
}

func (x *runner) key() string { return fold.ExecutorKey(x.ParticipantID, x.RunnerID) }

// put makes x what its runner has said last. A name that the runner had before keeps its place.
func (r *runners) put(x *runner) {
	r.hub.turns.WithConnected(func(isConnected func(string) bool) {
		r.putIfFirst(x, isConnected(x.key()) || r.hub.presence.Has(x.key()))
	})
}

func (r *runners) putIfFirst(x *runner, online bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.byID[x.RunnerID]
	switch {
	case old == nil:
	case old.ParticipantID != x.ParticipantID:
		return // that one was first
	default:
		r.bytes -= old.bytes
	}
	r.byID[x.RunnerID] = x
	r.bytes += x.bytes
	for _, b := range x.agents {
		places := r.names[b.Name]
		if i := slices.IndexFunc(places, func(o *blueprint) bool { return o.runner == old && old != nil }); i >= 0 {
			places[i] = b
		} else {
			r.names[b.Name] = append(places, b)
		}
	}
	r.forgetLocked(old)
	r.subscribedLocked(old, x)
	if !online {
		r.awayLocked(x)
	}
}

// forgetLocked takes what is left of a runner out of names.
func (r *runners) forgetLocked(x *runner) {
	if x == nil {
		return
	}
	for name := range x.agents {
		r.names[name] = slices.DeleteFunc(r.names[name], func(b *blueprint) bool { return b.runner == x })
		if len(r.names[name]) == 0 {
			delete(r.names, name)
		}
	}
}

// remove forgets a runner. What it has said is remembered of one that another hub has taken to be offline: it may be connected here.
func (r *runners) remove(ref parley.RunnerRef, offline bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.byID[ref.RunnerID]
	if x == nil || x.ParticipantID != ref.ParticipantID {
		return
	}
	if offline && r.hub.shared {
		r.lost[ref.RunnerID] = x
	}
	delete(r.byID, ref.RunnerID)
	r.bytes -= x.bytes
	r.forgetLocked(x)
	r.subscribedLocked(x)
}

// subscribedLocked tells of the names of runners who subscribes to what now.
func (r *runners) subscribedLocked(all ...*runner) {
	for _, x := range all {
		if x == nil {
			continue
		}
		for name := range x.agents {
			r.hub.setTriggers(name, r.names[name])
		}
	}
}

// has reports whether a runner is known.
func (r *runners) has(ref parley.RunnerRef) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.byID[ref.RunnerID]
	return x != nil && x.ParticipantID == ref.ParticipantID
}

// runs reports whether a runner has said that it runs an agent, by its plain name, of a type.
func (r *runners) runs(ref parley.RunnerRef, name string, of parley.AgentType) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.byID[ref.RunnerID]
	return x != nil && x.ParticipantID == ref.ParticipantID && x.agents[name] != nil && x.agents[name].Kind() == of
}

// find gives the blueprint that a name means: that of the first runner or, with demands, of the first whose labels meet them, one that is there before one
// that is away. Where none meets them it gives the first, and met is false.
func (r *runners) find(name string, runnerID string, demands map[string]string) (b *blueprint, met bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *blueprint
	for _, o := range r.names[name] {
		if runnerID != "" && o.runner.RunnerID != runnerID {
			continue
		}
		if first == nil {
			first = o
		}
		switch {
		case !fold.Meets(o.labels(), demands):
		case len(demands) == 0 || o.runner.away == 0:
			return o, true
		case b == nil:
			b = o
		}
	}
	if b != nil {
		return b, true
	}
	return first, false
}

// agentNameLocked is the name by which a blueprint is found.
func (r *runners) agentNameLocked(b *blueprint, taken *names) string {
	places := r.names[b.Name]
	switch first := r.seatedLocked(b.Name, taken.executors); {
	case taken.own(b.Name):
	case first != nil && first.runner.RunnerID == b.runner.RunnerID:
		return b.Name
	case first == nil && len(taken.executors[b.Name]) == 0 && len(places) > 0 && places[0].runner.RunnerID == b.runner.RunnerID:
		return b.Name
	}
	return b.Name + "@" + b.runner.RunnerID
}

// names are those of agents that no runner has registered: the hub's own, and those of executors, with who has registered those.
type names struct {
	own       func(string) bool
	executors map[string][]string
}

// seatedLocked gives the blueprint that says what an agent of executors takes: one of a participant that runs executors of that name. A foreign runner says
// nothing of it. Nil where there is none.
func (r *runners) seatedLocked(name string, executors map[string][]string) *blueprint {
	i := slices.IndexFunc(r.names[name], func(b *blueprint) bool {
		return slices.Contains(executors[name], b.runner.ParticipantID)
	})
	if i < 0 {
		return nil
	}
	return r.names[name][i]
}

// seated is seatedLocked.
func (h *Hub) seated(name string) *blueprint {
	executors := h.turns.OwnersByAgent()
	h.runners.mu.Lock()
	defer h.runners.mu.Unlock()
	return h.runners.seatedLocked(name, executors)
}

// list gives the rows of listAgents; config says of which runners that of LLM agents, and what wakes the agents, is given too.
func (r *runners) list(taken *names, config func(parley.RunnerRef) bool) []parley.AgentInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := parley.TimestampOf(r.hub.Now())
	var list []parley.AgentInfo
	for _, x := range r.byID {
		for _, b := range x.agents {
			runner := x.ParticipantID
			if x.Internal {
				runner = ""
			}
			info := parley.AgentInfo{
				Name: r.agentNameLocked(b, taken), Type: b.Kind(), Description: b.Description,
				ParametersSchema: slices.Clone(b.ParametersSchema), OutputSchema: slices.Clone(b.OutputSchema),
				Runner: runner, RunnerID: x.RunnerID, Labels: b.labels(), Online: x.away == 0, Stale: x.away != 0 && now >= x.away+parley.StaleMs,
			}
			if r.seatedLocked(b.Name, taken.executors) == b {
				info.Online, info.Stale = true, false // an executor of that name is there
			}
			if config(x.RunnerRef) {
				info.AgentConfig, info.Subscriptions = slices.Clone(b.AgentConfig), slices.Clone(b.Subscriptions)
			}
			list = append(list, info)
		}
	}
	return list
}
