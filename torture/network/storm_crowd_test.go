package network

import (
	"bufio"
	"context"
	"encoding/json"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/parleyhub/parley/sdk"
)

// crowdConfig is the input of a process of subscribers. Subscriber i reads Rooms[i%len(Rooms)]. It
// prints a roundReport when all are connected and after each round. At the end of its stdin it
// prints a seen of each.
type crowdConfig struct {
	URL   string   `json:"url"`
	First int      `json:"first"`
	N     int      `json:"n"`
	Rooms []string `json:"rooms"`
}

// roundReport says how many have heard the crier's word of a round; round 0 is the first event.
type roundReport struct {
	Round int `json:"round"`
	Back  int `json:"back"`
}

// crowdDialers is how many connect at once at the beginning.
const crowdDialers = 16

func runCrowd(config []byte, told *bufio.Scanner, say *json.Encoder) error {
	var c crowdConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	clients := make([]*sdk.Client, c.N)
	g, _ := errgroup.WithContext(ctx)
	g.SetLimit(crowdDialers)
	for i := range clients {
		g.Go(func() (err error) {
			clients[i], err = dialPatiently(ctx, c.URL, "reader")
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	m := &muster{n: c.N, heard: map[int]int{}, say: say, failed: make(chan error, 1)}
	members := make([]*member, c.N)
	var wg sync.WaitGroup
	for i := range members {
		room := c.Rooms[(c.First+i)%len(c.Rooms)]
		members[i] = &member{room: room, history: newHistory(room)}
		wg.Go(func() { m.failedWith(ctx, members[i].read(ctx, clients[i], m)) })
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for told.Scan() { // to the end of stdin
		}
	}()
	select {
	case err := <-m.failed:
		return err
	case <-over:
	}
	cancel()
	wg.Wait()
	for _, s := range members {
		if err := say.Encode(s.history.seen(s.room)); err != nil {
			return err
		}
	}
	return nil // clients end with the process
}

// member is one subscriber.
type member struct {
	room    string
	history *history
	round   int // that the crier said last
}

// read reads to the end of ctx, over all reconnects, as the sdk makes them.
func (s *member) read(ctx context.Context, c *sdk.Client, m *muster) error {
	for e, err := range c.Events(ctx, s.room, 0) {
		if err != nil {
			return err
		}
		s.history.add(e.Seq, e.Raw())
		switch {
		case e.Seq == 1:
			m.count(0)
		case e.From == crier:
			s.round++
			m.count(s.round)
		}
	}
	return nil
}

// muster counts who has heard of a round.
type muster struct {
	n      int
	failed chan error

	mu    sync.Mutex // guards the fields below
	heard map[int]int
	say   *json.Encoder
}

func (m *muster) count(round int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.heard[round]++; m.heard[round] == m.n {
		_ = m.say.Encode(roundReport{Round: round, Back: m.n}) // an error means that the parent ended
	}
}

func (m *muster) failedWith(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	select {
	case m.failed <- err:
	default:
	}
}
