package torture

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
)

// tailAll reads a whole conversation by Tail.
func tailAll(ctx context.Context, c parley.Client, id string) ([]parley.Event, error) {
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

// exported reads all conversations out of an export of the log's file.
func exported(t *testing.T, dir string) map[string][]parley.Event {
	t.Helper()
	data := filepath.Join(dir, "data")
	t.Log(strings.TrimSpace(program.Run(t, "log", "verify", "--data", data)))
	logs := map[string][]parley.Event{}
	for line := range strings.Lines(program.Run(t, "log", "export", "--data", data)) {
		var l struct {
			Conversation string          `json:"conversationId"`
			Event        json.RawMessage `json:"event"`
		}
		var e parley.Event
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l.Event == nil {
			continue
		}
		if err := json.Unmarshal(l.Event, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		logs[l.Conversation] = append(logs[l.Conversation], e)
	}
	return logs
}

// sameLog compares what Tail gives with what lies in the file.
func sameLog(tail, file []parley.Event) error {
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

// lapse is a claim that has ended without a final message, and when the turn was claimed again, in ms of hub time.
type lapse struct {
	ended, claimed int64
	attempt        int // of the next claim
	reason         string
}

// tally is what the turns of one conversation came to.
type tally struct {
	finals    map[int64]int    // by turn
	claims    map[int64]int    // by turn
	by        map[int64]string // who has said the final
	takeovers int
	lapses    []lapse
}

// count goes through a log and finds what must not be.
func count(events []parley.Event) (*tally, error) {
	k := &tally{finals: map[int64]int{}, claims: map[int64]int{}, by: map[int64]string{}}
	var open lapse
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
			if k.finals[s.Turn] > 0 {
				return nil, fmt.Errorf("seq %d: a claim on turn %d, which has ended", e.Seq, s.Turn)
			}
			if k.claims[s.Turn]++; open.ended != 0 {
				open.claimed, open.attempt = int64(e.At), s.Attempt
				k.lapses = append(k.lapses, open)
			}
			open = lapse{}
		case parley.KindClaimEnded:
			open = lapse{ended: int64(e.At), reason: s.Reason}
		case parley.KindTurnEnded:
			return nil, fmt.Errorf("seq %d: turn %d has ended without a final message: %s", e.Seq, s.Turn, s.Reason)
		}
	}
	for turn, n := range k.claims {
		if n > 1 && k.finals[turn] == 1 {
			k.takeovers++
		}
	}
	return k, nil
}

// speech is a message or trace.
func (k *tally) speech(e *parley.Event) error {
	if k.finals[e.Turn] > 0 {
		return fmt.Errorf("seq %d: %s speaks in turn %d, which has ended", e.Seq, e.From, e.Turn)
	}
	if e.Type == parley.TypeMessage && e.Finality.Final() {
		k.finals[e.Turn]++
		k.by[e.Turn] = e.From
	}
	return nil
}

// complete reports what a closed conversation lacks: turns 1 to the last, by turns of the two, each with one final message.
func (k *tally) complete() error {
	for turn := int64(1); turn <= int64(len(k.finals)); turn++ {
		who := duelAgent
		if turn%2 == 1 {
			who = duelDriver
		}
		if k.finals[turn] != 1 || k.by[turn] != who {
			return fmt.Errorf("turn %d has %d final messages, by %s", turn, k.finals[turn], k.by[turn])
		}
	}
	return nil
}

// presence tells when a replica that ran was registered with a hub that ran: then a turn could be offered.
type presence struct {
	spans    [][2]int64 // in ns
	hubKills []int64
}

// presenceOf plays what befell the processes.
func presenceOf(moments []moment) *presence {
	moments = slices.Clone(moments)
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	p := &presence{}
	known, still := map[string]bool{}, map[string]bool{}
	since := int64(0)
	for _, m := range moments {
		switch m.blow {
		case registered:
			known[m.replica] = true
		case stopped:
			still[m.replica] = true
		case continued:
			delete(still, m.replica)
		case killed:
			delete(known, m.replica)
		case hubKilled:
			clear(known)
			p.hubKills = append(p.hubKills, m.at)
		}
		there := false
		for id := range known {
			there = there || !still[id]
		}
		switch {
		case there && since == 0:
			since = m.at
		case !there && since != 0:
			p.spans, since = append(p.spans, [2]int64{since, m.at}), 0
		}
	}
	if since != 0 {
		p.spans = append(p.spans, [2]int64{since, time.Now().UnixNano()})
	}
	return p
}

// sum is for how long a replica was there.
func (p *presence) sum() (d time.Duration) {
	for _, s := range p.spans {
		d += time.Duration(s[1] - s[0])
	}
	return d
}

// waited is how much of a lapse a replica was there to be asked. What was before the hub's last start in it does not count, as the pause
// after a failure begins anew with that.
func (p *presence) waited(l lapse) time.Duration {
	from, to := l.ended*1e6, l.claimed*1e6
	for _, at := range p.hubKills {
		if at > from && at < to {
			from = at
		}
	}
	var sum int64
	for _, s := range p.spans {
		sum += max(0, min(to, s[1])-max(from, s[0]))
	}
	return time.Duration(sum)
}

// backoffOf is the longest pause of a hub after a number of failed attempts.
func backoffOf(attempts int) time.Duration {
	return min(250*time.Millisecond<<min(max(attempts-1, 0), 10), 5*time.Second)
}
