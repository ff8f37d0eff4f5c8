package hub

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// Presence: who is connected to the other hubs of the journal. It is told every presenceEvery and when it changes, and forgotten after presenceFor without a word. Nothing is
// decided on it: it says what is shown as online, which runner is asked first, and which hub does first what all would do.
const (
	presenceEvery = 2 * time.Second
	presenceFor   = 6 * time.Second
	// presenceGather is how long a change waits for more before it is told.
	presenceGather = 20 * time.Millisecond
)

// presence is what this hub tells the others, and what those have told. Nil where there are none.
type presence struct {
	hub   *Hub
	peers Peers
	id    string
	kick  chan struct{} // one slot: what is here has changed, or somebody has come who does not know it
	round int64         // of the goroutine that tells

	mu      sync.RWMutex // guards the fields below
	others  map[string]*neighbor
	serving map[string][]*elsewhere
	agents  map[string]*parley.AgentInfo
	yielded map[string]time.Time // conversations in which what was due was left to another hub, and until when
}

// neighbor is another hub.
type neighbor struct {
	heard     time.Time
	round     int64 // of parts
	parts     map[int]*peerMessage
	executors map[string]*elsewhere // by key
	agents    []parley.AgentInfo
}

// elsewhere is an executor that is connected to another hub.
type elsewhere struct {
	Key      string   `json:"key"`
	By       string   `json:"by"`
	Agents   []string `json:"agents,omitempty"`
	Push     bool     `json:"push,omitempty"`
	Internal bool     `json:"internal,omitempty"`
	// Stamp orders the registrations of one executor; see newer in rivals.go. A hub of an older version gives none.
	Stamp int64 `json:"stamp,omitempty"`
}

// peerMessage is what hubs send each other: one part of who is there, the word that a hub has ended, or a delta.
type peerMessage struct {
	Hub       string             `json:"hub"`
	Round     int64              `json:"round,omitempty"`
	Part      int                `json:"part,omitempty"`
	Parts     int                `json:"parts,omitempty"`
	Executors []elsewhere        `json:"executors,omitempty"`
	Agents    []parley.AgentInfo `json:"agents,omitempty"`
	Stamp     int64              `json:"stamp,omitempty"` // the highest of a registration that the hub knows
	Gone      bool               `json:"gone,omitempty"`
	Delta     *peerDelta         `json:"delta,omitempty"`
}

func newPresence(h *Hub) *presence {
	return &presence{
		hub: h, peers: h.opts.Peers, id: randomID("hub_"), kick: make(chan struct{}, 1), others: make(map[string]*neighbor),
		serving: make(map[string][]*elsewhere), agents: make(map[string]*parley.AgentInfo),
		yielded: make(map[string]time.Time),
	}
}

// begin begins to listen and to tell.
func (p *presence) begin() error {
	stop, err := p.peers.Listen(p.hear)
	if err != nil {
		return err
	}
	p.hub.wg.Go(func() {
		defer stop()
		p.run()
	})
	return nil
}

// run tells until the hub ends.
func (p *presence) run() {
	ticker := time.NewTicker(presenceEvery)
	defer ticker.Stop()
	for {
		p.tell()
		select {
		case <-p.hub.ctx.Done():
			p.send(&peerMessage{Gone: true})
			return
		case <-ticker.C:
			p.forget()
		case <-p.kick:
			p.gather()
		}
	}
}

func (p *presence) gather() {
	timer := time.NewTimer(presenceGather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.hub.ctx.Done():
	}
}

// changed has it told soon that somebody has come or left. It does not wait.
func (p *presence) changed() {
	if p == nil {
		return
	}
	select {
	case p.kick <- struct{}{}:
	default: // it is about to be told
	}
}

// send sends a message. One that nobody gets is told again soon, or is not missed.
func (p *presence) send(m *peerMessage) {
	m.Hub = p.id
	data, err := json.Marshal(m)
	if err == nil && len(data) <= p.peers.MaxBytes() {
		err = p.peers.Send(data)
	}
	if err != nil {
		p.hub.log.Debug("the other hubs are not reached", "error", err)
	}
}

// tell sends who is connected here, in as many parts as are needed.
func (p *presence) tell() {
	p.round++
	parts := []*peerMessage{{}}
	room := p.peers.MaxBytes() - 512
	left := room
	fits := func(v any) *peerMessage {
		data, err := json.Marshal(v)
		if err != nil || len(data)+1 > room {
			p.hub.log.Debug("an executor or agent is too large to be told to the other hubs", "bytes", len(data), "error", err)
			return nil
		}
		if left -= len(data) + 1; left < 0 {
			parts, left = append(parts, &peerMessage{}), room-len(data)-1
		}
		return parts[len(parts)-1]
	}
	for _, x := range p.hub.turns.here() {
		if m := fits(x); m != nil {
			m.Executors = append(m.Executors, x)
		}
	}
	for _, a := range p.hub.agents.list() {
		if m := fits(a); m != nil {
			m.Agents = append(m.Agents, a)
		}
	}
	for i, m := range parts {
		m.Round, m.Part, m.Parts, m.Stamp = p.round, i, len(parts), p.hub.turns.stamps.highest()
		p.send(m)
	}
}

// here gives the executors that are connected to this hub.
func (t *turns) here() []elsewhere {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]elsewhere, 0, len(t.executors))
	for _, x := range t.executors {
		all = append(all, elsewhere{Key: x.key, By: x.by.AgentID, Agents: x.agents, Push: x.push, Internal: x.conn.internal, Stamp: x.stamp})
	}
	return all
}

// hear takes what another hub has sent.
func (p *presence) hear(data []byte) {
	var m peerMessage
	if err := json.Unmarshal(data, &m); err != nil {
		p.hub.log.Warn("another hub has sent what cannot be read", "error", err)
		return
	}
	switch {
	case m.Hub == "" || m.Hub == p.id:
	case m.Delta != nil:
		p.hub.passOn(m.Delta)
	case m.Gone:
		p.drop(func(id string, _ *neighbor) bool { return id == m.Hub })
	default:
		p.take(&m)
	}
}

// take takes a part of who is connected to another hub, and all of it once all parts have come.
func (p *presence) take(m *peerMessage) {
	p.hub.turns.stamps.heard(m.Stamp)
	p.mu.Lock()
	n := p.others[m.Hub]
	if n == nil {
		n = &neighbor{}
		p.others[m.Hub] = n
		p.changed() // it does not know this one
	}
	n.heard = time.Now()
	if m.Round != n.round {
		n.round, n.parts = m.Round, make(map[int]*peerMessage)
	}
	n.parts[m.Part] = m
	if len(n.parts) < m.Parts {
		p.mu.Unlock()
		return
	}
	before := n.executors
	n.executors, n.agents = make(map[string]*elsewhere), nil
	for _, part := range n.parts {
		for i := range part.Executors {
			x := &part.Executors[i]
			n.executors[x.Key] = x
		}
		n.agents = append(n.agents, part.Agents...)
	}
	n.parts = make(map[int]*peerMessage)
	p.indexLocked()
	moved, there := differing(before, n.executors), n.executors // which is not changed any more
	p.mu.Unlock()
	p.moved(moved)
	p.hub.turns.giveWay(m.Hub, there)
}

// differing gives the keys that only one of two has.
func differing(a, b map[string]*elsewhere) []string {
	var keys []string
	for key := range a {
		if b[key] == nil {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if a[key] == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// indexLocked brings what is looked up in line with what the others have told.
func (p *presence) indexLocked() {
	clear(p.serving)
	clear(p.agents)
	for _, n := range p.others {
		for _, x := range n.executors {
			for _, name := range append(slices.Clone(x.Agents), x.Key) {
				p.serving[name] = append(p.serving[name], x)
			}
		}
		for i := range n.agents {
			p.agents[n.agents[i].Name] = &n.agents[i]
		}
	}
}

// forget forgets hubs that have not been heard of, and what was left to another hub and is done.
func (p *presence) forget() {
	now := time.Now()
	p.mu.Lock()
	maps.DeleteFunc(p.yielded, func(_ string, until time.Time) bool { return now.Sub(until) > presenceEvery })
	p.mu.Unlock()
	p.drop(func(_ string, n *neighbor) bool { return now.Sub(n.heard) >= presenceFor })
}

func (p *presence) drop(gone func(id string, n *neighbor) bool) {
	p.mu.Lock()
	var moved []string
	for id, n := range p.others {
		if gone(id, n) {
			moved = slices.AppendSeq(moved, maps.Keys(n.executors))
			delete(p.others, id)
		}
	}
	if len(moved) > 0 {
		p.indexLocked()
	}
	p.mu.Unlock()
	p.moved(moved)
}

// moved tells the runners of executors that have come or left elsewhere.
func (p *presence) moved(keys []string) {
	if len(keys) == 0 {
		return
	}
	t := p.hub.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if t.executors[key] != nil || p.has(key) {
			p.hub.runners.came(key)
		} else {
			p.hub.runners.left(key)
		}
	}
}

// has reports whether an executor is connected to another hub.
func (p *presence) has(key string) bool { return p.serves(key, func(*elsewhere) bool { return true }) }

// serves reports whether an executor is connected to another hub that serves an agent, or is the one of a key, and meets a demand.
func (p *presence) serves(name string, meets func(*elsewhere) bool) bool {
	if p == nil {
		return false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.ContainsFunc(p.serving[name], meets)
}

// each calls f with every executor of the other hubs.
func (p *presence) each(f func(x *elsewhere)) {
	if p == nil {
		return
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, n := range p.others {
		for _, x := range n.executors {
			f(x)
		}
	}
}

// agent gives an agent that the process of another hub has registered.
func (p *presence) agent(name string) *parley.AgentInfo {
	if p == nil {
		return nil
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.agents[name]
}

// allAgents gives those agents, by name.
func (p *presence) allAgents() map[string]*parley.AgentInfo {
	if p == nil {
		return nil
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return maps.Clone(p.agents)
}

// alone reports whether no other hub has been heard of.
func (p *presence) alone() bool {
	if p == nil {
		return true
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.others) == 0
}

// What every hub would do at the same moment one does first: for each conversation another one. The others follow, each a while after the one before it, where it is still to do.
const (
	patienceStep = 200 * time.Millisecond
	maxPatience  = 600 * time.Millisecond
)

// patience is how long this hub lets others go first in a conversation.
func (p *presence) patience(id string) time.Duration {
	if p == nil {
		return 0
	}
	mine := weightOf(p.id, id)
	p.mu.RLock()
	defer p.mu.RUnlock()
	first := time.Duration(0)
	for other := range p.others {
		if w := weightOf(other, id); w > mine || w == mine && other > p.id {
			first++
		}
	}
	return min(first*patienceStep, maxPatience)
}

// yields is patience for what is due: once, then it is done here.
func (p *presence) yields(id string) time.Duration {
	wait := p.patience(id)
	if wait == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, waited := p.yielded[id]; waited {
		delete(p.yielded, id)
		return 0
	}
	p.yielded[id] = time.Now().Add(wait)
	return wait
}

// weightOf orders the hubs for a conversation.
func weightOf(hub, conversation string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(conversation))
	_, _ = h.Write([]byte(hub))
	return h.Sum64()
}

// peerDelta is a delta on its way to the subscribers of another hub, with the state on which it was taken.
type peerDelta struct {
	parley.Delta
	Seq   int64  `json:"seq"`
	Claim string `json:"claim,omitempty"` // the hash of the one that stood
}
