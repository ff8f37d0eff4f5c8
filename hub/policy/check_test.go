package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

func rules(when ...string) parley.Policy {
	p := parley.Policy{Kind: parley.PolicyRules}
	for _, w := range when {
		p.Rules = append(p.Rules, parley.Rule{When: w, Next: "clinic"})
	}
	return p
}

func TestCheckTakes(t *testing.T) {
	for _, p := range []parley.Policy{
		{Kind: parley.PolicyRoundRobin}, {Kind: parley.PolicyOpen}, {Kind: parley.PolicyAddressed},
		{Kind: parley.PolicyTriggers},
		{Kind: parley.PolicyModerator, Moderator: "anna"},
		rules("true"), rules(slices.Repeat([]string{"true"}, limits.MaxRules)...),
		rules("last.from == 'payer'\n\t&& last.kind == 'agent'"), // an expression may have lines
		rules("true || '" + strings.Repeat("a", limits.MaxExpressionBytes-len("true || '' == ''")) + "' == ''"),
	} {
		if err := policy.Check(p, "", seats()); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
		if err := policy.Check(p, "turns > 10", seats()); err != nil {
			t.Errorf("%+v with stopWhen: %v", p, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		policy            parley.Policy
		stopWhen          string
		message, expected string
	}{
		{parley.Policy{}, "", `policy.kind is ""`, "addressed"},
		{parley.Policy{Kind: "nonsense"}, "", `policy.kind is "nonsense"`, "moderator"},
		{parley.Policy{Kind: "trigger"}, "", `policy.kind is "trigger"`, "moderator or triggers"},
		{parley.Policy{Kind: parley.PolicyOpen, Moderator: "anna"}, "", "policy.moderator was given with policy.kind open",
			"moderator"},
		{parley.Policy{Kind: parley.PolicyAddressed, Rules: rules("true").Rules}, "",
			"policy.rules were given with policy.kind addressed", "rules"},
		{parley.Policy{Kind: parley.PolicyTriggers, Moderator: "anna"}, "",
			"policy.moderator was given with policy.kind triggers", "moderator"},
		{parley.Policy{Kind: parley.PolicyModerator}, "", `policy.moderator names ""`, "a participant"},
		{parley.Policy{Kind: parley.PolicyModerator, Moderator: "stranger"}, "", `policy.moderator names "stranger"`,
			"a participant"},
		{rules(), "", "policy.rules: there are 0", "1 to 32"},
		{rules(slices.Repeat([]string{"true"}, 100)...), "", "policy.rules: there are 100", "1 to 32"},
		{parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{{When: "true", Next: "stranger"}}}, "",
			`policy.rules[0].next names "stranger"`, "a participant"},
		{rules("true", "last.form == 'payer'"), "", "policy.rules[1].when: 1:5: undefined field 'form'", "a bool"},
		{rules("true &&\n  lst.from == 'payer'"), "", "policy.rules[0].when: 2:3: undeclared reference to 'lst'", "a bool"},
		{rules("turns"), "", "policy.rules[0].when: the expression returns int", "a bool"},
		{rules(""), "", "policy.rules[0].when has 0 bytes", "1 to 2048 bytes"},
		{rules(strings.Repeat(" ", 2044) + "true "), "", "policy.rules[0].when has 2049 bytes", "1 to 2048 bytes"},
		{rules("last.text == 'a\x00'"), "", "policy.rules[0].when has the character U+0000", "control"},
		{rules("last.text == 'a\xff'"), "", "policy.rules[0].when has the character U+FFFD", "code points"},
		{parley.Policy{Kind: parley.PolicyOpen}, "turns >", "limits.stopWhen: 1:8: Syntax error", "a bool"},
		{parley.Policy{Kind: parley.PolicyOpen}, "now() > turns", "limits.stopWhen: 1:4: undeclared reference to 'now'",
			"a bool"},
	} {
		err := policy.Check(c.policy, c.stopWhen, seats())
		refused(t, err, c.message, c.expected)
	}
}

func TestCheckHint(t *testing.T) {
	addressed, moderator := parley.Policy{Kind: parley.PolicyAddressed},
		parley.Policy{Kind: parley.PolicyModerator, Moderator: "anna"}
	for _, c := range []struct {
		policy            parley.Policy
		from, next        string
		finality          parley.Finality
		message, expected string
	}{
		{addressed, "payer", "clinic", parley.FinalityTurn, "", ""},
		{moderator, "anna", "clinic", parley.FinalityTurn, "", ""},
		{moderator, "payer", "anna", parley.FinalityTurn, "", ""},
		{moderator, "payer", "clinic", parley.FinalityTurn, "by payer, who is not the moderator", "anna"},
		{addressed, "payer", "payer", parley.FinalityTurn, "the author, payer", "another participant"},
		{addressed, "payer", "stranger", parley.FinalityTurn, `turnHint.next names "stranger"`, "a participant"},
		{addressed, "payer", "", parley.FinalityTurn, `turnHint.next names ""`, "a participant"},
		{addressed, "payer", "clinic", parley.FinalityNone, "with finality none", "finality turn"},
		{addressed, "payer", "clinic", parley.FinalityConversation, "with finality conversation", "finality turn"},
		{parley.Policy{Kind: parley.PolicyRoundRobin}, "payer", "clinic", parley.FinalityTurn, "the policy round_robin",
			"addressed"},
		{parley.Policy{Kind: parley.PolicyOpen}, "payer", "clinic", parley.FinalityTurn, "the policy open", "addressed"},
		{rules("true"), "payer", "clinic", parley.FinalityTurn, "the policy rules", "addressed"},
		{parley.Policy{Kind: parley.PolicyTriggers}, "payer", "clinic", parley.FinalityTurn, "the policy triggers",
			"addressed"},
	} {
		err := policy.CheckHint(c.policy, seats(), c.from, c.next, c.finality)
		if c.message == "" {
			if err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		refused(t, err, c.message, c.expected)
	}
}

// FuzzCheck checks that an expression is either accepted or refused with its path in valid UTF-8, and that accepted
// ones can be evaluated.
func FuzzCheck(f *testing.F) {
	for _, s := range expressions {
		f.Add(s, "hello @clinic", `{"a":[1,{"b":null}]}`)
	}
	f.Add("last.text == '\x00'", "\xff", `{`)
	f.Add(strings.Repeat("(", 900)+"true"+strings.Repeat(")", 900), "", `1e999`)
	f.Fuzz(func(t *testing.T, when, text, data string) {
		p := rules(when)
		err := policy.Check(p, when, seats())
		var refusal *parley.Error
		if err != nil && (!errors.As(err, &refusal) || !strings.HasPrefix(refusal.Message, "policy.rules[0].when") ||
			!utf8.ValidString(refusal.Message)) {
			t.Fatalf("%q: %v", when, err)
		}
		if err != nil {
			return
		}
		e := ended(p, "payer", text)
		e.Payload = []byte(`{"text":"x","data":` + data + `}`)
		first := policy.Next(e)
		if again := policy.Next(&policy.Ended{Policy: p, Seats: e.Seats, From: e.From, Turn: e.Turn, Turns: e.Turns,
			Autonomous: e.Autonomous, Counts: e.Counts, Payload: e.Payload}); again != first {
			t.Fatalf("%q: %+v, then %+v", when, first, again)
		}
		if stop, because := policy.Stop(when, e); stop != (first.Next != "") || because == "" {
			t.Fatalf("%q: stop %v (%s), next %+v", when, stop, because, first)
		}
	})
}
