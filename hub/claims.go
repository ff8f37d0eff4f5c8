package hub

import (
	"context"
	"fmt"
	"slices"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
)

// ClaimTurn takes a turn: one that was offered by the id of the offer, or one that is the caller's by its number.
func (h *Hub) ClaimTurn(p *auth.Principal, q *parley.ClaimTurnParams, done func(parley.ClaimTurnResult, error)) {
	cmd := fold.Command{Verb: fold.Take, Turn: q.Turn}
	c, p, err := h.enterTake(p, q, &cmd)
	if err != nil {
		done(parley.ClaimTurnResult{}, err)
		return
	}
	cmd.From = p.AgentID
	o := &conv.Request{By: p, Cmd: cmd, Reply: func(d *fold.Decision, err error) {
		if err != nil {
			done(parley.ClaimTurnResult{}, err)
			return
		}
		if q.ClaimID != "" {
			h.turns.shown(*cmd.Named, q.ClaimID, p)
		}
		done(h.turns.result(d, p), nil)
	}}
	if q.ClaimID == "" {
		h.mint(c, o)
	} else {
		o.Claims, o.ClaimID = h.turns, q.ClaimID
		o.Cmd.New, o.Cmd.GraceMs = *cmd.Named, connectionOf(p).graceMs()
	}
	c.Do(o)
}

// mint gives an op the id of a claim that it may take.
func (h *Hub) mint(c *conv.Conversation, o *conv.Request) {
	var turn int64
	var others bool
	c.View(func(_, head *fold.State) {
		turn, others = head.CurrentTurn(), h.turns.others(head, o.Cmd.From)
	})
	o.Claims, o.ClaimID = h.turns, h.newClaim(turn)
	o.Cmd.New, o.Cmd.GraceMs, o.Cmd.Others = fold.HashClaim(o.ClaimID), connectionOf(o.By.(*auth.Principal)).graceMs(), others
}

// enterTake finds the conversation of claimTurn, and who the caller is there.
func (h *Hub) enterTake(p *auth.Principal, q *parley.ClaimTurnParams, cmd *fold.Command) (*conv.Conversation, *auth.Principal, error) {
	if err := h.auth.AllowClaims(p, parley.MethodClaimTurn); err != nil {
		return nil, nil, err
	}
	c, s, err := h.pinFor(p, q.ConversationID)
	if err != nil {
		return nil, nil, err
	}
	if h.shared && !h.isTheirs(p, &s, q) { // it may be, as others know
		if s, err = h.caughtUp(c); err != nil {
			h.conv.Unpin(c)
			return nil, nil, err
		}
	}
	seat := s.Floor().Speaker
	switch {
	case (q.ClaimID == "") == (q.Turn == 0):
		err = parley.Refuse(parley.ErrValidationFailed, "claimTurn takes claimId or turn", "one of them")
	case q.Turn < 0:
		err = parley.Refuse(parley.ErrValidationFailed, "turn is negative", "1 or more")
	case q.ClaimID != "":
		seat, err = h.offered(p, &s, q.ClaimID, cmd)
	}
	who, visible := p.Resolve(&s, seat)
	if !visible {
		err = p.RefuseWrite(&s) // whatever else is wrong
	}
	if err != nil {
		h.conv.Unpin(c)
		return nil, nil, err
	}
	return c, who, nil
}

// isTheirs reports whether a turn is known to be p's to take: it stands under that claim or was offered here, or its number is that of the turn of one as whom p may speak.
func (h *Hub) isTheirs(p *auth.Principal, s *fold.State, q *parley.ClaimTurnParams) bool {
	if q.ClaimID == "" {
		who, _ := p.Resolve(s, s.Floor().Speaker)
		return s.CurrentTurn() == q.Turn && who.AgentID == s.Floor().Speaker
	}
	hash := fold.HashClaim(q.ClaimID)
	if s.Claim != nil && s.Claim.Hash == hash {
		return true
	}
	agent, _ := h.turns.offer(s.ID, hash)
	return agent != ""
}

// offered finds whose turn a claim's id is for, and puts it into cmd.
func (h *Hub) offered(p *auth.Principal, s *fold.State, id string, cmd *fold.Command) (seat string, err error) {
	turn, ok := fold.ClaimTurn(id)
	if !ok {
		return "", errNoClaimID
	}
	hash := fold.HashClaim(id)
	cmd.Turn, cmd.Named = turn, &hash
	if s.Claim != nil && s.Claim.Hash == hash {
		return s.Claim.AgentID, nil
	}
	agent, key := h.turns.offer(s.ID, hash)
	if key != "" && connectionOf(p) != nil {
		x := connectionOf(p).executor.Load()
		cmd.Offered = x != nil && x.key == key
	}
	return agent, nil
}

var errNoClaimID = parley.Refuse(parley.ErrValidationFailed, "claimId is not acceptable", "the id of a claim, as the hub has given it")

// servedBy is what an executor of a seat serves; empty where there is no such seat.
func servedBy(s *fold.State, seat string) string {
	if i := s.Seat(seat); i >= 0 {
		return s.ServedBy(i)
	}
	return ""
}

// pinFor pins a conversation and gives what was decided of it. The caller looks whether it is there for p.
func (h *Hub) pinFor(p *auth.Principal, id string) (*conv.Conversation, fold.State, error) {
	if !p.Reaches(id) || conv.Reserved(id) {
		return nil, fold.State{}, auth.ErrNotFound
	}
	c, err := h.conv.Pin(id)
	if err != nil {
		return nil, fold.State{}, err
	}
	if !h.turns.Recovered() {
		h.turns.recoverOne(id) // a claim that is shown is known
	}
	s := c.Head()
	if !s.Exists() && h.shared {
		s, err = h.caughtUp(c)
	}
	if err == nil && !s.Exists() {
		err = auth.ErrNotFound
	}
	if err != nil {
		h.conv.Unpin(c)
		return nil, fold.State{}, err
	}
	return c, s, nil
}

// caughtUp gives what was decided of a conversation, once a hub that shares its journal knows what others had written to it before the call.
func (h *Hub) caughtUp(c *conv.Conversation) (fold.State, error) {
	if err := h.conv.CatchUp(context.Background()); err != nil {
		return fold.State{}, err
	}
	c.Freshen()
	return c.Head(), nil
}

// PinClaimed is pinFor for a call that names a claim: where that does not stand, as far as a hub that shares its journal knows, it looks again.
func (t *turns) PinClaimed(p *auth.Principal, id string, hash fold.ClaimHash) (*conv.Conversation, fold.State, error) {
	c, s, err := t.hub.pinFor(p, id)
	if err != nil || !t.hub.shared || s.Claim != nil && s.Claim.Hash == hash {
		return c, s, err
	}
	if s, err = t.hub.caughtUp(c); err != nil {
		t.hub.conv.Unpin(c)
		return nil, s, err
	}
	return c, s, nil
}

// enterClaimed is enterWrite for a call that may name a claim: then it is its participant's, if the caller may speak as that.
func (h *Hub) enterClaimed(p *auth.Principal, method, conversation, claimID string, cmd *fold.Command) (*conv.Conversation, *auth.Principal, error) {
	if claimID == "" {
		p = p.In(conversation)
		c, err := h.enterWrite(p, method, conversation)
		return c, p, err
	}
	if err := h.auth.Allow(p, method); err != nil {
		return nil, nil, err
	}
	hash := fold.HashClaim(claimID)
	c, s, err := h.turns.PinClaimed(p, conversation, hash)
	if err != nil {
		return nil, nil, err
	}
	seat := seatOf(&s, hash)
	if seat == "" && cmd.Key != "" {
		seat = speakerWithKey(c, p, &s, cmd.Key, &hash)
	}
	who, visible := p.Resolve(&s, seat)
	if _, ok := fold.ClaimTurn(claimID); !ok && visible {
		err = errNoClaimID
	}
	if !visible {
		err = p.RefuseWrite(&s)
	}
	if err != nil {
		h.conv.Unpin(c)
		return nil, nil, err
	}
	cmd.Named = &hash
	return c, who, nil
}

// seatOf gives whose claim it is, if it stands.
func seatOf(s *fold.State, claim fold.ClaimHash) string {
	if s.Claim != nil && s.Claim.Hash == claim {
		return s.Claim.AgentID
	}
	return ""
}

// speakerWithKey gives whose key it is that was used under a claim, of those that p may speak as: what was said under a claim that has ended may be said once more by who does not
// know that it was heard, and who also speaks as others.
func speakerWithKey(c *conv.Conversation, p *auth.Principal, s *fold.State, key string, claim *fold.ClaimHash) string {
	for i, seat := range s.Participants {
		if p.MaySit(s, i) && c.HasKey(seat.ID, key, claim) {
			return seat.ID
		}
	}
	return ""
}

// RenewClaim keeps a claim for longer.
func (h *Hub) RenewClaim(p *auth.Principal, q *parley.RenewClaimParams, done func(parley.RenewClaimResult, error)) {
	cmd := fold.Command{Verb: fold.Renew}
	c, p, err := h.enterHeld(p, parley.MethodRenewClaim, q.ConversationID, q.ClaimID, &cmd)
	if err != nil {
		done(parley.RenewClaimResult{}, err)
		return
	}
	cmd.From = p.AgentID
	h.renew(c, p, q, cmd, h.shared, done)
}

// renew decides a renewal. Where it has written nothing, because there was time enough, and its check has taken so long that there no longer is, it is decided once more.
func (h *Hub) renew(c *conv.Conversation, p *auth.Principal, q *parley.RenewClaimParams, cmd fold.Command, again bool, done func(parley.RenewClaimResult, error)) {
	cmd.HeldMs, cmd.LeftMs = h.turns.watched(q.ConversationID, *cmd.Named)
	c.Do(&conv.Request{By: p, Cmd: cmd, Reply: func(d *fold.Decision, err error) {
		if err != nil {
			done(parley.RenewClaimResult{}, err)
			return
		}
		h.turns.shown(*cmd.Named, q.ClaimID, p)
		_, left := h.turns.watched(q.ConversationID, *cmd.Named)
		if again && len(d.Events) == 0 && 2*left < d.State.Limits.TurnTimeout() {
			h.conv.Repin(c)
			h.renew(c, p, q, cmd, false, done)
			return
		}
		done(parley.RenewClaimResult{DeadlineMs: h.Now().UnixMilli() + left, DurationMs: left}, nil)
	}})
}

// enterHeld is enterClaimed for a call about a claim, which it must name.
func (h *Hub) enterHeld(p *auth.Principal, method, conversation, claimID string, cmd *fold.Command) (*conv.Conversation, *auth.Principal, error) {
	if claimID == "" {
		if err := h.auth.Allow(p, method); err != nil {
			return nil, nil, err
		}
		return nil, nil, errNoClaimID
	}
	return h.enterClaimed(p, method, conversation, claimID, cmd)
}

// ReleaseClaim gives a claim back.
func (h *Hub) ReleaseClaim(p *auth.Principal, q *parley.ReleaseClaimParams, done func(parley.EmptyResult, error)) {
	cmd := fold.Command{Verb: fold.Release, Detail: q.Reason}
	c, p, err := h.enterHeld(p, parley.MethodReleaseClaim, q.ConversationID, q.ClaimID, &cmd)
	if err != nil {
		done(parley.EmptyResult{}, err)
		return
	}
	end, ok := q.Outcome.Ends()
	if !ok {
		err = parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("outcome is %q", policy.Clip(string(q.Outcome))), "yield, decline, silent or failed")
	} else {
		err = fold.CheckReason(q.Reason)
	}
	if err != nil {
		h.conv.Unpin(c)
		done(parley.EmptyResult{}, err)
		return
	}
	cmd.From, cmd.Reason = p.AgentID, end
	c.Do(&conv.Request{By: p, Cmd: cmd, Reply: func(_ *fold.Decision, err error) { done(parley.EmptyResult{}, err) }})
}

// CancelTurn ends a turn without a final message.
func (h *Hub) CancelTurn(p *auth.Principal, q *parley.CancelTurnParams, done func(parley.SeqResult, error)) {
	p = p.In(q.ConversationID)
	c, err := h.enterOwn(p, parley.MethodCancelTurn, q.ConversationID)
	if err != nil {
		done(parley.SeqResult{}, err)
		return
	}
	err = fold.CheckReason(q.Reason)
	if q.Turn < 1 {
		err = parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("turn is %d", q.Turn), "1 or more")
	}
	h.run(c, p, err, fold.Command{Verb: fold.Cancel, Turn: q.Turn, Detail: q.Reason}, nil, done)
}

// What the memory of turns knows of claims.

// Taken records the claim that a request has taken. The conversation is locked.
func (t *turns) Taken(conversation string, o *conv.Request) {
	p := o.By.(*auth.Principal)
	hash := o.Cmd.New
	t.mu.Lock()
	h := &holding{
		conversation: conversation, agentID: o.Cmd.From, serves: servedBy(&o.Decision.State, o.Cmd.From), turn: o.Decision.Claim.Turn,
		seats: o.Decision.State.Participants, executorID: o.Cmd.Executor.ID, id: o.ClaimID,
	}
	if connectionOf(p) != nil {
		if x := connectionOf(p).registered(); x != nil {
			h.key = x.key
		}
		if !connectionOf(p).closed {
			h.conn = connectionOf(p)
		}
	}
	t.holdings[hash] = h
	defer t.mu.Unlock() // so that a connection that ends knows what it holds
	if connectionOf(p) != nil {
		connectionOf(p).took(conversation, auth.Hold{
			Hash: hash, Turn: o.Decision.Claim.Turn, Seat: p, Serves: servedBy(&o.Decision.State, p.AgentID), Seatless: hasNoSeat(p, o.Decision.State.Participants),
		})
	}
}

// hasNoSeat reports whether the caller has no seat of its own, beside that of the claim, among some.
func hasNoSeat(p *auth.Principal, seats []parley.Participant) bool {
	return p.Home() != "" && !slices.ContainsFunc(seats, func(s parley.Participant) bool { return s.ID == p.Home() })
}

// Dropped forgets the claim of a request that is not in the log.
func (t *turns) Dropped(conversation string, o *conv.Request) {
	t.mu.Lock()
	if h := t.holdings[o.Cmd.New]; h != nil {
		t.assignLocked(h, nil)
		delete(t.holdings, o.Cmd.New)
		t.overLocked(h)
	}
	t.mu.Unlock()
	if c := connectionOf(o.By.(*auth.Principal)); c != nil {
		c.ended(conversation, o.Cmd.New, true)
	}
}

// offer gives whom the id of a claim was made for: the participant and the key of the executor; empty when this hub has made no such id, or for another turn.
func (t *turns) offer(conversation string, hash fold.ClaimHash) (agent, key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.desks[conversation]
	if p == nil {
		return "", ""
	}
	o, _ := p.Offered(hash)
	return o.AgentID, o.Executor
}

// others reports whether an executor is asked to take the turn of an agent that has not had it. The conversation is locked.
func (t *turns) others(s *fold.State, agent string) bool {
	if len(s.Tries) == 0 {
		return false // nobody has had it
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.desks[s.ID]
	seat := s.Seat(agent)
	if p == nil || seat < 0 {
		return false
	}
	return p.Others(agent, t.candidatesLocked(s.ID, s.ServedBy(seat), s.Demands(seat), t.now()))
}

// shown makes the connection on which p has named a claim its holder.
func (t *turns) shown(hash fold.ClaimHash, id string, p *auth.Principal) {
	if connectionOf(p) == nil || p.Claim() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holdings[hash]
	if h == nil || connectionOf(p).closed || h.agentID != p.AgentID {
		return
	}
	if h.conn != connectionOf(p) { // else p may have come with a fresh token
		h.id = id
		if h.conn != nil {
			h.conn.moved(h.conversation, hash)
		}
		t.assignLocked(h, connectionOf(p))
	}
	connectionOf(p).took(h.conversation, auth.Hold{Hash: hash, Turn: h.turn, Seat: p, Serves: h.serves, Seatless: hasNoSeat(p, h.seats)})
	if p := t.desks[h.conversation]; p != nil {
		p.Found(hash)
	}
}

// told gives the id of the claim that a decision has taken or met, if this hub knows it.
func (t *turns) told(d *fold.Decision, p *auth.Principal) string {
	if d.Claim == nil || d.Claim.AgentID != p.AgentID {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.holdings[d.Claim.Hash]; h != nil {
		return h.id
	}
	return ""
}

// result tells of the claim that claimTurn has taken or met.
func (t *turns) result(d *fold.Decision, p *auth.Principal) parley.ClaimTurnResult {
	_, left := t.watched(d.State.ID, d.Claim.Hash)
	r := parley.ClaimTurnResult{
		ClaimID: t.told(d, p), AgentID: d.Claim.AgentID, Turn: d.Claim.Turn, Attempt: d.Claim.Attempt, DurationMs: left,
		DeadlineMs: t.hub.Now().UnixMilli() + left, MaxClaimMs: d.State.Limits.MaxClaim(), Duplicate: d.Duplicate,
	}
	r.Traceparent = t.hub.turnTrace(&d.State, d.Claim.AgentID)
	if seat := d.State.Seat(d.Claim.AgentID); seat >= 0 {
		r.SinceSeq = d.State.Spoke[seat].FinalSeq
	}
	return r
}

// watched tells how long a claim has stood and would still stand, in ms.
func (t *turns) watched(conversation string, hash fold.ClaimHash) (heldMs, leftMs int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.desks[conversation]; p != nil {
		return p.Watched(t.now(), hash)
	}
	return 0, 0
}

// TurnOf returns the turn of a current claim.
func (t *turns) TurnOf(hash fold.ClaimHash) (turn int64, current bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holdings[hash]
	if h == nil {
		return 0, false
	}
	return h.turn, true
}

// CommandOf returns the agent of a current claim in a conversation, the account under which its use is
// counted, and a channel that is closed at the end of the claim.
func (t *turns) CommandOf(
	conversation string, hash fold.ClaimHash,
) (agent, account string, ended <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.holdings[hash]
	if h == nil || h.conversation != conversation {
		return "", "", nil, false
	}
	if h.ended == nil {
		h.ended = make(chan struct{})
	}
	account = "agent " + h.agentID
	if h.x != nil && h.x.by.Account != "" {
		account = h.x.by.Account
	}
	return h.agentID, account, h.ended, true
}
