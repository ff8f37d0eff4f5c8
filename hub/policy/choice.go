package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// The names of what decided, as guidance gives them.
const (
	ruleAddressed = "addressed"
	ruleRules     = "rules"
	ruleModerator = "moderator"
)

// Ended is a turn that has ended with a message of a participant. It serves one goroutine: the message is read once, when something asks for it.
type Ended struct {
	Policy parley.Policy
	Seats  []parley.Participant
	// From is the author, and Hint its turnHint, if any.
	From string
	Hint string
	// Turn is the number of the turn that has ended. Turns counts the turns that have ended, this one included; Autonomous those since the last message of
	// a human.
	Turn, Turns, Autonomous int64
	// Counts are the messages of each seat that have ended a turn, this one included: parallel to Seats. Missing ones are 0.
	Counts []int64
	// Payload is the message.
	Payload json.RawMessage

	message *parley.Message // Payload, once it was read
}

// Choice names who has the floor. Next is empty when the policy has found nobody: then round_robin applies, and Because says why.
type Choice struct {
	Next string
	// Rule is RuleAddressed, RuleRules or RuleModerator; empty for policies that do not look at the message.
	Rule string
	// Because is a sentence without a full stop.
	Because string
}

// Next finds who has the floor. For round_robin, open and triggers, which do not look at the message, the Choice is empty.
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

// Stop reports whether an expression of limits.stopWhen holds, and why; one that fails does not stop. Empty is no expression.
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

// maxRulesCost bounds what all rules cost for one turn, but for the last that is tried: every replay of the log pays it again.
const maxRulesCost = parley.MaxExpressionCost

// byRules gives the floor by the first rule that holds. A rule that fails ends the search: what it would have said is not known.
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
			c.Next, c.Because = r.Next, fmt.Sprintf("rule %d gives it to %s", i+1, r.Next)
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
		c.Next, c.Because = moderator, fmt.Sprintf("%s has spoken, and the floor goes back to the moderator, %s", e.From,
			moderator)
	default:
		c.Next, c.Because = e.named()
	}
	return c
}

// named finds the one other participant whom the message names: by its turnHint, else by a mention.
func (e *Ended) named() (next, because string) {
	if e.Hint != "" {
		if e.Hint == e.From || !e.seated(e.Hint) {
			return "", fmt.Sprintf("the turnHint of %s names %s, who is no other participant", e.From, Clip(e.Hint))
		}
		return e.Hint, fmt.Sprintf("%s has named %s as the next", e.From, e.Hint)
	}
	if !mayMention(e.Payload) {
		return "", fmt.Sprintf("%s has named nobody", e.From)
	}
	found := mentions(e.read().Text, e.Seats, e.From)
	switch len(found) {
	case 0:
		return "", fmt.Sprintf("%s has named nobody", e.From)
	case 1:
		return found[0], fmt.Sprintf("%s has mentioned %s", e.From, found[0])
	}
	return "", fmt.Sprintf("%s has mentioned %d participants, and not one", e.From, len(found))
}

// read gives the message; an empty one when the payload is none.
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

// seat finds a participant, or gives -1.
func seat(seats []parley.Participant, id string) int {
	return slices.IndexFunc(seats, func(p parley.Participant) bool { return p.ID == id })
}
