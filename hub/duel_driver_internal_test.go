package hub

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parleyhub/parley"
)

// turnBound is how long a turn of the agent may take while a good replica lives: time for each of the others to hold it as long as it can, and for crashes.
// Where a bug is planted less will do.
func (d *duel) turnBound() time.Duration {
	if d.plant != "" {
		return 2 * time.Minute
	}
	return 10 * time.Minute
}

// drive asks the questions of one conversation, and closes it behind the last answer.
func (d *duel) drive(id string) {
	r := d.random("driver "+id, 0)
	turn := int64(1)
	for q := range d.questions {
		w := words{conversation: id, text: fmt.Sprintf("d.%s.%d", id, q), turn: turn, finality: parley.FinalityTurn}
		if q == d.questions-1 {
			w.finality = parley.FinalityConversation
		}
		said := d.insist(r, w)
		if said == 0 || q == d.questions-1 {
			return
		}
		began := time.Now()
		turn = d.await(r, id, said)
		if turn == 0 {
			return
		}
		d.mu.Lock()
		d.result.worstTurn = max(d.result.worstTurn, time.Since(began))
		d.mu.Unlock()
		d.pause(between(r, 0, 50*time.Millisecond))
	}
}

// insist sends a message that must not be refused, and returns its seq.
func (d *duel) insist(r *rand.Rand, w words) int64 {
	for began := time.Now(); time.Since(began) < d.turnBound(); {
		n := d.node(r, nil)
		if n == nil {
			d.pause(20 * time.Millisecond)
			continue
		}
		sent, err := d.say(&route{node: n, p: n.hub.LocalPrincipal("d")}, "d", w)
		switch {
		case err == nil:
			return sent.Seq
		case !mayRepeat(err):
			d.problem("%s is refused to who has the floor: %v", w.text, err)
			return 0
		}
		d.pause(between(r, 0, 100*time.Millisecond))
	}
	d.problem("%s finds no hub", w.text)
	return 0
}

// await waits for the driver's turn after a seq and returns the seq; 0 after too long a time.
func (d *duel) await(r *rand.Rand, id string, seq int64) int64 {
	for began := time.Now(); time.Since(began) < d.turnBound(); {
		n := d.node(r, nil)
		if n == nil {
			d.pause(20 * time.Millisecond)
			continue
		}
		u, _, err := n.hub.GetUpdates(d.t.Context(), n.hub.LocalPrincipal("d"), &parley.GetUpdatesParams{
			ConversationID: id, SinceSeq: seq, Until: parley.UntilMyTurn, TimeoutMs: 20_000, Limit: 10,
		})
		switch {
		case err == nil && u.Guidance.Kind == parley.MaySpeak:
			return u.Guidance.Turn
		case err == nil:
			seq = u.NextSeq
		case errors.Is(err, parley.ErrCursorAhead), errors.Is(err, parley.ErrNotFound):
			d.problem("a hub refuses what another one has told: %v", err)
			return 0
		default:
			d.pause(20 * time.Millisecond)
		}
	}
	d.problem("%s does not go on: a turn has taken more than %v", id, d.turnBound())
	return 0
}
