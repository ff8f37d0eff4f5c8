package jetstream

import (
	"sync"

	"github.com/nats-io/nats.go"
)

// Peers carry bytes between the nodes of a journal, at most once and stored nowhere.
type Peers struct{ j *Journal }

// Peers gives what carries bytes to the other nodes of the journal. It ends with the journal.
func (j *Journal) Peers() *Peers { return &Peers{j} }

func (p *Peers) subject() string { return p.j.opts.Name + ".peers" }

// Send gives data to every other node at most once, those of one node in order. It does not wait and keeps nothing of data. With an error nobody gets it.
func (p *Peers) Send(data []byte) error { return unavailable(p.j.nc.Publish(p.subject(), data)) }

// Listen calls f with what other nodes send, from now on until stop, which waits for the last call, one call after another. The data is f's; it does not call stop.
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
		_ = s.Unsubscribe() // which lets the call go on that is under way
		calling.Lock()
		defer calling.Unlock()
		stopped = true
	}, nil
}

// MaxBytes bounds data.
func (p *Peers) MaxBytes() int { return p.j.maxParts }
