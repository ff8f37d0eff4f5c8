package failover

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// party is a crowd of clients at work in their own conversations.
type party struct {
	w             *world
	name          string
	clients       []*client
	conversations []string
	stop          chan struct{} // closed when no one begins anything new
	answering     context.Context
	rest          context.CancelFunc // ends answering
	reading       context.Context
	close         context.CancelFunc // ends reading

	talk, answers, readers sync.WaitGroup
}

// newParty begins the work of clients: writers who share conversations, pairs of one who asks and
// an agent that answers, and readers. All are at one hub, or, where that is nil, anywhere.
func (w *world) newParty(name string, at *place) *party {
	w.t.Helper()
	p := &party{w: w, name: name, stop: make(chan struct{})}
	p.answering, p.rest = context.WithCancel(w.t.Context())
	p.reading, p.close = context.WithCancel(w.t.Context())
	w.t.Cleanup(func() { p.rest(); p.close() })
	host := w.dial(nil, "host")
	ctx := w.t.Context()
	var shared []string
	for i := range (*crowd + 1) / 2 {
		shared = append(shared, fmt.Sprintf("%s-hall-%d", name, i))
	}
	seats := make(map[string][]parley.Participant)
	for i := range *crowd {
		hall := shared[i%len(shared)]
		seats[hall] = append(seats[hall], parley.Participant{ID: fmt.Sprintf("writer-%d", i), Kind: parley.KindAgent})
	}
	for _, hall := range shared {
		w.create(ctx, host, &parley.CreateConversationParams{ConversationID: hall,
			Policy: &parley.Policy{Kind: parley.PolicyOpen}, Participants: seats[hall]})
	}
	p.conversations = shared
	for i := range *crowd {
		p.begin(&p.talk, at, fmt.Sprintf("writer-%d", i),
			func(c *client) error { return c.write(ctx, shared[i%len(shared)], p.stop) })
		p.pair(i, host, at)
	}
	for i := range *crowd {
		read := p.conversations[i%len(p.conversations)]
		p.begin(&p.readers, at, fmt.Sprintf("reader-%d", i),
			func(c *client) error { return c.read(p.reading, read) }).reads = true
	}
	return p
}

// pair begins the work of one who asks and of the agent that answers.
func (p *party) pair(i int, host *client, at *place) {
	w, id := p.w, fmt.Sprintf("%s-pair-%d", p.name, i)
	asker, agent := fmt.Sprintf("asker-%d", i), fmt.Sprintf("agent-%d", i)
	ctx := w.t.Context()
	w.create(ctx, host, &parley.CreateConversationParams{ConversationID: id,
		Participants: []parley.Participant{{ID: asker, Kind: parley.KindHuman}, {ID: agent, Kind: parley.KindAgent}}})
	p.conversations = append(p.conversations, id)
	p.begin(&p.answers, at, agent, func(c *client) error { return c.answer(p.answering) })
	p.begin(&p.talk, at, asker, func(c *client) error { return c.ask(ctx, id, p.stop) })
}

// begin has a client begin its work.
func (p *party) begin(with *sync.WaitGroup, at *place, name string, work func(*client) error) *client {
	p.w.t.Helper()
	c := p.w.dial(at, name)
	p.clients = append(p.clients, c)
	with.Go(func() {
		if err := work(c); err != nil && p.reading.Err() == nil {
			c.fails(err)
		}
	})
	return c
}

// works waits until each client has had its word so many times more.
func (p *party) works(more int) {
	p.w.t.Helper()
	before := make(map[*client]int)
	for _, c := range p.clients {
		before[c] = len(c.said())
	}
	for _, c := range p.clients {
		waitFor(p.w.t, fmt.Sprintf("%d words of %s at %s", more, c.name, c.URL()), func() bool {
			if err := c.failure(); err != nil {
				p.w.t.Fatalf("%s has stopped: %v", c.name, err)
			}
			return len(c.said()) >= before[c]+more
		})
	}
}

// leave makes each client report its first call on another hub.
func (p *party) leave(at *place) {
	for _, c := range p.clients {
		c.leaves(at.url)
	}
}

// slowest waits for the first call of each client, and returns the last client and the time that it
// took.
func (p *party) slowest(after time.Time) (who string, took time.Duration) {
	p.w.t.Helper()
	for _, c := range p.clients {
		select {
		case at := <-c.again:
			if d := at.Sub(after); d > took {
				who, took = c.name, d
			}
		case <-time.After(time.Until(after.Add(hangTime))):
			p.w.t.Fatalf("%s has not spoken again; it calls %s, %v", c.name, c.URL(), c.failure())
		}
	}
	return who, took
}

// end lets everybody finish what was begun, and waits until the readers have all of it.
func (p *party) end() {
	p.w.t.Helper()
	close(p.stop)
	p.talk.Wait() // each question was answered then
	p.rest()
	p.answers.Wait()
	host := p.w.dial(nil, "host")
	for _, c := range p.clients {
		if !c.reads {
			continue
		}
		waitFor(p.w.t, "the last event at "+c.name, func() bool {
			words := c.said()
			s, err := host.GetConversation(p.w.t.Context(), &parley.GetConversationParams{ConversationID: words[0].conversation,
				Limit: 1})
			if err != nil {
				p.w.t.Fatal(err)
			}
			return words[len(words)-1].seq >= s.LatestSeq
		})
	}
	p.close()
	p.readers.Wait()
}
