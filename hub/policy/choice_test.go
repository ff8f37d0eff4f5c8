package policy_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

func TestNext(t *testing.T) {
	triage := parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{
		{When: "last.text.contains('lab')", Next: "lab.north"},
		{When: "last.role == 'nurse'", Next: "payer"},
		{When: "last.data.urgent", Next: "anna"},
		{When: "true", Next: "clinic"},
	}}
	gone := parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{{When: "true", Next: "gone"}}}
	addressed := parley.Policy{Kind: parley.PolicyAddressed}
	moderator := parley.Policy{Kind: parley.PolicyModerator, Moderator: "anna"}
	var lines []string
	for _, c := range []struct {
		policy           parley.Policy
		from, hint, text string
		data             string
	}{
		{parley.Policy{Kind: parley.PolicyRoundRobin}, "payer", "", "@clinic", ""},
		{parley.Policy{Kind: parley.PolicyOpen}, "payer", "", "@clinic", ""},
		{parley.Policy{}, "payer", "clinic", "@clinic", ""},
		{addressed, "payer", "", "@clinic", ""},
		{addressed, "payer", "anna", "@clinic", ""}, // the hint goes first
		{addressed, "payer", "", "nobody", ""},
		{addressed, "payer", "", "mail x@y", ""},
		{addressed, "payer", "", "@clinic @anna", ""},
		{addressed, "payer", "stranger", "@clinic", ""},
		{addressed, "payer", "payer", "@clinic", ""},
		{addressed, "payer", strings.Repeat("é", 200), "", ""},
		{moderator, "payer", "", "@clinic", ""},
		{moderator, "payer", "clinic", "", ""},
		{moderator, "anna", "", "@clinic", ""},
		{moderator, "anna", "clinic", "@payer", ""},
		{moderator, "anna", "", "well", ""},
		{moderator, "anna", "", "@clinic @payer", ""},
		{parley.Policy{Kind: parley.PolicyModerator, Moderator: "gone"}, "payer", "", "", ""},
		{triage, "clinic", "", "to the lab", ""},
		{triage, "anna", "", "hello", ""},
		{triage, "clinic", "", "hello", `{"urgent":true}`},
		{triage, "clinic", "", "hello", `{"urgent":false}`}, // the last speaker again
		{triage, "clinic", "", "hello", `{"urgent":"yes"}`},
		{triage, "clinic", "", "hello", `{}`},
		{triage, "clinic", "", "hello", ""},
		{triage, "stranger", "", "hello", `{"urgent":true}`},
		{rules("false", "turns > 100"), "payer", "", "hello", ""},
		{rules("turns / 0 == 1", "true"), "payer", "", "hello", ""}, // what failed ends the search
		{rules("nonsense"), "payer", "", "hello", ""},
		{gone, "payer", "", "hello", ""},
		{parley.Policy{Kind: parley.PolicyRules}, "payer", "", "hello", ""},
	} {
		e := ended(c.policy, c.from, "")
		e.Hint, e.Payload = c.hint, message(parley.Message{Text: c.text, Data: json.RawMessage(c.data)})
		got := policy.Next(e)
		lines = append(lines, fmt.Sprintf("%s from %s hint %.20q text %q data %s\n\tnext %q rule %q: %s",
			c.policy.Kind, c.from, c.hint, c.text, c.data, got.Next, got.Rule, got.Because))
	}
	compareLines(t, "choices", lines)
}

// TestRulesCostTooMuchTogether tries rules that each may cost what they do.
func TestRulesCostTooMuchTogether(t *testing.T) {
	e := large()
	e.Policy = rules(slices.Repeat([]string{"last.data.list.map(x, [x]).size() < 0"}, limits.MaxRules)...) // 92,006 each
	if got := policy.Next(e); got.Next != "" ||
		got.Because != "rule 3 failed: those before it have cost more than 100000" {
		t.Errorf("got %+v", got)
	}
}

func TestStop(t *testing.T) {
	e := ended(parley.Policy{Kind: parley.PolicyOpen}, "payer", "we are done")
	for _, c := range []struct {
		expr, because string
		stop          bool
	}{
		{"", "", false},
		{"last.text.contains('done')", "limits.stopWhen holds", true},
		{"turns > 3", "limits.stopWhen does not hold", false},
		{"last.data.x == 1", "limits.stopWhen failed: no such key: x", false},
		{"nonsense", "limits.stopWhen failed: 1:1: undeclared reference to 'nonsense'", false},
	} {
		if stop, because := policy.Stop(c.expr, e); stop != c.stop || because != c.because {
			t.Errorf("%q: got %v %q, want %v %q", c.expr, stop, because, c.stop, c.because)
		}
	}
}

// TestAllGetToSpeak plays conversations of 2 to 6 participants under every policy, with the fallback of the hub. Every
// participant that the policy can name has a turn.
func TestAllGetToSpeak(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(rt, "seats")
		all := make([]parley.Participant, n)
		for i := range all {
			all[i] = parley.Participant{ID: fmt.Sprint("p", i), Kind: parley.KindAgent}
		}
		p := parley.Policy{Kind: rapid.SampledFrom(parley.Policies).Draw(rt, "policy")}
		switch p.Kind {
		case parley.PolicyModerator:
			p.Moderator = all[rapid.IntRange(0, n-1).Draw(rt, "moderator")].ID
		case parley.PolicyRules: // the participant with the fewest turns
			for i := range all {
				p.Rules = append(p.Rules, parley.Rule{When: fmt.Sprintf("counts.all(c, counts['p%d'] <= counts[c])", i),
					Next: all[i].ID})
			}
		}
		if err := policy.Check(p, "", all); err != nil {
			rt.Fatal(err)
		}
		counts, speaker := make([]int64, n), 0
		for turn := range int64(4 * n) {
			counts[speaker]++
			e := &policy.Ended{Policy: p, Seats: all, From: all[speaker].ID, Turn: turn + 1, Turns: turn + 1, Counts: counts}
			if p.Kind == parley.PolicyModerator && speaker == slices.Index(ids(all), p.Moderator) {
				e.Hint = all[least(counts, speaker)].ID
			}
			e.Payload = message(parley.Message{Text: rapid.SampledFrom(
				[]string{"", "hello", "@nobody", "@" + all[speaker].ID, "@p0 @p1 @p2 @p3"}).Draw(rt, "text")})
			if p.Kind == parley.PolicyAddressed && n > 1 {
				e.Payload = message(parley.Message{Text: "now @" + all[least(counts, speaker)].ID})
			}
			next := policy.Next(e).Next
			if next == "" {
				next = all[(speaker+1)%n].ID // round_robin
			}
			speaker = slices.Index(ids(all), next)
			if speaker < 0 {
				rt.Fatalf("%s is no participant", next)
			}
		}
		if slices.Contains(counts, 0) {
			rt.Errorf("somebody never spoke under %s: %v", p.Kind, counts)
		}
	})
}

// TestNextIsAParticipant checks Next for arbitrary policies and messages, valid or not.
func TestNextIsAParticipant(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		someone := rapid.SampledFrom([]string{"payer", "clinic", "anna", "lab.north", "stranger", ""})
		p := parley.Policy{Kind: rapid.SampledFrom(append(slices.Clone(parley.Policies), "", "other")).Draw(rt, "policy"),
			Moderator: someone.Draw(rt, "moderator")}
		for range rapid.IntRange(0, 3).Draw(rt, "rules") {
			p.Rules = append(p.Rules, parley.Rule{
				When: rapid.SampledFrom([]string{"true", "false", "last.data.x > 1.0", "counts[last.from] > 1", "turns", "(",
					""}).Draw(rt, "when"), Next: someone.Draw(rt, "next"),
			})
		}
		e := ended(p, someone.Draw(rt, "from"), "")
		e.Hint = someone.Draw(rt, "hint")
		e.Counts = e.Counts[:rapid.IntRange(0, len(e.Counts)).Draw(rt, "counts")]
		e.Seats = e.Seats[:rapid.IntRange(0, len(e.Seats)).Draw(rt, "seats")]
		e.Payload = rapid.SampledFrom([]json.RawMessage{
			nil, []byte(`{"text":"@clinic"}`), []byte(`{"text":"@clinic @anna"}`), []byte(`{"data":{"x":2}}`),
			[]byte(`{"data":[]}`), []byte(`[`), []byte(`null`),
		}).Draw(rt, "payload")
		got := policy.Next(e)
		if got.Next != "" && !slices.Contains(ids(e.Seats), got.Next) {
			rt.Fatalf("%+v", got)
		}
		looks := p.Kind == parley.PolicyAddressed || p.Kind == parley.PolicyRules || p.Kind == parley.PolicyModerator
		if looks != (got.Rule != "") || looks != (got.Because != "") {
			rt.Fatalf("%s: %+v", p.Kind, got)
		}
	})
}

// TestNextAtOnce calls Next from many goroutines, each with a separate Ended. They share the programs.
func TestNextAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				p := rules(fmt.Sprintf("last.text == 'x' && %d >= 0", j), "last.text == 'y'")
				if got := policy.Next(ended(p, "payer", "y")); got.Next != "clinic" {
					t.Errorf("%d: %+v", i, got)
				}
			}
		})
	}
	all.Wait()
}

func ids(all []parley.Participant) []string {
	var out []string
	for _, p := range all {
		out = append(out, p.ID)
	}
	return out
}

// least returns the seat with the fewest turns, except one seat.
func least(counts []int64, but int) int {
	at := -1
	for i, n := range counts {
		if i != but && (at < 0 || n < counts[at]) {
			at = i
		}
	}
	return at
}
