package fold_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/limits"
)

const triggers = parley.PolicyTriggers

// byTurn wakes agents by a turn; bySession wakes one by a session.
func byTurn(ids ...string) []parley.Wake {
	var wakes []parley.Wake
	for _, id := range ids {
		wakes = append(wakes, parley.Wake{Agent: id, AgentID: id})
	}
	return wakes
}

func bySession(id, session string) []parley.Wake {
	return []parley.Wake{{Agent: id, AgentID: id, SessionID: session, AnswerSchema: answerSchema}}
}

// rouse is a message that ends a turn and wakes agents by one; post is a note that wakes others by sessions.
func (s *story) rouse(from string, ids ...string) *story {
	s.t.Helper()
	return s.do(fold.Command{From: from,
		Do: &fold.Message{Finality: turn, Payload: text("words of " + from), Wakes: byTurn(ids...)}})
}

func (s *story) post(from string, wakes ...parley.Wake) *story {
	s.t.Helper()
	return s.do(fold.Command{From: from,
		Do: &fold.Note{Note: &parley.Note{Schema: "page.v1", Data: json.RawMessage(`{"url":"<x>"}`)}, Wakes: wakes}})
}

// answers is the end of a session that a match has started.
func (s *story) answers(id string, wakes ...parley.Wake) *story {
	s.t.Helper()
	return s.do(s.ending(id, wakes...))
}

// ending is the end of a session, with the answer of one that a match started.
func (s *story) ending(id string, wakes ...parley.Wake) fold.Command {
	a := parley.Answer{Status: parley.SessionCompleted, Output: json.RawMessage(`"<y>"`)}
	return fold.Command{From: parley.HubID,
		Do: &fold.EndChild{SessionID: id, Status: parley.SessionCompleted, Answer: s.answerOf(id, a, wakes)}}
}

// unstarted is the end of a match whose session cannot be started.
func (s *story) unstarted(id string, wakes ...parley.Wake) fold.Command {
	const why = "no such agent"
	answer := s.answerOf(id, parley.Answer{Status: parley.SessionFailed, Error: why}, wakes)
	return fold.Command{Do: &fold.EndTrigger{SessionID: id, Detail: why, Answer: answer}, From: parley.HubID}
}

func (s *story) answerOf(id string, a parley.Answer, wakes []parley.Wake) fold.Answer {
	answer := fold.Answer{Wakes: wakes}
	if i := s.state.MatchIndex(id); i >= 0 {
		w := s.state.Matches[i]
		a.Agent, a.SessionID, a.TriggerSeq = w.Agent, id, w.Seq
		answer.By, answer.Note = w.AgentID, &parley.Note{Schema: w.AnswerSchema, Data: eventdata.Encode(a)}
	}
	return answer
}

// event returns an event of the log. 0 is the last one.
func (s *story) event(seq int64) parley.Event {
	if seq <= 0 {
		seq += s.state.Seq
	}
	var e parley.Event
	if err := json.Unmarshal(s.log[seq-1], &e); err != nil {
		s.t.Fatal(err)
	}
	return e
}

// stopped returns the limits of all matches in order. It is empty for a match that no limit stopped.
func (s *story) stopped() []string {
	var all []string
	for i := range s.log {
		e := s.event(int64(i + 1))
		if e.Type != parley.TypeSystem {
			continue
		}
		if sys, err := e.System(); err != nil {
			s.t.Fatal(err)
		} else if sys.Kind == parley.KindTriggerMatched {
			for _, w := range sys.Trigger.Wakes {
				all = append(all, w.Stopped)
			}
		}
	}
	return all
}

// TestTwoAgentsStop checks that limits.maxHops stops two agents that wake each other, and that the log has the reason.
func TestTwoAgentsStop(t *testing.T) {
	for _, limit := range []int{0, 1, 5} {
		s := newStory(t).create(triggers, "", &parley.Limits{MaxHops: limit}, agentsAnd("h", "a", "b")...).rouse("h", "a")
		for i := range 50 {
			if f := s.state.Floor(); f.Speaker == "h" {
				break
			}
			s.rouse([]string{"a", "b"}[i%2], []string{"b", "a"}[i%2])
		}
		want := slices.Repeat([]string{""}, s.state.Limits.Hops())
		if diff := cmp.Diff(append(want, parley.StoppedMaxHops), s.stopped()); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
		if said := s.event(-1); said.Hops != s.state.Limits.Hops() {
			t.Errorf("limit %d: the last was said after %d hops", limit, said.Hops)
		}
	}
}

// TestPairWindow checks limits.maxWakesPerMinute, which bounds how often one author wakes one agent. It bounds neither
// people without a cause nor other authors.
func TestPairWindow(t *testing.T) {
	s := newStory(t).create(roundRobin, "", &parley.Limits{MaxWakesPerMinute: 3}, agentsAnd("h", "a", "b")...)
	n := 0
	post := func(from, to string, want string) {
		t.Helper()
		n++
		s.post(from, bySession(to, fmt.Sprint("ses_", n))...)
		if got := s.stopped(); got[len(got)-1] != want {
			t.Errorf("%s to %s: stopped by %q, want %q", from, to, got[len(got)-1], want)
		}
	}
	for range 3 { // a second apart: do lets one pass
		post("a", "b", "")
	}
	post("a", "b", parley.StoppedMaxWakes)
	post("a", "a", "")
	post("b", "a", "")
	for range 20 {
		post("h", "b", "")
	}
	post("a", "b", parley.StoppedMaxWakes)
	s.now += 35_000 // the first of a is 61 seconds ago, those after it less
	post("a", "b", "")
	post("a", "b", "")
	post("a", "b", "")
	post("a", "b", parley.StoppedMaxWakes) // a stopped wake does not count
	e := s.event(0)
	if sys, _ := e.System(); sys.Trigger.Wakes[0].SessionID != "" {
		t.Errorf("what was stopped has a session: %+v", sys.Trigger.Wakes[0])
	}
}

// TestWatchersCount: the answers of who does not take part count like those of agents, also once a person has the name.
func TestWatchersCount(t *testing.T) {
	s := newStory(t).create(roundRobin, "", &parley.Limits{MaxWakesPerMinute: 1}, agentsAnd("h", "a")...)
	watcher := parley.Wake{Agent: "w", AgentID: "w", Workspace: true, SessionID: "ses_1"}
	s.post("h", watcher).answers("ses_1", bySession("a", "ses_2")...)
	if e := s.event(-1); e.From != "w" || e.Hops != 1 || e.Cause == nil || e.Cause.Seq != 2 {
		t.Fatalf("the answer is %+v", e)
	}
	watcher.SessionID = "ses_3"
	s.post("h", watcher).answers("ses_3", bySession("a", "ses_4")...)
	s.do(fold.Command{From: "maker",
		Do: &fold.AddParticipant{Participant: &parley.Participant{ID: "w", Kind: parley.KindHuman}}})
	s.post("w", bySession("a", "ses_5")...)
	if diff := cmp.Diff([]string{"", "", "", parley.StoppedMaxWakes, ""}, s.stopped()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTooMany: no more than so many matches wait, of one agent and of all; when one is over there is room again.
func TestTooMany(t *testing.T) {
	s := newStory(t).create(roundRobin, "", nil, append(seats("a", "b", "c", "d", "e", "f", "g", "i", "j", "k", "l"),
		parley.Participant{ID: "h", Kind: parley.KindHuman})...)
	n := 0
	post := func(id string) string {
		n++
		s.post("h", bySession(id, fmt.Sprint("ses_", n))...)
		sys, err := func() (parley.System, error) { e := s.event(0); return e.System() }()
		if err != nil {
			t.Fatal(err)
		}
		return sys.Trigger.Wakes[0].Stopped
	}
	for _, p := range s.state.Participants[:10] {
		for i := range limits.MaxWokenOfOne {
			if why := post(p.ID); why != "" {
				t.Fatalf("match %d of %s: stopped by %q", i, p.ID, why)
			}
		}
		if why := post(p.ID); why != parley.StoppedTooMany {
			t.Fatalf("one more of %s: stopped by %q", p.ID, why)
		}
	}
	if why := post("l"); why != parley.StoppedTooMany || len(s.state.Matches) != limits.MaxWoken {
		t.Fatalf("one more of all: stopped by %q, %d wait", why, len(s.state.Matches))
	}
	s.answers("ses_1")
	if why := post("l"); why != "" {
		t.Fatalf("with room again: stopped by %q", why)
	}
}

// TestMatchesOf checks which matches a turn receives: under a claim those that its holder has seen, else all that wait
// for a turn.
func TestMatchesOf(t *testing.T) {
	wake := func(id, session string) parley.Wake { return parley.Wake{AgentID: id, SessionID: session} }
	s := fold.Triggers{Matches: []fold.Match{
		{Seq: 3, Wake: wake("a", "")}, {Seq: 3, Wake: wake("b", "")}, {Seq: 4, Wake: wake("a", "ses_1")},
		{Seq: 5, Wake: wake("a", "")}, {Seq: 7, Wake: wake("a", "")},
	}}
	for name, c := range map[string]struct {
		id    string
		claim *fold.Claim
		want  []int64
	}{
		"without a claim":         {"a", nil, []int64{3, 5, 7}},
		"under a claim":           {"a", &fold.Claim{AgentID: "a", UpTo: 5}, []int64{3, 5}},
		"one that was given less": {"a", &fold.Claim{AgentID: "a", UpTo: 2}, nil},
		"another's claim":         {"a", &fold.Claim{AgentID: "b", UpTo: 2}, []int64{3, 5, 7}},
		"another":                 {"b", nil, []int64{3}},
		"one whom nothing wakes":  {"c", nil, nil},
	} {
		var got []int64
		for _, w := range s.MatchesOf(c.id, c.claim) {
			got = append(got, w.Seq)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if s.MatchIndex("ses_1") != 2 || s.MatchIndex("ses_2") >= 0 || s.MatchIndex("") >= 0 {
		t.Error("the match of a session is not found, or that of none is")
	}
}

// TestWokenFloor checks that agents have the floor in the order of their first matches, with all their matches at
// once. Then people and peers have it in the order of their seats. No other agent is asked.
func TestWokenFloor(t *testing.T) {
	mixed := []parley.Participant{
		{ID: "h", Kind: parley.KindHuman}, {ID: "a", Kind: parley.KindAgent}, {ID: "p", Kind: parley.KindPeer},
		{ID: "b", Kind: parley.KindTool}, {ID: "g", Kind: parley.KindHuman},
	}
	pass := func(s *story, id string) *story { return s.take(id, "x").release(id, parley.ClaimYielded) }
	type step struct {
		do      func(*story)
		speaker string
	}
	for name, c := range map[string]struct {
		seats  []parley.Participant
		starts string
		limits *parley.Limits
		steps  []step
	}{
		"people in turn": {mixed, "", nil, []step{
			{func(*story) {}, "h"}, {func(s *story) { s.say("h", turn) }, "p"}, {func(s *story) { s.say("p", turn) }, "g"},
			{func(s *story) { s.say("g", turn) }, "h"},
		}},
		"an agent that starts": {mixed, "b", nil, []step{{func(*story) {}, "b"}, {func(s *story) { s.say("b", turn) }, "h"}}},
		"woken between people": {mixed, "", nil, []step{
			{func(s *story) { s.rouse("h", "b", "a") }, "b"}, {func(s *story) { s.say("b", turn) }, "a"},
			{func(s *story) { s.say("a", turn) }, "p"},
			{func(s *story) { s.rouse("p", "a") }, "a"}, {func(s *story) { s.rouse("a", "b") }, "b"},
			{func(s *story) { s.say("b", turn) }, "g"},
		}},
		"two matches are one turn": {mixed, "", nil, []step{
			{func(s *story) { s.rouse("h", "a", "b") }, "a"}, {func(s *story) { s.rouse("a", "b") }, "b"},
			{func(s *story) { s.say("b", turn) }, "p"},
		}},
		"a claim that fails keeps its matches": {mixed, "", nil, []step{
			{func(s *story) { s.rouse("h", "a") }, "a"}, {func(s *story) {
				s.take("a", "x").say("a", none).release("a", parley.ClaimFailed)
			}, "a"},
			{func(s *story) { s.take("a", "y").lapse(parley.ClaimExpired) }, "a"},
			{func(s *story) { s.take("a", "z").say("a", turn) }, "p"},
		}},
		"who passes has had them": {mixed, "", nil, []step{
			{func(s *story) { s.rouse("h", "a", "b") }, "a"}, {func(s *story) { pass(s, "a") }, "b"},
			{func(s *story) { pass(s, "b") }, "p"},
			{func(s *story) { s.cancel("h") }, "g"}, {func(s *story) { s.cancel("h") }, "h"},
			{func(s *story) { s.cancel("h") }, ""}, {func(s *story) { s.rouse("b", "b") }, "b"},
		}},
		"canceled": {mixed, "", nil, []step{
			{func(s *story) { s.rouse("h", "a", "b") }, "a"}, {
				func(s *story) { s.take("a", "x").say("a", none).cancel("h") }, "b"}, {func(s *story) { s.cancel("h") }, "p"},
		}},
		"whom nobody runs is skipped in time": {mixed, "", &parley.Limits{OnTurnTimeout: parley.TurnSkip}, []step{
			{func(s *story) { s.rouse("h", "a", "b") }, "a"}, {func(s *story) { s.late() }, "b"},
			{func(s *story) { s.late() }, "p"},
		}},
		"a human comes first where one must": {mixed, "", &parley.Limits{MaxAutonomousTurns: 1}, []step{
			{func(s *story) { s.rouse("h", "a", "b") }, "a"}, {func(s *story) { s.say("a", turn) }, "g"},
			{func(s *story) { s.say("g", turn) }, "b"},
		}},
		"of an agent alone": {seats("a", "b"), "", nil, []step{
			{func(*story) {}, ""}, {func(s *story) { s.rouse("a", "b") }, "b"}, {func(s *story) { s.say("b", turn) }, ""},
			{func(s *story) { s.rouse("b", "b") }, "b"},
			{func(s *story) { pass(s, "b") }, ""},
		}},
		"notes do not move it": {mixed, "", nil, []step{
			{func(s *story) { s.post("h", byTurn("a", "b")...) }, "h"},
			{func(s *story) { s.post("h", bySession("a", "ses_1")...) }, "h"},
			{func(s *story) { s.answers("ses_1", byTurn("b")...) }, "h"},
		}},
		"nobody is woken who is no agent here": {mixed, "", nil, []step{
			{func(s *story) { s.rouse("h", "g", "stranger", "p") }, "p"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t).create(triggers, c.starts, c.limits, c.seats...)
			for i, step := range c.steps {
				step.do(s)
				f := s.state.Floor()
				if f.Speaker != step.speaker || f.Anyone != (step.speaker == "") {
					t.Fatalf("step %d: the floor is %+v, want %q: %s", i, f, step.speaker, s.state.Guidance("a", false).Reason)
				}
				asks, seat := s.state.Asks(), s.state.Seat(f.Speaker)
				if agent := seat >= 0 && s.state.Participants[seat].Kind.Claims(); agent != (len(asks) > 0) || agent &&
					(!asks[0].Offer || asks[0].TimeoutMs == 0) {
					t.Fatalf("step %d: asked are %+v, the floor is %+v", i, asks, f)
				}
			}
		})
	}
}

// TestWhoPassesForgetsWhatItWasGiven: the end of a turn without a message takes away its matches, and no others.
func TestWhoPassesForgetsWhatItWasGiven(t *testing.T) {
	s := newStory(t).create(triggers, "", nil, agentsAnd("h", "a", "b")...).post("h", bySession("a", "ses_1")...).
		rouse("h", "a", "b")
	if len(s.state.Matches) != 3 {
		t.Fatalf("%+v", s.state.Matches)
	}
	s.cancel("h")
	var left []string
	for _, w := range s.state.Matches {
		left = append(left, w.AgentID+w.SessionID)
	}
	if !slices.Equal(left, []string{"ases_1", "b"}) {
		t.Errorf("left are %v", left)
	}
	s.close(nil)
	if len(s.state.Matches) != 0 || len(s.state.Recent) != 0 {
		t.Errorf("the conversation is closed, and %+v wait", s.state.Matches)
	}
}
