package priorauth

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
)

// Payer is the agent that decides.
type Payer struct {
	// Files are the payer's; nil, the embedded ones. It looks at the policy only.
	Files *Files
	// Checker is the agent that it has hold the evidence against the criteria, such as CriteriaAgent;
	// empty, it does that itself.
	Checker string
}

var _ parley.Agent = (*Payer)(nil)

// HandleTurn says the next thing by the policy.
func (p *Payer) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	events, err := turn.Messages(ctx)
	if err != nil {
		return "", err
	}
	files := p.Files
	if files == nil {
		files = builtIn()
	}
	check := own
	if p.Checker != "" {
		check = ask(ctx, turn, p.Checker)
	}
	s, err := files.Policy.next(readDossier(events, turn.Number), check)
	if err != nil {
		return "", err
	}
	if _, err := turn.Trace(ctx, s.why); err != nil {
		return "", err
	}
	if s.final == "" {
		_, err = turn.Post(ctx, s.message, parley.FinalityTurn)
		return parley.TurnPosted, err
	}
	_, err = turn.Complete(ctx, s.message, parley.Outcome{Status: parley.OutcomeCompleted, Reason: string(s.final)})
	return parley.TurnComplete, err
}

// step is what the payer says next; final is set when that ends the conversation.
type step struct {
	message parley.Message
	why     parley.Trace
	final   Verdict
}

// next finds the payer's next step.
func (p *Policy) next(d *dossier, check checker) (step, error) {
	if d.request == nil {
		why, err := trace("criteria", "No request was made yet.", nil)
		if err != nil {
			return step{}, err
		}
		m, err := message(SchemaQuestion, "Please send a request ("+SchemaRequest+") for us to decide on.",
			Question{Missing: []Criterion{}})
		return step{message: m, why: why}, err
	}
	proc := p.Procedures[d.request.Procedure]
	if proc == nil {
		none := []Check{{Criterion: "coverage", Status: Unmet, Because: "procedure " + d.request.Procedure +
			" is not in the policy of " + p.Payer}}
		return p.decide(d, Decision{Decision: Denied, Final: true, Reasons: none})
	}
	if d.answer != nil {
		return p.afterAnswer(d)
	}
	checks, err := check(proc, d)
	if err != nil {
		return step{}, err
	}
	if missing := proc.unasked(checks, d.asked); len(missing) > 0 {
		return p.question(checks, missing)
	}
	return p.judge(d, proc, checks)
}

// checks evaluates every criterion. A waiver that is met replaces all of them.
func (p *Procedure) checks(all []Evidence, on Day) []Check {
	for i := range p.Waivers {
		if w := p.Waivers[i].check(all, on); w.Status == Met {
			return []Check{w}
		}
	}
	checks := make([]Check, len(p.Criteria))
	for i := range p.Criteria {
		checks[i] = p.Criteria[i].check(all, on)
	}
	return checks
}

// unasked returns the criteria without evidence that were not requested yet.
func (p *Procedure) unasked(checks []Check, asked []Criterion) []Criterion {
	var missing []Criterion
	for _, k := range checks {
		i := slices.IndexFunc(p.Criteria, func(c Criterion) bool { return c.ID == k.Criterion })
		before := slices.ContainsFunc(asked, func(c Criterion) bool { return c.ID == k.Criterion })
		if k.Status == Missing && i >= 0 && !before {
			c := p.Criteria[i]
			c.Exceptions = nil // said with the decision, if it comes to that
			missing = append(missing, c)
		}
	}
	return missing
}

// question asks for evidence.
func (p *Policy) question(checks []Check, missing []Criterion) (step, error) {
	why, err := trace("criteria", explain(checks), checks)
	if err != nil {
		return step{}, err
	}
	var texts []string
	for _, c := range missing {
		texts = append(texts, c.Text)
	}
	text := "Thank you. The policy also requires " + list(texts) + ". Please send what the chart has on this."
	m, err := message(SchemaQuestion, text, Question{Missing: missing})
	return step{message: m, why: why}, err
}

// judge decides on criteria for which all evidence was asked.
func (p *Policy) judge(d *dossier, proc *Procedure, checks []Check) (step, error) {
	failed := slices.DeleteFunc(slices.Clone(checks), func(k Check) bool { return k.Status == Met })
	if len(failed) > 0 {
		would := proc.would(failed)
		return p.decide(d, Decision{Decision: Denied, Final: len(would) == 0 || d.appeals > 0, Reasons: failed, Would: would})
	}
	units := d.request.Units
	if proc.MaxUnits == 0 || units <= proc.MaxUnits {
		return p.decide(d, Decision{Decision: Approved, Final: true, Units: units, Reasons: checks})
	}
	offer := Decision{Decision: Partial, Units: proc.MaxUnits, Final: d.appeals > 0}
	offer.Reasons = []Check{{
		Criterion: "quantity", Status: Unmet,
		Because: fmt.Sprintf("%s were asked for, and the policy allows %d at first", count(units, proc.Unit), proc.MaxUnits),
	}}
	if proc.Extension == nil {
		return p.decide(d, offer)
	}
	more := proc.Extension.check(d.evidence, d.request.RequestedOn)
	if more.Status == Met {
		return p.decide(d, Decision{Decision: Approved, Final: true, Units: units, Reasons: append(checks, more)})
	}
	offer.Would = []Criterion{*proc.Extension}
	return p.decide(d, offer)
}

// would returns what could still change a denial: for each failed criterion, other evidence that
// would satisfy it.
func (p *Procedure) would(failed []Check) []Criterion {
	would := slices.Clone(p.Waivers)
	for _, c := range p.Criteria {
		if slices.ContainsFunc(failed, func(k Check) bool { return k.Criterion == c.ID }) {
			would = append(would, c.Exceptions...)
		}
	}
	return would
}

// afterAnswer ends the conversation as the clinic has chosen.
func (p *Policy) afterAnswer(d *dossier) (step, error) {
	last := Decision{Decision: Denied, Final: true}
	if d.decision != nil {
		last.Reasons = d.decision.Reasons
	}
	if d.answer.Accept && d.decision != nil && d.decision.Decision == Partial {
		last.Decision, last.Units = Partial, d.decision.Units
	}
	return p.decide(d, last)
}

// decide says a decision.
func (p *Policy) decide(d *dossier, decision Decision) (step, error) {
	why, err := trace("criteria", explain(decision.Reasons), decision.Reasons)
	if err != nil {
		return step{}, err
	}
	if decision.Reasons == nil {
		decision.Reasons = []Check{}
	}
	m, err := message(SchemaDecision, p.say(d, decision), decision)
	s := step{message: m, why: why}
	if decision.Final {
		s.final = decision.Decision
	}
	return s, err
}

// say composes the text of a decision.
func (p *Policy) say(d *dossier, k Decision) string {
	because := make([]string, len(k.Reasons))
	for i, r := range k.Reasons {
		because[i] = r.Because
	}
	reasons := strings.Join(because, "; ")
	var text string
	switch k.Decision {
	case Approved:
		text = fmt.Sprintf("%s approves procedure %s for %s, quantity %d: %s.", p.Payer, d.request.Procedure,
			d.request.Patient, k.Units, reasons)
	case Partial:
		text = fmt.Sprintf("%s approves procedure %s for %s, quantity %d of %d: %s.",
			p.Payer, d.request.Procedure, d.request.Patient, k.Units, d.request.Units, reasons)
	case Denied:
		text = fmt.Sprintf("%s denies procedure %s for %s: %s.", p.Payer, d.request.Procedure, d.request.Patient, reasons)
	}
	if k.Final || len(k.Would) == 0 {
		return text
	}
	var would []string
	for _, w := range k.Would {
		would = append(would, w.Text)
	}
	if k.Decision == Partial {
		return text + " More would be approved with " + strings.Join(would, ", or ") + "."
	}
	return text + " This would change with " + strings.Join(would, ", or ") + "."
}

// explain is the reasoning in one line.
func explain(checks []Check) string {
	var says []string
	for _, k := range checks {
		says = append(says, fmt.Sprintf("%s %s: %s", k.Criterion, k.Status, k.Because))
	}
	return strings.Join(says, "; ")
}
