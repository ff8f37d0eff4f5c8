package duel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/parleyhub/parley"
)

// TailAll reads a whole conversation by Tail.
func TailAll(ctx context.Context, c parley.Client, id string) ([]parley.Event, error) {
	var all []parley.Event
	for {
		page, err := c.Tail(ctx, &parley.TailParams{ConversationID: id, SinceSeq: int64(len(all)), Limit: parley.MaxPage})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Events...)
		if int64(len(all)) >= page.LatestSeq {
			return all, nil
		}
	}
}

// SameLog compares the result of Tail with the log in the file.
func SameLog(tail, file []parley.Event) error {
	if len(tail) != len(file) {
		return fmt.Errorf("%d events by Tail, %d in the file", len(tail), len(file))
	}
	for i := range tail {
		a, err := json.Marshal(tail[i])
		b, err2 := json.Marshal(file[i])
		if err := cmp.Or(err, err2); err != nil {
			return err
		}
		if string(a) != string(b) {
			return fmt.Errorf("event %d is %s by Tail, %s in the file", i+1, a, b)
		}
	}
	return nil
}

// Lapse is a claim that ended without a final message, and the time at which the turn was claimed
// again, in ms of hub time.
type Lapse struct {
	Ended, Claimed int64
	Attempt        int // of the next claim
	Reason         string
}

// Tally is what the turns of one conversation came to.
type Tally struct {
	Finals    map[int64]int    // by turn
	claims    map[int64]int    // by turn
	by        map[int64]string // the author of the final message
	Takeovers int
	Lapses    []Lapse
}

// Count goes through a log and finds what must not be.
func Count(events []parley.Event) (*Tally, error) {
	k := &Tally{Finals: map[int64]int{}, claims: map[int64]int{}, by: map[int64]string{}}
	var open Lapse
	for i, e := range events {
		if e.Seq != int64(i+1) {
			return nil, fmt.Errorf("seq %d at place %d", e.Seq, i+1)
		}
		if e.Type != parley.TypeSystem {
			if err := k.speech(&e); err != nil {
				return nil, err
			}
			continue
		}
		s, err := e.System()
		if err != nil {
			return nil, err
		}
		switch s.Kind {
		case parley.KindTurnClaimed:
			if k.Finals[s.Turn] > 0 {
				return nil, fmt.Errorf("seq %d: a claim on turn %d, which is closed", e.Seq, s.Turn)
			}
			if k.claims[s.Turn]++; open.Ended != 0 {
				open.Claimed, open.Attempt = int64(e.At), s.Attempt
				k.Lapses = append(k.Lapses, open)
			}
			open = Lapse{}
		case parley.KindClaimEnded:
			open = Lapse{Ended: int64(e.At), Reason: s.Reason}
		case parley.KindTurnEnded:
			return nil, fmt.Errorf("seq %d: turn %d ended without a final message: %s", e.Seq, s.Turn, s.Reason)
		}
	}
	for turn, n := range k.claims {
		if n > 1 && k.Finals[turn] == 1 {
			k.Takeovers++
		}
	}
	return k, nil
}

// speech is a message or trace.
func (k *Tally) speech(e *parley.Event) error {
	if k.Finals[e.Turn] > 0 {
		return fmt.Errorf("seq %d: %s speaks in turn %d, which is closed", e.Seq, e.From, e.Turn)
	}
	if e.Type == parley.TypeMessage && e.Finality.Final() {
		k.Finals[e.Turn]++
		k.by[e.Turn] = e.From
	}
	return nil
}

// CountAll counts the turns of all conversations. A conversation that is not complete fails the
// test.
func CountAll(t testing.TB, ids []string, logs map[string][]parley.Event) (turns, takeovers int, lapses []Lapse) {
	t.Helper()
	for _, id := range ids {
		k, err := Count(logs[id])
		if err == nil {
			err = k.Complete()
		}
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		turns, takeovers, lapses = turns+len(k.Finals)/2, takeovers+k.Takeovers, append(lapses, k.Lapses...)
	}
	return turns, takeovers, lapses
}

// Complete reports what a closed conversation lacks: turns 1 to the last, by turns of the two, each
// with one final message.
func (k *Tally) Complete() error {
	for turn := int64(1); turn <= int64(len(k.Finals)); turn++ {
		who := Agent
		if turn%2 == 1 {
			who = Driver
		}
		if k.Finals[turn] != 1 || k.by[turn] != who {
			return fmt.Errorf("turn %d has %d final messages, by %s", turn, k.Finals[turn], k.by[turn])
		}
	}
	return nil
}
