package sessions

import (
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

// isMissed reports whether a session ended before the log of its parent had its start.
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

// ofRunner returns the sessions that a runner runs or may run.
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

// reserve takes a place in a tree for a session that is about to start.
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
