package cluster

import (
	"crypto/rand"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// Peers transport messages between the hubs of one journal: which executors are connected where, and
// deltas. No decision depends on a message. If one is lost or late, the presence is updated later, or
// the text of a delta comes with its message.
type Peers interface {
	// Send sends data to every other hub at most once, those of one hub in order. It does not block and
	// does not keep data. After an error no hub gets it.
	Send(data []byte) error
	// Listen calls f with each message of the others, one call after another, until stop returns. f
	// must not call stop.
	Listen(f func(data []byte)) (stop func(), err error)
	// MaxBytes bounds the size of a message.
	MaxBytes() int
}

// Local is what a Presence uses of the hub. It calls none of the methods with its mutex held.
type Local interface {
	// Executors returns the executors that are connected to this hub.
	Executors() []Executor
	// Agents returns the agents that the process of this hub has registered.
	Agents() []parley.AgentInfo
	// HighestStamp returns the highest Stamp that this hub knows, and SeeStamp adds one.
	HighestStamp() int64
	SeeStamp(int64)
	// ExecutorsMoved is called with the keys of executors that another hub has connected or lost.
	ExecutorsMoved(keys []string)
	// HubReported is called with the executors of another hub, which must not be changed.
	HubReported(hubID string, executors map[string]*Executor)
}

const (
	// presenceEvery is how often a hub reports its executors, besides each change.
	presenceEvery = 2 * time.Second
	// presenceFor is how long the report of a silent hub is kept.
	presenceFor = 6 * time.Second
	// presenceGather is how long a change waits for further ones before the hub reports it.
	presenceGather = 20 * time.Millisecond
)

// Presence reports this hub's executors to the other hubs, and keeps their reports. Until Start it knows
// no other hub.
type Presence struct {
	engine *conv.Engine
	local  Local
	peers  Peers
	id     string
	kick   chan struct{} // one slot: something changed here, or a new hub has to be informed
	round  int64         // of the goroutine of Run

	mu      sync.RWMutex // guards the fields below
	others  map[string]*otherHub
	serving map[string][]*Executor // by key, and by the agents that they serve
	agents  map[string]*parley.AgentInfo
	yielded map[string]time.Time // conversations in which another hub acts first, and until when
}

type otherHub struct {
	heard     time.Time
	round     int64 // of parts
	parts     map[int]*message
	executors map[string]*Executor // by key
	agents    []parley.AgentInfo
}

// Executor is an executor as hubs report it to each other.
type Executor struct {
	Key      string   `json:"key"`
	By       string   `json:"by"`
	Agents   []string `json:"agents,omitempty"`
	Push     bool     `json:"push,omitempty"`
	Internal bool     `json:"internal,omitempty"`
	// Stamp orders the registrations of one executor. A hub of an older version sends none.
	Stamp int64 `json:"stamp,omitempty"`
}

// message is what hubs send each other: one part of a report, the end of a hub, or a delta.
type message struct {
	Hub       string             `json:"hub"`
	Round     int64              `json:"round,omitempty"`
	Part      int                `json:"part,omitempty"`
	Parts     int                `json:"parts,omitempty"`
	Executors []Executor         `json:"executors,omitempty"`
	Agents    []parley.AgentInfo `json:"agents,omitempty"`
	Stamp     int64              `json:"stamp,omitempty"` // the highest one that the hub knows
	Gone      bool               `json:"gone,omitempty"`
	Delta     *delta             `json:"delta,omitempty"`
}

// delta is a delta for the subscriptions of another hub, with the state on which it was taken.
type delta struct {
	parley.Delta
	Seq   int64  `json:"seq"`
	Claim string `json:"claim,omitempty"` // the hash of the claim
}

// NewPresence returns a Presence. peers and local may be nil if Start is not called.
func NewPresence(e *conv.Engine, peers Peers, local Local) *Presence {
	return &Presence{
		engine: e, local: local, peers: peers, id: "hub_" + strings.ToLower(rand.Text()[:24]), kick: make(chan struct{}, 1),
		others: make(map[string]*otherHub), serving: make(map[string][]*Executor),
		agents: make(map[string]*parley.AgentInfo), yielded: make(map[string]time.Time),
	}
}

// ID is the id of this hub among its peers.
func (p *Presence) ID() string { return p.id }

// Start listens to the other hubs and reports to them until the hub ends.
func (p *Presence) Start() error {
	stop, err := p.peers.Listen(p.receive)
	if err != nil {
		return err
	}
	p.engine.Go(func() {
		defer stop()
		p.run()
	})
	return nil
}

func (p *Presence) run() {
	ticker := time.NewTicker(presenceEvery)
	defer ticker.Stop()
	for {
		p.report()
		select {
		case <-p.engine.Context().Done():
			p.send(&message{Gone: true})
			return
		case <-ticker.C:
			p.expire()
		case <-p.kick:
			p.gather()
		}
	}
}

func (p *Presence) gather() {
	timer := time.NewTimer(presenceGather)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.engine.Context().Done():
	}
}

// Changed makes the hub report soon. It does not block.
func (p *Presence) Changed() {
	select {
	case p.kick <- struct{}{}:
	default: // a report is due already
	}
}

// send sends a message. A lost message is sent again with the next report, or is not needed.
func (p *Presence) send(m *message) {
	m.Hub = p.id
	data, err := json.Marshal(m)
	if err == nil && len(data) <= p.peers.MaxBytes() {
		err = p.peers.Send(data)
	}
	if err != nil {
		p.engine.Log().Debug("the other hubs are not reached", "error", err)
	}
}

// SendDelta sends a delta that was taken on a state to the subscriptions of the other hubs. claim is
// the hash of the claim of that state, or empty.
func (p *Presence) SendDelta(d parley.Delta, seq int64, claim string) {
	if p.isAlone() {
		return
	}
	p.send(&message{Delta: &delta{Delta: d, Seq: seq, Claim: claim}})
}

// report sends the executors and agents of this hub, in as many parts as needed.
func (p *Presence) report() {
	p.round++
	parts := []*message{{}}
	room := p.peers.MaxBytes() - 512
	left := room
	fits := func(v any) *message {
		data, err := json.Marshal(v)
		if err != nil || len(data)+1 > room {
			p.engine.Log().Debug("an executor or agent is too large for a report", "bytes", len(data), "error", err)
			return nil
		}
		if left -= len(data) + 1; left < 0 {
			parts, left = append(parts, &message{}), room-len(data)-1
		}
		return parts[len(parts)-1]
	}
	for _, x := range p.local.Executors() {
		if m := fits(x); m != nil {
			m.Executors = append(m.Executors, x)
		}
	}
	for _, a := range p.local.Agents() {
		if m := fits(a); m != nil {
			m.Agents = append(m.Agents, a)
		}
	}
	for i, m := range parts {
		m.Round, m.Part, m.Parts, m.Stamp = p.round, i, len(parts), p.local.HighestStamp()
		p.send(m)
	}
}

func (p *Presence) receive(data []byte) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		p.engine.Log().Warn("cannot read a message of another hub", "error", err)
		return
	}
	switch {
	case m.Hub == "" || m.Hub == p.id:
	case m.Delta != nil:
		p.engine.PassPeerDelta(m.Delta.Delta, m.Delta.Seq, m.Delta.Claim)
	case m.Gone:
		p.removeHubs(func(id string, _ *otherHub) bool { return id == m.Hub })
	default:
		p.receivePart(&m)
	}
}

// receivePart keeps one part of a report, and replaces the previous report once it has all parts.
func (p *Presence) receivePart(m *message) {
	p.local.SeeStamp(m.Stamp)
	p.mu.Lock()
	h := p.others[m.Hub]
	if h == nil {
		h = &otherHub{}
		p.others[m.Hub] = h
		p.Changed() // the new hub does not know this one
	}
	h.heard = time.Now()
	if m.Round != h.round {
		h.round, h.parts = m.Round, make(map[int]*message)
	}
	h.parts[m.Part] = m
	if len(h.parts) < m.Parts {
		p.mu.Unlock()
		return
	}
	before := h.executors
	h.executors, h.agents = make(map[string]*Executor), nil
	for _, part := range h.parts {
		for i := range part.Executors {
			x := &part.Executors[i]
			h.executors[x.Key] = x
		}
		h.agents = append(h.agents, part.Agents...)
	}
	h.parts = make(map[int]*message)
	p.indexLocked()
	moved, executors := differentKeys(before, h.executors), h.executors // executors is not changed any more
	p.mu.Unlock()
	p.notifyMoved(moved)
	p.local.HubReported(m.Hub, executors)
}

// differentKeys returns the keys that only one of two maps has.
func differentKeys(a, b map[string]*Executor) []string {
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

// indexLocked updates the indexes after a change of others.
func (p *Presence) indexLocked() {
	clear(p.serving)
	clear(p.agents)
	for _, h := range p.others {
		for _, x := range h.executors {
			for _, name := range append(slices.Clone(x.Agents), x.Key) {
				p.serving[name] = append(p.serving[name], x)
			}
		}
		for i := range h.agents {
			p.agents[h.agents[i].Name] = &h.agents[i]
		}
	}
}

// expire removes silent hubs and old entries of yielded.
func (p *Presence) expire() {
	now := time.Now()
	p.mu.Lock()
	maps.DeleteFunc(p.yielded, func(_ string, until time.Time) bool { return now.Sub(until) > presenceEvery })
	p.mu.Unlock()
	p.removeHubs(func(_ string, h *otherHub) bool { return now.Sub(h.heard) >= presenceFor })
}

func (p *Presence) removeHubs(gone func(id string, h *otherHub) bool) {
	p.mu.Lock()
	var moved []string
	for id, h := range p.others {
		if gone(id, h) {
			moved = slices.AppendSeq(moved, maps.Keys(h.executors))
			delete(p.others, id)
		}
	}
	if len(moved) > 0 {
		p.indexLocked()
	}
	p.mu.Unlock()
	p.notifyMoved(moved)
}

func (p *Presence) notifyMoved(keys []string) {
	if len(keys) > 0 {
		p.local.ExecutorsMoved(keys)
	}
}

// Has reports whether an executor is connected to another hub.
func (p *Presence) Has(key string) bool { return p.Serves(key, func(*Executor) bool { return true }) }

// Serves reports whether an executor of another hub serves an agent, or has a key, and matches.
func (p *Presence) Serves(name string, matches func(*Executor) bool) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.ContainsFunc(p.serving[name], matches)
}

// EachExecutor calls f with every executor of the other hubs.
func (p *Presence) EachExecutor(f func(x *Executor)) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, h := range p.others {
		for _, x := range h.executors {
			f(x)
		}
	}
}

// Agent returns an agent that the process of another hub has registered, or nil.
func (p *Presence) Agent(name string) *parley.AgentInfo {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.agents[name]
}

// Agents returns the agents that the processes of other hubs have registered, by name.
func (p *Presence) Agents() map[string]*parley.AgentInfo {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return maps.Clone(p.agents)
}

func (p *Presence) isAlone() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.others) == 0
}

// One hub acts first on what is due in a conversation: for each conversation another one. The others
// follow in steps, if it is still due.
const (
	patienceStep = 200 * time.Millisecond
	maxPatience  = 600 * time.Millisecond
)

// Patience returns how long this hub lets others act first in a conversation.
func (p *Presence) Patience(conversation string) time.Duration {
	mine := weight(p.id, conversation)
	p.mu.RLock()
	defer p.mu.RUnlock()
	first := time.Duration(0)
	for other := range p.others {
		if w := weight(other, conversation); w > mine || w == mine && other > p.id {
			first++
		}
	}
	return min(first*patienceStep, maxPatience)
}

// Yields returns Patience the first time, and 0 the second time.
func (p *Presence) Yields(conversation string) time.Duration {
	wait := p.Patience(conversation)
	if wait == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, waited := p.yielded[conversation]; waited {
		delete(p.yielded, conversation)
		return 0
	}
	p.yielded[conversation] = time.Now().Add(wait)
	return wait
}

// weight orders the hubs for a conversation.
func weight(hub, conversation string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(conversation))
	_, _ = h.Write([]byte(hub))
	return h.Sum64()
}
