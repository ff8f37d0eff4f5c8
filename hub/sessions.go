package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// sessions know which sessions run, and see to it that what follows from a state is written: that a parent knows of its children and tells of their ends, that
// a closed parent has none, and that none waits for a runner that is gone. All of it is found again in the logs after a restart.
type sessions struct {
	hub     *Hub
	errands *errands

	mu           sync.Mutex // guards the fields below
	live         map[string]*liveSession
	trees        map[string]map[string]struct{} // sessions that have not ended, by root
	untold       map[string]struct{}            // those that have ended before their parent knew of them
	joinedBefore map[string]struct{}            // after a start: those that a parent knows of, and that were not seen yet
}

// liveSession is one that has not ended.
type liveSession struct {
	parley.SessionRecord
	running bool
	told    chan struct{} // closed once its parent's log has it; nil where there is none
}

// known reports whether the parent, if there is one, knows of the session.
func (l *liveSession) known() bool {
	if l.told == nil {
		return true
	}
	select {
	case <-l.told:
		return true
	default:
		return false
	}
}

func newSessions(h *Hub) *sessions {
	s := &sessions{hub: h, live: make(map[string]*liveSession), trees: make(map[string]map[string]struct{}), untold: make(map[string]struct{}), joinedBefore: make(map[string]struct{})}
	s.errands = newErrands(h, s.attend)
	return s
}

// Committed records which sessions run, and queues what follows from the state. What follows from a
// commit of another hub is queued with a delay, because that hub does it first.
func (s *sessions) Committed(c conv.Commit) {
	id, state, foreign := c.ID, c.State, c.Foreign(s.hub.shared)
	switch {
	case !c.NeedsWork():
		return
	case state.Session == nil && len(state.Children) == 0 && len(state.Callbacks) == 0:
		return
	}
	if foreign {
		for _, c := range state.Children {
			s.told(c.ID)
		}
	}
	if s.note(id, state) || state.CallsBackTo() != "" || state.Closed() && len(state.Children) > 0 {
		s.errands.due(id, foreign)
	}
	if c.Source == conv.FoundAtStart {
		s.recovered(state)
	}
}

// note keeps what runs, and reports whether it was news that a session runs, or that it has ended.
func (s *sessions) note(id string, state *fold.State) bool {
	if state.Session == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.live[id]
	if state.Closed() {
		if known != nil && !known.known() {
			s.untold[id] = struct{}{}
			close(known.told)
		}
		delete(s.live, id)
		s.releaseLocked(state.Session.Root, id)
		return true
	}
	l := &liveSession{SessionRecord: *state.Session, running: state.Claim != nil}
	switch {
	case known != nil:
		l.told = known.told
	case l.Parent != "":
		l.told = make(chan struct{})
		if _, joined := s.joinedBefore[id]; joined {
			close(l.told)
		}
	}
	s.live[id] = l
	s.holdLocked(state.Session.Root, id)
	return known == nil
}

// told keeps that the parent of a session knows of it: from now on it is offered to executors. Before, it could end, and a crash could lose that its parent is to
// be told.
func (s *sessions) told(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.untold, id)
	if l := s.live[id]; l != nil && !l.known() {
		close(l.told)
		s.hub.turns.Wake(id, parley.TimestampOf(s.hub.Now()))
	}
}

// tell has the parent of a session told that it has ended, of which that knows nothing. Once is enough: it is tried until it succeeds.
func (s *sessions) tell(id string) {
	s.mu.Lock()
	_, under := s.untold[id]
	s.untold[id] = struct{}{}
	s.mu.Unlock()
	if !under {
		s.errands.add(id)
	}
}

// isUntold reports whether a session has ended before its parent knew of it.
func (s *sessions) isUntold(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, untold := s.untold[id]
	return untold
}

// mayRun reports whether a session, or any other conversation, may be taken by an executor as far as its parent goes.
func (s *sessions) MayRun(id string) bool {
	if !strings.HasPrefix(id, conv.SessionPrefix) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.live[id]
	return l == nil || l.running || l.known()
}

var errUntold = &parley.Error{Err: parley.ErrUnavailable, Message: "the session has only just begun", Expected: "another try", RetryAfterMs: 100}

// waitsForParent reports whether what its agent would do in a session comes too early. It is asked on the head, which may not be committed.
func (s *sessions) waitsForParent(state *fold.State, from string) bool {
	r := state.Session
	if r == nil || r.Parent == "" || r.AgentID != from || state.Claim != nil || state.Closed() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.live[state.ID]
	return l == nil || !l.known()
}

// joined waits until the parent of a session knows of it, or the session has ended. One whose parent was closed meanwhile is stopped.
func (s *sessions) joined(ctx context.Context, id string) error {
	s.mu.Lock()
	l := s.live[id]
	s.mu.Unlock()
	if l == nil || l.known() {
		return nil
	}
	timer := time.NewTimer(parley.MaxWaitMs * time.Millisecond) // if it could not be written for so long, the session is there all the same
	defer timer.Stop()
	select {
	case <-l.told:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.hub.conv.Draining():
		return conv.ErrDraining
	}
	return nil
}

// recovered is told of every open conversation once after a start: what has ended while nobody looked is looked after. What runs may run on at once, since this parent
// knows of it: who came after the others in such errands would come after them after each start.
func (s *sessions) recovered(state *fold.State) {
	for _, c := range state.Children {
		s.joins(c.ID)
		s.errands.add(c.ID)
	}
}

// joins is told for a session that may not have been seen yet.
func (s *sessions) joins(id string) {
	s.mu.Lock()
	seen := s.live[id] != nil
	if !seen {
		s.joinedBefore[id] = struct{}{}
	}
	s.mu.Unlock()
	if seen {
		s.told(id)
	}
}

// seenAll is told when every open conversation was seen after a start.
func (s *sessions) AllSeen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.joinedBefore)
}

func (s *sessions) holdLocked(root, id string) {
	if s.trees[root] == nil {
		s.trees[root] = make(map[string]struct{}, 1)
	}
	s.trees[root][id] = struct{}{}
}

func (s *sessions) releaseLocked(root, id string) {
	s.vacateLocked(root, id)
	s.hub.triggers.freed(root)
}

func (s *sessions) vacateLocked(root, id string) {
	delete(s.trees[root], id)
	if len(s.trees[root]) == 0 {
		delete(s.trees, root)
	}
}

// runs reports whether a session is known to have begun and not to have ended.
func (s *sessions) runs(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id] != nil
}

// hasRoom reports whether another session of a tree may begin.
func (s *sessions) hasRoom(root string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.trees[root]) < parley.MaxLiveSessions
}

// reserve takes a place in a tree for a session that is about to begin.
func (s *sessions) reserve(root, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, held := s.trees[root][id]; !held && len(s.trees[root]) >= parley.MaxLiveSessions {
		return &parley.Error{Err: parley.ErrTooLarge, Message: "too many sessions of one tree run at once", Expected: "at most 64 that have not ended", RetryAfterMs: 1000}
	}
	s.holdLocked(root, id)
	return nil
}

// release gives a place back that reserve has taken, unless the session has begun.
func (s *sessions) release(root, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[id] == nil {
		s.releaseLocked(root, id)
	}
}

// giveUp is release for who tries again by itself.
func (s *sessions) giveUp(root, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[id] == nil {
		s.vacateLocked(root, id)
	}
}

// look has every session looked after that waits for a runner to come.
func (s *sessions) look(foreign bool) {
	s.lookFor(foreign, func(l *liveSession) bool { return l.OfRunner() && l.Runner == nil })
}

// lookAt has the sessions of a runner looked after.
func (s *sessions) lookAt(ref parley.RunnerRef, foreign bool) {
	s.lookFor(foreign, func(l *liveSession) bool { return l.Runner != nil && *l.Runner == ref })
}

// lookFor has those looked after that are wanted because of what happened here or, foreign, at another hub.
func (s *sessions) lookFor(foreign bool, wanted func(*liveSession) bool) {
	s.mu.Lock()
	var ids []string
	for id, l := range s.live {
		if wanted(l) {
			ids = append(ids, id)
		}
	}
	s.mu.Unlock()
	for _, id := range ids {
		s.errands.due(id, foreign)
	}
}

// seat gives who a runner speaks as in a session of its own that runs; empty elsewhere.
func (s *sessions) seat(conversation string, p *auth.Principal) string {
	if !strings.HasPrefix(conversation, conv.SessionPrefix) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.live[conversation]
	if l == nil || !l.running || l.Runner == nil || l.Runner.ParticipantID != p.AgentID {
		return ""
	}
	return l.AgentID
}

// attend does what follows from the state of a conversation.
func (s *sessions) attend(id string) error {
	state, err := s.hub.conv.StateOf(id)
	if err != nil || !state.Exists() {
		return err
	}
	if state.Session != nil {
		if err := s.attendSession(&state); err != nil {
			return err
		}
	}
	if state.Closed() {
		for _, c := range state.Children {
			s.errands.add(c.ID)
		}
		return nil
	}
	if state.CallsBackTo() != "" {
		return s.hub.callBack(&state)
	}
	return nil
}

func (s *sessions) attendSession(state *fold.State) error {
	r := state.Session
	if r.Parent != "" {
		if over, err := s.attendParent(state); over || err != nil {
			return err
		}
	}
	if s.hub.shared && r.OfRunner() { // whoever has registered before the session began is known
		if err := s.hub.registry.Follow(); err != nil {
			return err
		}
	}
	switch {
	case state.Closed() || !r.OfRunner():
		return nil
	case r.Runner == nil:
		return s.bind(state)
	case !s.hub.registry.Has(*r.Runner) && r.Hosted:
		return nil // what an LLM agent does stands in the log: its runner may come back while the time of its turn runs
	case !s.hub.registry.Has(*r.Runner):
		end := fold.NoRunner
		if state.Claim != nil {
			end = fold.Interrupted
		}
		return s.end(state.ID, end)
	case state.Claim == nil && !s.hasAgent(r):
		return s.end(state.ID, fold.NoRunner)
	}
	return nil
}

// hasAgent reports whether the runner of a session has a blueprint of its agent, of the type of the session.
func (s *sessions) hasAgent(r *parley.SessionRecord) bool {
	b := s.hub.registry.BlueprintOf(*r.Runner, plainName(r.Agent))
	return b != nil && b.Kind() == r.Type
}

func (s *sessions) end(id string, how func() (parley.Outcome, string)) error {
	o, text := how()
	return s.hub.conv.Command(id, fold.Command{Verb: fold.EndSession, Outcome: &o, Detail: text})
}

// maxPassed is how often an errand looks again at once that comes upon another state than it has looked at.
const maxPassed = 10

// attendParent brings the log of a parent up to the state of its child. over is true when the child has ended. It is run by errands of the child only, never
// twice at once at one hub: else a start could be told after the end. Where other hubs do the same, a start is told on the very state in which it was not known.
func (s *sessions) attendParent(state *fold.State) (over bool, err error) {
	for range maxPassed {
		if over, err = s.attendParentOnce(state); !errors.Is(err, conv.ErrStale) {
			break
		}
	}
	return over, err
}

func (s *sessions) attendParentOnce(state *fold.State) (over bool, err error) {
	parent, err := s.hub.conv.StateOf(state.Session.Parent)
	if err != nil {
		return false, err
	}
	if s.hub.shared { // the child's after the parent's: what ends there, and is told, has ended here
		if *state, err = s.hub.conv.StateOf(state.ID); err != nil {
			return false, err
		}
	}
	if parent.Exists() && !parent.Closed() {
		over, err = s.tellParent(&parent, state)
		if !errors.Is(err, parley.ErrConversationClosed) {
			return over, err
		}
	}
	s.told(state.ID) // nobody will be
	if state.Closed() {
		return true, nil
	}
	o := parley.Outcome{Status: parley.OutcomeCanceled, Reason: parley.ReasonParentClosed}
	return true, s.hub.conv.Command(state.ID, fold.Command{Verb: fold.EndSession, Outcome: &o, Detail: "The conversation out of which the session was started is closed."})
}

// tellParent tells an open parent of the start and the end of its child, as far as it does not know.
func (s *sessions) tellParent(parent, state *fold.State) (over bool, err error) {
	r, known := state.Session, parent.Child(state.ID) >= 0
	child := fold.Child{ID: state.ID, By: r.Caller, Agent: r.Agent, Mode: r.Mode, Hops: r.Hops}
	waits := r.Trigger == nil || parent.PendingSession(state.ID) >= 0 // else it was told already, to its end
	if !known && (!state.Closed() || s.isUntold(state.ID) && waits) {
		on, told, err := s.startedOn(parent, state)
		if err == nil && !told {
			err = s.hub.conv.CommandAt(r.Parent, on, fold.Command{Verb: fold.StartChild, Child: child})
		}
		if err != nil {
			return false, err
		}
		known = !told
	}
	if known && state.Closed() {
		end := fold.Command{Verb: fold.EndChild, Child: child, Status: state.SessionStatus()}
		if err := s.hub.triggers.answer(parent, state, &end); err != nil {
			return true, err
		}
		if err := s.hub.conv.Command(r.Parent, end); err != nil {
			return true, err
		}
	}
	s.told(state.ID)
	return state.Closed(), nil
}

// startedOn tells on which state of its parent the start of a session may be told; 0 for any. told is true where it was told already, and its end too: this hub may have seen
// the end before it saw that the parent knew, and what other hubs have told it finds in the log alone.
func (s *sessions) startedOn(parent, state *fold.State) (on int64, told bool, err error) {
	if !s.hub.shared {
		return 0, false, nil
	}
	if !state.Closed() {
		return parent.Seq, false, nil
	}
	for after := int64(0); after < parent.Seq; {
		events, err := s.hub.readEvents(parent.ID, after, 1000)
		if err != nil || len(events) == 0 {
			return 0, false, fmt.Errorf("%w: read %s after %d: %w", conv.ErrUnread, parent.ID, after, err)
		}
		for i := range events {
			if after = events[i].Seq; events[i].Type != parley.TypeSystem {
				continue
			}
			sys, err := events[i].System()
			if err != nil {
				return 0, false, err
			}
			if sys.Kind == parley.KindSessionStarted && sys.SessionID == state.ID {
				return 0, true, nil
			}
		}
	}
	return parent.Seq, false, nil
}

// bind gives a session to a runner that has what it demands, if there is one.
func (s *sessions) bind(state *fold.State) error {
	r := state.Session
	name, runner, _ := strings.Cut(r.Agent, "@")
	b, met := s.hub.registry.Find(name, runner, r.Demands)
	if b == nil || !met || b.Kind() != r.Type || !s.hub.takes(b, state) {
		return nil
	}
	return s.hub.conv.Command(state.ID, fold.Command{Verb: fold.Bind, Runner: &b.Runner.RunnerRef})
}
