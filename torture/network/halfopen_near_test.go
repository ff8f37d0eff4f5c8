package network

import (
	"bufio"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// neighbourConfig is the input of the process next to the hub. It prints a neighbourState twice a
// second, and registers an executor for an input line.
type neighbourConfig struct {
	URL   string `json:"url"`
	HTTP  string `json:"http"`
	Token string `json:"token"`
}

// neighbourState is what the hub counts, and what the neighbour has done.
type neighbourState struct {
	Sockets, Pending, Streams, Requests, Executors, Goroutines float64
	// Writes are the messages that it said in the busy conversation.
	Writes int64
	// Registered is whether its executor is, and Took whether that has the turn.
	Registered, Took bool
}

// neighbourPace is the time from one message to the next, and neighbourLook from one state to the
// next.
const (
	neighbourPace = 200 * time.Millisecond
	neighbourLook = 500 * time.Millisecond
)

// deadTurnMs is how long a claim lasts: far longer than the test, so that no claim ends for that
// reason.
const deadTurnMs = 3_600_000

func runNeighbour(config []byte, told *bufio.Scanner, say *json.Encoder) error {
	var c neighbourConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	token = c.Token
	if err := prepare(&c); err != nil {
		return err
	}
	failed := make(chan error, 3)
	w := &writer{id: "w", conversation: deadBusy, size: 300, pace: neighbourPace, written: new(atomic.Int64)}
	go func() { failed <- w.work(c.URL, nil, parley.MaxEventsLimit) }()
	var registered, took atomic.Bool
	go func() {
		if told.Scan() {
			registered.Store(true)
			failed <- neighbourExecutor(&c, &took)
		}
	}()
	metrics := newScraper(c.HTTP)
	for tick := time.Tick(neighbourLook); ; {
		m, err := metrics.scrape()
		if err != nil {
			return err
		}
		err = say.Encode(neighbourState{
			Sockets: m[authenticated], Pending: m[`parley_sockets{state="pending"}`], Streams: m["parley_streams"],
			Requests:  m["parley_requests"],
			Executors: m["parley_executors"], Goroutines: m["go_goroutines"], Writes: w.written.Load(),
			Registered: registered.Load(), Took: took.Load(),
		})
		if err != nil {
			return err
		}
		select {
		case err := <-failed:
			return err
		case <-tick:
		}
	}
}

// prepare makes the conversations, and asks the agent something.
func prepare(c *neighbourConfig) error {
	p, err := dial(c.URL, deadAsker, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	asker := parley.Participant{ID: deadAsker, Kind: parley.KindHuman}
	for _, q := range []parley.CreateConversationParams{
		{ConversationID: deadQuiet, Participants: []parley.Participant{asker}},
		{
			ConversationID: deadBusy, Participants: []parley.Participant{asker, {ID: "w", Kind: parley.KindAgent}},
			Policy: &parley.Policy{Kind: parley.PolicyOpen},
			Limits: &parley.Limits{MaxEvents: parley.MaxEventsLimit},
		},
		{
			ConversationID: deadTurns, Participants: []parley.Participant{asker, {ID: deadAgent, Kind: parley.KindAgent}},
			Limits: &parley.Limits{TurnTimeoutMs: deadTurnMs},
		},
	} {
		if err := p.Call(methods.CreateConversation, q, nil); err != nil {
			return fmt.Errorf("%s: %w", q.ConversationID, err)
		}
	}
	return p.Call(methods.SendMessage, parley.SendMessageParams{
		ConversationID: deadTurns, Payload: json.RawMessage(`{"text":"Is it approved?"}`), Finality: parley.FinalityTurn,
	}, nil)
}

// neighbourExecutor takes the turn when the other executor has lost it.
func neighbourExecutor(c *neighbourConfig, took *atomic.Bool) error {
	p, err := dial(c.URL, deadAgent, nil)
	if err != nil {
		return err
	}
	if err := takeTurn(p, "near"); err != nil {
		return err
	}
	took.Store(true)
	drain(p)
	return p.Ended
}
