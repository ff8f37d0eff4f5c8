package sessions

import (
	"errors"
	"strings"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
)

// Live has the sessions that are known to be started and not ended, and the places that they take in
// their trees. It is in memory only and calls its functions with its mutex held.
type Live struct {
	wake  func(id string)   // the turn of a session may be offered now
	freed func(root string) // a tree may have room

	mu    sync.Mutex // guards the fields below
	live  map[string]*session
	trees map[string]map[string]struct{} // ids of live sessions, and of those that start, by root
	// missed has sessions that ended before the log of the parent had their start.
	missed map[string]struct{}
	// unloaded has sessions that the log of a parent has, and that were not loaded yet after a start.
	unloaded map[string]struct{}
}

// session is one that has not ended. Live.mu guards it.
type session struct {
	parley.SessionRecord
	running   bool
	inParent  bool          // the log of the parent has the start, or there is no parent
	confirmed chan struct{} // closed once inParent becomes true, or the session ended before
}

func newLive(wake, freed func(string)) *Live {
	return &Live{
		wake: wake, freed: freed, live: make(map[string]*session), trees: make(map[string]map[string]struct{}),
		missed: make(map[string]struct{}), unloaded: make(map[string]struct{}),
	}
}

// Size returns the number of sessions in memory and of the places that they have in their trees.
func (l *Live) Size() (sessions, places int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tree := range l.trees {
		places += len(tree)
	}
	return len(l.live) + len(l.missed), places
}

// track records a session, and reports whether it is new or ended.
func (l *Live) track(id string, state *fold.State) bool {
	if state.Session == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r, x := state.Session, l.live[id]
	if state.Closed() {
		if x != nil && !x.inParent {
			l.missed[id] = struct{}{}
			close(x.confirmed)
		}
		delete(l.live, id)
		l.freeLocked(r.Root, id)
		l.freed(r.Root)
		return true
	}
	isNew := x == nil
	if isNew {
		_, inParent := l.unloaded[id]
		x = &session{inParent: inParent || r.Parent == "", confirmed: make(chan struct{})}
		l.live[id] = x
		l.holdLocked(r.Root, id)
	}
	x.SessionRecord, x.running = *r, state.Claim != nil
	return isNew
}

// confirm records that the log of the parent has the start of a session. From now on executors get it:
// before, a crash could lose the start after the session ran. With atStart set, a session that is not
// loaded yet counts too: the hub has read the log of the parent during its own start.
func (l *Live) confirm(id string, atStart bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.missed, id)
	switch x := l.live[id]; {
	case x == nil && atStart:
		l.unloaded[id] = struct{}{}
	case x != nil && !x.inParent:
		x.inParent = true
		close(x.confirmed)
		l.wake(id)
	}
}

// FinishRecovery implements turns.Sessions. It is called when every open conversation was loaded once
// after a start.
func (l *Live) FinishRecovery() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.unloaded)
}

// confirmation reports whether a session is live, and returns what is closed when the log of its parent
// has its start or the session ended; nil if there is nothing to wait for.
func (l *Live) confirmation(id string) (isLive bool, confirmed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.live[id]
	if x == nil || x.inParent {
		return x != nil, nil
	}
	return true, x.confirmed
}

// miss records that the log of the parent has neither the start nor the end of a session that ended. It
// reports whether that is new.
func (l *Live) miss(id string) (isNew bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.missed[id]
	l.missed[id] = struct{}{}
	return !known
}

func (l *Live) isMissed(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, missed := l.missed[id]
	return missed
}

// MayRun reports whether executors may get a conversation. They may get a session once the log of its
// parent has its start.
func (l *Live) MayRun(id string) bool {
	if !strings.HasPrefix(id, conv.SessionPrefix) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.live[id]
	return x == nil || x.running || x.inParent
}

// Runs reports whether a session is known to be started and not ended.
func (l *Live) Runs(id string) bool {
	isLive, _ := l.confirmation(id)
	return isLive
}

func (l *Live) ofRunner(ref parley.RunnerRef) (ids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, x := range l.live {
		if x.OfRunner() && (x.Runner == nil || *x.Runner == ref) {
			ids = append(ids, id)
		}
	}
	return ids
}

// SeatOf returns the seat as which p may write to a session that its runner runs; empty elsewhere.
func (l *Live) SeatOf(conversation string, p *auth.Principal) string {
	if !strings.HasPrefix(conversation, conv.SessionPrefix) {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.live[conversation]
	if x == nil || !x.running || x.Runner == nil || x.Runner.ParticipantID != p.AgentID {
		return ""
	}
	return x.AgentID
}

// HasRoom reports whether a tree has room for another session.
func (l *Live) HasRoom(root string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.trees[root]) < limits.MaxLiveSessions
}

func (l *Live) reserve(root, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, held := l.trees[root][id]; !held && len(l.trees[root]) >= limits.MaxLiveSessions {
		return ErrTreeFull
	}
	l.holdLocked(root, id)
	return nil
}

// ErrTreeFull means that a session has to wait until another one of its tree ended.
var ErrTreeFull = &parley.Error{
	Err: parley.ErrTooLarge, Message: "too many sessions of one tree run at once",
	Expected: "at most 64 that have not ended", RetryAfterMs: 1000,
}

// release frees a place that reserve took, unless the session started. Triggers are not notified of a
// place that they reserved, because they try again later.
func (l *Live) release(root, id string, notify bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live[id] != nil {
		return
	}
	if l.freeLocked(root, id); notify {
		l.freed(root)
	}
}

func (l *Live) holdLocked(root, id string) {
	if l.trees[root] == nil {
		l.trees[root] = make(map[string]struct{}, 1)
	}
	l.trees[root][id] = struct{}{}
}

func (l *Live) freeLocked(root, id string) {
	delete(l.trees[root], id)
	if len(l.trees[root]) == 0 {
		delete(l.trees, root)
	}
}

// updateConversation is the task of the queue: it makes what follows from the state of a conversation.
func (s *Service) updateConversation(id string) error {
	state, err := s.engine.StateOf(id)
	if err != nil || !state.Exists() {
		return err
	}
	if state.Session != nil {
		if err := s.updateSession(&state); err != nil {
			return err
		}
	}
	if state.Closed() {
		for _, c := range state.Children {
			s.queue.Add(c.ID)
		}
		return nil
	}
	if state.CallbackRecipient() != "" {
		return s.callBack(&state)
	}
	return nil
}

func (s *Service) updateSession(state *fold.State) error {
	r := state.Session
	if r.Parent != "" {
		if ended, err := s.updateParent(state); ended || err != nil {
			return err
		}
	}
	if s.engine.Shared() && r.OfRunner() { // a runner may have registered before the session started
		if err := s.opts.Registry.Follow(); err != nil {
			return err
		}
	}
	if state.Closed() || !r.OfRunner() {
		return nil
	}
	if r.Runner == nil {
		return s.bind(state)
	}
	b := s.opts.Registry.BlueprintOf(*r.Runner, plainName(r.Agent))
	runnerIs, agentIs := s.opts.Registry.Has(*r.Runner), b != nil && b.Kind() == r.Type
	switch {
	case !runnerIs && r.Hosted:
		return nil // its turn is in the log, and the runner may return before the turn is over
	case !runnerIs && state.Claim != nil:
		return s.end(state.ID, fold.Interrupted)
	case !agentIs && state.Claim == nil:
		return s.end(state.ID, fold.NoRunner)
	}
	return nil
}

func (s *Service) end(id string, how fold.EndSession) error {
	return s.engine.Command(id, fold.Command{Do: &how})
}

var parentClosed = fold.EndSession{
	Outcome: parley.Outcome{Status: parley.OutcomeCanceled, Reason: parley.ReasonParentClosed},
	Detail:  "The conversation out of which the session was started is closed.",
}

// maxStale is how often a task tries at once to write to a parent whose head moved.
const maxStale = 10

// updateParent writes the start and the end of a session to its parent, and reports whether the session
// ended. Only the task of the session calls it, and so never twice at once: two calls could write a
// start after an end. Where several hubs do this, each writes a start only on the state without it.
func (s *Service) updateParent(state *fold.State) (ended bool, err error) {
	for range maxStale {
		if ended, err = s.updateParentOnce(state); !errors.Is(err, conv.ErrStale) {
			break
		}
	}
	return ended, err
}

func (s *Service) updateParentOnce(state *fold.State) (ended bool, err error) {
	parent, err := s.engine.StateOf(state.Session.Parent)
	if err != nil {
		return false, err
	}
	if s.engine.Shared() { // read after the parent, so that it ended if the parent has its end
		if *state, err = s.engine.StateOf(state.ID); err != nil {
			return false, err
		}
	}
	if parent.Exists() && !parent.Closed() {
		err = s.reportTo(&parent, state)
		if !errors.Is(err, parley.ErrConversationClosed) {
			return state.Closed(), err
		}
	}
	s.confirm(state.ID, false) // its parent never will
	if state.Closed() {
		return true, nil
	}
	return true, s.end(state.ID, parentClosed)
}

// reportTo writes the start and the end of a session to its open parent, as far as they are missing.
func (s *Service) reportTo(parent, state *fold.State) error {
	r, known := state.Session, parent.ChildIndex(state.ID) >= 0
	child := fold.Child{ID: state.ID, By: r.Caller, Agent: r.Agent, Mode: r.Mode, Hops: r.Hops}
	waits := r.Trigger == nil || parent.MatchIndex(state.ID) >= 0 // else the parent has its end
	if !known && (!state.Closed() || s.isMissed(state.ID) && waits) {
		on, written, err := s.findStart(parent, state)
		if err == nil && !written {
			err = s.engine.CommandAt(r.Parent, on, fold.Command{Do: &fold.StartChild{Child: child}})
		}
		if err != nil {
			return err
		}
		known = !written
	}
	if known && state.Closed() {
		end := &fold.EndChild{SessionID: state.ID, Status: state.SessionStatus()}
		traceparent, err := s.triggers.AddAnswer(parent, state, &end.Answer)
		if err != nil {
			return err
		}
		if err := s.engine.Command(r.Parent, fold.Command{Do: end, Traceparent: traceparent}); err != nil {
			return err
		}
	}
	s.confirm(state.ID, false)
	return nil
}

// findStart returns the seq of the parent on which the start of a session may be written; 0: any. It
// reports whether the log has the start and the end already, which other hubs wrote. This hub may see
// the end of the session before it sees the start in the parent.
func (s *Service) findStart(parent, state *fold.State) (on int64, written bool, err error) {
	if !s.engine.Shared() {
		return 0, false, nil
	}
	if !state.Closed() {
		return parent.Seq, false, nil
	}
	for e, err := range s.engine.History(parent.ID, 0) {
		if err != nil {
			return 0, false, err
		}
		if e.Type == parley.TypeSystem {
			sys, err := e.System()
			if err != nil {
				return 0, false, err
			}
			if sys.Kind == parley.KindSessionStarted && sys.SessionID == state.ID {
				return 0, true, nil
			}
		}
		if e.Seq >= parent.Seq {
			break
		}
	}
	return parent.Seq, false, nil
}

// bind binds a session to a runner that meets its demands and whose agent accepts its parameters, if
// there is one.
func (s *Service) bind(state *fold.State) error {
	r := state.Session
	plain, runnerID, _ := strings.Cut(r.Agent, "@")
	b, met := s.opts.Registry.Find(plain, runnerID, r.Demands)
	if !met || b.Kind() != r.Type {
		return nil
	}
	m, err := readMessage(s.engine, state.ID, state.MessageSeq)
	if err != nil {
		return nil
	}
	if faults, err := newAgent(b, r.Agent, true).validate(m.Parameters); err != nil || len(faults) > 0 {
		return nil
	}
	return s.engine.Command(state.ID, fold.Command{Do: &fold.Bind{Runner: &b.Runner.RunnerRef}})
}
