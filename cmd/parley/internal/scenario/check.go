package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/spelling"
)

// consistency checks the parts of a scenario against each other. It skips a part that could not be
// read, because the reader already reported it.
type consistency struct {
	*Scenario
	// faulty reports whether the value at a path, or a value below it, could not be read.
	faulty   func(path string) bool
	ids      []string
	problems []problem
}

// problem is one fault, at a path.
type problem struct{ path, what string }

func (a *consistency) problem(path, format string, args ...any) {
	a.problems = append(a.problems, problem{path, fmt.Sprintf(format, args...)})
}

// checkConsistency adds a finding for each contradiction in the scenario.
func (s *Scenario) checkConsistency(r *shape.Reader) {
	for _, p := range s.contradictions(r.Faulty) {
		r.At(p.path, p.what)
	}
}

// Check checks a scenario that was changed after it was read. The error is a usage error.
func (s *Scenario) Check() error {
	var lines []string
	for _, p := range s.contradictions(func(string) bool { return false }) {
		lines = append(lines, p.path+": "+p.what)
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "; "))
}

// contradictions returns all contradictions between the parts of the scenario.
func (s *Scenario) contradictions(faulty func(path string) bool) []problem {
	a := &consistency{Scenario: s, faulty: faulty}
	a.seats()
	a.starter()
	a.policy()
	a.limits()
	a.opening()
	if len(a.problems) == 0 && !faulty("") {
		a.hub()
	}
	return a.problems
}

func (a *consistency) seats() {
	known := true
	at := map[string]int{}
	for i, p := range a.Participants {
		path := fmt.Sprintf("participants[%d]", i)
		first, twice := at[p.ID]
		switch {
		case p.ID == "": // it could not be read
			known = false
			continue
		case p.ID == parley.HubID:
			a.problem(path+".id", "expected another id: hub is the hub itself")
		case twice:
			a.problem(path+".id", "it is the id of participants[%d] already", first)
		}
		if !twice {
			at[p.ID] = i
			a.ids = append(a.ids, p.ID)
		}
		if p.Agent == parley.HubID {
			a.problem(path+".agent", "expected another name: hub is the hub itself")
		}
		if p.Kind == parley.KindHuman || p.Kind == parley.KindPeer {
			a.checkUnclaimed(path, p)
		}
	}
	if !known {
		a.ids = nil
	}
}

// checkUnclaimed reports members that only seats of agents and tools may have.
func (a *consistency) checkUnclaimed(path string, p parley.Participant) {
	if p.Agent != "" {
		a.problem(path+".agent", "expected it with kind agent or tool only, not %s", p.Kind)
	}
	if p.Executor != "" {
		a.problem(path+".executor", "expected it with kind agent or tool only, not %s", p.Kind)
	}
}

// isParticipant reports whether id is the id of a participant. It adds a problem if it is not.
func (a *consistency) isParticipant(path, id string) bool {
	if id == "" || len(a.ids) == 0 {
		return false
	}
	if slices.Contains(a.ids, id) {
		return true
	}
	hint := ""
	if near := spelling.Nearest(id, a.ids); near != "" {
		hint = "; is it " + near + "?"
	}
	a.problem(path, "expected the id of a participant%s", hint)
	return false
}

func (a *consistency) starter() { a.isParticipant("startsWith", a.StartsWith) }

func (a *consistency) policy() {
	p := a.Policy
	if p == nil {
		return
	}
	if p.Kind != "" {
		a.policyKind(p)
	}
	for i, rule := range p.Rules {
		path := fmt.Sprintf("policy.rules[%d]", i)
		a.isParticipant(path+".next", rule.Next)
		if rule.When != "" {
			a.expression(path+".when", rule.When)
		}
	}
}

// policyKind checks the members of the policy against its kind.
func (a *consistency) policyKind(p *parley.Policy) {
	switch {
	case p.Kind == parley.PolicyRules && p.Rules == nil && !a.faulty("policy.rules"):
		a.problem("policy", "rules are missing: kind rules goes by them")
	case p.Kind != parley.PolicyRules && p.Rules != nil:
		a.problem("policy.rules", "expected them with kind rules only, not %s", p.Kind)
	}
	switch {
	case p.Kind == parley.PolicyModerator && p.Moderator == "" && !a.faulty("policy.moderator"):
		a.problem("policy", "moderator is missing: kind moderator goes by it")
	case p.Kind == parley.PolicyModerator:
		a.isParticipant("policy.moderator", p.Moderator)
	case p.Moderator != "":
		a.problem("policy.moderator", "expected it with kind moderator only, not %s", p.Kind)
	}
}

// expression compiles an expression as a hub does.
func (a *consistency) expression(path, expr string) {
	const seat = "a"
	alone := parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{{When: expr, Next: seat}}}
	err := policy.Check(alone, "", []parley.Participant{{ID: seat, Kind: parley.KindHuman}})
	if err != nil {
		a.problem(path, "%s", strings.TrimPrefix(sentence(err), "policy.rules[0].when: "))
	}
}

func (a *consistency) limits() {
	l := a.Limits
	if l == nil {
		return
	}
	if l.MaxClaimMs != 0 && l.MaxClaimMs < l.TurnTimeout() {
		a.problem("limits.maxClaimMs", "expected at least the %d of turnTimeoutMs", l.TurnTimeout())
	}
	if l.StopWhen != "" {
		a.expression("limits.stopWhen", l.StopWhen)
	}
}

func (a *consistency) opening() {
	o := a.Opening
	if o == nil {
		return
	}
	if a.isParticipant("opening.from", o.From) && slices.Contains(a.ids, a.StartsWith) && o.From != a.StartsWith {
		a.problem("opening.from", "expected who has turn 1: startsWith says %s", a.StartsWith)
	}
	if a.isParticipant("opening.next", o.Next) && a.Policy != nil && a.Policy.Kind != "" {
		a.hint(o)
	} else if o.Next != "" && a.Policy == nil {
		a.problem("opening.next", "expected it with the policies addressed and moderator only")
	}
	if !a.faulty("opening") {
		a.checkMessage(o)
	}
}

func (a *consistency) hint(o *Opening) {
	if err := policy.CheckHint(*a.Policy, a.Participants, a.Author(), o.Next, parley.FinalityTurn); err != nil {
		a.problem("opening.next", "it%s", strings.TrimPrefix(strings.TrimPrefix(sentence(err), "turnHint"), ".next"))
	}
}

// envelope is a bound for what a hub adds around a payload.
const envelope = 4 << 10

// checkMessage checks the opening against the bounds of a message.
func (a *consistency) checkMessage(o *Opening) {
	if o.Text == "" && o.Data == nil {
		a.problem("opening", "expected text or data")
		return
	}
	payload, err := o.payload()
	if err == nil {
		_, err = check.Message(payload)
	}
	switch {
	case err != nil:
		a.problem("opening", "%s", sentence(err))
	case len(payload) > parley.MaxEventBytes-envelope:
		a.problem("opening", "expected at most %d bytes as JSON", parley.MaxEventBytes-envelope)
	}
}

// hub checks the whole scenario as a hub does. It finds only faults that the other checks do not
// know.
func (a *consistency) hub() {
	err := check.Create(a.Params())
	if err == nil {
		return
	}
	path, what, _ := strings.Cut(sentence(err), " ")
	a.problem(strings.TrimSuffix(path, ":"), "%s", what)
}

// sentence returns the text of a refusal without its reason code.
func sentence(err error) string {
	var refusal *parley.Error
	if !errors.As(err, &refusal) {
		return err.Error()
	}
	if refusal.Expected == "" {
		return refusal.Message
	}
	return refusal.Message + " (expected " + refusal.Expected + ")"
}
