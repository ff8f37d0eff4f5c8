package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// create begins a conversation, or meets the one that an earlier call of the same caller with the same key began.
func (a *Create) decide(d *decision) {
	q := a.Params
	hash := ""
	switch {
	case a.Session != nil:
		hash = a.Digest
	case d.c.Key != "":
		hash = idempotency.DigestCreate(q)
	}
	switch {
	case d.s.Exists():
		d.meetCreated(a, hash)
		return
	case a.Session != nil && a.Payload == nil: // it was there when its caller looked, but its commit has failed
		d.refuse(parley.ErrUnavailable, "the session has not begun", "")
		return
	}
	policy := parley.Policy{Kind: parley.PolicyRoundRobin}
	if q.Policy != nil {
		policy = *q.Policy
	}
	limits := check.WithDefaults(q.Limits)
	seats := make([]parley.Participant, len(q.Participants))
	for i, p := range q.Participants {
		seats[i] = parley.Participant{ID: p.ID, Kind: p.Kind, Agent: p.Agent, Executor: p.Executor, Role: p.Role}
	}
	e := d.system(parley.System{
		Kind: parley.KindConversationCreated, Title: q.Title, CreatedBy: d.c.From, Participants: seats, Policy: &policy,
		StartsWith: q.StartsWith, Limits: &limits, Metadata: q.Metadata, ParamsHash: hash, Session: a.Session, Workspace: q.Workspace,
	})
	e.ClientRequestID, e.Traceparent = d.c.Key, d.c.Traceparent
	if !d.add(e) {
		return
	}
	for _, p := range q.Participants {
		d.addPrivate(p.ID, p.Private)
	}
	if a.Session != nil && d.out.Err == nil {
		d.add(parley.Event{Turn: 1, Type: parley.TypeMessage, From: d.c.From, Finality: parley.FinalityTurn, Payload: a.Payload, Traceparent: d.c.Traceparent})
	}
	if d.out.Err != nil { // one of them was too large
		d.undo()
	}
}

// meetCreated answers Create for an id that is taken.
func (d *decision) meetCreated(a *Create, hash string) {
	switch {
	case d.c.Key == "" || d.s.CreateKey != d.c.Key || d.s.CreatedBy != d.c.From:
		d.refuse(parley.ErrAlreadyExists, "the conversation id is taken", "another conversationId, or none")
	case d.s.ParamsHash != hash || a.Session == nil && !d.samePrivates(a.Params.Participants):
		d.refuse(parley.ErrIdempotencyConflict, fmt.Sprintf("clientRequestId %q was used with other params", d.c.Key), "a new clientRequestId")
	default:
		d.out.Seq, d.out.Duplicate = 1, true
	}
}

// samePrivates reports whether a retry brings the private texts of the first call.
func (d *decision) samePrivates(seats []parley.Participant) bool {
	for i, p := range seats { // DigestCreate found the same seats in the same order
		if d.s.SeatPrivates[i] != idempotency.DigestPrivate(p.Private) {
			return false
		}
	}
	return true
}
