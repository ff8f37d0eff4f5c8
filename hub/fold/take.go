package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// claimOf returns the claim of a turn that the command names or that its connection implies.
func (c *Command) claimOf(turn int64) *eventdata.ClaimHash {
	if c.Named == nil && c.Implied != nil && c.ImpliedTurn == turn {
		return c.Implied
	}
	return c.Named
}

// checkClaim refuses an append of the participant that has the floor if it does not name the current claim.
func (d *decision) checkClaim() bool {
	named, claim := d.c.claimOf(d.s.CurrentTurn()), d.s.Claim
	switch {
	case named == nil && claim == nil && d.s.Session.OfRunner() && d.c.From == d.s.Session.AgentID:
		d.refuseTurn(parley.ErrClaimRequired, "the agent of a runner speaks under a claim only", "claimId")
	case named == nil && claim == nil:
		return true
	case named == nil:
		d.refuseTurn(parley.ErrClaimRequired,
			fmt.Sprintf("turn %d is claimed, and the call does not name the claim", claim.Turn), "claimId")
	case claim == nil || claim.Hash != *named:
		d.refuseLost()
	case !d.c.Executor.mayHold(claim):
		d.refuseTurn(parley.ErrClaimLost, "the claim belongs to another executor", "the executor that took it")
	default:
		return true
	}
	return false
}

// mayHold reports whether the executor may hold a claim. It may not if the claim belongs to another registered
// executor.
func (x *Executor) mayHold(c *Claim) bool {
	return x.ID == "" || c.ExecutorID == "" || x.ID == c.ExecutorID
}

func (d *decision) refuseLost() {
	d.refuseTurn(parley.ErrClaimLost, "the claim is not the current one", "")
}

// takeClaim adds the claim of a turn that an agent opens with an unfinished message or a trace.
func (d *decision) takeClaim(n *NewClaim) bool {
	seat := d.s.Seat(d.c.From)
	if d.s.Claim != nil || !d.s.Participants[seat].Kind.Claims() {
		return true
	}
	return d.checkTake(seat, n) && d.addClaim(n)
}

// checkTake refuses a claim that was not offered to the participant that has the floor.
func (d *decision) checkTake(seat int, n *NewClaim) bool {
	p := d.s.Participants[seat]
	t := d.s.triesOf(p.ID)
	switch {
	case !d.checkPlace(p):
	case t.Attempts >= d.s.Limits.Attempts():
		d.refuseTurn(parley.ErrNotYourTurn,
			fmt.Sprintf("the %d attempts of turn %d are used up", t.Attempts, d.s.CurrentTurn()), "")
	case n.Others && CountEnded(t.Ended, d.c.Executor.ID) > 0:
		d.refuseTurn(parley.ErrNotYourTurn,
			"this executor had the turn before, and another one is offered it", "a request_turn")
	default:
		return true
	}
	return false
}

// checkPlace refuses an executor that runs in another place than the participant requires.
func (d *decision) checkPlace(p parley.Participant) bool {
	if AllowsPlace(p.Executor, d.c.Executor.Internal) {
		return d.checkSessionExecutor(p.ID)
	}
	d.refuse(parley.ErrForbidden,
		fmt.Sprintf("the agent of %s runs elsewhere", p.ID), fmt.Sprintf("an executor that is %s", p.Executor))
	return false
}

// AllowsPlace reports whether a participant allows an executor in this place.
func AllowsPlace(p parley.ExecutorPlace, internal bool) bool {
	return p == "" || p == parley.ExecutorAny || (p == parley.ExecutorInternal) == internal
}

// addClaim adds turn_claimed for the participant that has the floor.
func (d *decision) addClaim(n *NewClaim) bool {
	runner := "" // for the log: the creator of the conversation may have named an agent of another participant
	if d.c.By != d.c.From {
		runner = d.c.By
	}
	ok := d.add(systemEvent(parley.System{
		Kind: parley.KindTurnClaimed, Turn: d.s.CurrentTurn(), AgentID: d.c.From, ExecutorID: d.c.Executor.ID,
		Attempt: d.s.Attempts(d.c.From) + 1, ClaimHash: n.New.String(), DurationMs: d.s.Limits.TurnTimeout(),
		GraceMs: n.GraceMs, UpTo: d.s.Seq, Internal: d.c.Executor.Internal, Runner: runner,
	}))
	d.out.Claimed, d.out.Claim = ok, d.s.Claim
	return ok
}

func (a *Take) decide(d *decision) {
	if !d.checkParticipant() {
		return
	}
	current, f, seat := d.s.CurrentTurn(), d.s.Floor(), d.s.Seat(d.c.From)
	p, claim, offer := d.s.Participants[seat], d.s.Claim, d.c.Named
	switch named := d.c.claimOf(a.Turn); {
	case claim != nil && named != nil && claim.Hash == *named && claim.AgentID == p.ID && d.c.Executor.mayHold(claim):
		d.out.Seq, d.out.Turn, d.out.Duplicate, d.out.Claim = claim.Seq, claim.Turn, true, claim
	case !p.Kind.Claims():
		d.refuse(parley.ErrForbidden, fmt.Sprintf("%s is a %s: only agents and tools claim", p.ID, p.Kind), "")
	case a.Turn < current && offer == nil:
		d.refuseEnded(a.Turn)
	case offer != nil &&
		(a.Turn != current || d.s.hasUsedClaim(*offer) || !a.Offered || claim != nil || !f.allows(p.ID)):
		d.refuseLost()
	case !f.allows(p.ID):
		d.refuseFloor(f)
	case a.Turn > current:
		d.refuseAhead(a.Turn)
	case claim != nil:
		d.refuseTurn(parley.ErrClaimLost, "another executor has claimed the turn", "")
	case offer != nil && !d.checkPlace(p):
	case offer != nil && d.s.Attempts(p.ID) >= d.s.Limits.Attempts():
		d.refuseLost()
	case offer != nil || d.checkTake(seat, &a.NewClaim):
		d.addClaim(&a.NewClaim)
	}
}
