package fold_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// asking is the part of an Ask that orders the offers.
type asking struct {
	AgentID string
	DelayMs int64
}

func (s *story) asking() (all []asking) {
	for _, a := range s.state.Asks() {
		all = append(all, asking{a.AgentID, a.DelayMs})
	}
	return all
}

// TestOpenAsks checks where anyone may speak. Agents are asked one step apart, the longest silent first, and later if
// people take part. The last speaker and those who passed are not asked.
func TestOpenAsks(t *testing.T) {
	agents, withPerson := seats("a", "b", "c"), agentsAnd("h", "a", "b", "c")
	for name, c := range map[string]struct {
		seats []parley.Participant
		story func(s *story)
		want  []asking
	}{
		"nobody has spoken": {agents, func(*story) {}, []asking{{"a", 0}, {"b", 100}, {"c", 200}}},
		"beside a person":   {withPerson, func(*story) {}, []asking{{"a", 500}, {"b", 600}, {"c", 700}}},
		"beside a peer": {append(seats("a"), parley.Participant{ID: "p", Kind: parley.KindPeer}), func(*story) {},
			[]asking{{"a", 500}}},
		"beside a tool": {append(seats("a"), parley.Participant{ID: "o", Kind: parley.KindTool}), func(*story) {},
			[]asking{{"a", 0}, {"o", 100}}},
		"the longest silent": {agents, func(s *story) { s.say("a", turn).say("b", turn) }, []asking{{"c", 0}, {"a", 100}}},
		"a person has spoken": {
			withPerson, func(s *story) { s.say("b", turn).say("c", turn).say("a", turn).say("h", turn) },
			[]asking{{"b", 500}, {"c", 600}, {"a", 700}},
		},
		"one has passed": {withPerson, func(s *story) { s.say("h", turn).take("b", "x").release("b", parley.ClaimYielded) },
			[]asking{{"a", 500}, {"c", 600}}},
		"a message makes that as if it was not": {
			withPerson, func(s *story) { s.say("h", turn).take("b", "x").release("b", parley.ClaimYielded).say("h", turn) },
			[]asking{{"a", 500}, {"b", 600}, {"c", 700}},
		},
		"words that were withdrawn do not": {
			withPerson, func(s *story) {
				s.say("h", turn).take("b", "x").release("b", parley.ClaimYielded).take("a", "y").say("a", none).
					lapse(parley.ClaimExpired).cancel("h")
			},
			[]asking{{"c", 500}},
		},
		"a claim stands":       {agents, func(s *story) { s.take("a", "x") }, nil},
		"everybody has passed": {seats("a"), func(s *story) { s.take("a", "x").release("a", parley.ClaimYielded) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{t: t, state: fold.State{ID: "x"}, keys: idempotency.Keys{}}
			s.create(parley.PolicyOpen, "", &parley.Limits{MaxAttempts: 3}, c.seats...)
			c.story(s)
			if d := cmp.Diff(c.want, s.asking()); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
		})
	}
}

// TestWithdrawnWordsLeaveNoMark checks that a withdrawal restores the state from before the claim.
func TestWithdrawnWordsLeaveNoMark(t *testing.T) {
	for _, words := range []int{0, 1, 2} {
		s := &story{t: t, state: fold.State{ID: "x"}, keys: idempotency.Keys{}}
		s.create(parley.PolicyOpen, "", nil, agentsAnd("h", "a", "b", "c")...)
		s.say("b", turn).say("h", turn).take("c", "c1").release("c", parley.ClaimYielded)
		before := s.state
		if !slices.Equal(before.Passed, []string{"c"}) || before.OtherSeq == 0 || before.MessageSeq <= before.OtherSeq ||
			before.MessageBy != "h" {
			t.Fatalf("before the claim: %+v", before)
		}
		s.take("a", "a1")
		for range words {
			s.say("a", none)
		}
		if said := s.state; words > 0 && (len(said.Passed) > 0 || said.MessageBy != "a" ||
			said.MessageSeq == before.MessageSeq || said.OtherSeq != before.MessageSeq) {
			t.Fatalf("under the claim: %+v", said)
		}
		s.lapse(parley.ClaimDisconnected)
		type marks struct {
			Passed               []string
			MessageSeq, OtherSeq int64
			MessageBy            string
		}
		of := func(s fold.State) marks { return marks{s.Passed, s.MessageSeq, s.OtherSeq, s.MessageBy} }
		if d := cmp.Diff(of(before), of(s.state)); d != "" {
			t.Errorf("after %d words that were withdrawn (-before +after):\n%s", words, d)
		}
	}
}

// TestReofferIntervals checks that each new offer of a turn doubles its time, up to an hour.
func TestReofferIntervals(t *testing.T) {
	const hour = 3_600_000
	for _, first := range []int64{1000, 60_000, hour, 2 * hour} {
		s := &story{t: t, state: fold.State{ID: "x"}, keys: idempotency.Keys{}}
		s.create(roundRobin, "", &parley.Limits{TurnTimeoutMs: first, OnTurnTimeout: parley.TurnReoffer},
			agentsAnd("h", "a")...)
		want := first
		for again := range 20 {
			if got := s.state.Asks()[0].TimeoutMs; got != want {
				t.Fatalf("offered anew %d times: %d ms, want %d", again, got, want)
			}
			s.late()
			want = max(min(2*want, hour), first)
		}
		if want != max(first, hour) {
			t.Errorf("20 times from %d ms have come to %d ms", first, want)
		}
	}
}

// TestRepeatedFinalAsksNothing checks that the retry of a final message adds no event and evaluates no policy.
func TestRepeatedFinalAsksNothing(t *testing.T) {
	s := &story{t: t, state: fold.State{ID: "x"}, keys: idempotency.Keys{}}
	s.create(parley.PolicyAddressed, "h", nil, agentsAnd("h", "a", "b")...)
	said := fold.Command{Do: &fold.Message{Finality: turn, Payload: text("@b what now")}, From: "h", Key: "k", Now: s.now}
	first := fold.Decide(s.state, s.keys, said)
	if len(first.Events) != 1 {
		t.Fatalf("%+v", first)
	}
	enter(&s.keys, &first.Events[0])
	s.state = first.State
	chosen := s.state.Choice
	if chosen.Get().Next != "b" {
		t.Fatalf("chosen: %+v", chosen.Get())
	}
	d := fold.Decide(s.state, s.keys, said)
	if !d.Duplicate || d.Err != nil || len(d.Events) > 0 || d.State.Seq != s.state.Seq {
		t.Fatalf("%+v", d)
	}
	if d.State.Choice != chosen {
		t.Error("the policy is asked again")
	}
}
