package fold

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// named returns the claim of a turn that the command names or its connection implies.
func (d *decision) claimOf(turn int64) *eventdata.ClaimHash {
	if d.c.Named == nil && d.c.Implied != nil && d.c.ImpliedTurn == turn {
		return d.c.Implied
	}
	return d.c.Named
}

// underClaim holds an append of who has the floor against the claim that stands: the fence.
func (d *decision) checkClaim() bool {
	named, claim := d.claimOf(d.s.CurrentTurn()), d.s.Claim
	switch {
	case named == nil && claim == nil && d.s.Session.OfRunner() && d.c.From == d.s.Session.AgentID:
		d.refuseTurn(parley.ErrClaimRequired, "what an agent of a runner says is said under a claim", "claimId")
	case named == nil && claim == nil:
		return true
	case named == nil:
		d.refuseTurn(parley.ErrClaimRequired, fmt.Sprintf("turn %d is claimed, and the call does not name the claim", claim.Turn), "claimId")
	case claim == nil || claim.Hash != *named:
		d.refuseLost()
	case !d.sameExecutor(claim):
		d.refuseTurn(parley.ErrClaimLost, "the claim is another executor's", "the executor that took it")
	default:
		return true
	}
	return false
}

// sameExecutor reports whether the caller may be the executor of the claim: a connection that is registered as another one may not. A claim that was taken
// before its holder was registered, or without a connection, is no other executor's.
func (d *decision) sameExecutor(c *Claim) bool {
	return d.c.Executor.ID == "" || c.ExecutorID == "" || d.c.Executor.ID == c.ExecutorID
}

func (d *decision) refuseLost() {
	d.refuseTurn(parley.ErrClaimLost, "the claim does not stand, or no longer", "")
}

// claims lets an agent's unfinished message or trace take the claim of its turn.
func (d *decision) takeClaim(n *NewClaim) bool {
	seat := d.s.Seat(d.c.From)
	if d.s.Claim != nil || !d.s.Participants[seat].Kind.Claims() {
		return true
	}
	return d.checkTake(seat, n) && d.addClaim(n)
}

// mayTake refuses a claim that was not offered, by who has the floor.
func (d *decision) checkTake(seat int, n *NewClaim) bool {
	p := d.s.Participants[seat]
	t := d.s.triesOf(p.ID)
	switch {
	case !d.checkPlace(p):
	case t.Attempts >= d.s.Limits.Attempts():
		d.refuseTurn(parley.ErrNotYourTurn, fmt.Sprintf("the %d attempts of turn %d are used up", t.Attempts, d.s.CurrentTurn()), "")
	case n.Others && CountEnded(t.Ended, d.c.Executor.ID) > 0:
		d.refuseTurn(parley.ErrNotYourTurn, "this executor has had the turn, and another is asked to take it", "a request_turn")
	default:
		return true
	}
	return false
}

// inPlace refuses executors that run where the seat does not want it.
func (d *decision) checkPlace(p parley.Participant) bool {
	if AllowsPlace(p.Executor, d.c.Executor.Internal) {
		return d.checkSessionExecutor(p.ID)
	}
	d.refuse(parley.ErrForbidden, fmt.Sprintf("the agent of %s runs elsewhere", p.ID), fmt.Sprintf("an executor that is %s", p.Executor))
	return false
}

// InPlace reports whether an executor may run the agent of a seat.
func AllowsPlace(p parley.ExecutorPlace, internal bool) bool {
	return p == "" || p == parley.ExecutorAny || (p == parley.ExecutorInternal) == internal
}

// addClaim writes turn_claimed for who has the floor.
func (d *decision) addClaim(n *NewClaim) bool {
	ok := d.add(d.systemEvent(parley.System{
		Kind: parley.KindTurnClaimed, Turn: d.s.CurrentTurn(), AgentID: d.c.From, ExecutorID: d.c.Executor.ID,
		Attempt: d.s.triesOf(d.c.From).Attempts + 1, ClaimHash: n.New.String(), DurationMs: d.s.Limits.TurnTimeout(), GraceMs: n.GraceMs,
		UpTo: d.s.Seq, Internal: d.c.Executor.Internal, Runner: d.claimingRunner(),
	}))
	d.out.Claimed, d.out.Claim = ok, d.s.Claim
	return ok
}

// runner is who takes a claim for another, for the log: the agent on a seat may be anybody's whom the creator has named.
func (d *decision) claimingRunner() string {
	if d.c.By == d.c.From {
		return ""
	}
	return d.c.By
}

func (a *Take) decide(d *decision) {
	if !d.checkParticipant() {
		return
	}
	current, f, seat := d.s.CurrentTurn(), d.s.floor(), d.s.Seat(d.c.From)
	claim := d.s.Claim
	switch named := d.claimOf(a.Turn); {
	case claim != nil && named != nil && claim.Hash == *named && claim.AgentID == d.c.From && d.sameExecutor(claim):
		d.out.Seq, d.out.Turn, d.out.Duplicate, d.out.Claim = claim.Seq, claim.Turn, true, claim
	case !d.s.Participants[seat].Kind.Claims():
		d.refuse(parley.ErrForbidden, fmt.Sprintf("%s is a %s: only agents and tools claim", d.c.From, d.s.Participants[seat].Kind), "")
	case a.Turn < current && d.c.Named == nil:
		d.refuseTurn(parley.ErrTurnClosed, fmt.Sprintf("turn %d has ended", a.Turn), fmt.Sprintf("turn %d", current))
	case d.c.Named != nil && (a.Turn != current || d.s.hasUsedClaim(*d.c.Named) || !a.Offered || claim != nil || !f.holds(d.c.From)):
		d.refuseLost()
	case !f.holds(d.c.From):
		d.refuseFloor(f)
	case a.Turn > current:
		d.refuseTurn(parley.ErrTurnConflict, fmt.Sprintf("turn %d is not reached", a.Turn), fmt.Sprintf("turn %d", current))
	case claim != nil:
		d.refuseTurn(parley.ErrClaimLost, "another executor has claimed the turn", "")
	case d.c.Named != nil && !d.checkPlace(d.s.Participants[seat]):
	case d.c.Named != nil && d.s.triesOf(d.c.From).Attempts >= d.s.Limits.Attempts():
		d.refuseLost()
	case d.c.Named != nil || d.checkTake(seat, &a.NewClaim):
		d.addClaim(&a.NewClaim)
	}
}
