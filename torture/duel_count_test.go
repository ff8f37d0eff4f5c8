package torture

import (
	"encoding/json"
	"testing"

	"github.com/parleyhub/parley"
)

// TestCountKeepsLapses: a lapse goes on until the turn is claimed again, also when it is offered anew meanwhile.
func TestCountKeepsLapses(t *testing.T) {
	var log []parley.Event
	for i, s := range []parley.System{
		{Kind: parley.KindTurnClaimed, Turn: 1, Attempt: 3}, {Kind: parley.KindClaimEnded, Turn: 1, Reason: string(parley.ClaimExpired)},
		{Kind: parley.KindTurnReoffered, Turn: 1}, {Kind: parley.KindTurnReoffered, Turn: 1}, {Kind: parley.KindTurnClaimed, Turn: 1, Attempt: 1},
	} {
		payload, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, parley.Event{Seq: int64(i + 1), At: parley.Timestamp(1000 * (i + 1)), Type: parley.TypeSystem, Payload: payload})
	}
	k, err := count(log)
	if err != nil {
		t.Fatal(err)
	}
	if want := (lapse{ended: 2000, claimed: 5000, attempt: 1, reason: string(parley.ClaimExpired)}); len(k.lapses) != 1 || k.lapses[0] != want {
		t.Errorf("lapses %+v, want %+v", k.lapses, want)
	}
}
