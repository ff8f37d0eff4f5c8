package policy

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

func invalid(expected, format string, args ...any) error {
	return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf(format, args...), expected)
}

const kinds = "round_robin, open, addressed, rules, moderator or triggers"

// Check checks a policy and limits.stopWhen against the seats of a conversation. p.Kind must be set, stopWhen may be
// empty. It returns nil or a *parley.Error for ErrValidationFailed, whose message begins with the path, such as
// policy.rules[1].when.
func Check(p parley.Policy, stopWhen string, seats []parley.Participant) error {
	if err := checkKind(p); err != nil {
		return err
	}
	switch p.Kind {
	case parley.PolicyRules:
		if err := checkRules(p.Rules, seats); err != nil {
			return err
		}
	case parley.PolicyModerator:
		if seat(seats, p.Moderator) < 0 {
			return invalid("the id of a participant", "policy.moderator names %q", Clip(p.Moderator))
		}
	}
	if stopWhen == "" {
		return nil
	}
	return checkExpression("limits.stopWhen", stopWhen)
}

// checkKind checks that the kind is known, and that only its own fields are set.
func checkKind(p parley.Policy) error {
	switch p.Kind {
	case parley.PolicyRoundRobin, parley.PolicyOpen, parley.PolicyAddressed, parley.PolicyRules, parley.PolicyModerator,
		parley.PolicyTriggers:
	default:
		return invalid(kinds, "policy.kind is %q", Clip(string(p.Kind)))
	}
	switch {
	case p.Kind != parley.PolicyRules && len(p.Rules) > 0:
		return invalid("policy.kind rules", "policy.rules were given with policy.kind %s", p.Kind)
	case p.Kind != parley.PolicyModerator && p.Moderator != "":
		return invalid("policy.kind moderator", "policy.moderator was given with policy.kind %s", p.Kind)
	}
	return nil
}

func checkRules(rules []parley.Rule, seats []parley.Participant) error {
	if n := len(rules); n < 1 || n > limits.MaxRules {
		return invalid(fmt.Sprintf("1 to %d", limits.MaxRules), "policy.rules: there are %d", n)
	}
	size := 0
	for _, r := range rules {
		size += min(len(r.When), limits.MaxExpressionBytes) // longer ones are refused separately
	}
	if size > limits.MaxRulesBytes {
		return invalid(fmt.Sprintf("at most %d", limits.MaxRulesBytes),
			"policy.rules: their expressions have %d bytes together", size)
	}
	for i, r := range rules {
		if seat(seats, r.Next) < 0 {
			return invalid("the id of a participant", "policy.rules[%d].next names %q", i, Clip(r.Next))
		}
		if err := checkExpression(fmt.Sprintf("policy.rules[%d].when", i), r.When); err != nil {
			return err
		}
	}
	return nil
}

// expected describes a valid expression.
const expected = "a CEL expression that returns a bool"

func checkExpression(path, expr string) error {
	if n := len(expr); n < 1 || n > limits.MaxExpressionBytes {
		return invalid(fmt.Sprintf("1 to %d bytes", limits.MaxExpressionBytes), "%s has %d bytes", path, n)
	}
	for _, r := range expr {
		if r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) {
			return invalid("text without control characters or broken code points", "%s has the character %U", path, r)
		}
	}
	if err := compile(expr); err != nil {
		return invalid(expected, "%s: %s", path, reason(err))
	}
	return nil
}

// CheckHint checks the turnHint of a message by from against the policy, the seats and the finality of the message. It
// returns nil or a *parley.Error for ErrValidationFailed. Under the policy moderator, participants except the
// moderator may name only the moderator.
func CheckHint(p parley.Policy, seats []parley.Participant, from, next string, f parley.Finality) error {
	switch {
	case p.Kind != parley.PolicyAddressed && p.Kind != parley.PolicyModerator:
		return invalid("policy.kind addressed or moderator", "turnHint was given under the policy %s", p.Kind)
	case f != parley.FinalityTurn:
		return invalid("finality turn", "turnHint was given with finality %s", Clip(string(f)))
	case seat(seats, next) < 0:
		return invalid("the id of a participant", "turnHint.next names %q", Clip(next))
	case next == from:
		return invalid("another participant", "turnHint.next names the author, %s", from)
	case p.Kind == parley.PolicyModerator && from != p.Moderator && next != p.Moderator:
		return invalid("a turnHint of the moderator, "+p.Moderator, "turnHint was given by %s, who is not the moderator",
			from)
	}
	return nil
}

// Clip shortens a value of a caller that an error quotes.
func Clip(s string) string { return shorten(s, 80) }

// shorten returns at most n bytes of s, and marks the missing rest.
func shorten(s string, n int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= n {
		return s
	}
	return Cut(s, n) + "..."
}

// Cut returns at most n bytes of valid UTF-8, and splits no character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

const maxReasonBytes = 200

// reason returns the error of an expression as one short line.
func reason(err error) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, err.Error())
	return shorten(strings.TrimSpace(s), maxReasonBytes)
}
