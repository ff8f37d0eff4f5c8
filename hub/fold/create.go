package fold

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// create begins a conversation, or meets the one that an earlier call of the same caller with the same key began.
func (d *decision) create() {
	q := d.c.Create
	hash := ""
	switch {
	case d.c.Session != nil:
		hash = d.c.Digest
	case d.c.Key != "":
		hash = paramsHash(q)
	}
	switch {
	case d.s.Exists():
		d.meet(hash)
		return
	case d.c.Session != nil && d.c.Payload == nil: // it was there when its caller looked, but its commit has failed
		d.refuse(parley.ErrUnavailable, "the session has not begun", "")
		return
	}
	policy := parley.Policy{Kind: parley.PolicyRoundRobin}
	if q.Policy != nil {
		policy = *q.Policy
	}
	limits := limitsWithDefaults(q.Limits)
	seats := make([]parley.Participant, len(q.Participants))
	for i, p := range q.Participants {
		seats[i] = parley.Participant{ID: p.ID, Kind: p.Kind, Agent: p.Agent, Executor: p.Executor, Role: p.Role}
	}
	e := d.system(parley.System{
		Kind: parley.KindConversationCreated, Title: q.Title, CreatedBy: d.c.From, Participants: seats, Policy: &policy,
		StartsWith: q.StartsWith, Limits: &limits, Metadata: q.Metadata, ParamsHash: hash, Session: d.c.Session, Workspace: q.Workspace,
	})
	e.ClientRequestID, e.Traceparent = d.c.Key, d.c.Traceparent
	if !d.add(e) {
		return
	}
	for _, p := range q.Participants {
		d.addPrivate(p.ID, p.Private)
	}
	if d.c.Session != nil && d.out.Err == nil {
		d.add(parley.Event{Turn: 1, Type: parley.TypeMessage, From: d.c.From, Finality: parley.FinalityTurn, Payload: d.c.Payload, Traceparent: d.c.Traceparent})
	}
	if d.out.Err != nil { // one of them was too large
		d.undo()
	}
}

// meet answers create for an id that is taken.
func (d *decision) meet(hash string) {
	switch {
	case d.c.Key == "" || d.s.CreateKey != d.c.Key || d.s.CreatedBy != d.c.From:
		d.refuse(parley.ErrAlreadyExists, "the conversation id is taken", "another conversationId, or none")
	case d.s.ParamsHash != hash || d.c.Session == nil && !d.samePrivates(d.c.Create.Participants):
		d.refuse(parley.ErrIdempotencyConflict, fmt.Sprintf("clientRequestId %q was used with other params", d.c.Key), "a new clientRequestId")
	default:
		d.out.Seq, d.out.Duplicate = 1, true
	}
}

// samePrivates reports whether a retry brings the private texts of the first call.
func (d *decision) samePrivates(seats []parley.Participant) bool {
	for i, p := range seats { // paramsHash has found the same seats in the same order
		if d.s.SeatPrivates[i] != privateDigest(p.Private) {
			return false
		}
	}
	return true
}

// privateDigest tells one private text from another. It stays in the hub: a digest that others read would let them try guesses.
func privateDigest(text string) [16]byte {
	if text == "" {
		return [16]byte{}
	}
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:16])
}

// paramsHash tells one createConversation from another. The key itself is not part of it, nor is the span of a call, nor are the private texts: every
// participant reads it.
func paramsHash(q *parley.CreateConversationParams) string {
	c := *q
	c.ClientRequestID, c.Traceparent = "", ""
	c.Participants = slices.Clone(q.Participants)
	for i := range c.Participants {
		c.Participants[i].Private = ""
	}
	sum := sha256.Sum256(marshal(c))
	return hex.EncodeToString(sum[:16])
}

// limitsWithDefaults returns limits with the defaults for missing ones.
func limitsWithDefaults(l *parley.Limits) parley.Limits {
	var limits parley.Limits
	if l != nil {
		limits = *l
	}
	if limits.MaxEvents == 0 {
		limits.MaxEvents = parley.DefaultMaxEvents
	}
	if limits.MaxBytes == 0 {
		limits.MaxBytes = parley.DefaultMaxBytes
	}
	return limits
}
