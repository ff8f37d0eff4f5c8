package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/history"
)

// slack is what a hub may be off because it counts in ms, and the observer because it looks a little later.
const slack = 2 * time.Millisecond

// chapter is one event of a log, with what it came upon and what it has led to.
type chapter struct {
	parley.Event
	sys           parley.System
	before, after fold.State
	at            time.Time
}

// claimed is the life of a claim.
type claimed struct {
	claim      fold.Claim
	taken, end time.Time // end is zero when it stood until the end of the duel
	reason     parley.ClaimEnd
	basis      time.Time // when that was written from which its duration counts
	shortened  bool
}

// judge compares the logs with the answers, and the answers with the model.
func (d *duel) judge() result {
	claims := make(map[eventdata.ClaimHash]*claimed)
	found := make(map[string][]int64)
	for i := range d.conversations {
		id := conversationOf(i)
		log := d.chapters(id)
		d.judgeTurns(id, log)
		d.judgeClaims(id, log, claims)
		d.judgeLapses(id, log)
		d.judgeClaimed(id, log, found)
	}
	d.judgeSaid(found)
	d.judgeGrants(claims)
	d.judgeLost(claims)
	d.judgeRegistrations(claims)
	switch err := history.CheckTurns(d.history, time.Minute); {
	case errors.Is(err, history.ErrTimeout):
		d.result.unjudged++
	case err != nil:
		d.problem("%s%v", modelSays, err)
	}
	return d.result
}

// modelSays begins a problem that the model has found.
const modelSays = "the model: "

// chapters folds a log.
func (d *duel) chapters(id string) []chapter {
	var log []chapter
	var s fold.State
	s.ID = id
	for _, data := range d.logs[id] {
		c := chapter{before: s}
		if err := json.Unmarshal(data, &c.Event); err != nil {
			d.problem("%s: %v", id, err)
			break
		}
		c.sys, _ = c.System()
		next, err := s.Apply(&c.Event, len(data))
		if err != nil {
			d.problem("%s: the log is none: %v", id, err)
			break
		}
		s = next
		c.after, c.at = s, d.writtenAt[placeOf(id, c.Seq)]
		log = append(log, c)
		d.result.story = append(d.result.story, fmt.Sprintf("%s %s %s", c.at.Format("04:05.000"), id, data))
	}
	if !s.Closed() {
		d.problem("%s is not closed", id)
	}
	return log
}

// judgeTurns counts the ends of each turn: one, and nothing behind it. It does not ask the fold.
func (d *duel) judgeTurns(id string, log []chapter) {
	ended := int64(0)
	for _, c := range log {
		turn := max(c.Turn, c.sys.Turn)
		if turn != 0 && turn <= ended {
			d.problem("%s/%d is of turn %d, which has ended", id, c.Seq, turn)
		}
		if !c.Finality.Final() && c.sys.Kind != parley.KindTurnEnded {
			continue
		}
		if turn != ended+1 {
			d.problem("%s/%d ends turn %d behind %d", id, c.Seq, turn, ended)
		}
		ended = turn
		if c.From == "a" || c.sys.AgentID == "a" {
			d.result.turns++
		}
	}
}

// judgeClaims follows every claim: none is ended before its time was watched.
func (d *duel) judgeClaims(id string, log []chapter, claims map[eventdata.ClaimHash]*claimed) {
	first := make(map[int64]eventdata.ClaimHash)
	for _, c := range log {
		was, is := c.before.Claim, c.after.Claim
		switch {
		case was == nil && is != nil:
			d.result.claims++
			claims[is.Hash] = &claimed{claim: *is, taken: c.at, basis: c.at}
			if _, again := first[is.Turn]; !again {
				first[is.Turn] = is.Hash
			}
		case was != nil && is == nil:
			k := claims[was.Hash]
			k.end, k.reason = c.at, c.after.Ended.Reason
			if k.reason == parley.ClaimFinal && first[was.Turn] != was.Hash {
				d.result.takeovers++
			}
			if watched := c.at.Sub(k.basis) + slack; k.reason == parley.ClaimExpired &&
				watched < time.Duration(was.DurationMs)*time.Millisecond {
				d.problem("%s/%d ends a claim of %d ms after %v", id, c.Seq, was.DurationMs, watched)
			}
		case was != nil && was.RenewedSeq != is.RenewedSeq:
			k := claims[is.Hash]
			k.claim, k.basis = *is, c.at
			k.shortened = k.shortened || is.DurationMs == sharedGrace && is.DurationMs < d.limits.TurnTimeoutMs
		}
	}
}

// sharedGrace is what a claim is left when a hub has lost its holder.
const sharedGrace = 1000

// judgeLapses: a turn whose claim was lost is offered again within a second and its backoff.
func (d *duel) judgeLapses(id string, log []chapter) {
	for i, c := range log {
		if c.sys.Kind != parley.KindClaimEnded || c.after.CurrentTurn() != c.sys.Turn {
			continue
		}
		d.result.lapses++
		asks := c.after.Asks()
		if len(asks) != 1 || !asks[0].Offer {
			continue // its attempts are used up: it waits for its time
		}
		backoff := min(250*time.Millisecond<<min(max(asks[0].Attempts-1, 0), 10), 5*time.Second)
		if asks[0].Attempts == 0 {
			backoff = 0
		}
		by := c.at.Add(time.Second + backoff)
		if !d.isSteady(c.at, by) || i+1 < len(log) && !log[i+1].at.After(by) && log[i+1].after.Claim != nil {
			continue
		}
		offers := d.offers[placeOf(id, c.sys.Turn)]
		at := slices.IndexFunc(offers, func(t time.Time) bool { return !t.Before(c.at) })
		if at < 0 || offers[at].After(by) {
			if !d.movedBy(log[i+1:], by) {
				d.problem("%s/%d: the turn is not offered again by %s", id, c.Seq, by.Format("04:05.000"))
			}
			continue
		}
		d.result.worstOffer = max(d.result.worstOffer, offers[at].Sub(c.at)-backoff)
	}
}

// movedBy reports whether the turn proceeded without a command.
func (d *duel) movedBy(rest []chapter, by time.Time) bool {
	return len(rest) > 0 && !rest[0].at.After(by)
}

// isSteady reports whether the good replica was registered, and the journal well, all that time.
func (d *duel) isSteady(from, to time.Time) bool {
	if d.isTroubled(from.Add(-time.Second), to) {
		return false
	}
	return slices.ContainsFunc(d.steady, func(i interval) bool { return i.from.Before(from) && i.to.After(to) })
}

// isTroubled reports whether the journal has failed meanwhile.
func (d *duel) isTroubled(from, to time.Time) bool {
	return slices.ContainsFunc(d.troubles, func(t time.Time) bool { return !t.Before(from) && !t.After(to) })
}

// judgeClaimed finds what was said, and holds what named a claim against the claim that stood.
func (d *duel) judgeClaimed(id string, log []chapter, found map[string][]int64) {
	for _, c := range log {
		key := c.ClientRequestID
		if key == "" {
			continue
		}
		found[key] = append(found[key], c.Seq)
		s := d.said[key]
		switch {
		case s == nil || s.conversation != id || s.from != c.From:
			d.problem("%s/%d: nobody has said %s there", id, c.Seq, key)
		case s.claim == "":
		case c.before.Claim == nil || c.before.Claim.Hash != eventdata.HashClaim(s.claim):
			d.problem("%s/%d: %s was taken under %s, which does not stand", id, c.Seq, key, s.claim)
		}
	}
}

// judgeSaid checks that acknowledged messages are in the log once, and refused ones are not.
func (d *duel) judgeSaid(found map[string][]int64) {
	for text, s := range d.said {
		at := found[text]
		switch {
		case len(at) > 1:
			d.problem("%s stands at %v", text, at)
		case len(s.seqs) > 0 && len(at) == 0:
			d.problem("%s was acknowledged at %v and is not there", text, s.seqs)
		case len(s.seqs) == 0 && len(at) > 0 && !s.unknown:
			d.problem("%s was refused, and stands at %v", text, at)
		}
		for _, seq := range s.seqs {
			if len(at) == 1 && seq != at[0] {
				d.problem("%s was acknowledged at %d and stands at %d", text, seq, at[0])
			}
		}
	}
}

// granting is what renewClaim has answered.
type granting struct {
	claim     string
	ms        int64
	began, at time.Time
}

func (d *duel) granted(claim string, ms int64, began time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grants = append(d.grants, granting{claim, ms, began, time.Now()})
}

// until returns when the claim ends according to the answer. An answer without time left only shows
// that the claim was current during the call.
func (g *granting) until() time.Time {
	if g.ms == 0 {
		return g.began
	}
	return g.at.Add(time.Duration(g.ms) * time.Millisecond)
}

// judgeGrants checks that a renewed claim lasts as promised, unless a hub lost the holder
// meanwhile, and that renewals are long enough.
func (d *duel) judgeGrants(claims map[eventdata.ClaimHash]*claimed) {
	for _, g := range d.grants {
		k := claims[eventdata.HashClaim(g.claim)]
		if k == nil || k.shortened {
			continue
		}
		given := time.Duration(g.ms) * time.Millisecond
		if k.reason == parley.ClaimExpired && k.end.Add(slack).Before(g.until()) {
			d.problem("%s was granted %v at %s and has ended at %s", g.claim, given, g.at.Format("04:05.000"),
				k.end.Format("04:05.000"))
		}
		half := time.Duration(d.limits.TurnTimeoutMs)*time.Millisecond/2 - 4*d.lag
		left := time.Duration(d.limits.MaxClaimMs)*time.Millisecond - g.at.Sub(k.taken) - 4*d.lag
		if given+slack < min(half, left) {
			d.problem("%s was granted %v only, %v after it was taken", g.claim, given, g.at.Sub(k.taken))
		}
	}
}

// judgeLost checks that each answer claim_lost is true.
func (d *duel) judgeLost(claims map[eventdata.ClaimHash]*claimed) {
	for _, l := range d.lost {
		k := claims[eventdata.HashClaim(l.claim)]
		if k != nil && k.taken.Before(l.began) && (k.end.IsZero() || k.end.After(l.end)) && !d.isTroubled(k.taken, l.end) {
			d.problem("%s was refused at %s as lost, though it stands", l.claim, l.end.Format("04:05.000"))
		}
	}
}

// judgeRegistrations: with several hubs, a claim ends because its holder is away only if its
// executor reconnected without it. An executor learns that its claim is over only if it is.
func (d *duel) judgeRegistrations(claims map[eventdata.ClaimHash]*claimed) {
	d.tellRegistrations()
	for h, k := range claims {
		if k.reason == parley.ClaimDisconnected && !slices.ContainsFunc(d.registrations,
			func(r registering) bool { return r.leaves(k, h, d.isTroubled(r.began, k.end)) }) {
			d.problem("a claim of %s ends at %s though nobody has left it", k.claim.ExecutorID, k.end.Format("04:05.000"))
		}
	}
	for _, r := range d.registrations {
		for name := range r.names {
			k := claims[eventdata.HashClaim(name)]
			if r.end.IsZero() || k == nil || slices.Contains(r.goesOn, name) || k.claim.ExecutorID != r.executor {
				continue
			}
			if k.taken.Before(r.began) && (k.end.IsZero() || k.end.After(r.end)) {
				d.problem("%s was told at %s that %s does not stand", r.executor, r.end.Format("04:05.000"), name)
			}
		}
	}
}

// leaves reports whether the registration may have ended a claim. Its effect is seen late if the
// commit was lost.
func (r *registering) leaves(k *claimed, h eventdata.ClaimHash, lost bool) bool {
	if r.executor != k.claim.ExecutorID || r.began.After(k.end) || !lost && !r.end.IsZero() && r.end.Before(k.end) {
		return false
	}
	for name := range r.names {
		if eventdata.HashClaim(name) == h {
			return false
		}
	}
	return true
}

// tellRegistrations puts them into the story.
func (d *duel) tellRegistrations() {
	for _, r := range d.registrations {
		d.result.story = append(d.result.story, fmt.Sprintf("%s to %s: %s registers with %v and goes on with %v",
			r.began.Format("04:05.000"), r.end.Format("04:05.000"), r.executor, slices.Sorted(maps.Keys(r.names)), r.goesOn))
	}
}
