package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// decide creates a conversation, or answers a repeated call of the same caller.
func (a *Create) decide(d *decision) {
	q := a.Params
	hash := a.Digest
	if a.Session == nil && d.c.Key != "" {
		hash = idempotency.DigestCreate(q)
	}
	switch {
	case d.s.Exists():
		same := d.c.Key != "" && d.s.ParamsHash == hash
		for i := 0; same && a.Session == nil && i < len(q.Participants); i++ { // the seats of the first call
			same = d.s.SeatPrivates[i] == idempotency.DigestPrivate(q.Participants[i].Private)
		}
		d.answerRepeatedCreate(same, "another conversationId, or no conversationId")
		return
	case a.Session != nil && a.Payload == nil: // the session existed when the hub received the call, but its commit failed
		d.refuse(parley.ErrUnavailable, "the session was not started", "")
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
	e := systemEvent(parley.System{
		Kind: parley.KindConversationCreated, Title: q.Title, CreatedBy: d.c.From, Participants: seats, Policy: &policy,
		StartsWith: q.StartsWith, Limits: &limits, Metadata: q.Metadata, ParamsHash: hash, Session: a.Session,
		Workspace: q.Workspace,
	})
	e.ClientRequestID, e.Traceparent = d.c.Key, d.c.Traceparent
	if !d.add(e) {
		return
	}
	for _, p := range q.Participants {
		d.addPrivate(p.ID, p.Private)
	}
	if a.Session != nil && d.out.Err == nil {
		d.add(parley.Event{
			Turn: 1, Type: parley.TypeMessage, From: d.c.From, Finality: parley.FinalityTurn, Payload: a.Payload,
			Traceparent: d.c.Traceparent,
		})
	}
	if d.out.Err != nil { // one of them was too large
		d.undo()
	}
}

// answerRepeatedCreate answers Create or Fork for an id that is taken. same is true for the params of the first call.
func (d *decision) answerRepeatedCreate(same bool, expected string) {
	switch {
	case d.c.Key == "" || d.s.CreateKey != d.c.Key || d.s.CreatedBy != d.c.From:
		d.refuse(parley.ErrAlreadyExists, "the conversation id is taken", expected)
	case !same:
		d.refuse(parley.ErrIdempotencyConflict,
			fmt.Sprintf("clientRequestId %q was used with other params", d.c.Key), "a new clientRequestId")
	default:
		d.out.Seq, d.out.Duplicate = 1, true
		if d.s.Fork != nil {
			d.out.Seq = d.s.Fork.Seq + 1
		}
	}
}
