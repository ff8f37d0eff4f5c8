package priorauth

import (
	"encoding/json"

	"github.com/parleyhub/parley"
)

// The schemas of the messages' data.
const (
	SchemaRequest  = "priorauth.request.v1"
	SchemaQuestion = "priorauth.question.v1"
	SchemaEvidence = "priorauth.evidence.v1"
	SchemaDecision = "priorauth.decision.v1"
	SchemaAnswer   = "priorauth.answer.v1"
)

// Request asks for an authorization.
type Request struct {
	Case        string     `json:"case"`
	Clinic      string     `json:"clinic"`
	Patient     string     `json:"patient"`
	MemberID    string     `json:"memberId"`
	Procedure   string     `json:"procedure"`
	Diagnosis   string     `json:"diagnosis"`
	Units       int        `json:"units"`
	RequestedOn Day        `json:"requestedOn"`
	Evidence    []Evidence `json:"evidence"`
}

// Question asks for evidence. Without Missing it asks for a request.
type Question struct {
	Missing []Criterion `json:"missing"`
}

// EvidenceSent answers a question, or appeals against a decision.
type EvidenceSent struct {
	Appeal   bool       `json:"appeal"`
	Evidence []Evidence `json:"evidence"`
	// Absent are the ids of criteria on which the chart has nothing.
	Absent []string `json:"absent,omitempty"`
}

// Verdict is what a payer decides.
type Verdict string

// The values of Verdict. They are also the reasons in the outcome of a conversation.
const (
	Approved Verdict = "approved"
	Partial  Verdict = "partial"
	Denied   Verdict = "denied"
)

// Decision is what the payer has decided. One that is not final can be answered.
type Decision struct {
	Decision Verdict `json:"decision"`
	Final    bool    `json:"final"`
	Units    int     `json:"units"`
	Reasons  []Check `json:"reasons"`
	// Would are criteria, one of which for each reason, that would change the decision.
	Would []Criterion `json:"would,omitempty"`
}

// Answer takes or leaves a decision.
type Answer struct {
	Accept bool   `json:"accept"`
	Reason string `json:"reason"`
}

// message makes a message of a text and its data.
func message(schema, text string, data any) (parley.Message, error) {
	raw, err := json.Marshal(data)
	return parley.Message{Text: text, Schema: schema, Data: raw}, err
}

// trace makes a trace: how the agent came to what it says.
func trace(kind, text string, data any) (parley.Trace, error) {
	raw, err := json.Marshal(data)
	return parley.Trace{Kind: kind, Text: text, Data: raw}, err
}

// dossier is what the log says before a turn: all that either agent goes by.
type dossier struct {
	request  *Request
	asked    []Criterion // of all questions
	evidence []Evidence  // of the request, answers and appeals
	appeals  int
	decision *Decision // the last
	answer   *Answer   // the last
	last     string    // the schema of the last message
	open     *Question // the last question, when the last message is one
}

// read folds the messages before a turn. It ignores messages of the turn itself, so that a repeated
// turn has the same result. A message without one of our schemas, or with invalid data, is talk.
func readDossier(events []parley.Event, turn int64) *dossier {
	d := &dossier{}
	for _, e := range events {
		if e.Turn >= turn {
			break
		}
		m, err := e.Message()
		if err == nil {
			d.add(m)
		}
	}
	return d
}

func (d *dossier) add(m parley.Message) {
	d.last, d.open = m.Schema, nil
	switch m.Schema {
	case SchemaRequest:
		if r, ok := data[Request](m); ok && d.request == nil {
			d.request = r
			d.evidence = append(d.evidence, r.Evidence...)
		}
	case SchemaQuestion:
		if q, ok := data[Question](m); ok {
			d.asked = append(d.asked, q.Missing...)
			d.open = q
		}
	case SchemaEvidence:
		if e, ok := data[EvidenceSent](m); ok {
			d.evidence = append(d.evidence, e.Evidence...)
			if e.Appeal {
				d.appeals++
			}
		}
	case SchemaDecision:
		d.decision, _ = data[Decision](m)
	case SchemaAnswer:
		d.answer, _ = data[Answer](m)
	}
}

func data[T any](m parley.Message) (*T, bool) {
	v := new(T)
	if err := json.Unmarshal(m.Data, v); err != nil {
		return nil, false
	}
	return v, true
}
