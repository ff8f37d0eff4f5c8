package desk

import (
	"math/rand/v2"
	"slices"

	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Time is in ms on a clock that only goes on.
type Time int64

// Desk is where the turns of one conversation are handed out. The zero Desk is ready.
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
	lost    Time // since when no connection holds it; 0 when one does, or none ever did
	here    bool // a connection of this hub holds it
	slept   Time // what its deadline is put off by because the hub was not running
	revived bool // since it was made short
	guessed bool // another hub may have seen that event long before this one
	told    bool // that it is over: nothing is to be done until the state moves
	waits   bool // its turn, for an approval: its deadline does not run
	since   Time // when that was seen; of use while waits
	waited  Time // before that, all in all
}

// asking is a participant whose turn it is.
type asking struct {
	fold.Ask
	seen   Time // when the event was seen from which its time counts
	from   Time // before that nobody is asked, after a failed attempt
	next   Time // when another one is asked
	rounds int  // how often all were asked
	asked  []string
	told   bool // that its time is over
}

// Offer is a turn that an executor was asked to take.
type Offer struct {
	Hash     eventdata.ClaimHash
	AgentID  string
	Executor string // key of the executor
	Turn     int64
}

// Backoff bounds the pause after a failed attempt: 250 ms, doubled with each, 5 s at most, up to a half less by chance.
const (
	firstBackoff int64 = 250
	maxBackoff   int64 = 5_000
)

// backoff is how long nobody is asked after a number of failed attempts.
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

// Saw tells the desk of a committed state. Older ones than it knows are let pass.
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

// wait keeps since when the turn of a claim waits for an approval, and how long it has.
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
	i := slices.IndexFunc(d.asks, func(k asking) bool { return k.AgentID == a.AgentID && k.Since == a.Since && k.Turn == a.Turn })
	if i >= 0 {
		k := d.asks[i]
		k.Ask = a
		return k
	}
	pause := backoff(a.Attempts)
	if a.TimeoutMs > 0 {
		pause = min(pause, Time(a.TimeoutMs/2)) // else the turn's time would be over before it is offered again
	}
	from := now + max(pause, Time(a.DelayMs))
	return asking{Ask: a, seen: now, from: from, next: from}
}

// Seq is that of the state seen last.
func (d *Desk) Seq() int64 { return d.seq }

// Idle reports whether there is nothing to watch and nobody to ask.
func (d *Desk) Idle() bool { return d.claim == nil && len(d.asks) == 0 }

// Claim gives the claim that is watched.
func (d *Desk) Claim() (fold.Claim, bool) {
	if d.claim == nil {
		return fold.Claim{}, false
	}
	return d.claim.Claim, true
}

// Watched tells how long the claim has stood and would still stand, in ms. The time in which its turn has waited for approvals does not count; while it does, the
// claim would stand for its whole duration after that.
func (d *Desk) Watched(now Time, h eventdata.ClaimHash) (heldMs, leftMs int64) {
	if d.claim == nil || d.claim.Hash != h {
		return 0, 0
	}
	heldMs = int64(now - d.claim.taken - d.claim.waited)
	if d.claim.waits {
		return heldMs - int64(now-d.claim.since), d.length
	}
	if d.claim.guessed {
		return heldMs, 0 // no more can be promised than nothing
	}
	return heldMs, max(0, d.claim.DurationMs-int64(now-d.claim.renewed))
}

// Guessed tells that the claim may have stood for long before this hub saw it, and that another hub has watched it.
func (d *Desk) Guessed() {
	if d.claim != nil {
		d.claim.guessed = true
	}
}

// Lost tells that no connection holds the claim any more, Found that one does.
func (d *Desk) Lost(now Time, h eventdata.ClaimHash) {
	if d.claim != nil && d.claim.Hash == h && d.claim.GraceMs > 0 && d.claim.lost == 0 {
		d.claim.lost, d.claim.here = now, false
	}
}

// Found tells that a connection holds the claim.
func (d *Desk) Found(h eventdata.ClaimHash) {
	if d.claim != nil && d.claim.Hash == h {
		d.claim.lost, d.claim.here = 0, true
	}
}

// Offered finds the offer of the current turn that an id was made for.
func (d *Desk) Offered(h eventdata.ClaimHash) (Offer, bool) {
	for _, o := range d.offers {
		if o.Hash == h && o.Turn == d.turn {
			return o, true
		}
	}
	return Offer{}, false
}

// Asked reports whether the turn of an agent was offered to anybody since it began, or was offered anew.
func (d *Desk) Asked(agent string) bool {
	i := slices.IndexFunc(d.asks, func(k asking) bool { return k.AgentID == agent })
	return i >= 0 && (len(d.asks[i].asked) > 0 || d.asks[i].rounds > 0)
}

// WindowMs is how long one executor is asked alone, DurationMs how long a claim lasts.
func (d *Desk) WindowMs() int64 { return d.window }

// DurationMs is how long a claim lasts without renewal.
func (d *Desk) DurationMs() int64 { return d.length }

// Waits reports for whose agents the desk waits until one of their executors is there, or has room.
func (d *Desk) Waits(serves string, internal bool) bool {
	return slices.ContainsFunc(d.asks, func(k asking) bool { return k.Offer && k.Serves == serves && fold.AllowsPlace(k.Place, internal) })
}

// Due reports whether an executor of an agent, inside a hub or not, would be asked now if it had room.
func (d *Desk) Due(now Time, serves string, internal bool) bool {
	return slices.ContainsFunc(d.asks, func(k asking) bool {
		return k.Offer && k.Serves == serves && now >= k.next && fold.AllowsPlace(k.Place, internal)
	})
}

// Others reports whether one of the executors has not had the turn of an agent.
func (d *Desk) Others(agent string, all []Executor) bool {
	i := slices.IndexFunc(d.asks, func(k asking) bool { return k.AgentID == agent })
	if i < 0 {
		return false
	}
	return slices.ContainsFunc(all, func(x Executor) bool {
		return fold.AllowsPlace(d.asks[i].Place, x.Internal) && fold.CountEnded(d.asks[i].Ended, x.ID) == 0
	})
}

// WaitedMs is how long an agent's turn has been without a claim.
func (d *Desk) WaitedMs(now Time, agent string) (int64, bool) {
	i := slices.IndexFunc(d.asks, func(k asking) bool { return k.AgentID == agent })
	if i < 0 {
		return 0, false
	}
	return int64(now - d.asks[i].seen), true
}

// Served gives what executors serve that may be asked.
func (d *Desk) Served() []string {
	names := make([]string, len(d.asks))
	for i := range d.asks {
		names[i] = d.asks[i].Serves
	}
	return names
}
