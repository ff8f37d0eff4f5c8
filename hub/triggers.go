package hub

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/sessions"
	"github.com/parleyhub/parley/internal/selector"
)

// triggers know which agents subscribe to what, and see to it that the sessions begin that events start. Who subscribes is a fold of what runners have said; what was woken stands in the
// logs of the conversations, and is found there again after a restart.
type triggers struct {
	hub   *Hub
	queue *sessions.Queue

	known atomic.Int64 // the names with subscriptions: while there are none nothing is matched

	mu      sync.RWMutex                       // guards the fields below
	agents  map[string]*blueprint              // by plain name: of the first runner whose blueprint has subscriptions
	watched map[string]*selector.Index[string] // by workspace: the agents with a trigger of that scope, by plain name
	watches map[string]map[string]*blueprint   // what stands in watched, by plain name and workspace
	waiting waiters
	tried   attempts
}

// attempts are the states, by their seqs, on which errands are under way or have failed.
type attempts struct {
	mu   sync.Mutex // guards the field below
	seqs map[string]int64
}

func (a *attempts) is(id string, seq int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seqs[id] == seq
}

// set keeps a seq; 0 forgets it.
func (a *attempts) set(id string, seq int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if seq == 0 {
		delete(a.seqs, id)
		return
	}
	a.seqs[id] = seq
}

// waiters are the conversations in which sessions wait for room in their tree, which is their own.
type waiters struct {
	mu  sync.Mutex // guards the field below
	ids map[string]struct{}
}

func newTriggers(h *Hub) *triggers {
	t := &triggers{
		hub: h, agents: make(map[string]*blueprint), watched: make(map[string]*selector.Index[string]), watches: make(map[string]map[string]*blueprint),
		waiting: waiters{ids: make(map[string]struct{})}, tried: attempts{seqs: make(map[string]int64)},
	}
	t.queue = sessions.NewQueue(h.conv, t.attend)
	return t
}

// run hands the errands out once the hub knows what runs: before, the room in a tree is not known.
func (t *triggers) run() {
	select {
	case <-t.hub.turns.WhenRecovered():
		t.queue.Run()
	case <-t.hub.conv.Context().Done():
	}
}

// renew takes in what the runners of a name say now: places are its blueprints, the first runner's first. The lock of the runners is held, so that no newer places are taken in before.
func (t *triggers) renew(name string, places []*blueprint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first *blueprint
	wants := make(map[string]*blueprint)
	for _, b := range places {
		if b.set == nil {
			continue
		}
		if first == nil {
			first = b
		}
		if !b.watches() {
			continue
		}
		for _, w := range b.runner.Workspaces {
			if wants[w] == nil {
				wants[w] = b
			}
		}
	}
	if delete(t.agents, name); first != nil {
		t.agents[name] = first
	}
	for w, b := range t.watches[name] {
		if wants[w] != b {
			t.unwatchLocked(name, w)
		}
	}
	for w, b := range wants {
		t.watchLocked(name, w, b)
	}
	t.known.Store(int64(len(t.agents)))
}

func (t *triggers) watchLocked(name, workspace string, b *blueprint) {
	if t.watches[name][workspace] == b {
		return
	}
	if t.watches[name] == nil {
		t.watches[name] = make(map[string]*blueprint)
	}
	if t.watched[workspace] == nil {
		t.watched[workspace] = &selector.Index[string]{}
	}
	t.watches[name][workspace] = b
	t.watched[workspace].Put(name, b.set)
}

func (t *triggers) unwatchLocked(name, workspace string) {
	x := t.watched[workspace]
	if x.Remove(name); x.Len() == 0 {
		delete(t.watched, workspace)
	}
	if delete(t.watches[name], workspace); len(t.watches[name]) == 0 {
		delete(t.watches, name)
	}
}

// watches reports whether it has a trigger that looks at the workspace.
func (b *blueprint) watches() bool {
	return slices.ContainsFunc(b.set.Subscriptions.Selectors, func(s parley.Selector) bool { return s.Trigger() && s.Workspace() })
}

// grants reports whether its runner was granted a workspace.
func (b *blueprint) grants(workspace string) bool {
	return auth.IsGranted(b.runner.Workspaces, workspace)
}

// seated gives the subscriptions of the agent that sits somewhere, by its plain name; nil where it has none.
func (t *triggers) seated(name string) *blueprint {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.agents[name]
}

// watcher gives those of an agent that watches a workspace.
func (t *triggers) watcher(name, workspace string) *blueprint {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.watcherLocked(name, workspace)
}

func (t *triggers) watcherLocked(name, workspace string) *blueprint {
	if b := t.watches[name][workspace]; b != nil || workspace == "" {
		return b
	}
	return t.watches[name][auth.AnyWorkspace]
}

// look has every conversation looked after in which sessions wait: who runs them may have come or left.
func (t *triggers) look(foreign bool) {
	t.waiting.mu.Lock()
	ids := make([]string, 0, len(t.waiting.ids))
	for id := range t.waiting.ids {
		ids = append(ids, id)
	}
	t.waiting.mu.Unlock()
	for _, id := range ids {
		t.queue.AddAfter(id, foreign)
	}
}

// FreedTree is told of every session that has ended: those that wait for room in its tree are looked after. It does not wait, and may be called with a lock of the sessions held.
func (t *triggers) FreedTree(root string) {
	t.waiting.mu.Lock()
	_, waits := t.waiting.ids[root]
	t.waiting.mu.Unlock()
	if waits {
		t.queue.Add(root)
	}
}

func (w *waiters) set(id string, waits bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waits {
		w.ids[id] = struct{}{}
		return
	}
	delete(w.ids, id)
}
