package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/internal/promise"
)

// counts are how much there was to judge.
type counts struct {
	faults, crashes, cuts                           int64
	acked, refused, unknown                         int64
	delivered, joins, waits, told, reads, conflicts int64
	claims, turns, sessions, closes                 int64
	violations                                      map[promise.ID]int64
}

func (c *counts) add(o counts) {
	c.faults, c.crashes, c.cuts = c.faults+o.faults, c.crashes+o.crashes, c.cuts+o.cuts
	c.acked, c.refused, c.unknown = c.acked+o.acked, c.refused+o.refused, c.unknown+o.unknown
	c.delivered, c.joins, c.waits, c.told, c.reads = c.delivered+o.delivered, c.joins+o.joins, c.waits+o.waits,
		c.told+o.told, c.reads+o.reads
	c.conflicts, c.claims, c.turns, c.sessions, c.closes = c.conflicts+o.conflicts, c.claims+o.claims, c.turns+o.turns,
		c.sessions+o.sessions, c.closes+o.closes
	if c.violations == nil {
		c.violations = make(map[promise.ID]int64)
	}
	for id, n := range o.violations {
		c.violations[id] += n
	}
}

func (c counts) String() string {
	return fmt.Sprintf("%d faults, %d crashes, %d connections cut; %d writes acknowledged, %d refused, %d unknown; %d events delivered over %d subscriptions; "+
		"%d waits, %d guidances, %d reads; %d claims, %d turns, %d sessions, %d closes, %d keys used twice",
		c.faults, c.crashes, c.cuts, c.acked, c.refused, c.unknown, c.delivered, c.joins, c.waits, c.told, c.reads, c.claims,
		c.turns, c.sessions, c.closes, c.conflicts)
}

// tried returns what there was to break a promise.
func (c counts) tried(id promise.ID) promise.Tried {
	operations := map[promise.ID]int64{1: c.acked, 2: c.acked + c.refused + c.unknown, 3: c.acked, 4: c.acked + c.reads,
		5: c.closes, 6: c.claims, 7: c.turns, 9: c.delivered, 10: c.waits, 15: c.told}[id]
	t := promise.Tried{Faults: int(c.faults), Operations: int(operations), Violations: int(c.violations[id])}
	if id <= 4 {
		t.Unknown = int(c.unknown)
	}
	return t
}

// chapter is one event of a log, with what it came upon and what it has led to.
type chapter struct {
	parley.Event
	sys           parley.System
	before, after fold.State
}

// judgement compares the logs with the recorded answers.
type judgement struct {
	*world
	logs  map[string][]chapter
	found map[string][]chapter // by text
	n     counts
}

func judge(w *world) result {
	j := &judgement{world: w, logs: make(map[string][]chapter), found: make(map[string][]chapter)}
	j.n.faults, j.n.crashes, j.n.cuts = int64(w.broken), int64(w.crashes), int64(w.net.cuts)
	if _, err := archive.Check(bytes.NewReader(w.saved), nil); err != nil {
		j.problem(noPromise, "the backup is none: %v", err)
	}
	j.read(w.saved)
	for id, log := range j.logs {
		j.turnsEnd(id, log)
		j.keysStandOnce(id, log)
	}
	j.sayingsHold()
	j.orderHolds()
	j.closesHold()
	j.claimsHold()
	j.feedsHold()
	j.pagesHold()
	j.waitsHold()
	j.guidanceHolds()
	j.sessionsHold()
	j.n.violations = make(map[promise.ID]int64)
	for id, problems := range w.problems {
		j.n.violations[id] = int64(len(problems))
	}
	return result{plan: w.plan, counts: j.n, problems: w.problems, story: w.story}
}

// read folds the logs out of a backup.
func (j *judgement) read(backup []byte) {
	for line := range bytes.Lines(backup) {
		var l struct {
			ConversationID string
			Event          json.RawMessage
		}
		if err := json.Unmarshal(line, &l); err != nil || l.Event == nil || strings.HasPrefix(l.ConversationID, "~") {
			continue // as the check has found, or another kind of line
		}
		log := j.logs[l.ConversationID]
		c := chapter{before: fold.State{ID: l.ConversationID}}
		if n := len(log); n > 0 {
			c.before = log[n-1].after
		}
		if err := c.UnmarshalJSON(l.Event); err != nil {
			j.problem(noPromise, "%s: %v", l.ConversationID, err)
			continue
		}
		c.sys, _ = c.System()
		next, err := c.before.Apply(&c.Event, len(l.Event))
		if err != nil {
			j.problem(4, "%s: the log is none: %v", l.ConversationID, err)
		}
		c.after = next
		j.logs[l.ConversationID] = append(log, c)
		if text := textOf(&c); text != "" {
			j.found[text] = append(j.found[text], c)
		}
	}
}

// textOf returns what was said, if it was someone's words.
func textOf(c *chapter) string {
	if c.sys.Kind == parley.KindNote {
		var text string
		_ = json.Unmarshal(c.sys.Data, &text) // else it is no text
		return text
	}
	if c.Type != parley.TypeMessage && c.Type != parley.TypeTrace || c.From == parley.HubID {
		return ""
	}
	m, _ := c.Message()
	return m.Text
}

// turnsEnd counts the ends of each turn: one, and nothing behind it. It does not ask the fold.
func (j *judgement) turnsEnd(id string, log []chapter) {
	ended, final := int64(0), false
	for i, c := range log {
		if c.Seq != int64(i+1) {
			j.problem(4, "%s: %d stands at %d", id, c.Seq, i+1)
		}
		if final {
			j.problem(5, "%s/%d stands behind the end", id, c.Seq)
		}
		final = final || c.Closes()
		turn := max(c.Turn, c.sys.Turn)
		if turn != 0 && turn <= ended {
			j.problem(7, "%s/%d is of turn %d, which has ended", id, c.Seq, turn)
		}
		if !c.Finality.Final() && c.sys.Kind != parley.KindTurnEnded {
			continue
		}
		if turn != ended+1 {
			j.problem(7, "%s/%d ends turn %d behind %d", id, c.Seq, turn, ended)
		}
		ended = turn
		j.n.turns++
	}
}

// keysStandOnce checks that each key of an author is in a conversation once, except withdrawn
// events.
func (j *judgement) keysStandOnce(id string, log []chapter) {
	if len(log) == 0 {
		return
	}
	end := log[len(log)-1].after
	seen := make(map[string]int64)
	for _, c := range log[1:] {
		if c.ClientRequestID == "" || end.IsWithdrawn(c.Seq) {
			continue
		}
		key := c.From + " " + c.ClientRequestID
		if first, twice := seen[key]; twice {
			j.problem(3, "%s: the key %q stands at %d and %d", id, c.ClientRequestID, first, c.Seq)
		}
		seen[key] = c.Seq
	}
}
