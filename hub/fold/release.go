package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
)

// checkHolder refuses a caller that does not hold the current claim.
func (d *decision) checkHolder() bool {
	c := d.s.Claim
	if c == nil || d.c.Named == nil || c.Hash != *d.c.Named || c.AgentID != d.c.From || !d.c.Executor.mayHold(c) {
		d.refuseLost()
		return false
	}
	return true
}

// decide adds an event only when less than half of the time is left, so a claim costs about one event in half a
// duration. The renewal of the hub may make the time shorter.
func (a *Renew) decide(d *decision) {
	byHub := d.c.From == parley.HubID
	if !byHub && !d.checkHolder() {
		return
	}
	c := d.s.Claim
	if c == nil || c.Hash != *d.c.Named || byHub && a.RenewedSeq != c.RenewedSeq {
		return // the renewal of the hub is too late
	}
	d.out.Claim, d.out.Seq, d.out.Turn = c, c.RenewedSeq, c.Turn
	if d.s.AwaitsApproval() {
		return // its time does not run
	}
	grant := d.s.remainingMs(d.c.HeldMs)
	var reason parley.ClaimEnd
	switch {
	case a.ShortenMs > 0 && a.ShortenMs < a.LeftMs:
		grant, reason = a.ShortenMs, parley.ClaimDisconnected
	case a.ShortenMs > 0, !byHub && a.LeftMs*2 >= d.s.Limits.TurnTimeout(), grant <= a.LeftMs:
		return
	}
	d.add(systemEvent(parley.System{
		Kind: parley.KindClaimRenewed, Turn: c.Turn, ClaimHash: c.Hash.String(), DurationMs: grant, Reason: string(reason),
	}))
	d.out.Claim = d.s.Claim
}

// remainingMs returns the duration of a renewal of the claim, which was held for heldMs. It may be negative.
func (s *State) remainingMs(heldMs int64) int64 {
	return min(s.Limits.TurnTimeout(), s.Limits.MaxClaim()-max(heldMs, s.Claim.HeldMs))
}

func (a *Release) decide(d *decision) {
	if !d.checkHolder() {
		return
	}
	agent := d.s.Claim.AgentID
	reason := a.Reason
	if d.s.Session.Deterministic() && reason == parley.ClaimYielded {
		reason = parley.ClaimSilent // no other participant can take the turn
	}
	d.addClaimEnded(reason, a.Detail)
	if reason == parley.ClaimYielded {
		d.addTurnEnded(agent, parley.TurnYielded, "")
		return
	}
	d.endIfExhausted(agent)
}

// decide ends the claim. The approvals for which the turn waits stay pending.
func (a *EndClaim) decide(d *decision) {
	c := d.s.Claim
	if c == nil || c.Hash != *d.c.Named || (a.RenewedSeq != 0 && a.RenewedSeq != c.RenewedSeq) {
		return
	}
	if a.Reason == parley.ClaimExpired && d.s.AwaitsApproval() {
		return // its time was over, and does not run now
	}
	d.addClaimEnded(a.Reason, "")
	d.endIfExhausted(c.AgentID)
}

// addClaimEnded adds claim_ended. The same event withdraws the messages of a failed attempt. The messages of an agent
// that yields stay.
func (d *decision) addClaimEnded(reason parley.ClaimEnd, detail string) {
	c := d.s.Claim
	sys := parley.System{
		Kind: parley.KindClaimEnded, Turn: c.Turn, ClaimHash: c.Hash.String(), Reason: string(reason), Detail: detail,
	}
	if reason != parley.ClaimYielded {
		sys.ResetFrom = d.s.WordsFrom
	}
	d.add(systemEvent(sys))
}

// addTurnEnded adds turn_ended, and closes the conversation if that reaches a limit.
func (d *decision) addTurnEnded(agent string, reason parley.TurnEnd, detail string) {
	ok := d.add(systemEvent(parley.System{
		Kind: parley.KindTurnEnded, Turn: d.s.CurrentTurn(), AgentID: agent, Reason: string(reason), Detail: detail,
	}))
	if ok {
		d.closeAtLimit()
	}
}

// endIfExhausted applies onTurnTimeout when the attempts of an agent are used up. To reoffer the turn waits for its
// time.
func (d *decision) endIfExhausted(agent string) {
	if d.s.Attempts(agent) >= d.s.Limits.Attempts() {
		d.endTimedOutTurn(agent, parley.ReasonAttempts)
	}
}

// endTimedOutTurn ends a turn that no executor ends, as onTurnTimeout states.
func (d *decision) endTimedOutTurn(agent, reason string) {
	switch d.s.Limits.AtTurnTimeout() {
	case parley.TurnSkip:
		d.addTurnEnded(agent, parley.TurnSkipped, reason)
	case parley.TurnClose:
		if d.s.Session != nil {
			d.hubClose(d.sessionOutcome(reason))
			return
		}
		d.hubClose(parley.Outcome{Status: parley.OutcomeFailed, Reason: reason}, closingTexts[reason])
	}
}

func (t *Timeout) decide(d *decision) {
	for _, a := range d.s.Asks() {
		if a.AgentID != t.AgentID || a.Since != t.Since || a.TimeoutMs == 0 {
			continue
		}
		reason := parley.ReasonTurnTimeout
		if a.Attempts >= d.s.Limits.Attempts() {
			reason = parley.ReasonAttempts
		}
		d.endTimedOutTurn(a.AgentID, reason)
		if d.s.Limits.AtTurnTimeout() == parley.TurnReoffer && (a.Attempts > 0 || t.Asked) {
			d.add(systemEvent(parley.System{Kind: parley.KindTurnReoffered, Turn: a.Turn, AgentID: a.AgentID}))
		}
		return
	}
}

func (a *Cancel) decide(d *decision) {
	current, f := d.s.CurrentTurn(), d.s.Floor()
	answered := d.s.LastSpeaker
	human := d.s.kindOf(d.c.From) == parley.KindHuman
	switch {
	case d.s.Session.Deterministic():
		d.refuse(parley.ErrForbidden, "the turn of a deterministic session is not canceled", "stopSession")
	case !d.c.Admin && !human && (answered == "" || d.c.From != answered):
		d.refuse(parley.ErrForbidden,
			"only human participants, the author of the message that is answered, and admins cancel a turn", "")
	case a.Turn < current:
		d.refuseEnded(a.Turn)
	case a.Turn > current:
		d.refuseAhead(a.Turn)
	case f.Anyone:
		d.refuseTurn(parley.ErrTurnConflict, fmt.Sprintf("turn %d has no owner yet", a.Turn),
			"a turn that is open, claimed, or one participant's")
	default:
		d.addTurnEnded(f.Speaker, parley.TurnCanceled, a.Detail)
	}
}
