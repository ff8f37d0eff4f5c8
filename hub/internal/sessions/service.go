// Package sessions starts the agent sessions of a hub, records which of them run, and returns their
// state. A session is a conversation. Its parent, if it has one, is the conversation from which a
// participant, a command or an event started it.
//
// # Guarantees
//
//   - [Service.Start] and [Service.StartTriggered] start sessions through the same code, so that
//     no path skips a rule.
//   - Executors get a session only after the log of its parent has its start.
//   - The log of a parent has the start and the end of each session once, also after a crash and with
//     several hubs. With mode async_callback, one callback follows the end.
//   - A session ends when its parent closes or its runner leaves.
//
// A [Queue] makes what follows from a state: it runs a task for each conversation whose state may need
// one, and a task that finds nothing to do changes nothing.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| Queue.Run | the hub | starts the tasks, at most 8 at once |
//	| Clock.Run | Queue.Run | queues tasks that failed, or that another hub does first |
//
// # Locks
//
//	| mutex | guards | taken |
//	|---|---|---|
//	| Live.mu | the sessions that run, and their trees | after Conversation.mu, never before it |
//	| Queue.mu | the queue | after any other mutex |
package sessions

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/internal/turns"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/arguments"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
)

// Options of a Service. All fields are required.
type Options struct {
	Engine   *conv.Engine
	Auth     *auth.Service
	Registry *registry.Registry
	Turns    *turns.Dispatcher
	// NewID makes the id of a session.
	NewID func(prefix string) string
}

// Triggers is what a Service uses of the triggers.
type Triggers interface {
	// FreedTree is called when the tree of a conversation may have room for a session, with the
	// mutex of Live held.
	FreedTree(root string)
	// AddAnswer adds to the command that ends child in the log of parent the note with which child
	// answers the event that started it. It adds nothing if no event did.
	AddAnswer(parent, child *fold.State, answer *fold.Answer) (traceparent string, err error)
}

// Service starts sessions and records which of them run.
type Service struct {
	*Live
	opts     Options
	engine   *conv.Engine
	triggers Triggers
	queue    *Queue
}

// New returns a Service. Call Connect before any other method.
func New(o Options) *Service {
	s := &Service{opts: o, engine: o.Engine}
	s.Live = newLive(
		func(id string) { o.Turns.Wake(id, parley.TimestampOf(o.Engine.Now())) },
		func(root string) { s.triggers.FreedTree(root) })
	s.queue = NewQueue(o.Engine, s.updateConversation)
	return s
}

// Connect connects the Service to the triggers, which start sessions through it.
func (s *Service) Connect(t Triggers) { s.triggers = t }

// Run makes what follows from the states of sessions until the hub ends.
func (s *Service) Run() { s.queue.Run() }

// Committed implements conv.Observer: it records which sessions run, and queues what follows from the
// state. What follows from a commit of another hub is delayed, because that hub does it first.
func (s *Service) Committed(c conv.Commit) {
	id, state := c.ID, c.State
	if !c.NeedsWork() || state.Session == nil && len(state.Children) == 0 && len(state.Callbacks) == 0 {
		return
	}
	foreign := c.Foreign(s.engine.Shared())
	if foreign {
		for _, child := range state.Children {
			s.confirm(child.ID, false)
		}
	}
	if s.track(id, state) || state.CallbackRecipient() != "" || state.Closed() && len(state.Children) > 0 {
		s.queue.AddAfter(id, foreign)
	}
	if c.Source == conv.FoundAtStart {
		for _, child := range state.Children {
			s.confirm(child.ID, true) // this log has its start
			s.queue.Add(child.ID)
		}
	}
}

// ReportMissed reports the start and the end of a session to its parent, whose log has neither. It is
// tried until it succeeds; further calls do nothing until then.
func (s *Service) ReportMissed(id string) {
	if s.miss(id) {
		s.queue.Add(id)
	}
}

// CheckEarly returns a refusal if an agent writes to its session before the log of the parent has its
// start. The state may be a head that is not committed.
func (s *Service) CheckEarly(state *fold.State, from string) error {
	r := state.Session
	if r == nil || r.Parent == "" || r.AgentID != from || state.Claim != nil || state.Closed() {
		return nil
	}
	if isLive, confirmed := s.confirmation(state.ID); isLive && confirmed == nil {
		return nil
	}
	return errEarly
}

var errEarly = &parley.Error{
	Err: parley.ErrUnavailable, Message: "the session has only just begun", Expected: "another try", RetryAfterMs: 100,
}

// QueueOfRunner queues the sessions of a runner that registered or left, here or at another hub, and
// those that wait for a runner.
func (s *Service) QueueOfRunner(ref parley.RunnerRef, foreign bool) {
	for _, id := range s.ofRunner(ref) {
		s.queue.AddAfter(id, foreign)
	}
}

// Agent is an agent from which sessions are started.
type Agent struct {
	name       string
	kind       parley.AgentType
	parameters *paramschema.Schema
	runner     *parley.RunnerRef   // nil for an agent of executors, and if no runner meets the demands
	maxClaimMs int64               // of an agent that is no command; 0: the usual one
	idempotent bool                // a command may run more than once
	hosted     bool                // an agent of a runner that is no command
	command    *registry.Blueprint // nil for an agent that is no command
}

// listedName is what a refused name of an agent is expected to be.
const listedName = "a name from listAgents"

// findAgent returns the agent of a name, which may end with an @ and the id of a runner: one that the
// hub's process registered, else one of executors whose tokens speak as that name, else one of a runner.
// A blueprint of the name describes the agent of executors. The agent has a runner if one of its runners
// meets the demands.
func (s *Service) findAgent(name string, demands map[string]string) (*Agent, error) {
	r := s.opts.Registry
	plain, runnerID, at := strings.Cut(name, "@")
	if info := r.HubAgent(name); info != nil && !at {
		return agentWithSchema(name, info.ParametersSchema)
	}
	if !at && s.opts.Turns.HasExecutor(name) {
		switch b := r.OfExecutors(name); {
		case b == nil:
			return agentWithSchema(name, nil)
		case !b.IsCommand(): // runners run the sessions of commands, also if an executor has the seat
			return &Agent{name: name, kind: b.Kind(), parameters: b.Parameters, maxClaimMs: b.MaxClaimMs()}, nil
		}
	}
	if b, met := r.Find(plain, runnerID, demands); b != nil {
		return newAgent(b, name, met), nil
	}
	return nil, parley.Refuse(parley.ErrNotFound, fmt.Sprintf("there is no agent %s", policy.Clip(name)),
		listedName)
}

func agentWithSchema(name string, schema json.RawMessage) (a *Agent, err error) {
	a = &Agent{name: name, kind: parley.AgentTypeAgent, parameters: paramschema.Prompt()}
	if len(schema) > 0 {
		a.parameters, err = paramschema.Compile(schema)
	}
	return a, err
}

// newAgent returns the agent of a blueprint. met reports whether its runner runs the session.
func newAgent(b *registry.Blueprint, name string, met bool) *Agent {
	a := &Agent{name: name, kind: b.Kind(), parameters: b.Parameters, maxClaimMs: b.MaxClaimMs()}
	if b.IsCommand() {
		a.command = b
	}
	a.hosted = !b.IsCommand()
	if met {
		a.runner, a.idempotent = &b.Runner.RunnerRef, b.Idempotent // another runner may not be idempotent
	}
	return a
}

// timeoutMs returns how long a command may run; 0 for other agents.
func (a *Agent) timeoutMs() int64 {
	if a.command == nil {
		return 0
	}
	return cmp.Or(a.command.TimeoutMs, limits.DefaultSessionTimeoutMs)
}

// accept returns the parameters with the defaults of the schema and without null for optional
// parameters that do not accept it, or a refusal with all faults.
func (a *Agent) accept(parameters json.RawMessage) (json.RawMessage, error) {
	full, err := a.parameters.Fill(a.parameters.DropNulls(parameters))
	if err != nil {
		return nil, err
	}
	faults, err := a.validate(full)
	if err == nil && len(faults) > 0 {
		err = RefuseParameters("Parameters do not match agent's parameters_schema", a.name, a.parameters, faults)
	}
	return full, err
}

// RefuseParameters returns the refusal of parameters that an agent does not accept.
func RefuseParameters(message, agent string, s *paramschema.Schema, faults []parley.ValidationError) error {
	return &parley.Error{Err: parley.ErrParameters, Message: message, Validation: &parley.ValidationFailure{
		AgentName: agent, ValidationErrors: faults, ParametersSchema: s.Raw(),
	}}
}

// validate also checks whether the parameters can be passed to a command.
func (a *Agent) validate(parameters json.RawMessage) ([]parley.ValidationError, error) {
	faults, err := a.parameters.Validate(parameters)
	if err != nil || len(faults) > 0 || a.command == nil {
		return faults, err
	}
	_, faults, err = arguments.Convert(a.command.ParamsVia, a.parameters.Properties(), parameters)
	return faults, err
}

// seat returns the participant as which the agent takes part in a session of caller: its plain name,
// unless caller has that id. Then it also returns the plain name, as the agent of the seat.
func (a *Agent) seat(caller string) (id, agent string) {
	plain := plainName(a.name)
	if plain == caller {
		return policy.Cut(plain, 58) + ".agent", plain
	}
	return plain, ""
}

// plainName is the name of an agent without its runner.
func plainName(name string) string {
	plain, _, _ := strings.Cut(name, "@")
	return plain
}

// maxTasks bounds the tasks of a queue that run at once.
const maxTasks = 8

// A Queue runs a task for each conversation that is added, after it is added, and never two at once for
// one conversation. A task looks at the state, so that another run, also after a crash, changes nothing.
type Queue struct {
	engine *conv.Engine
	task   func(id string) error
	alarm  *conv.Clock   // adds conversations later
	kick   chan struct{} // one slot: a conversation was added
	slots  chan struct{}

	mu   sync.Mutex // guards the fields below
	ids  []string
	busy map[string]bool // queued or running; true: runs once more
}

// NewQueue returns a queue, which works while Run runs.
func NewQueue(e *conv.Engine, task func(id string) error) *Queue {
	q := &Queue{
		engine: e, task: task, kick: make(chan struct{}, 1), slots: make(chan struct{}, maxTasks),
		busy: make(map[string]bool),
	}
	q.alarm = conv.NewClock(e, q.Add)
	return q
}

// Add queues a conversation. It does not block, and may be called with any mutex held.
func (q *Queue) Add(id string) {
	q.mu.Lock()
	_, busy := q.busy[id]
	q.busy[id] = busy
	if !busy {
		q.ids = append(q.ids, id)
	}
	q.mu.Unlock()
	select {
	case q.kick <- struct{}{}:
	default: // a kick is pending
	}
}

// How long a hub waits until it looks whether the hub that wrote an event did what follows from it.
const (
	foreignPause  = 500 * time.Millisecond
	foreignJitter = 500 * time.Millisecond
)

// AddAfter is Add for a conversation whose state this hub or, if foreign, another hub committed. The
// other hub has time to act first, so that not all hubs act at once.
func (q *Queue) AddAfter(id string, foreign bool) {
	if !foreign {
		q.Add(id)
		return
	}
	q.addIn(id, foreignPause+rand.N(foreignJitter))
}

func (q *Queue) addIn(id string, d time.Duration) {
	q.alarm.Set(id, parley.TimestampOf(q.engine.Now().Add(d)))
}

// Run starts tasks until the hub ends.
func (q *Queue) Run() {
	q.engine.Go(q.alarm.Run)
	for {
		select {
		case <-q.engine.Context().Done():
			return
		case <-q.kick:
		}
		for id := q.next(); id != ""; id = q.next() {
			select {
			case <-q.engine.Context().Done():
				return
			case q.slots <- struct{}{}:
			}
			q.engine.Go(func() {
				defer func() { <-q.slots }()
				q.run(id)
			})
		}
	}
}

func (q *Queue) next() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ids) == 0 {
		return ""
	}
	id := q.ids[0]
	if q.ids = q.ids[1:]; len(q.ids) == 0 {
		q.ids = nil
	}
	return id
}

// run runs the task of a conversation, and again if the conversation was added meanwhile. It does
// nothing when the hub drains, because the next start queues every conversation.
func (q *Queue) run(id string) {
	for again := true; again; {
		q.mu.Lock()
		q.busy[id] = false
		q.mu.Unlock()
		if q.engine.Begin() == nil {
			if err := q.task(id); err != nil && q.engine.Err() == nil {
				q.engine.Log().Debug("a task is tried again", "conversation", id, "error", err)
				pause := conv.RetryWrite
				if errors.Is(err, conv.ErrUnread) {
					pause = conv.RetryRead
				}
				q.addIn(id, pause)
			}
			q.engine.End()
		}
		q.mu.Lock()
		if again = q.busy[id]; !again {
			delete(q.busy, id)
		}
		q.mu.Unlock()
	}
}
