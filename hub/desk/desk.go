// Package desk decides in memory which executors are asked to take a turn, which claims are
// overdue, and when to look again. Like package fold it is pure: no clock, no I/O, no lock. Its
// state may be lost, because the log has everything that is needed to rebuild it.
//
// # Guarantees
//
//   - Durations decide, not times of day: a Desk ends only what it watched for the whole duration,
//     counted from when it saw the event that started it.
//   - An offer is never withdrawn. It is valid until the turn is claimed.
//   - The executor that lost the fewest claims of a turn is asked first. The next one is asked when
//     a claim window passed without a claim.
//   - Step returns the time of the next step, unless nothing will change without an event.
package desk

import (
	"math/rand/v2"
	"slices"

	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Time is in ms on a clock that never goes back.
type Time int64

// Desk offers the turns of one conversation to executors. The zero Desk is ready.
type Desk struct {
	seq    int64 // of the state seen last
	turn   int64
	window int64
	length int64 // of a claim
	claim  *held
	asks   []asking
	offers []Offer
}

// held is a claim that is watched.
type held struct {
	fold.Claim
	taken   Time // when turn_claimed was seen
	renewed Time // when the event was seen from which its duration counts
	lost    Time // since when no connection holds it; 0 while one does, or if none ever did
	here    bool // a connection of this hub holds it
	slept   Time // how much later its deadline is, because the hub was not running
	revived bool // since it was shortened
	guessed bool // another hub may have seen that event long before this one
	told    bool // its end was returned: there is nothing to do until the state changes
	waits   bool // its turn waits for an approval, and its deadline does not run
	since   Time // when the wait was seen; valid while waits is set
	waited  Time // the total of the waits before
}

// asking is a participant whose turn it is.
type asking struct {
	fold.Ask
	seen   Time // when the event was seen from which its time counts
	from   Time // no executor is asked before, after a failed attempt
	next   Time // when another one is asked
	rounds int  // how often all executors were asked
	asked  []string
	told   bool // its timeout was returned
}

// Offer is a turn that an executor was asked to take.
type Offer struct {
	Hash     eventdata.ClaimHash
	AgentID  string
	Executor string // the key of the executor
	Turn     int64
}

// Backoff bounds the pause after a failed attempt: 250 ms, doubled with each attempt, at most 5 s,
// and randomly shorter by up to a half.
const (
	firstBackoff int64 = 250
	maxBackoff   int64 = 5_000
)

// backoff returns the pause after a number of failed attempts.
func backoff(attempts int) Time {
	if attempts < 1 {
		return 0
	}
	d := maxBackoff
	if attempts < 6 {
		d = min(firstBackoff<<(attempts-1), maxBackoff)
	}
	return Time(d - rand.Int64N(d/2+1))
}

// Saw updates the desk to a committed state. It ignores a state that is older than the current one.
func (d *Desk) Saw(now Time, s *fold.State) {
	if s.Seq < d.seq {
		return
	}
	d.seq, d.window, d.length = s.Seq, s.Limits.ClaimWindow(), s.Limits.TurnTimeout()
	if turn := s.CurrentTurn(); turn != d.turn || s.Closed() {
		d.turn, d.offers = turn, nil
	}
	d.sawClaim(now, s.Claim, s.AwaitsApproval())
	asks := s.Asks()
	kept := make([]asking, 0, len(asks))
	for _, a := range asks {
		kept = append(kept, d.sawAsk(now, a))
	}
	d.asks = kept
}

func (d *Desk) sawClaim(now Time, c *fold.Claim, waits bool) {
	switch {
	case c == nil:
		d.claim = nil
		return
	case d.claim == nil || d.claim.Hash != c.Hash:
		d.claim = &held{Claim: *c, taken: now, renewed: now}
	case d.claim.RenewedSeq != c.RenewedSeq:
		d.claim.Claim, d.claim.renewed, d.claim.told, d.claim.revived, d.claim.guessed = *c, now, false, false, false
		d.claim.slept = 0
	}
	d.claim.wait(now, waits)
}

// wait records since when the turn of a claim waits for an approval, and how long it waited.
func (c *held) wait(now Time, waits bool) {
	switch {
	case waits == c.waits:
		return
	case waits:
		c.since = now
	default:
		c.waited += now - c.since
	}
	c.waits, c.told, c.slept = waits, false, 0
}

func (d *Desk) sawAsk(now Time, a fold.Ask) asking {
	i := slices.IndexFunc(d.asks,
		func(k asking) bool { return k.AgentID == a.AgentID && k.Since == a.Since && k.Turn == a.Turn })
	if i >= 0 {
		k := d.asks[i]
		k.Ask = a
		return k
	}
	pause := backoff(a.Attempts)
	if a.TimeoutMs > 0 {
		pause = min(pause, Time(a.TimeoutMs/2)) // else the time of the turn would be over before it is offered again
	}
	from := now + max(pause, Time(a.DelayMs))
	return asking{Ask: a, seen: now, from: from, next: from}
}

// Seq is the seq of the current state.
func (d *Desk) Seq() int64 { return d.seq }

// Idle reports whether no claim is watched and no executor has to be asked.
func (d *Desk) Idle() bool { return d.claim == nil && len(d.asks) == 0 }

// Claim returns the current claim.
func (d *Desk) Claim() (fold.Claim, bool) {
	if d.claim == nil {
		return fold.Claim{}, false
	}
	return d.claim.Claim, true
}

// Watched returns how long the claim was held and how long it remains, in ms. Waits for approvals
// do not count. During such a wait the claim remains for its whole duration.
func (d *Desk) Watched(now Time, h eventdata.ClaimHash) (heldMs, leftMs int64) {
	if d.claim == nil || d.claim.Hash != h {
		return 0, 0
	}
	heldMs = int64(now - d.claim.taken - d.claim.waited)
	if d.claim.waits {
		return heldMs - int64(now-d.claim.since), d.length
	}
	if d.claim.guessed {
		return heldMs, 0 // more cannot be promised
	}
	return heldMs, max(0, d.claim.DurationMs-int64(now-d.claim.renewed))
}

// Guessed records that the claim may have started long before this hub saw it, and that another hub
// watches it.
func (d *Desk) Guessed() {
	if d.claim != nil {
		d.claim.guessed = true
	}
}

// Lost records that no connection holds the claim.
func (d *Desk) Lost(now Time, h eventdata.ClaimHash) {
	if d.claim != nil && d.claim.Hash == h && d.claim.GraceMs > 0 && d.claim.lost == 0 {
		d.claim.lost, d.claim.here = now, false
	}
}

// Found records that a connection holds the claim.
func (d *Desk) Found(h eventdata.ClaimHash) {
	if d.claim != nil && d.claim.Hash == h {
		d.claim.lost, d.claim.here = 0, true
	}
}

// Offered returns the offer of the current turn with a claim id.
func (d *Desk) Offered(h eventdata.ClaimHash) (Offer, bool) {
	for _, o := range d.offers {
		if o.Hash == h && o.Turn == d.turn {
			return o, true
		}
	}
	return Offer{}, false
}

// Asked reports whether the turn of an agent was offered since it started.
func (d *Desk) Asked(agent string) bool {
	i := slices.IndexFunc(d.asks, func(k asking) bool { return k.AgentID == agent })
	return i >= 0 && (len(d.asks[i].asked) > 0 || d.asks[i].rounds > 0)
}

// WindowMs is how long one executor is asked alone.
func (d *Desk) WindowMs() int64 { return d.window }

// DurationMs is how long a claim lasts without renewal.
func (d *Desk) DurationMs() int64 { return d.length }

// Waits reports whether an agent waits until one of its executors connects or has room.
func (d *Desk) Waits(serves string, internal bool) bool {
	return slices.ContainsFunc(d.asks,
		func(k asking) bool { return k.Offer && k.Serves == serves && fold.AllowsPlace(k.Place, internal) })
}

// Due reports whether an executor of an agent, internal or not, would be asked now if it had room.
func (d *Desk) Due(now Time, serves string, internal bool) bool {
	return slices.ContainsFunc(d.asks, func(k asking) bool {
		return k.Offer && k.Serves == serves && now >= k.next && fold.AllowsPlace(k.Place, internal)
	})
}

// Others reports whether one of the executors has not lost a claim of the agent's turn.
func (d *Desk) Others(agent string, all []Executor) bool {
	i := slices.IndexFunc(d.asks, func(k asking) bool { return k.AgentID == agent })
	if i < 0 {
		return false
	}
	return slices.ContainsFunc(all, func(x Executor) bool {
		return fold.AllowsPlace(d.asks[i].Place, x.Internal) && fold.CountEnded(d.asks[i].Ended, x.ID) == 0
	})
}

// WaitedMs returns how long the turn of an agent has been without a claim.
func (d *Desk) WaitedMs(now Time, agent string) (int64, bool) {
	i := slices.IndexFunc(d.asks, func(k asking) bool { return k.AgentID == agent })
	if i < 0 {
		return 0, false
	}
	return int64(now - d.asks[i].seen), true
}

// Served returns what the executors that may be asked must serve.
func (d *Desk) Served() []string {
	names := make([]string, len(d.asks))
	for i := range d.asks {
		names[i] = d.asks[i].Serves
	}
	return names
}
