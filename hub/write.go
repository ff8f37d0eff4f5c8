package hub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// The hub decides the writes in the order of the calls. It calls done exactly once, before or after the
// method returns, on any goroutine. done must not block. The hub may keep the params. Their JSON has passed
// the strict decoder of a connection, or check.JSON.

// SendMessage appends a message to a turn. It returns the first answer again for the same key.
func (h *Hub) SendMessage(p *Principal, q *parley.SendMessageParams, done func(parley.SendResult, error)) {
	o := conv.LendRequest()
	m := &o.Message
	m.Turn, m.AfterSeq, m.Finality, m.Outcome, m.TurnHint = q.Turn, q.AfterSeq, q.Finality, q.Outcome, q.TurnHint
	o.Cmd.Do, o.Cmd.Key, o.Cmd.Traceparent = m, q.ClientRequestID, q.Traceparent
	err := check.Finality(q.Finality, q.Outcome)
	if err == nil {
		err = checkPosition(q.Turn, q.AfterSeq)
	}
	h.appendSpeech(p, methods.SendMessage, q.ConversationID, q.ClaimID, o, err, q.Payload, done)
}

// SendTrace appends a trace to a turn.
func (h *Hub) SendTrace(p *Principal, q *parley.SendTraceParams, done func(parley.SendResult, error)) {
	o := conv.LendRequest()
	o.Cmd.Do, o.Cmd.Key, o.Cmd.Traceparent = &fold.Trace{Turn: q.Turn}, q.ClientRequestID, q.Traceparent
	h.appendSpeech(p, methods.SendTrace, q.ConversationID, q.ClaimID, o, checkPosition(q.Turn, nil), q.Payload, done)
}

// checkPosition checks the turn and the seq that a message names; 0 and nil mean none.
func checkPosition(turn int64, afterSeq *int64) error {
	if turn < 0 {
		return parley.Refuse(parley.ErrValidationFailed, "turn is negative", "1 or more")
	}
	if afterSeq != nil && *afterSeq < 0 {
		return parley.Refuse(parley.ErrValidationFailed, "afterSeq is negative", "0 or more")
	}
	return nil
}

// appendSpeech decides a message or a trace. It looks up the conversation before it reports invalid params,
// so that a caller learns nothing about conversations that it may not see.
func (h *Hub) appendSpeech(
	p *Principal, method, conversation, claimID string, o *conv.Request, invalid error, payload json.RawMessage,
	done func(parley.SendResult, error),
) {
	c, p, err := h.turns.EnterClaimed(p, method, conversation, claimID, &o.Cmd)
	if err == nil {
		if err = invalid; err == nil {
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
		id := h.turns.ClaimIDOf(d, p)
		if d.Claimed {
			id = o.ClaimID // the claim may be over by now
		}
		done(parley.SendResult{Seq: d.Seq, Turn: d.Turn, Duplicate: d.Duplicate, ClaimID: id}, nil)
	}
	switch m, _ := o.Cmd.Do.(*fold.Message); {
	case m == nil || !m.Finality.Final():
		h.turns.MintClaim(c, o)
	case m.Finality == parley.FinalityTurn:
		m.Wakes = h.triggers.MatchMessage(c, p.AgentID, m.Payload)
	}
	c.Do(o)
}

// checkSpeech checks a message or a trace and sets its payload in cmd.
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

// SendDelta passes a piece of text of at most MaxDeltaBytes to live subscribers, if the hub would accept a
// message of the same turn. The text is not in the log.
func (h *Hub) SendDelta(p *Principal, q *parley.SendDeltaParams, done func(error)) {
	cmd := fold.Command{Do: &fold.Delta{Turn: q.Turn}}
	c, p, err := h.turns.EnterClaimed(p, methods.SendDelta, q.ConversationID, q.ClaimID, &cmd)
	if err != nil {
		done(err)
		return
	}
	if err := checkDelta(q); err != nil {
		h.conv.Unpin(c)
		done(err)
		return
	}
	d := parley.Delta{ConversationID: q.ConversationID, Turn: q.Turn, From: p.AgentID, Index: q.Index, Text: q.Text}
	cmd.From = p.AgentID
	c.Do(&conv.Request{By: p, Cmd: cmd, Reply: func(decided *fold.Decision, err error) {
		if err == nil {
			c.PassDelta(d)
			h.sendToPeers(d, &decided.State)
		}
		done(err)
	}})
}

func checkDelta(q *parley.SendDeltaParams) error {
	switch {
	case q.Turn < 1:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("turn is %d", q.Turn), "1 or more")
	case q.Index < 0:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("index is %d", q.Index), "0 or more")
	case len(q.Text) > parley.MaxDeltaBytes:
		return parley.Refuse(parley.ErrTooLarge,
			fmt.Sprintf("text has %d bytes", len(q.Text)), fmt.Sprintf("at most %d", parley.MaxDeltaBytes))
	}
	return nil
}

// sendToPeers sends a delta that was decided on s to the subscriptions of the other hubs.
func (h *Hub) sendToPeers(d parley.Delta, s *fold.State) {
	claim := ""
	if s.Claim != nil {
		claim = s.Claim.Hash.String()
	}
	h.presence.SendDelta(d, s.Seq, claim)
}

// SendNote appends a note, which belongs to no turn.
func (h *Hub) SendNote(p *Principal, q *parley.SendNoteParams, done func(parley.SeqResult, error)) {
	p = p.In(q.ConversationID)
	c, err := h.auth.EnterWrite(p, methods.SendNote, q.ConversationID)
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
	h.decide(c, p, err, cmd, nil, done)
}

// AddParticipant adds a participant to a conversation of the caller.
func (h *Hub) AddParticipant(p *Principal, q *parley.AddParticipantParams, done func(parley.SeqResult, error)) {
	p = p.In(q.ConversationID)
	c, err := h.auth.EnterOwn(p, methods.AddParticipant, q.ConversationID)
	if err != nil {
		done(parley.SeqResult{}, err)
		return
	}
	seat := q.Participant
	err = check.Participant("participant", seat)
	cmd := fold.Command{Do: &fold.AddParticipant{Participant: &seat}}
	h.decide(c, p, err, cmd, []string{eventdata.SeatLabel(seat.ID)}, done)
}

// CloseConversation closes a conversation of the caller.
func (h *Hub) CloseConversation(
	p *Principal, q *parley.CloseConversationParams, done func(parley.SeqResult, error),
) {
	p = p.In(q.ConversationID)
	c, err := h.auth.EnterOwn(p, methods.CloseConversation, q.ConversationID)
	if err != nil {
		done(parley.SeqResult{}, err)
		return
	}
	err = check.Outcome(q.Outcome)
	h.decide(c, p, err, fold.Command{Do: &fold.Close{Outcome: q.Outcome}}, nil, done)
}

// decide decides a command and answers with its seq, or with invalid if that is not nil. It unpins c.
func (h *Hub) decide(
	c *conv.Conversation, p *Principal, invalid error, cmd fold.Command, labels []string,
	done func(parley.SeqResult, error),
) {
	if invalid != nil {
		h.conv.Unpin(c)
		done(parley.SeqResult{}, invalid)
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

// CreateConversation creates a conversation. It returns the existing one, with Duplicate set, if the same
// caller created it with the same key.
func (h *Hub) CreateConversation(
	p *Principal, q *parley.CreateConversationParams, done func(*parley.Snapshot, error),
) {
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

// answerCreated answers with a conversation that was created, and its events after since.
func (h *Hub) answerCreated(
	c *conv.Conversation, p *Principal, since int64, duplicate bool, done func(*parley.Snapshot, error),
) {
	h.conv.Repin(c) // until the snapshot is read; the goroutine of the commits must not wait for that
	h.conv.Go(func() { h.readCreated(c, p, since, duplicate, done) })
}

// readCreated reads the snapshot of a conversation that was created, and unpins c. If it cannot be read, the
// answer is ErrOutcomeUnknown, because the conversation exists.
func (h *Hub) readCreated(
	c *conv.Conversation, p *Principal, since int64, duplicate bool, done func(*parley.Snapshot, error),
) {
	defer h.conv.Unpin(c)
	limit := limits.DefaultPage
	if duplicate {
		limit = 0 // there may be many events by now, and the caller did not ask for them
	}
	snapshot, events, err := h.snapshot(c, p, since, limit)
	if err == nil {
		snapshot.Events, err = conv.DecodeEvents(events)
	}
	if err != nil {
		h.log.Error("cannot read a conversation that was created", "conversation", c.ID(), "error", err)
		done(nil, parley.Refuse(parley.ErrOutcomeUnknown,
			"the conversation was created but cannot be read", "a retry with the same clientRequestId"))
		return
	}
	snapshot.Duplicate = duplicate
	done(snapshot, nil)
}

// hubIDPrefix is the prefix of the ids that the hub makes. Callers may not use it, because the key of another
// caller may lead to such an id.
const hubIDPrefix = "cnv_"

// prepareCreate checks the params. It returns the conversation, pinned, with the command and the labels.
func (h *Hub) prepareCreate(
	p *Principal, q *parley.CreateConversationParams,
) (*conv.Conversation, fold.Command, []string, error) {
	var none fold.Command
	if err := h.auth.Allow(p, methods.CreateConversation); err != nil {
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
	if check.AdapterConversationID(q.ConversationID) && p.Admin() {
		checked.ConversationID = "" // admins may use such an id
	}
	if err := cmp.Or(check.Create(&checked), check.Traceparent(q.Traceparent)); err != nil {
		return nil, none, nil, err
	}
	id := q.ConversationID
	switch {
	case strings.HasPrefix(id, hubIDPrefix), strings.HasPrefix(id, conv.SessionPrefix):
		return nil, none, nil, parley.Refuse(parley.ErrValidationFailed,
			"conversationId begins with "+id[:len(hubIDPrefix)], "another beginning: the hub makes such ids")
	case id == "" && q.ClientRequestID != "":
		id = parley.DerivedConversationID(p.AgentID, q.ClientRequestID)
	case id == "":
		id = h.opts.NewID(hubIDPrefix)
	}
	if q.Workspace != "" {
		if err := p.CheckGrants(q.Workspace); err != nil {
			return nil, none, nil, err
		}
		if conv.Reserved(id) {
			return nil, none, nil, parley.Refuse(parley.ErrValidationFailed,
				"workspace: a conversation in which an adapter keeps what is its own has none", "no workspace")
		}
	}
	if !p.Reaches(id) {
		return nil, none, nil, parley.Refuse(parley.ErrForbidden,
			"the token is for other conversations", "one of the token's conversations")
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
		Do: &fold.Create{Params: &params}, From: p.AgentID, Admin: p.Admin(), Key: q.ClientRequestID,
		Traceparent: q.Traceparent,
	}
	return c, cmd, labels, nil
}
