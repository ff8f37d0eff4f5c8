package jetstream

import (
	"sync"

	"github.com/nats-io/nats.go"
)

// Peers transport bytes between the nodes of a journal, at most once and without storage.
type Peers struct{ j *Journal }

// Peers returns the transport to the other nodes. It ends with the journal.
func (j *Journal) Peers() *Peers { return &Peers{j} }

func (p *Peers) subject() string { return p.j.opts.Name + ".peers" }

// Send sends data to every other node at most once, those of one node in order. It neither blocks
// nor keeps data. After an error no node gets it.
func (p *Peers) Send(data []byte) error { return unavailable(p.j.nc.Publish(p.subject(), data)) }

// Listen calls f with the messages of other nodes, one call after another, until stop is called,
// which waits for the last call. f may keep the data, and must not call stop.
func (p *Peers) Listen(f func(data []byte)) (stop func(), err error) {
	var calling sync.Mutex // guards the variable below, and is held while f is called
	stopped := false
	s, err := p.j.nc.Subscribe(p.subject(), func(m *nats.Msg) {
		calling.Lock()
		defer calling.Unlock()
		if !stopped {
			f(m.Data)
		}
	})
	if err != nil {
		return nil, unavailable(err)
	}
	return func() {
		_ = s.Unsubscribe() // a call that is under way continues
		calling.Lock()
		defer calling.Unlock()
		stopped = true
	}, nil
}

// MaxBytes bounds data.
func (p *Peers) MaxBytes() int { return p.j.maxParts }
