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
	"github.com/parleyhub/parley/internal/yamlfile"
)

// agreement holds the parts of a scenario against one another. Of a part that could not be read
// nothing is said: it has been told of.
type agreement struct {
	*Scenario
	// faulty tells whether something at a path, or below it, could not be read.
	faulty   func(path string) bool
	ids      []string
	problems []problem
}

// problem is a thing that is wrong, at a path.
type problem struct{ path, what string }

func (a *agreement) problem(path, format string, args ...any) {
	a.problems = append(a.problems, problem{path, fmt.Sprintf(format, args...)})
}

// agree tells of what does not go together, at its place.
func (s *Scenario) agree(r *shape.Reader) {
	for _, p := range s.disagreements(r.Faulty) {
		r.At(p.path, p.what)
	}
}

// Check holds a scenario that was changed since it was read against the rules. The error is of
// usage.
func (s *Scenario) Check() error {
	var lines []string
	for _, p := range s.disagreements(func(string) bool { return false }) {
		lines = append(lines, p.path+": "+p.what)
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "; "))
}

// disagreements finds all that does not go together.
func (s *Scenario) disagreements(faulty func(path string) bool) []problem {
	a := &agreement{Scenario: s, faulty: faulty}
	a.seats()
	a.startsWithSomebody()
	a.policy()
	a.limits()
	a.opening()
	if len(a.problems) == 0 && !faulty("") {
		a.hub()
	}
	return a.problems
}

func (a *agreement) seats() {
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
			a.unclaimed(path, p)
		}
	}
	if !known {
		a.ids = nil
	}
}

// unclaimed refuses what only seats of agents have.
func (a *agreement) unclaimed(path string, p parley.Participant) {
	if p.Agent != "" {
		a.problem(path+".agent", "expected it with kind agent or tool only, not %s", p.Kind)
	}
	if p.Executor != "" {
		a.problem(path+".executor", "expected it with kind agent or tool only, not %s", p.Kind)
	}
}

// names refuses an id that is no participant's, and tells whether it is one.
func (a *agreement) names(path, id string) bool {
	if id == "" || len(a.ids) == 0 {
		return false
	}
	if slices.Contains(a.ids, id) {
		return true
	}
	hint := ""
	if near := yamlfile.Nearest(id, a.ids); near != "" {
		hint = "; is it " + near + "?"
	}
	a.problem(path, "expected the id of a participant%s", hint)
	return false
}

func (a *agreement) startsWithSomebody() { a.names("startsWith", a.StartsWith) }

func (a *agreement) policy() {
	p := a.Policy
	if p == nil {
		return
	}
	if p.Kind != "" {
		a.policyKind(p)
	}
	for i, rule := range p.Rules {
		path := fmt.Sprintf("policy.rules[%d]", i)
		a.names(path+".next", rule.Next)
		if rule.When != "" {
			a.expression(path+".when", rule.When)
		}
	}
}

// policyKind holds what is given against the kind.
func (a *agreement) policyKind(p *parley.Policy) {
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
		a.names("policy.moderator", p.Moderator)
	case p.Moderator != "":
		a.problem("policy.moderator", "expected it with kind moderator only, not %s", p.Kind)
	}
}

// expression compiles an expression as a hub would.
func (a *agreement) expression(path, expr string) {
	const seat = "a"
	alone := parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{{When: expr, Next: seat}}}
	err := policy.Check(alone, "", []parley.Participant{{ID: seat, Kind: parley.KindHuman}})
	if err != nil {
		a.problem(path, "%s", strings.TrimPrefix(sentence(err), "policy.rules[0].when: "))
	}
}

func (a *agreement) limits() {
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

func (a *agreement) opening() {
	o := a.Opening
	if o == nil {
		return
	}
	if a.names("opening.from", o.From) && slices.Contains(a.ids, a.StartsWith) && o.From != a.StartsWith {
		a.problem("opening.from", "expected who has turn 1: startsWith says %s", a.StartsWith)
	}
	if a.names("opening.next", o.Next) && a.Policy != nil && a.Policy.Kind != "" {
		a.hint(o)
	} else if o.Next != "" && a.Policy == nil {
		a.problem("opening.next", "expected it with the policies addressed and moderator only")
	}
	if !a.faulty("opening") {
		a.said(o)
	}
}

func (a *agreement) hint(o *Opening) {
	if err := policy.CheckHint(*a.Policy, a.Participants, a.Author(), o.Next, parley.FinalityTurn); err != nil {
		a.problem("opening.next", "it%s", strings.TrimPrefix(strings.TrimPrefix(sentence(err), "turnHint"), ".next"))
	}
}

// envelope is room for what a hub puts around a payload.
const envelope = 4 << 10

// said holds what is said against the bounds of a message.
func (a *agreement) said(o *Opening) {
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

// hub asks what a hub would say of the whole. It says more only where this package knows less than
// it.
func (a *agreement) hub() {
	err := check.Create(a.Params())
	if err == nil {
		return
	}
	path, what, _ := strings.Cut(sentence(err), " ")
	a.problem(strings.TrimSuffix(path, ":"), "%s", what)
}

// sentence is a refusal without its reason.
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
