package hub

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// The writes. Each is decided in the order of the calls, and done is called exactly once, before or after the call returns, on any goroutine;
// it must not block. The params may be kept. What is JSON in them has passed the strict decoding of a door, or check.JSON.

// The other names of checks, for the other parts of this package.
var (
	checkJSON        = check.JSON
	compact          = check.CompactParam
	checkTraceparent = check.Traceparent
)

// readEvents is the ReadEvents of the engine, for the other parts of this package.
func (h *Hub) readEvents(conversation string, after int64, limit int) ([]parley.Event, error) {
	return h.conv.ReadEvents(conversation, after, limit)
}

// SendMessage appends a message.
func (h *Hub) SendMessage(p *auth.Principal, q *parley.SendMessageParams, done func(parley.SendResult, error)) {
	o := conv.LendRequest()
	m := &o.Message
	m.Turn, m.AfterSeq, m.Finality, m.Outcome, m.TurnHint = q.Turn, q.AfterSeq, q.Finality, q.Outcome, q.TurnHint
	o.Cmd.Do, o.Cmd.Key, o.Cmd.Traceparent = m, q.ClientRequestID, q.Traceparent
	err := check.Finality(q.Finality, q.Outcome)
	if err == nil {
		err = checkPosition(q.Turn, q.AfterSeq)
	}
	h.speak(p, parley.MethodSendMessage, q.ConversationID, q.ClaimID, o, err, q.Payload, done)
}

// SendTrace appends a trace.
func (h *Hub) SendTrace(p *auth.Principal, q *parley.SendTraceParams, done func(parley.SendResult, error)) {
	o := conv.LendRequest()
	o.Cmd.Do, o.Cmd.Key, o.Cmd.Traceparent = &fold.Trace{Turn: q.Turn}, q.ClientRequestID, q.Traceparent
	h.speak(p, parley.MethodSendTrace, q.ConversationID, q.ClaimID, o, checkPosition(q.Turn, nil), q.Payload, done)
}

func checkPosition(turn int64, afterSeq *int64) error {
	if turn < 0 {
		return parley.Refuse(parley.ErrValidationFailed, "turn is negative", "1 or more")
	}
	if afterSeq != nil && *afterSeq < 0 {
		return parley.Refuse(parley.ErrValidationFailed, "afterSeq is negative", "0 or more")
	}
	return nil
}

// speak is what SendMessage and SendTrace have in common. The conversation is looked for before the params are held against the rules, so that
// what is wrong with them tells nothing about foreign ones.
func (h *Hub) speak(p *auth.Principal, method, conversation, claimID string, o *conv.Request, checked error, payload json.RawMessage, done func(parley.SendResult, error)) {
	c, p, err := h.turns.EnterClaimed(p, method, conversation, claimID, &o.Cmd)
	if err == nil {
		if err = checked; err == nil {
			err = checkSpeech(&o.Cmd, payload)
		}
		if err != nil {
			h.conv.Unpin(c)
		}
	}
	if err != nil {
		o.GiveBack()
		done(parley.SendResult{}, err)
		return
	}
	o.By, o.Cmd.From, o.Cmd.Admin = p, p.AgentID, p.Admin()
	named := o.Cmd.Named
	o.Reply = func(d *fold.Decision, err error) {
		if err != nil {
			done(parley.SendResult{}, err)
			return
		}
		if claimID != "" {
			h.turns.ConfirmHolder(*named, claimID, p)
		}
		done(parley.SendResult{Seq: d.Seq, Turn: d.Turn, Duplicate: d.Duplicate, ClaimID: h.turns.ClaimIDOf(d, p)}, nil)
	}
	switch m, _ := o.Cmd.Do.(*fold.Message); {
	case m == nil || !m.Finality.Final():
		h.turns.MintClaim(c, o)
	case m.Finality == parley.FinalityTurn:
		m.Wakes = h.triggers.MatchMessage(c, p.AgentID, m.Payload)
	}
	c.Do(o)
}

// checkSpeech checks a message or trace and adds its payload to cmd.
func checkSpeech(cmd *fold.Command, payload json.RawMessage) (err error) {
	if err = cmp.Or(check.Key(cmd.Key), check.Traceparent(cmd.Traceparent)); err != nil {
		return err
	}
	if payload, err = check.CompactParam("payload", payload); err != nil {
		return err
	}
	switch a := cmd.Do.(type) {
	case *fold.Message:
		a.Payload = payload
		a.Speech, err = check.Message(payload)
	case *fold.Trace:
		a.Payload = payload
		err = check.Trace(payload)
	}
	return err
}

// SendNote appends a note.
func (h *Hub) SendNote(p *auth.Principal, q *parley.SendNoteParams, done func(parley.SeqResult, error)) {
	p = p.In(q.ConversationID)
	c, err := h.auth.EnterWrite(p, parley.MethodSendNote, q.ConversationID)
	if err != nil {
		done(parley.SeqResult{}, err)
		return
	}
	note := q.Payload
	if err = cmp.Or(check.Key(q.ClientRequestID), check.Traceparent(q.Traceparent)); err == nil {
		err = check.Note(&note)
	}
	if err == nil {
		note.Data, err = check.CompactParam("payload.data", note.Data)
	}
	do := &fold.Note{Note: &note}
	cmd := fold.Command{Do: do, Key: q.ClientRequestID, Traceparent: q.Traceparent}
	if err == nil {
		do.Wakes = h.triggers.MatchNote(c, p.AgentID, &note)
	}
	h.run(c, p, err, cmd, nil, done)
}

// AddParticipant adds a seat.
func (h *Hub) AddParticipant(p *auth.Principal, q *parley.AddParticipantParams, done func(parley.SeqResult, error)) {
	p = p.In(q.ConversationID)
	c, err := h.auth.EnterOwn(p, parley.MethodAddParticipant, q.ConversationID)
	if err != nil {
		done(parley.SeqResult{}, err)
		return
	}
	seat := q.Participant
	err = check.Participant("participant", seat)
	cmd := fold.Command{Do: &fold.AddParticipant{Participant: &seat}}
	h.run(c, p, err, cmd, []string{eventdata.SeatLabel(seat.ID)}, done)
}

// CloseConversation closes a conversation.
func (h *Hub) CloseConversation(p *auth.Principal, q *parley.CloseConversationParams, done func(parley.SeqResult, error)) {
	p = p.In(q.ConversationID)
	c, err := h.auth.EnterOwn(p, parley.MethodCloseConversation, q.ConversationID)
	if err != nil {
		done(parley.SeqResult{}, err)
		return
	}
	err = check.Outcome(q.Outcome)
	h.run(c, p, err, fold.Command{Do: &fold.Close{Outcome: q.Outcome}}, nil, done)
}

// run decides a command that answers with a seq. The conversation is pinned.
func (h *Hub) run(c *conv.Conversation, p *auth.Principal, err error, cmd fold.Command, labels []string, done func(parley.SeqResult, error)) {
	if err != nil {
		h.conv.Unpin(c)
		done(parley.SeqResult{}, err)
		return
	}
	cmd.From, cmd.Admin = p.AgentID, p.Admin()
	c.Do(&conv.Request{By: p, Cmd: cmd, Labels: labels, Reply: func(d *fold.Decision, err error) {
		if err != nil {
			done(parley.SeqResult{}, err)
			return
		}
		done(parley.SeqResult{Seq: d.Seq, Duplicate: d.Duplicate}, nil)
	}})
}

// CreateConversation creates a conversation, or meets the one that the same caller has created with the same key.
func (h *Hub) CreateConversation(p *auth.Principal, q *parley.CreateConversationParams, done func(*parley.Snapshot, error)) {
	c, cmd, labels, err := h.prepareCreate(p, q)
	if err != nil {
		done(nil, err)
		return
	}
	c.Do(&conv.Request{Cmd: cmd, Labels: labels, Reply: func(d *fold.Decision, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		h.answerCreated(c, p, 0, d.Duplicate, done)
	}})
}

// answerCreated answers with a conversation that was created, and its events after a seq.
func (h *Hub) answerCreated(c *conv.Conversation, p *auth.Principal, since int64, duplicate bool, done func(*parley.Snapshot, error)) {
	h.conv.Repin(c) // until the snapshot is read, for which the goroutine of the commits must not wait
	h.conv.Go(func() { h.created(c, p, since, duplicate, done) })
}

// created answers who has created a conversation. What was created stays so when it cannot be read.
func (h *Hub) created(c *conv.Conversation, p *auth.Principal, since int64, duplicate bool, done func(*parley.Snapshot, error)) {
	defer h.conv.Unpin(c)
	limit := parley.DefaultPage
	if duplicate {
		limit = 0 // the events may be many by now, and the caller has not asked for them
	}
	snapshot, events, err := h.snapshot(c, p, since, limit)
	if err == nil {
		snapshot.Events, err = conv.DecodeEvents(events)
	}
	if err != nil {
		h.log.Error("cannot read a conversation that was created", "conversation", c.ID(), "error", err)
		done(nil, parley.Refuse(parley.ErrOutcomeUnknown, "the conversation was created but cannot be read", "a retry with the same clientRequestId"))
		return
	}
	snapshot.Duplicate = duplicate
	done(snapshot, nil)
}

// madeID begins the ids that the hub makes. Callers may not choose such, so that nobody takes the id that another's key leads to.
const madeID = "cnv_"

func (h *Hub) prepareCreate(p *auth.Principal, q *parley.CreateConversationParams) (*conv.Conversation, fold.Command, []string, error) {
	var none fold.Command
	if err := h.auth.Allow(p, parley.MethodCreateConversation); err != nil {
		return nil, none, nil, err
	}
	params := *q
	if len(params.Metadata) > 0 {
		var err error
		if params.Metadata, err = check.CompactParam("metadata", params.Metadata); err != nil {
			return nil, none, nil, err
		}
	}
	checked := params
	if parley.KeptConversationID(q.ConversationID) && p.Admin() {
		checked.ConversationID = "" // it is acceptable, from an admin
	}
	if err := cmp.Or(check.Create(&checked), check.Traceparent(q.Traceparent)); err != nil {
		return nil, none, nil, err
	}
	id := q.ConversationID
	switch {
	case strings.HasPrefix(id, madeID), strings.HasPrefix(id, conv.SessionPrefix):
		return nil, none, nil, parley.Refuse(parley.ErrValidationFailed, "conversationId begins with "+id[:len(madeID)], "another beginning: the hub makes such ids")
	case id == "" && q.ClientRequestID != "":
		id = parley.DerivedConversationID(p.AgentID, q.ClientRequestID)
	case id == "":
		id = h.opts.NewID(madeID)
	}
	if q.Workspace != "" {
		if err := p.CheckGrants(q.Workspace); err != nil {
			return nil, none, nil, err
		}
		if conv.Reserved(id) {
			return nil, none, nil, parley.Refuse(parley.ErrValidationFailed, "workspace: a conversation in which an adapter keeps what is its own has none", "no workspace")
		}
	}
	if !p.Reaches(id) {
		return nil, none, nil, parley.Refuse(parley.ErrForbidden, "the token is for other conversations", "one of the token's conversations")
	}
	c, err := h.conv.Pin(id)
	if err != nil {
		return nil, none, nil, err
	}
	var labels []string
	if !conv.Reserved(id) {
		labels = eventdata.CreateLabels(p.AgentID, q.Participants, q.Workspace)
	}
	cmd := fold.Command{
		Do: &fold.Create{Params: &params}, From: p.AgentID, Admin: p.Admin(), Key: q.ClientRequestID, Traceparent: q.Traceparent,
	}
	return c, cmd, labels, nil
}
