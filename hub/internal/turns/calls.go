package turns

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/methods"
)

// ClaimTurn claims a turn: an offered one by the id of the offer, or one of the caller by its number.
func (d *Dispatcher) ClaimTurn(p *auth.Principal, q *parley.ClaimTurnParams, done func(parley.ClaimTurnResult, error)) {
	take := &fold.Take{Turn: q.Turn}
	cmd := fold.Command{Do: take}
	c, p, err := d.enterTake(p, q, &cmd)
	if err != nil {
		done(parley.ClaimTurnResult{}, err)
		return
	}
	cmd.From = p.AgentID
	r := &conv.Request{By: p, Cmd: cmd}
	r.Reply = func(result *fold.Decision, err error) {
		if err != nil {
			done(parley.ClaimTurnResult{}, err)
			return
		}
		if q.ClaimID != "" {
			d.ConfirmHolder(*cmd.Named, q.ClaimID, p)
		}
		out := d.claimResult(result, p)
		if result.Claimed {
			out.ClaimID = r.ClaimID // the claim may be over by now
		}
		done(out, nil)
	}
	if q.ClaimID == "" {
		d.MintClaim(c, r)
	} else {
		r.Claims, r.ClaimID = d.claims, q.ClaimID
		take.New, take.GraceMs = *cmd.Named, ConnectionOf(p).graceMs()
	}
	c.Do(r)
}

// MintClaim adds the id of a new claim to r, which the command may take.
func (d *Dispatcher) MintClaim(c *conv.Conversation, r *conv.Request) {
	n, number := r.Cmd.NewClaim(), int64(0)
	c.View(func(_, head *fold.State) {
		number, n.Others = head.CurrentTurn(), d.hasOtherExecutors(head, r.Cmd.From)
	})
	r.Claims, r.ClaimID = d.claims, eventdata.ClaimID(number, d.opts.NewID(""))
	n.New, n.GraceMs = eventdata.HashClaim(r.ClaimID), ConnectionOf(r.By.(*auth.Principal)).graceMs()
}

// enterTake pins the conversation of claimTurn, and returns the identity of the caller there.
func (d *Dispatcher) enterTake(
	p *auth.Principal, q *parley.ClaimTurnParams, cmd *fold.Command,
) (*conv.Conversation, *auth.Principal, error) {
	if err := d.auth.AllowClaims(p, methods.ClaimTurn); err != nil {
		return nil, nil, err
	}
	c, s, err := d.Pin(p, q.ConversationID)
	if err != nil {
		return nil, nil, err
	}
	if d.engine.Shared() && !d.isCallersTurn(p, &s, q) { // another hub may have changed that
		if s, err = c.FreshHead(); err != nil {
			d.engine.Unpin(c)
			return nil, nil, err
		}
	}
	seat := s.Floor().Speaker
	switch {
	case (q.ClaimID == "") == (q.Turn == 0):
		err = page.Invalid("one of them", "claimTurn takes claimId or turn")
	case q.Turn < 0:
		err = page.Invalid("1 or more", "turn is negative")
	case q.ClaimID != "":
		seat, err = d.findOffer(p, &s, q.ClaimID, cmd)
	}
	who, visible := p.Resolve(&s, seat)
	if !visible {
		err = p.RefuseWrite(&s) // whatever else is wrong
	}
	if err != nil {
		d.engine.Unpin(c)
		return nil, nil, err
	}
	return c, who, nil
}

// isCallersTurn reports whether p may take a turn as far as this hub knows: the claim is current or was
// offered here, or the number is that of the turn of an identity of p.
func (d *Dispatcher) isCallersTurn(p *auth.Principal, s *fold.State, q *parley.ClaimTurnParams) bool {
	if q.ClaimID == "" {
		who, _ := p.Resolve(s, s.Floor().Speaker)
		return s.CurrentTurn() == q.Turn && who.AgentID == s.Floor().Speaker
	}
	hash := eventdata.HashClaim(q.ClaimID)
	if s.Claim != nil && s.Claim.Hash == hash {
		return true
	}
	agent, _ := d.offerOf(s.ID, hash)
	return agent != ""
}

// findOffer returns the seat for which the id of a claim was made, and adds the claim to cmd.
func (d *Dispatcher) findOffer(
	p *auth.Principal, s *fold.State, id string, cmd *fold.Command,
) (seat string, err error) {
	number, ok := eventdata.ClaimTurn(id)
	if !ok {
		return "", eventdata.ErrNoClaimID
	}
	hash := eventdata.HashClaim(id)
	take := cmd.Do.(*fold.Take)
	take.Turn, cmd.Named = number, &hash
	if s.Claim != nil && s.Claim.Hash == hash {
		return s.Claim.AgentID, nil
	}
	agent, key := d.offerOf(s.ID, hash)
	if c := ConnectionOf(p); key != "" && c != nil {
		x := c.executor.Load()
		take.Offered = x != nil && x.key == key
	}
	return agent, nil
}

// Pin pins a conversation and returns its head. The caller checks whether it exists for p.
func (d *Dispatcher) Pin(p *auth.Principal, id string) (*conv.Conversation, fold.State, error) {
	if !p.Reaches(id) || conv.Reserved(id) {
		return nil, fold.State{}, auth.ErrNotFound
	}
	c, err := d.engine.Pin(id)
	if err != nil {
		return nil, fold.State{}, err
	}
	if !d.Recovered() {
		d.recoverOne(id) // so that a claim that the caller names is known
	}
	s := c.Head()
	if !s.Exists() && d.engine.Shared() {
		s, err = c.FreshHead()
	}
	if err == nil && !s.Exists() {
		err = auth.ErrNotFound
	}
	if err != nil {
		d.engine.Unpin(c)
		return nil, fold.State{}, err
	}
	return c, s, nil
}

// PinClaimed is Pin for a call that names a claim. A hub that shares its journal catches up if the claim
// is not the current one.
func (d *Dispatcher) PinClaimed(
	p *auth.Principal, id string, hash eventdata.ClaimHash,
) (*conv.Conversation, fold.State, error) {
	c, s, err := d.Pin(p, id)
	if err != nil || !d.engine.Shared() || s.Claim != nil && s.Claim.Hash == hash {
		return c, s, err
	}
	if s, err = c.FreshHead(); err != nil {
		d.engine.Unpin(c)
		return nil, s, err
	}
	return c, s, nil
}

// EnterClaimed pins a conversation for a write that may name a claim, which it adds to cmd. A renewal
// or a release must name one. It returns the identity of the caller: the participant of the claim, if
// the caller may speak as that.
func (d *Dispatcher) EnterClaimed(
	p *auth.Principal, method, conversation, claimID string, cmd *fold.Command,
) (*conv.Conversation, *auth.Principal, error) {
	needsClaim := method == methods.RenewClaim || method == methods.ReleaseClaim
	if claimID == "" && !needsClaim {
		p = p.In(conversation)
		c, err := d.auth.EnterWrite(p, method, conversation)
		return c, p, err
	}
	if err := d.auth.Allow(p, method); err != nil {
		return nil, nil, err
	}
	if claimID == "" {
		return nil, nil, eventdata.ErrNoClaimID
	}
	hash := eventdata.HashClaim(claimID)
	c, s, err := d.PinClaimed(p, conversation, hash)
	if err != nil {
		return nil, nil, err
	}
	seat := ""
	if s.Claim != nil && s.Claim.Hash == hash {
		seat = s.Claim.AgentID
	}
	if seat == "" && cmd.Key != "" {
		seat = seatWithKey(c, p, &s, cmd.Key, &hash)
	}
	who, visible := p.Resolve(&s, seat)
	if _, ok := eventdata.ClaimTurn(claimID); !ok && visible {
		err = eventdata.ErrNoClaimID
	}
	if !visible {
		err = p.RefuseWrite(&s)
	}
	if err != nil {
		d.engine.Unpin(c)
		return nil, nil, err
	}
	cmd.Named = &hash
	return c, who, nil
}

// seatWithKey returns the seat that used a key under a claim, of the seats of p. A caller that speaks as
// several ids and did not get the answer may repeat a write after the end of its claim.
func seatWithKey(
	c *conv.Conversation, p *auth.Principal, s *fold.State, key string, claim *eventdata.ClaimHash,
) string {
	for i, seat := range s.Participants {
		if p.MaySit(s, i) && c.HasKey(seat.ID, key, claim) {
			return seat.ID
		}
	}
	return ""
}

// RenewClaim extends a claim.
func (d *Dispatcher) RenewClaim(
	p *auth.Principal, q *parley.RenewClaimParams, done func(parley.RenewClaimResult, error),
) {
	var cmd fold.Command
	c, p, err := d.EnterClaimed(p, methods.RenewClaim, q.ConversationID, q.ClaimID, &cmd)
	if err != nil {
		done(parley.RenewClaimResult{}, err)
		return
	}
	cmd.From = p.AgentID
	d.renew(c, p, q, cmd, d.engine.Shared(), done)
}

// renew decides a renewal. A renewal that was not written because enough time was left is decided once
// more if its check took so long that this is no longer true.
func (d *Dispatcher) renew(
	c *conv.Conversation, p *auth.Principal, q *parley.RenewClaimParams, cmd fold.Command, again bool,
	done func(parley.RenewClaimResult, error),
) {
	held, left := d.HeldFor(q.ConversationID, *cmd.Named)
	cmd.Do, cmd.HeldMs = &fold.Renew{LeftMs: left}, held
	c.Do(&conv.Request{By: p, Cmd: cmd, Reply: func(r *fold.Decision, err error) {
		if err != nil {
			done(parley.RenewClaimResult{}, err)
			return
		}
		d.ConfirmHolder(*cmd.Named, q.ClaimID, p)
		_, left := d.HeldFor(q.ConversationID, *cmd.Named)
		if again && len(r.Events) == 0 && 2*left < r.State.Limits.TurnTimeout() {
			d.engine.Repin(c)
			d.renew(c, p, q, cmd, false, done)
			return
		}
		done(parley.RenewClaimResult{DeadlineMs: d.engine.Now().UnixMilli() + left, DurationMs: left}, nil)
	}})
}

// ReleaseClaim releases a claim.
func (d *Dispatcher) ReleaseClaim(
	p *auth.Principal, q *parley.ReleaseClaimParams, done func(parley.EmptyResult, error),
) {
	release := &fold.Release{Detail: q.Reason}
	cmd := fold.Command{Do: release}
	c, p, err := d.EnterClaimed(p, methods.ReleaseClaim, q.ConversationID, q.ClaimID, &cmd)
	if err != nil {
		done(parley.EmptyResult{}, err)
		return
	}
	end, ok := q.Outcome.Ends()
	if !ok {
		err = page.Invalid("yield, decline, silent or failed", "outcome is %q", policy.Clip(string(q.Outcome)))
	} else {
		err = check.Reason(q.Reason)
	}
	if err != nil {
		d.engine.Unpin(c)
		done(parley.EmptyResult{}, err)
		return
	}
	cmd.From, release.Reason = p.AgentID, end
	c.Do(&conv.Request{By: p, Cmd: cmd, Reply: func(_ *fold.Decision, err error) { done(parley.EmptyResult{}, err) }})
}

// hasOtherExecutors reports whether an executor that has not tried the turn of an agent is asked. The
// conversation is locked.
func (d *Dispatcher) hasOtherExecutors(s *fold.State, agent string) bool {
	if len(s.Tries) == 0 {
		return false // there was no attempt
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t, seat := d.records.turns[s.ID], s.Seat(agent)
	if t == nil || seat < 0 || !d.sessions.MayRun(s.ID) {
		return false
	}
	now := deskNow(d.engine)
	return t.Others(agent, d.executors.candidatesLocked(s.ID, s.ServedBy(seat), s.Demands(seat), now))
}

// ConfirmHolder makes the connection of p, which named a claim, the holder of the claim.
func (d *Dispatcher) ConfirmHolder(hash eventdata.ClaimHash, id string, p *auth.Principal) {
	conn := ConnectionOf(p)
	if conn == nil || p.Claim() != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.claims.confirmLocked(hash, id, p, conn); h != nil {
		d.endGraceLocked(h)
	}
}

func (d *Dispatcher) endGraceLocked(h *heldClaim) {
	if t := d.records.turns[h.conversation]; t != nil {
		t.Found(h.hash)
	}
}

func (d *Dispatcher) claimResult(r *fold.Decision, p *auth.Principal) parley.ClaimTurnResult {
	_, left := d.HeldFor(r.State.ID, r.Claim.Hash)
	out := parley.ClaimTurnResult{
		ClaimID: d.ClaimIDOf(r, p), AgentID: r.Claim.AgentID, Turn: r.Claim.Turn, Attempt: r.Claim.Attempt, DurationMs: left,
		DeadlineMs: d.engine.Now().UnixMilli() + left, MaxClaimMs: r.State.Limits.MaxClaim(), Duplicate: r.Duplicate,
	}
	out.Traceparent = d.traceparent(&r.State, r.State.AnsweredTraceparent(r.Claim.AgentID))
	if seat := r.State.Seat(r.Claim.AgentID); seat >= 0 {
		out.SinceSeq = r.State.Activities[seat].FinalSeq
	}
	return out
}
