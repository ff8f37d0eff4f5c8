package memory

import (
	"errors"
	"slices"
	"sync"
)

// Peers connect hubs that share a journal in one process, for simulations and tests. Each hub joins
// them.
type Peers struct {
	mu  sync.Mutex // guards the fields below
	all []*Peer
}

// NewPeers returns Peers without hubs.
func NewPeers() *Peers { return &Peers{} }

// Join returns the connection of one hub to the others.
func (p *Peers) Join() *Peer {
	one := &Peer{peers: p, wake: make(chan struct{}, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, one)
	return one
}

// Peer is one hub among others. It loses messages while it does not listen, or while Cut is set.
type Peer struct {
	peers *Peers
	wake  chan struct{} // one slot: its listener has a message

	mu        sync.Mutex // guards the fields below
	queue     [][]byte
	listening bool
	cut       bool
}

// errCut is returned by Send while the peer is cut off.
var errCut = errors.New("memory: the peers are out of reach")

// maxQueued bounds the messages of one listener. More messages are lost.
const maxQueued = 10_000

// Cut cuts a peer off from the others, or connects it again.
func (p *Peer) Cut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
}

// MaxBytes bounds a message. It is small, so that tests exceed it.
func (p *Peer) MaxBytes() int { return 64 << 10 }

// Send sends data to every other peer that listens.
func (p *Peer) Send(data []byte) error {
	p.mu.Lock()
	cut := p.cut
	p.mu.Unlock()
	if cut || len(data) > p.MaxBytes() {
		return errCut
	}
	p.peers.mu.Lock()
	defer p.peers.mu.Unlock()
	for _, o := range p.peers.all {
		if o != p {
			o.put(data)
		}
	}
	return nil
}

func (p *Peer) put(data []byte) {
	p.mu.Lock()
	if p.listening && !p.cut && len(p.queue) < maxQueued {
		p.queue = append(p.queue, slices.Clone(data))
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default: // a wake-up is pending
	}
}

func (p *Peer) take() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.queue
	p.queue = nil
	return all
}

// Listen calls f with the messages of the others until stop is called, which waits for the last
// call.
func (p *Peer) Listen(f func(data []byte)) (stop func(), err error) {
	p.mu.Lock()
	p.listening = true
	p.mu.Unlock()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			for _, data := range p.take() {
				f(data)
			}
			select {
			case <-p.wake:
			case <-end:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.listening = false
		p.mu.Unlock()
		close(end)
		<-ended
	}), nil
}
