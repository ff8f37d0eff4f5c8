package hub

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parleyhub/parley"
)

// act is what a replica makes of a turn.
type act int

const (
	good     act = iota
	dead         // takes no notice
	slow         // claims when others were asked, too
	hang         // says nothing, and speaks when it is too late
	renewing     // the same, but keeps its claim as long as it can
	decline
	silent
	fail
	yield
	mover // goes to the other hub in the middle of it
)

var badActs = []act{dead, slow, hang, renewing, decline, silent, fail, yield, mover}

// job is a turn that a replica works on.
type job struct {
	*replica
	life         int // the replica's, when it began
	random       *rand.Rand
	name         string
	conversation string
	turn         int64
	claim        string
	took         *route // on which it was taken
	said         int
}

// over reports whether the process that worked on it is gone, or all is over.
func (j *job) isOver() bool {
	j.replica.mu.Lock()
	defer j.replica.mu.Unlock()
	return j.replica.life != j.life || j.duel.isOver()
}

func (j *job) pause(from, to time.Duration) bool {
	return j.duel.pause(between(j.random, from, to)) && !j.isOver()
}

// third is a third of the time that a claim lasts.
func (j *job) third() time.Duration {
	return time.Duration(j.limits.TurnTimeoutMs) * time.Millisecond / 3
}

// repeat makes a call until it has an answer that says something.
func (j *job) repeat(f func(l *route) error) (err error) {
	for {
		if err = f(j.current()); !mayRepeat(err) {
			return err
		}
		if !j.pause(5*time.Millisecond, 100*time.Millisecond) {
			return err
		}
	}
}

// answer is for an offered turn.
func (j *job) answer() {
	what := pick(j.random, j.habits...)
	if what == dead || !j.pause(0, 10*time.Millisecond) {
		return
	}
	if window := time.Duration(j.limits.ClaimWindowMs) * time.Millisecond; what == slow && !j.pause(window, 3*window) {
		return
	}
	j.hold(j.claim)
	err := j.repeat(func(l *route) error {
		_, err := j.duel.claim(l, j.replica.name, j.conversation, j.claim, j.turn)
		j.took = l
		return err
	})
	if err == nil {
		j.work(what)
	}
	if !j.isOver() {
		j.letGo(j.claim)
	}
}

// pullClaim takes a turn by its number.
func (j *job) pullClaim() {
	l := j.current()
	r, err := j.duel.claim(l, j.replica.name, j.conversation, "", j.turn)
	if err != nil {
		return
	}
	j.goOn(l, r.ClaimID)
}

// pullProgress takes it with its first words.
func (j *job) pullProgress() {
	l := j.current()
	r, err := j.duel.say(l, j.replica.name, j.words(parley.FinalityNone))
	if err != nil || r.ClaimID == "" {
		return
	}
	j.goOn(l, r.ClaimID)
}

// goOn works under a claim that was just taken on a connection.
func (j *job) goOn(l *route, claim string) {
	j.claim, j.took = claim, l
	j.hold(claim)
	j.work(pick(j.random, j.habits...))
	if !j.isOver() {
		j.letGo(claim)
	}
}

// pullFinal says the final message without a claim.
func (j *job) pullFinal() {
	w := j.words(parley.FinalityTurn)
	_ = j.repeat(func(l *route) error {
		_, err := j.duel.say(l, j.replica.name, w)
		return err
	})
}

func (j *job) words(f parley.Finality) words {
	j.said++
	return words{
		conversation: j.conversation, text: fmt.Sprintf("%s.%d", j.name, j.said), turn: j.turn, claim: j.claim, finality: f,
		trace: f == parley.FinalityNone && j.random.IntN(3) == 0,
	}
}

// say says something under the claim. On the connection that took the claim, orderly ones do not always name it.
func (j *job) say(f parley.Finality) error {
	w := j.words(f)
	return j.repeat(func(l *route) error {
		w.implied = j.orderly && l == j.took && j.random.IntN(4) == 0
		_, err := j.duel.say(l, j.replica.name, w)
		return err
	})
}

// keep renews the claim. The renewal is for at least half of the usual time, except near the bound
// of all renewals.
func (j *job) keep() error {
	return j.repeat(func(l *route) error {
		began := time.Now()
		r, err := j.duel.renew(l, j.replica.name, j.conversation, j.claim, j.turn)
		if err == nil {
			j.duel.granted(j.claim, r.DurationMs, began)
		}
		return err
	})
}

// work is the turn itself, once it is claimed.
func (j *job) work(what act) {
	for range j.random.IntN(3) {
		if !j.pause(0, j.third()) || j.say(parley.FinalityNone) != nil {
			j.late()
			return
		}
		if j.random.IntN(2) == 0 && j.keep() != nil {
			j.late()
			return
		}
	}
	switch what {
	case hang:
		j.pause(3*j.third(), 9*j.third())
		j.late()
	case renewing:
		for j.pause(j.third(), 2*j.third()) && j.keep() == nil {
		}
		j.late()
	case decline:
		j.give(parley.ReleaseDecline)
	case silent:
		j.give(parley.ReleaseSilent)
	case fail:
		j.give(parley.ReleaseFailed)
	case yield:
		j.give(parley.ReleaseYield)
	case mover:
		j.moveOn()
		j.finish()
	default:
		j.finish()
	}
}

// late sometimes sends a message although the claim should be over.
func (j *job) late() {
	if !j.isOver() && j.random.IntN(2) == 0 {
		_ = j.say(pick(j.random, parley.FinalityNone, parley.FinalityTurn))
	}
}

// give releases the claim, and may lose the answer.
func (j *job) give(outcome parley.ReleaseOutcome) {
	err := j.repeat(func(l *route) error {
		return j.duel.release(l, j.replica.name, j.conversation, j.claim, j.turn, outcome)
	})
	if err == nil {
		j.letGo(j.claim)
	}
	j.pause(0, j.third())
	j.late()
}

// moveOn makes the replica go to the other hub.
func (j *job) moveOn() {
	before := j.current()
	select {
	case j.move <- struct{}{}:
	default: // it is about to
	}
	for range 10 {
		if !j.pause(0, 20*time.Millisecond) || j.current() != before {
			return
		}
	}
}

// finish says the final message, sometimes twice.
func (j *job) finish() {
	w := j.words(parley.FinalityTurn)
	send := func(l *route) error {
		_, err := j.duel.say(l, j.replica.name, w)
		return err
	}
	err := j.repeat(send)
	if err == nil && j.random.IntN(4) == 0 {
		if err := j.repeat(send); err != nil && !errors.Is(err, parley.ErrOutcomeUnknown) && !mayRepeat(err) {
			j.problem("%s was taken, and is refused when it is repeated: %v", w.text, err)
		}
	}
}
