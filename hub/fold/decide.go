package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
)

// Decide gives what a command does to a state. It looks at the key first, so that a retry of what closed a turn or the
// conversation gets its first result; then the close; then whose turn it is.
func Decide(s State, keys Keys, c Command) Decision {
	var out Decision
	DecideInto(&out, &s, keys, &c)
	return out
}

// DecideInto is Decide without copies of what is large. It changes neither s nor c and keeps neither; the room of out's Events is used again.
func DecideInto(out *Decision, s *State, keys Keys, c *Command) {
	*out = Decision{State: *s, Events: out.Events[:0]}
	d := decision{before: s, s: &out.State, c: c, out: out}
	if !d.known(keys) && !d.attached() && !d.answered() {
		d.decide()
	}
}

// decision is one command on its way: s, the state of out, moves on from before as events are added.
type decision struct {
	before *State
	s      *State
	c      *Command
	out    *Decision
}

// undo takes back what was added.
func (d *decision) undo() {
	*d.s, d.out.Events, d.out.Claimed, d.out.Claim = *d.before, d.out.Events[:0], false, nil
}

func (d *decision) refuse(sentinel error, message, expected string) {
	d.out.Err = parley.Refuse(sentinel, message, expected)
}

// refuseTurn refuses with the caller's guidance.
func (d *decision) refuseTurn(sentinel error, message, expected string) {
	g := d.s.Guidance(d.c.From, false)
	d.out.Err = &parley.Error{Err: sentinel, Message: message, Expected: expected, Guidance: &g}
}

// known answers a command whose key is in the log.
func (d *decision) known(keys Keys) bool {
	if d.c.Key == "" || (d.c.Verb != Message && d.c.Verb != Trace && d.c.Verb != Note) {
		return false // the key of Create is looked for in the state
	}
	entry, ok := keys.Find(keyID(d.c.From, d.c.Key, d.c.Named))
	if !ok || d.c.Named == nil && entry.Turn > 0 && d.s.IsWithdrawn(entry.Seq) {
		return false
	}
	e := d.draft()
	if digest(&e) != entry.Digest {
		d.refuse(parley.ErrIdempotencyConflict,
			fmt.Sprintf("clientRequestId %q was used at seq %d with another payload", d.c.Key, entry.Seq), "a new clientRequestId")
	}
	d.out.Seq, d.out.Turn, d.out.Duplicate = entry.Seq, entry.Turn, true
	if d.s.Claim != nil && d.s.Claim.AgentID == d.c.From && entry.Seq > d.s.Claim.Seq {
		d.out.Claim = d.s.Claim
	}
	return true
}

func (d *decision) decide() {
	switch d.c.Verb {
	case Create:
		d.create()
		return
	case Begin:
		d.fork()
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
	if due, reason := d.s.due(); due > 0 && d.now() >= due {
		d.expireApprovals(due)
		d.limitClose(reason)
		d.refuseClosed()
		return
	}
	switch d.c.Verb {
	case Message, Trace:
		d.append()
	case Note:
		if d.takesPart() {
			d.speak()
		}
	case Take:
		d.take()
	case Renew:
		d.renew()
	case Release:
		d.release()
	case Cancel:
		d.cancel()
	case EndClaim:
		d.endClaim()
	case Timeout:
		d.timeout()
	case Delta:
		if d.mayAppend() {
			d.out.Turn = d.c.Turn
		}
	case AddParticipant:
		d.addParticipant()
	case Close:
		d.close()
	case Token:
		d.add(d.system(parley.System{Kind: parley.KindTokenCreated, Token: d.c.Token}))
	case Revoke:
		d.add(d.system(parley.System{Kind: parley.KindTokenRevoked, TokenID: d.c.TokenID, RevokedBy: d.c.From}))
	case Own:
		d.add(d.system(*d.c.Own))
	case AddAttachment, OfferAttachment:
		d.attach()
	case StartChild:
		d.startChild()
	case EndChild:
		d.endChild()
	case EndTrigger:
		d.endTrigger()
	case Bind:
		d.bind()
	case Callback:
		d.callback()
	case EndSession:
		d.endSession()
	case RequestApproval:
		d.requestApproval()
	case ResolveApproval:
		d.resolveApproval()
	case Tick: // not overdue
		d.expireApprovals(d.now())
	}
}

// append is a message or trace. One that is refused takes no claim.
func (d *decision) append() {
	if d.mayAppend() && d.fitsSession() && d.refersToAttached() && d.hints() && d.claims() {
		d.speak()
	}
	if d.out.Err != nil {
		d.undo()
	}
}

func (d *decision) refuseClosed() {
	switch d.c.Verb {
	case Tick, EndClaim, Timeout, EndChild, EndTrigger, Bind, Callback, EndSession: // the hub's own: there is nothing left to do
		return
	}
	if d.answered() { // it was canceled with the close
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

func (d *decision) takesPart() bool {
	if d.s.HasParticipant(d.c.From) {
		return true
	}
	d.refuse(parley.ErrForbidden, fmt.Sprintf("%s does not take part in this conversation", d.c.From), "a participant")
	return false
}

// mayAppend holds a message, trace or delta against whose turn it is.
func (d *decision) mayAppend() bool {
	if !d.takesPart() {
		return false
	}
	current := d.s.CurrentTurn()
	f := d.s.floor()
	switch {
	case d.c.Turn > 0 && d.c.Turn < current:
		d.refuseTurn(parley.ErrTurnClosed, fmt.Sprintf("turn %d has ended", d.c.Turn), fmt.Sprintf("turn %d", current))
	case !f.holds(d.c.From):
		d.refuseFloor(f)
	case !d.underClaim():
	case d.c.Turn > current:
		d.refuseTurn(parley.ErrTurnConflict, fmt.Sprintf("turn %d is not reached", d.c.Turn), fmt.Sprintf("turn %d", current))
	case d.c.AfterSeq != nil && *d.c.AfterSeq > d.s.Seq:
		d.refuse(parley.ErrCursorAhead, fmt.Sprintf("afterSeq %d is beyond the log", *d.c.AfterSeq), fmt.Sprintf("at most %d", d.s.Seq))
	case d.c.AfterSeq != nil && d.s.spokenByOtherSince(d.c.From, *d.c.AfterSeq):
		d.refuseTurn(parley.ErrTurnConflict, fmt.Sprintf("somebody has spoken after seq %d", *d.c.AfterSeq), fmt.Sprintf("afterSeq of at least %d", d.s.MessageSeq))
	default:
		return true
	}
	return false
}

// refuseFloor refuses who does not have the floor. Where the turn waits for an approval, and no claim stands, nobody has it.
func (d *decision) refuseFloor(f Floor) {
	switch {
	case !f.waits:
		d.refuseTurn(parley.ErrNotYourTurn, fmt.Sprintf("%s has the floor", f.Speaker), "")
	case f.Speaker == d.c.From && d.named() != nil:
		d.refuseLost()
	default:
		d.refuseTurn(parley.ErrNotYourTurn, fmt.Sprintf("turn %d waits for an approval", d.s.CurrentTurn()), "another try when it is resolved")
	}
}

// draft is the caller's event, as far as its digest goes.
func (d *decision) draft() parley.Event {
	switch d.c.Verb {
	case Message:
		return parley.Event{
			Turn: d.s.CurrentTurn(), Type: parley.TypeMessage, From: d.c.From, Finality: d.c.Finality,
			Outcome: d.c.Outcome, TurnHint: d.c.TurnHint, Payload: d.c.Payload, ClientRequestID: d.c.Key,
		}
	case Trace:
		return parley.Event{
			Turn: d.s.CurrentTurn(), Type: parley.TypeTrace, From: d.c.From, Payload: d.c.Payload, ClientRequestID: d.c.Key,
		}
	default: // Note
		n := d.c.Note
		return parley.Event{
			Type: parley.TypeSystem, From: d.c.From, ClientRequestID: d.c.Key,
			Payload: marshal(parley.System{Kind: parley.KindNote, Schema: n.Schema, Tags: n.Tags, Data: n.Data}),
		}
	}
}

// speak appends the caller's event with its cause, whom that wakes and, if that reaches a limit, the hub's close.
func (d *decision) speak() {
	e := d.draft()
	if d.c.Verb == Note {
		e.Cause, e.Hops = d.s.Carries(d.c.From)
	} else {
		e.Cause, e.Hops = d.s.CarriesWords(d.c.From)
	}
	e.Traceparent = d.c.Traceparent
	before := len(d.out.Events)
	if !d.add(e) {
		return
	}
	said := &d.out.Events[before].Event
	d.out.Seq, d.out.Turn = said.Seq, said.Turn
	if len(d.c.Wakes) > 0 {
		if d.wake(d.c.Wakes); d.out.Err != nil {
			return
		}
	}
	if !d.s.Closed() {
		d.closeAtLimit()
	}
	if !d.s.Closed() && said.Finality == parley.FinalityTurn {
		d.closeAtStop(said)
	}
}

// closeAtLimit closes the conversation if its counts have reached a limit.
func (d *decision) closeAtLimit() {
	if reason := d.s.limitReached(); reason != "" {
		d.limitClose(reason)
	}
}

// closeAtStop closes the conversation if what it was to stop at has come with e.
func (d *decision) closeAtStop(e *parley.Event) {
	if d.s.Limits.StopWhen == "" {
		return
	}
	ended := d.s.ended(e)
	if stop, _ := policy.Stop(d.s.Limits.StopWhen, &ended); stop {
		d.hubClose(parley.Outcome{Status: parley.OutcomeCompleted, Reason: parley.ReasonStopWhen}, "What the conversation was to stop at has come.")
	}
}

// hints holds a turnHint against the policy.
func (d *decision) hints() bool {
	if d.c.TurnHint == nil {
		return true
	}
	d.out.Err = policy.CheckHint(d.s.Policy, d.s.Participants, d.c.From, d.c.TurnHint.Next, d.c.Finality)
	return d.out.Err == nil
}

// limitReached names the limit that the counts have reached.
func (s *State) limitReached() string {
	l := s.Limits
	switch {
	case l.MaxTurns > 0 && s.Turns >= l.MaxTurns:
		return parley.ReasonMaxTurns
	case l.MaxEvents > 0 && s.Events >= l.MaxEvents:
		return parley.ReasonMaxEvents
	case l.MaxBytes > 0 && s.Bytes >= l.MaxBytes:
		return parley.ReasonMaxBytes
	case l.MaxAutonomousTurns > 0 && s.Autonomous >= l.MaxAutonomousTurns && !s.hasKind(parley.KindHuman):
		return parley.ReasonMaxAutonomousTurns
	}
	return ""
}

func (d *decision) close() {
	if d.s.Session != nil {
		d.refuse(parley.ErrForbidden, "a session is not closed", "stopSession, or a message with finality conversation from who has the floor")
		return
	}
	seat := d.s.Seat(d.c.From)
	human := seat >= 0 && d.s.Participants[seat].Kind == parley.KindHuman
	if !d.c.Admin && d.c.From != d.s.CreatedBy && !human {
		d.refuse(parley.ErrForbidden, "only the creator, human participants and admins close a conversation", "a message with finality conversation from who has the floor")
		return
	}
	o := parley.Outcome{Status: parley.OutcomeCompleted, Reason: parley.ReasonClosed}
	if d.c.Outcome != nil {
		o = *d.c.Outcome
	}
	d.hubClose(o, fmt.Sprintf("The conversation was closed by %s.", d.c.From))
}

// closingTexts are what the hub says when a limit closes a conversation.
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

// hubClose appends the hub's closing message: in the open turn, else in the next.
func (d *decision) hubClose(o parley.Outcome, text string) {
	m := parley.Message{Text: text}
	if d.s.Session != nil {
		m = sessionPayload(d.s.Session, text)
	}
	e := parley.Event{
		Turn: d.s.CurrentTurn(), Type: parley.TypeMessage, From: parley.HubID, Finality: parley.FinalityConversation,
		Outcome: &o, Payload: marshal(m),
	}
	d.add(e)
}

func (d *decision) addParticipant() {
	p := *d.c.Participant
	if !d.c.Admin && d.c.From != d.s.CreatedBy {
		d.refuse(parley.ErrForbidden, "only the creator and admins add participants", "")
		return
	}
	seat := d.s.Seat(p.ID)
	switch {
	case d.s.Session != nil:
		d.refuse(parley.ErrForbidden, "in a session there are its caller and its agent", "")
	case seat >= 0 && d.sameSeat(seat, p):
		d.out.Seq, d.out.Duplicate = d.s.SeatSeqs[seat], true
	case seat >= 0:
		d.refuse(parley.ErrAlreadyExists, fmt.Sprintf("%s takes part already, as another kind or agent, in another role or with another private text", p.ID), "")
	case len(d.s.Participants) >= parley.MaxParticipants:
		d.refuse(parley.ErrTooLarge, "the conversation has as many participants as it can", fmt.Sprintf("at most %d", parley.MaxParticipants))
	default:
		private := p.Private
		p.Private = ""
		if d.add(d.system(parley.System{Kind: parley.KindParticipantAdded, Participant: &p, AddedBy: d.c.From})) {
			d.addPrivate(p.ID, private)
		}
	}
}

func (d *decision) sameSeat(seat int, p parley.Participant) bool {
	there := d.s.Participants[seat]
	return there.Kind == p.Kind && there.Role == p.Role && there.Agent == p.Agent && there.Executor == p.Executor && d.s.SeatPrivates[seat] == privateDigest(p.Private)
}

func (d *decision) addPrivate(id, text string) {
	if text != "" {
		d.add(d.system(parley.System{Kind: parley.KindParticipantPrivate, ParticipantID: id, Text: text}))
	}
}

func (d *decision) system(sys parley.System) parley.Event {
	return parley.Event{Type: parley.TypeSystem, From: parley.HubID, Payload: marshal(sys)}
}

// eventRoom is enough for most events beside their payloads.
const eventRoom = 256

// add numbers, dates and encodes an event and moves the state on. The first event added is the result.
func (d *decision) add(e parley.Event) bool {
	e.Seq, e.At = d.s.Seq+1, d.now()
	framed := append(make([]byte, 0, len(d.c.Before)+len(e.Payload)+eventRoom+len(d.c.After)), d.c.Before...)
	framed = AppendEvent(framed, &e)
	end := len(framed)
	framed = append(framed, d.c.After...)
	data := framed[len(d.c.Before):end:end]
	if len(data) > parley.MaxEventBytes {
		d.refuse(parley.ErrTooLarge, fmt.Sprintf("the event has %d bytes", len(data)), fmt.Sprintf("at most %d", parley.MaxEventBytes))
		return false
	}
	claim := d.s.Claim
	if err := d.s.apply(&e, len(data)); err != nil {
		d.refuse(parley.ErrInternal, "the hub would not take its own event", "")
		d.undo()
		return false
	}
	if len(d.out.Events) == 0 {
		d.out.Seq, d.out.Turn = e.Seq, e.Turn
	}
	encoded := Encoded{Event: e, Data: data, Framed: framed}
	if claim != nil && claim.AgentID == e.From {
		encoded.Claim = &claim.Hash
	}
	d.out.Events = append(d.out.Events, encoded)
	return true
}
