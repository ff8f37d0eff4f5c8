package fold

import (
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

// Decide returns the outcome of a command on a state. It looks up the key first, so that a retry of the message that
// closed the turn or the conversation returns its first result. Then it checks the close, and then whose turn it is.
func Decide(s State, keys idempotency.Keys, c Command) Decision {
	var out Decision
	DecideInto(&out, &s, keys, &c)
	return out
}

// DecideInto is Decide without copies of large values. It neither changes nor keeps s and c. It overwrites the Events
// of out and their Data.
func DecideInto(out *Decision, s *State, keys idempotency.Keys, c *Command) {
	*out = Decision{State: *s, Events: out.Events[:0], encoded: out.encoded[:0]}
	out.run = decision{before: s, s: &out.State, c: c, out: out, keys: keys}
	if !out.run.findResult() {
		out.run.decide()
	}
	out.run = decision{}
}

// decision is a command while it is decided. s is the state of out. It begins as before, and changes with each event.
type decision struct {
	before *State
	s      *State
	keys   idempotency.Keys
	c      *Command
	out    *Decision
}

// undo removes the events that were added.
func (d *decision) undo() {
	*d.s, d.out.Events, d.out.Claimed, d.out.Claim = *d.before, d.out.Events[:0], false, nil
}

func (d *decision) refuse(sentinel error, message, expected string) {
	d.out.Err = parley.Refuse(sentinel, message, expected)
}

// refuseTurn refuses, and includes the guidance of the caller.
func (d *decision) refuseTurn(sentinel error, message, expected string) {
	g := d.s.Guidance(d.c.From, false)
	d.out.Err = &parley.Error{Err: sentinel, Message: message, Expected: expected, Guidance: &g}
}

// A drafter is an action that adds one event and may have a key. draft returns the part of the event that its digest
// covers.
type drafter interface {
	draft(d *decision) parley.Event
}

// findResult reports whether the log has the result of the action already. Then it sets d.out. The decide methods of
// Create and Fork look for their keys, which are in the state.
func (d *decision) findResult() bool {
	switch a := d.c.Do.(type) {
	case *AddAttachment:
		return d.findAttachment(a.Attachment)
	case *OfferAttachment:
		return d.findAttachment(a.Attachment)
	case *ResolveApproval:
		return a.findResult(d)
	case drafter:
		return d.c.Key != "" && d.findKey(a)
	}
	return false
}

func (d *decision) findKey(a drafter) bool {
	entry, ok := d.keys.Find(idempotency.NewKeyID(d.c.From, d.c.Key, d.c.Named))
	if !ok || d.c.Named == nil && entry.Turn > 0 && d.s.IsWithdrawn(entry.Seq) {
		return false
	}
	if e := a.draft(d); idempotency.DigestOf(&e) != entry.Digest {
		d.refuse(parley.ErrIdempotencyConflict,
			fmt.Sprintf("clientRequestId %q was used at seq %d with another payload", d.c.Key, entry.Seq),
			"a new clientRequestId")
	}
	d.out.Seq, d.out.Turn, d.out.Duplicate = entry.Seq, entry.Turn, true
	if d.s.Claim != nil && d.s.Claim.AgentID == d.c.From && entry.Seq > d.s.Claim.Seq {
		d.out.Claim = d.s.Claim
	}
	return true
}

// decide decides the action of the command, after the checks that are the same for all actions.
func (d *decision) decide() {
	switch a := d.c.Do.(type) {
	case *Create, *Fork:
		a.decide(d)
		return
	}
	if d.s.Closed() {
		d.refuseClosed()
		return
	}
	if !d.s.Exists() {
		d.refuse(parley.ErrNotFound, "there is no such conversation", "")
		return
	}
	if due, reason := d.s.closesAt(); due > 0 && d.now() >= due {
		d.expireApprovals(due)
		d.limitClose(reason)
		d.refuseClosed()
		return
	}
	d.c.Do.decide(d)
}

func (*Tick) decide(d *decision) { d.expireApprovals(d.now()) } // the conversation is not overdue

func (t *Delta) decide(d *decision) {
	if d.checkAppend(t.Turn, nil) {
		d.out.Turn = t.Turn
	}
}

func (a *AddToken) decide(d *decision) {
	d.add(systemEvent(parley.System{Kind: parley.KindTokenCreated, Token: a.Token}))
}

func (a *RevokeToken) decide(d *decision) {
	d.add(systemEvent(parley.System{Kind: parley.KindTokenRevoked, TokenID: a.TokenID, RevokedBy: d.c.From}))
}

func (a *AddSystem) decide(d *decision) { d.add(systemEvent(*a.Event)) }

func (m *Message) decide(d *decision) {
	if d.checkAppend(m.Turn, m.AfterSeq) && m.checkSession(d) && m.checkAttachments(d) && m.checkHint(d) &&
		(m.Finality.Final() || d.takeClaim(&m.NewClaim)) {
		d.addWithWakes(m.draft(d), m.Wakes)
	}
	if d.out.Err != nil { // a refused message takes no claim
		d.undo()
	}
}

func (t *Trace) decide(d *decision) {
	if d.checkAppend(t.Turn, nil) && d.takeClaim(&t.NewClaim) {
		d.addWithWakes(t.draft(d), nil)
	}
	if d.out.Err != nil {
		d.undo()
	}
}

func (n *Note) decide(d *decision) {
	if d.checkParticipant() {
		d.addWithWakes(n.draft(d), n.Wakes)
	}
}

func (d *decision) refuseClosed() {
	if isByHub(d.c.Do) {
		return // these actions do nothing after the close
	}
	if a, ok := d.c.Do.(*ResolveApproval); ok && a.findResult(d) { // the close canceled the approval
		return
	}
	reason := string(d.s.Outcome.Status)
	if d.s.Outcome.Reason != "" {
		reason += ", " + d.s.Outcome.Reason
	}
	d.refuseTurn(parley.ErrConversationClosed, fmt.Sprintf("the conversation is closed (%s)", reason), "")
}

// now is the command's time, but never before the last event's.
func (d *decision) now() parley.Timestamp { return max(d.c.Now, d.s.LastAt) }

func (d *decision) checkParticipant() bool {
	if d.s.HasParticipant(d.c.From) {
		return true
	}
	d.refuse(parley.ErrForbidden, fmt.Sprintf("%s does not take part in this conversation", d.c.From), "a participant")
	return false
}

// checkAppend refuses a message, trace or delta of a caller whose turn it is not, or that names another turn or claim.
func (d *decision) checkAppend(turn int64, afterSeq *int64) bool {
	if !d.checkParticipant() {
		return false
	}
	current := d.s.CurrentTurn()
	f := d.s.Floor()
	switch {
	case turn > 0 && turn < current:
		d.refuseEnded(turn)
	case !f.allows(d.c.From):
		d.refuseFloor(f)
	case !d.checkClaim():
	case turn > current:
		d.refuseAhead(turn)
	case afterSeq != nil && *afterSeq > d.s.Seq:
		d.refuse(parley.ErrCursorAhead,
			fmt.Sprintf("afterSeq %d is beyond the log", *afterSeq), fmt.Sprintf("at most %d", d.s.Seq))
	case afterSeq != nil && d.s.spokenByOtherSince(d.c.From, *afterSeq):
		d.refuseTurn(parley.ErrTurnConflict, fmt.Sprintf("another participant spoke after seq %d", *afterSeq),
			fmt.Sprintf("afterSeq of at least %d", d.s.MessageSeq))
	default:
		return true
	}
	return false
}

func (d *decision) refuseEnded(turn int64) {
	d.refuseTurn(parley.ErrTurnClosed, fmt.Sprintf("turn %d has ended", turn), fmt.Sprintf("turn %d", d.s.CurrentTurn()))
}

func (d *decision) refuseAhead(turn int64) {
	d.refuseTurn(parley.ErrTurnConflict,
		fmt.Sprintf("turn %d is not reached", turn), fmt.Sprintf("turn %d", d.s.CurrentTurn()))
}

// refuseFloor refuses a caller that does not have the floor. No one has it while a turn without a claim waits for an
// approval.
func (d *decision) refuseFloor(f Floor) {
	switch {
	case !f.waits:
		d.refuseTurn(parley.ErrNotYourTurn, fmt.Sprintf("%s has the floor", f.Speaker), "")
	case f.Speaker == d.c.From && d.c.claimOf(d.s.CurrentTurn()) != nil:
		d.refuseLost()
	default:
		d.refuseTurn(parley.ErrNotYourTurn,
			fmt.Sprintf("turn %d waits for an approval", d.s.CurrentTurn()), "another try when it is resolved")
	}
}

func (m *Message) draft(d *decision) parley.Event {
	return parley.Event{
		Turn: d.s.CurrentTurn(), Type: parley.TypeMessage, From: d.c.From, Finality: m.Finality,
		Outcome: m.Outcome, TurnHint: m.TurnHint, Payload: m.Payload, ClientRequestID: d.c.Key,
	}
}

func (t *Trace) draft(d *decision) parley.Event {
	return parley.Event{
		Turn: d.s.CurrentTurn(), Type: parley.TypeTrace, From: d.c.From, Payload: t.Payload, ClientRequestID: d.c.Key,
	}
}

func (n *Note) draft(d *decision) parley.Event {
	return parley.Event{
		Type: parley.TypeSystem, From: d.c.From, ClientRequestID: d.c.Key,
		Payload: encodeNote(n.Note),
	}
}

// addWithWakes adds the event of the caller with its cause, then the matches of the agents that it wakes. If the event
// reaches a limit, the hub closes the conversation.
func (d *decision) addWithWakes(e parley.Event, wakes []parley.Wake) {
	if e.Type == parley.TypeSystem {
		e.Cause, e.Hops = d.s.CauseOf(d.c.From)
	} else {
		e.Cause, e.Hops = d.s.CauseOfSpeech(d.c.From)
	}
	e.Traceparent = d.c.Traceparent
	before := len(d.out.Events)
	if !d.add(e) {
		return
	}
	added := &d.out.Events[before].Event
	d.out.Seq, d.out.Turn = added.Seq, added.Turn
	if len(wakes) > 0 {
		if d.addWakes(wakes); d.out.Err != nil {
			return
		}
	}
	if !d.s.Closed() {
		d.closeAtLimit()
	}
	if !d.s.Closed() && added.Finality == parley.FinalityTurn {
		d.closeAtStop(added)
	}
}

// closeAtLimit closes the conversation if its counts have reached a limit.
func (d *decision) closeAtLimit() {
	if reason := d.s.limitReached(); reason != "" {
		d.limitClose(reason)
	}
}

// closeAtStop closes the conversation if limits.stopWhen is true after the turn that e ended.
func (d *decision) closeAtStop(e *parley.Event) {
	if d.s.Limits.StopWhen == "" {
		return
	}
	ended := policyInput(d.s, e)
	if stop, _ := policy.Stop(d.s.Limits.StopWhen, &ended); stop {
		d.hubClose(parley.Outcome{Status: parley.OutcomeCompleted, Reason: parley.ReasonStopWhen},
			"The conversation met its stopWhen condition.")
	}
}

// checkSession refuses a message that does not pass CheckSession.
func (m *Message) checkSession(d *decision) bool {
	d.out.Err = d.s.CheckSession(d.c.From, m.Finality, m.Parameters, m.Result)
	return d.out.Err == nil
}

// checkHint checks the turnHint of a message against the policy.
func (m *Message) checkHint(d *decision) bool {
	if m.TurnHint == nil {
		return true
	}
	d.out.Err = policy.CheckHint(d.s.Policy, d.s.Participants, d.c.From, m.TurnHint.Next, m.Finality)
	return d.out.Err == nil
}

func (a *Close) decide(d *decision) {
	if d.s.Session != nil {
		d.refuse(parley.ErrForbidden, "a session is not closed",
			"stopSession, or a closing message of the participant that has the floor")
		return
	}
	human := d.s.kindOf(d.c.From) == parley.KindHuman
	if !d.c.Admin && d.c.From != d.s.CreatedBy && !human {
		d.refuse(parley.ErrForbidden, "only the creator, human participants and admins close a conversation",
			"a message with finality conversation from the participant that has the floor")
		return
	}
	o := parley.Outcome{Status: parley.OutcomeCompleted, Reason: parley.ReasonClosed}
	if a.Outcome != nil {
		o = *a.Outcome
	}
	d.hubClose(o, fmt.Sprintf("The conversation was closed by %s.", d.c.From))
}

// closingTexts are the messages with which the hub closes a conversation at a limit.
var closingTexts = map[string]string{
	parley.ReasonMaxTurns:    "The conversation has reached its number of turns.",
	parley.ReasonMaxEvents:   "The conversation has reached its number of events.",
	parley.ReasonMaxBytes:    "The conversation has reached its size.",
	parley.ReasonIdleTimeout: "Nothing was said for too long.",
	parley.ReasonDeadline:    "The time of the conversation is over.",

	parley.ReasonMaxAutonomousTurns: "The conversation has reached its number of turns without a human.",
	parley.ReasonTurnTimeout:        "Nobody has taken the turn in time.",
	parley.ReasonAttempts:           "The attempts of the turn are used up.",
}

func (d *decision) limitClose(reason string) {
	d.hubClose(parley.Outcome{Status: parley.OutcomeCanceled, Reason: reason}, closingTexts[reason])
}

// hubClose adds the closing message of the hub, in the open turn or else in the next one.
func (d *decision) hubClose(o parley.Outcome, text string) {
	m := parley.Message{Text: text}
	if d.s.Session != nil {
		m = sessionPayload(d.s.Session, text)
	}
	e := parley.Event{
		Turn: d.s.CurrentTurn(), Type: parley.TypeMessage, From: parley.HubID, Finality: parley.FinalityConversation,
		Outcome: &o, Payload: eventdata.Encode(m),
	}
	d.add(e)
}

func (a *AddParticipant) decide(d *decision) {
	p := *a.Participant
	if !d.c.Admin && d.c.From != d.s.CreatedBy {
		d.refuse(parley.ErrForbidden, "only the creator and admins add participants", "")
		return
	}
	private := p.Private
	p.Private = ""
	seat := d.s.Seat(p.ID)
	switch {
	case d.s.Session != nil:
		d.refuse(parley.ErrForbidden, "a session has no participants except its caller and its agent", "")
	case seat >= 0 && d.s.Participants[seat] == p && d.s.SeatPrivates[seat] == idempotency.DigestPrivate(private):
		d.out.Seq, d.out.Duplicate = d.s.SeatSeqs[seat], true
	case seat >= 0:
		d.refuse(parley.ErrAlreadyExists, fmt.Sprintf("%s takes part already, as another kind or agent, "+
			"in another role or with another private text", p.ID), "")
	case len(d.s.Participants) >= limits.MaxParticipants:
		d.refuse(parley.ErrTooLarge,
			"the conversation has as many participants as it can", fmt.Sprintf("at most %d", limits.MaxParticipants))
	default:
		if d.add(systemEvent(parley.System{Kind: parley.KindParticipantAdded, Participant: &p, AddedBy: d.c.From})) {
			d.addPrivate(p.ID, private)
		}
	}
}

func (d *decision) addPrivate(id, text string) {
	if text != "" {
		d.add(systemEvent(parley.System{Kind: parley.KindParticipantPrivate, ParticipantID: id, Text: text}))
	}
}

func systemEvent(sys parley.System) parley.Event {
	return parley.Event{Type: parley.TypeSystem, From: parley.HubID, Payload: eventdata.Encode(sys)}
}

// eventRoom is the size of most events without their payloads.
const eventRoom = 256

// add numbers, dates and encodes an event, and applies it to the state. The first event added is the result.
func (d *decision) add(e parley.Event) bool {
	e.Seq, e.At = d.s.Seq+1, d.now()
	start := len(d.out.encoded)
	d.out.encoded = eventdata.AppendEvent(slices.Grow(d.out.encoded, len(e.Payload)+eventRoom), &e)
	data := d.out.encoded[start:len(d.out.encoded):len(d.out.encoded)]
	if n := len(data); n > parley.MaxEventBytes {
		d.refuse(parley.ErrTooLarge,
			fmt.Sprintf("the event has %d bytes", n), fmt.Sprintf("at most %d", parley.MaxEventBytes))
		return false
	}
	if d.applyEncoded(&e, data) != nil {
		d.refuse(parley.ErrInternal, "an event of the hub does not fit the log", "")
		d.undo()
		return false
	}
	if len(d.out.Events) == 1 {
		d.out.Seq, d.out.Turn = e.Seq, e.Turn
	}
	return true
}

// applyEncoded applies an encoded event to the state.
func (d *decision) applyEncoded(e *parley.Event, data []byte) error {
	encoded := EncodedEvent{Event: *e, Data: data}
	if claim := d.s.Claim; claim != nil && claim.AgentID == e.From {
		encoded.Claim = &claim.Hash
	}
	err := d.s.apply(e, len(data))
	if err == nil {
		d.out.Events = append(d.out.Events, encoded)
	}
	return err
}
