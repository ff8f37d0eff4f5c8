package failover

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/promise"
)

// verdict is what the log, and what clients know, come to.
type verdict struct {
	acked, turns, read            int // compared with the promises
	lost, doubled, spoken, unread int // broken
	late                          int // clients, or hubs, that were not there again in time
}

func (v *verdict) add(o verdict) {
	v.acked, v.turns, v.read = v.acked+o.acked, v.turns+o.turns, v.read+o.read
	v.lost, v.doubled, v.spoken, v.unread, v.late = v.lost+o.lost, v.doubled+o.doubled, v.spoken+o.spoken,
		v.unread+o.unread, v.late+o.late
}

// kept says how hard the promises were tried.
func (v *verdict) kept(t *testing.T, faults int, figure string) {
	t.Helper()
	promise.ID(1).Kept(t, promise.Tried{Faults: faults, Operations: v.acked, Violations: v.lost})
	promise.ID(3).Kept(t, promise.Tried{Faults: faults, Operations: v.acked, Violations: v.doubled})
	promise.ID(7).Kept(t, promise.Tried{Faults: faults, Operations: v.turns, Violations: v.spoken})
	promise.ID(8).Kept(t, promise.Tried{Faults: faults, Operations: v.turns, Violations: v.late, Figure: figure})
	promise.ID(9).Kept(t, promise.Tried{Faults: faults, Operations: v.read, Violations: v.unread})
}

// judge compares the log of a party with the records of its clients. Acknowledged messages are in
// the log once, at their seqs. Each turn has one final message, and each question one answer.
// Readers got every event once, unchanged and in order.
func (p *party) judge() (v verdict) {
	t := p.w.t
	t.Helper()
	logs := make(map[string][]parley.Event)
	host := p.w.dial(nil, "host")
	for _, id := range p.conversations {
		logs[id] = p.logOf(host, id)
		v.add(p.turns(id, logs[id]))
	}
	for _, c := range p.clients {
		if c.failure() != nil {
			t.Errorf("%s has stopped: %v", c.name, c.failure())
		}
		if c.reads {
			v.add(c.sawAll(t, logs))
			continue
		}
		for _, w := range c.said() {
			v.acked++
			log := logs[w.conversation]
			if w.seq < 1 || w.seq > int64(len(log)) || log[w.seq-1].From != c.name || textOf(t, &log[w.seq-1]) != w.text {
				v.lost++
				t.Errorf("%s was told that %q is event %d of %s, and it is not", c.name, w.text, w.seq, w.conversation)
			}
		}
	}
	return v
}

// logOf reads all of a conversation.
func (p *party) logOf(host *client, id string) (log []parley.Event) {
	p.w.t.Helper()
	for {
		page, err := host.Tail(p.w.t.Context(), &parley.TailParams{ConversationID: id, SinceSeq: int64(len(log))})
		if err != nil {
			p.w.t.Fatal(err)
		}
		for _, e := range page.Events {
			if log = append(log, e); e.Seq != int64(len(log)) {
				p.w.t.Fatalf("event %d of %s is at place %d", e.Seq, id, len(log))
			}
		}
		if int64(len(log)) >= page.LatestSeq {
			return log
		}
	}
}

// turns looks for words that are there twice, and at how turns ended.
func (p *party) turns(id string, log []parley.Event) (v verdict) {
	t := p.w.t
	t.Helper()
	finals, texts := make(map[int64]int), make(map[string]int)
	questions, answers := 0, 0
	for i := range log {
		e := &log[i]
		if e.Type != parley.TypeMessage || e.Finality != parley.FinalityTurn {
			continue
		}
		text := textOf(t, e)
		finals[e.Turn]++
		if texts[text]++; texts[text] > 1 {
			v.doubled++
			t.Errorf("%s: %q is there %d times", id, text, texts[text])
		}
		if text == answerOf(e.Turn) {
			answers++
		} else {
			questions++
		}
	}
	for turn, n := range finals {
		if v.turns++; n != 1 {
			v.spoken++
			t.Errorf("%s: turn %d has %d final messages", id, turn, n)
		}
	}
	if answers > 0 && answers != questions {
		v.spoken++
		t.Errorf("%s: %d questions, and %d answers", id, questions, answers)
	}
	return v
}

// sawAll holds what a reader got against the log.
func (c *client) sawAll(t *testing.T, logs map[string][]parley.Event) (v verdict) {
	t.Helper()
	words := c.said()
	log := logs[words[0].conversation]
	if len(words) != len(log) {
		v.unread++
		t.Errorf("%s got %d of %d events", c.name, len(words), len(log))
	}
	for i, w := range words[:min(len(words), len(log))] {
		v.read++
		if w.seq != log[i].Seq || w.text != string(log[i].Raw()) {
			v.unread++
			t.Errorf("%s got event %d of %s at place %d: %s", c.name, w.seq, w.conversation, i+1, w.text)
		}
	}
	return v
}

func textOf(t *testing.T, e *parley.Event) string {
	t.Helper()
	if e.Type != parley.TypeMessage {
		return ""
	}
	m, err := e.Message()
	if err != nil {
		t.Fatal(err)
	}
	return m.Text
}
