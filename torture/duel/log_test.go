package duel

import (
	"encoding/json"
	"testing"

	"github.com/parleyhub/parley"
)

// TestCountKeepsLapses: a lapse continues until the turn is claimed again, also when it is offered
// again meanwhile.
func TestCountKeepsLapses(t *testing.T) {
	var log []parley.Event
	for i, s := range []parley.System{
		{Kind: parley.KindTurnClaimed, Turn: 1, Attempt: 3}, {Kind: parley.KindClaimEnded, Turn: 1, Reason: string(parley.ClaimExpired)},
		{Kind: parley.KindTurnReoffered, Turn: 1}, {Kind: parley.KindTurnReoffered, Turn: 1},
		{Kind: parley.KindTurnClaimed, Turn: 1, Attempt: 1},
	} {
		payload, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, parley.Event{Seq: int64(i + 1), At: parley.Timestamp(1000 * (i + 1)), Type: parley.TypeSystem,
			Payload: payload})
	}
	k, err := Count(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Lapse{Ended: 2000, Claimed: 5000, Attempt: 1, Reason: string(parley.ClaimExpired)}); len(k.Lapses) != 1 ||
		k.Lapses[0] != want {
		t.Errorf("lapses %+v, want %+v", k.Lapses, want)
	}
}
