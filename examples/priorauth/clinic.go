package priorauth

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
)

// Clinic is the agent that asks. The metadata of a conversation names the case.
type Clinic struct {
	// Files are the clinic's; nil, the embedded ones. It looks at the cases only.
	Files *Files
}

var _ parley.Agent = (*Clinic)(nil)

// HandleTurn says the next thing for the case.
func (c *Clinic) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	kase, err := c.caseOf(ctx, turn)
	if err != nil {
		return "", err
	}
	if kase == nil {
		m := parley.Message{Text: "We have no file on the case that this conversation names, so there is nothing to ask for."}
		_, err := turn.Complete(ctx, m, parley.Outcome{Status: parley.OutcomeFailed, Reason: "unknown case"})
		return parley.TurnComplete, err
	}
	events, err := turn.Messages(ctx)
	if err != nil {
		return "", err
	}
	m, why, err := kase.next(readDossier(events, turn.Number))
	if err != nil {
		return "", err
	}
	if _, err := turn.Trace(ctx, why); err != nil {
		return "", err
	}
	_, err = turn.Post(ctx, m, parley.FinalityTurn)
	return parley.TurnPosted, err
}

// caseOf returns the case of the conversation, or nil.
func (c *Clinic) caseOf(ctx context.Context, turn *parley.Turn) (*Case, error) {
	s, err := turn.Client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: turn.ConversationID, Limit: 1})
	if err != nil {
		return nil, err
	}
	var m Metadata
	if len(s.Metadata) > 0 {
		if err := json.Unmarshal(s.Metadata, &m); err != nil {
			return nil, nil // other metadata does not name a case
		}
	}
	files := c.Files
	if files == nil {
		files = builtIn()
	}
	return files.Cases[m.Case], nil
}

// next composes the clinic's message, and the trace of how it came to it.
func (c *Case) next(d *dossier) (parley.Message, parley.Trace, error) {
	switch {
	case d.request == nil:
		return c.ask()
	case d.open != nil:
		return c.answer(d)
	case d.decision != nil && !d.decision.Final && d.last == SchemaDecision:
		return c.respond(d)
	}
	why, err := trace("chart_search", "There is nothing to answer.", nil)
	return parley.Message{Text: "We have nothing to add. Please name what you need for a decision."}, why, err
}

// ask makes the request.
func (c *Case) ask() (parley.Message, parley.Trace, error) {
	r := Request{
		Case: c.ID, Clinic: c.Clinic, Patient: c.Patient.Name, MemberID: c.Patient.MemberID,
		Procedure: c.Procedure, Diagnosis: c.Diagnosis, Units: c.Units, RequestedOn: c.RequestedOn, Evidence: []Evidence{},
	}
	for _, e := range c.Chart {
		if slices.Contains(c.Attach, e.ID) {
			r.Evidence = append(r.Evidence, e)
		}
	}
	why, err := trace("chart_search", fmt.Sprintf("The chart has %s; the case says to attach %d.",
		entries(len(c.Chart)), len(r.Evidence)), c.Attach)
	if err != nil {
		return parley.Message{}, why, err
	}
	text := fmt.Sprintf("%s requests authorization of procedure %s, quantity %d, for %s (born %s, member %s). Diagnosis: %s.",
		c.Clinic, c.Procedure, c.Units, c.Patient.Name, c.Patient.Born, c.Patient.MemberID, c.Diagnosis)
	if len(r.Evidence) > 0 {
		text += " Attached: " + quote(r.Evidence)
	}
	m, err := message(SchemaRequest, text, r)
	return m, why, err
}

// answer sends what the chart has on the criteria asked for.
func (c *Case) answer(d *dossier) (parley.Message, parley.Trace, error) {
	reply := EvidenceSent{Evidence: []Evidence{}}
	var searched, absent []string
	for _, q := range d.open.Missing {
		found := c.search(q, d.evidence, reply.Evidence)
		searched = append(searched, fmt.Sprintf("%s: %s for %s", q.ID, entries(len(found)), list(q.Codes)))
		reply.Evidence = append(reply.Evidence, found...)
		if len(found) == 0 {
			reply.Absent = append(reply.Absent, q.ID)
			absent = append(absent, q.Text)
		}
	}
	why, err := trace("chart_search", strings.Join(searched, "; "), searched)
	if err != nil {
		return parley.Message{}, why, err
	}
	var says []string
	if len(reply.Evidence) > 0 {
		says = append(says, "From the chart: "+quote(reply.Evidence))
	}
	if len(absent) > 0 {
		says = append(says, "The chart does not show "+list(absent)+".")
	}
	m, err := message(SchemaEvidence, strings.Join(says, " "), reply)
	return m, why, err
}

// respond appeals where the chart has what would change the decision; else it takes an offer that
// helps, or withdraws.
func (c *Case) respond(d *dossier) (parley.Message, parley.Trace, error) {
	appeal := EvidenceSent{Appeal: true, Evidence: []Evidence{}}
	var holds []string
	for _, w := range d.decision.Would {
		for _, e := range c.search(w, d.evidence, appeal.Evidence) {
			if because, ok := w.judge(e, c.RequestedOn); ok {
				appeal.Evidence = append(appeal.Evidence, e)
				holds = append(holds, because)
			}
		}
	}
	if len(holds) > 0 {
		why, err := trace("chart_search", "An appeal is justified: "+list(holds)+".", appeal.Evidence)
		if err != nil {
			return parley.Message{}, why, err
		}
		m, err := message(SchemaEvidence, "We appeal: "+list(holds)+". From the chart: "+quote(appeal.Evidence), appeal)
		return m, why, err
	}
	why, err := trace("chart_search", "The chart has nothing that would change the decision.", d.decision.Would)
	if err != nil {
		return parley.Message{}, why, err
	}
	a := Answer{Accept: d.decision.Units >= c.AcceptUnits && d.decision.Decision == Partial}
	if a.Accept {
		a.Reason = fmt.Sprintf("%d is enough for now", d.decision.Units)
		m, err := message(SchemaAnswer, fmt.Sprintf("We accept %d instead of %d and will ask again if more are needed.",
			d.decision.Units, c.Units), a)
		return m, why, err
	}
	a.Reason = "the chart has nothing more"
	text := "We withdraw the request: the chart has nothing that would change the decision. We will ask again when it has."
	if d.decision.Decision == Partial {
		a.Reason = fmt.Sprintf("at least %d are needed", c.AcceptUnits)
		text = fmt.Sprintf("We withdraw the request: %d would not help, at least %d are needed.", d.decision.Units,
			c.AcceptUnits)
	}
	m, err := message(SchemaAnswer, text, a)
	return m, why, err
}

// search returns the entries of the chart that concern a criterion and were not sent yet.
func (c *Case) search(q Criterion, sent ...[]Evidence) []Evidence {
	var found []Evidence
	for _, e := range c.Chart {
		known := slices.ContainsFunc(slices.Concat(sent...), func(s Evidence) bool { return s.ID == e.ID })
		if q.concerns(e) && !known {
			found = append(found, e)
		}
	}
	return found
}

// quote returns a sentence for each piece of evidence.
func quote(all []Evidence) string {
	var says []string
	for _, e := range all {
		when := e.Date.String()
		if e.From != nil {
			when = fmt.Sprintf("%s to %s", *e.From, e.Date)
		}
		what := words(e.Code)
		if e.Value != nil {
			what = strings.TrimSpace(fmt.Sprintf("%s %g %s", what, *e.Value, e.Unit))
		}
		says = append(says, fmt.Sprintf("%s, %s: %s (%s)", what, when, strings.TrimSuffix(e.Text, "."), e.Source))
	}
	return strings.Join(says, "; ") + "."
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
