package network

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/promise"
)

var (
	floodConns  = flag.Int("flood.conns", 4, "connections on which one token asks for as much as it may at once")
	floodPairs  = flag.Int("flood.pairs", 1, "pairs of windows, one without and one with them")
	floodWindow = flag.Duration("flood.window", 2*time.Second, "how long a window is")
	floodWithin = flag.Int("flood.within", 0,
		"by how many percent p99 of the other tokens may be longer with them; 0: it is only told")
)

const (
	// floodInFlight are the calls under way on each connection, near what one may have.
	floodInFlight = 60
	// floodTimes is how many times as many calls the flood makes as the good clients, at least, and
	// floodRefused how many of its writes are refused in a window.
	floodTimes, floodRefused = 2, 20
)

// TestFlood: one token that asks for all it can, writes and reads, is held to its own bounds, and
// takes little of the time of others: no call of theirs is refused.
func TestFlood(t *testing.T) {
	t.Parallel()
	h := startPublic(t)
	b := newBeside(t, h)
	token := h.invite("flood")
	var total floodState
	b.pairs(*floodPairs, *floodWindow, func(during func(func() bool)) {
		// What it does itself, on the processors that the hub needs, counts for little.
		p := spawn(t, "flood", floodConfig{URL: h.URL, Token: token, Conns: *floodConns}, "nice", "-n", "5")
		p.hear(slowGone, new(floodState))
		before := answerOf[floodState](p)
		goods := b.done.Load()
		var had floodState
		during(func() bool {
			had = answerOf[floodState](p).since(before)
			return had.Refused >= floodRefused && had.calls() >= floodTimes*(b.done.Load()-goods)
		})
		total = total.plus(had)
		p.in.Close() // and it ends
		<-p.ended
	})
	done, violations, figure := b.judge(*floodWindow, *floodWithin)
	h.Stop(t)
	t.Logf("the flood had %d writes done and %d refused, and %d pages read, beside %d things of others", total.Done,
		total.Refused, total.Read, done)
	enough(t, "calls of the flood", int(total.calls()), done)
	enough(t, "writes of the flood that were refused", int(total.Refused), floodRefused**floodPairs)
	enough(t, "writes of the flood that were done", int(total.Done), 1)
	enough(t, "reads of the flood", int(total.Read), 1)
	promise.ID(11).Kept(t, promise.Tried{
		Faults: int(total.calls()), Operations: done, Violations: violations, Figure: figure +
			" under a flood of another token",
	})
}

// floodConfig is the input of the process of a flood. It prints a floodState when all are
// connected, and one for each later input line.
type floodConfig struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	Conns int    `json:"conns"`
}

// floodState is what it was answered so far.
type floodState struct{ Done, Refused, Read int64 }

func (s floodState) calls() int64 { return s.Done + s.Refused + s.Read }

func (s floodState) since(o floodState) floodState {
	return floodState{s.Done - o.Done, s.Refused - o.Refused, s.Read - o.Read}
}

func (s floodState) plus(o floodState) floodState {
	return floodState{s.Done + o.Done, s.Refused + o.Refused, s.Read + o.Read}
}

// flood counts what is answered.
type flood struct{ done, refused, read atomic.Int64 }

func (f *flood) now() floodState {
	return floodState{f.done.Load(), f.refused.Load(), f.read.Load()}
}

func runFlood(config []byte, told *bufio.Scanner, say *json.Encoder) error {
	var c floodConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	f, failed := &flood{}, make(chan error, c.Conns)
	for i := range c.Conns {
		p, err := hubproc.Dial[struct{}](c.URL, "", nil, hubproc.CallerOptions{Token: c.Token})
		if err != nil {
			return err
		}
		go func() { failed <- f.pour(p, i%2 == 0) }()
	}
	over := make(chan error, 1)
	go func() {
		for more := true; more; more = told.Scan() { // to the end of stdin
			if err := say.Encode(f.now()); err != nil {
				over <- err
				return
			}
		}
		over <- nil
	}()
	select {
	case err := <-failed:
		return err
	case err := <-over:
		return err
	}
}

// pour asks and asks, as long as the process.
func (f *flood) pour(p *hubproc.Caller[struct{}], writes bool) error {
	message := parley.SendMessageParams{
		ConversationID: "of-flood", Payload: fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 500)),
		Finality: parley.FinalityTurn,
	}
	page := parley.TailParams{ConversationID: "of-flood", Limit: 100}
	for {
		for range floodInFlight {
			var err error
			if writes {
				err = p.Ask(methods.SendMessage, &message)
			} else {
				err = p.Ask(methods.Tail, &page)
			}
			if err != nil {
				return err
			}
		}
		for range floodInFlight {
			r, err := p.Read()
			if err != nil {
				return err
			}
			if err := f.count(r.Error, writes); err != nil {
				return err
			}
		}
	}
}

// count counts an answer. Nothing else may come of a call than what was asked or rate_limited.
func (f *flood) count(refusal *parley.WireError, writes bool) error {
	switch {
	case refusal == nil && writes:
		f.done.Add(1)
	case refusal == nil:
		f.read.Add(1)
	default:
		if err := parley.FromWire(*refusal); !errors.Is(err, parley.ErrRateLimited) {
			return err
		}
		f.refused.Add(1)
	}
	return nil
}
