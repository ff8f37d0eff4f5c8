package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// The names in guidance of the rules that decide.
const (
	ruleAddressed = "addressed"
	ruleRules     = "rules"
	ruleModerator = "moderator"
)

// Ended is a turn that ended with a message of a participant. Only one goroutine may use it, because it decodes the
// message when it is first needed.
type Ended struct {
	Policy parley.Policy
	Seats  []parley.Participant
	// From is the author, and Hint its turnHint, if any.
	From string
	Hint string
	// Turn is the number of the turn. Turns counts the turns up to this one, and Autonomous those since the last message
	// of a human.
	Turn, Turns, Autonomous int64
	// Counts are the numbers of turns that each seat ended with a message, this one included. They are parallel to Seats.
	// Missing ones are 0.
	Counts []int64
	// Payload is the message.
	Payload json.RawMessage

	message *parley.Message // Payload, after it was decoded
}

// Choice is the participant that has the floor. If the policy found none, Next is empty, Because is the reason, and
// round_robin applies.
type Choice struct {
	Next string
	// Rule is the kind of the policy. It is empty for policies that do not read the message.
	Rule string
	// Because is a sentence without a full stop.
	Because string
}

// Next returns the choice of the policy. It is empty for round_robin, open and triggers, which do not read the
// message.
func Next(e *Ended) Choice {
	switch e.Policy.Kind {
	case parley.PolicyAddressed:
		next, because := e.named()
		return Choice{Next: next, Rule: ruleAddressed, Because: because}
	case parley.PolicyRules:
		return e.byRules()
	case parley.PolicyModerator:
		return e.moderated()
	}
	return Choice{}
}

// Stop reports whether the expression of limits.stopWhen is true, and why. An expression that fails does not stop the
// conversation, and neither does an empty one.
func Stop(expr string, e *Ended) (stop bool, because string) {
	if expr == "" {
		return false, ""
	}
	holds, err := evaluate(expr, &variables{of: e})
	switch {
	case err != nil:
		return false, "limits.stopWhen failed: " + reason(err)
	case holds:
		return true, "limits.stopWhen holds"
	}
	return false, "limits.stopWhen does not hold"
}

// maxRulesCost bounds the cost of all rules for one turn, except the last rule that is evaluated. Every replay of the
// log pays it again.
const maxRulesCost = limits.MaxExpressionCost

// byRules returns the choice of the first rule that is true. A rule that fails ends the search, because its result is
// unknown.
func (e *Ended) byRules() Choice {
	c := Choice{Rule: ruleRules}
	vars := &variables{of: e}
	for i, r := range e.Policy.Rules {
		if vars.cost > maxRulesCost {
			c.Because = fmt.Sprintf("rule %d failed: those before it have cost more than %d", i+1, maxRulesCost)
			return c
		}
		holds, err := evaluate(r.When, vars)
		switch {
		case err != nil:
			c.Because = fmt.Sprintf("rule %d failed: %s", i+1, reason(err))
			return c
		case holds && !e.seated(r.Next):
			c.Because = fmt.Sprintf("rule %d names %s, who does not take part", i+1, Clip(r.Next))
			return c
		case holds:
			c.Next, c.Because = r.Next, fmt.Sprintf("rule %d names %s", i+1, r.Next)
			return c
		}
	}
	c.Because = "no rule holds"
	return c
}

func (e *Ended) moderated() Choice {
	c := Choice{Rule: ruleModerator}
	moderator := e.Policy.Moderator
	switch {
	case !e.seated(moderator):
		c.Because = fmt.Sprintf("the moderator, %s, does not take part", Clip(moderator))
	case e.From != moderator:
		c.Next, c.Because = moderator, fmt.Sprintf("after %s the floor returns to the moderator, %s", e.From,
			moderator)
	default:
		c.Next, c.Because = e.named()
	}
	return c
}

// named returns the one other participant that the message names, by its turnHint or else by a mention.
func (e *Ended) named() (next, because string) {
	if e.Hint != "" {
		if e.Hint == e.From || !e.seated(e.Hint) {
			return "", fmt.Sprintf("the turnHint of %s names %s, who is no other participant", e.From, Clip(e.Hint))
		}
		return e.Hint, fmt.Sprintf("%s named %s as the next speaker", e.From, e.Hint)
	}
	if !mayMention(e.Payload) {
		return "", fmt.Sprintf("%s named no one", e.From)
	}
	found := mentions(e.read().Text, e.Seats, e.From)
	switch len(found) {
	case 0:
		return "", fmt.Sprintf("%s named no one", e.From)
	case 1:
		return found[0], fmt.Sprintf("%s has mentioned %s", e.From, found[0])
	}
	return "", fmt.Sprintf("%s has mentioned %d participants, and not one", e.From, len(found))
}

// read returns the decoded message, or an empty one if the payload is not a message.
func (e *Ended) read() *parley.Message {
	if e.message != nil {
		return e.message
	}
	e.message = &parley.Message{}
	if err := json.Unmarshal(e.Payload, e.message); err != nil {
		*e.message = parley.Message{} // half of a message could be another half the next time
	}
	return e.message
}

func (e *Ended) seated(id string) bool { return seat(e.Seats, id) >= 0 }

// seat returns the index of a participant, or -1.
func seat(seats []parley.Participant, id string) int {
	return slices.IndexFunc(seats, func(p parley.Participant) bool { return p.ID == id })
}
