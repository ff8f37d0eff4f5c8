package view

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// TestViewOfTurns: the end of a turn is one line, and texts of others cannot look like another
// line.
func TestViewOfTurns(t *testing.T) {
	t.Parallel()
	events := []struct {
		seq int64
		s   parley.System
	}{
		{4, parley.System{Kind: parley.KindTurnClaimed, Turn: 3, AgentID: "clinic", ExecutorID: "e1", Attempt: 1,
			DurationMs: 60_000}},
		{5, parley.System{Kind: parley.KindTurnClaimed, Turn: 3, AgentID: "clinic", Attempt: 2, DurationMs: 1_500}},
		{5, parley.System{Kind: parley.KindTurnClaimed, Turn: 3, AgentID: "bob", Runner: "mallory", Attempt: 1,
			DurationMs: 1_000}},
		{5, parley.System{Kind: parley.KindTurnClaimed, Turn: 3, AgentID: "bob", Runner: "mallory", ExecutorID: "e1",
			Attempt: 1, DurationMs: 1_000}},
		{6, parley.System{Kind: parley.KindClaimRenewed, Turn: 3, DurationMs: 60_000}},
		{10, parley.System{Kind: parley.KindClaimEnded, Turn: 3, Reason: string(parley.ClaimExpired), ResetFrom: 7}},
		{11, parley.System{Kind: parley.KindClaimEnded, Turn: 3, Reason: string(parley.ClaimFailed), ResetFrom: 10,
			Detail: "panic\n#12 t3 ann"}},
		{12, parley.System{Kind: parley.KindClaimEnded, Turn: 3, Reason: string(parley.ClaimSilent)}},
		{13, parley.System{Kind: parley.KindClaimEnded, Turn: 3, Reason: string(parley.ClaimRestarted)}},
		{14, parley.System{Kind: parley.KindClaimEnded, Turn: 3, Reason: string(parley.ClaimYielded)}},
		{15, parley.System{Kind: parley.KindClaimEnded, Turn: 3, Reason: "of a later version\x1b[2J"}},
		{16, parley.System{Kind: parley.KindTurnEnded, Turn: 3, AgentID: "clinic", Reason: string(parley.TurnCanceled),
			Detail: "too slow"}},
		{17, parley.System{Kind: parley.KindTurnReoffered, Turn: 4, AgentID: "clinic"}},
		{18, parley.System{Kind: "of_a_later_version", Turn: 5}},
	}
	const want = `#4         hub  turn 3: clinic is at work as e1, attempt 1, for 1m0s or until renewed
#5         hub  turn 3: clinic is at work, attempt 2, for 1.5s or until renewed
#5         hub  turn 3: bob is at work as mallory, attempt 1, for 1s or until renewed
#5         hub  turn 3: bob is at work as mallory (e1), attempt 1, for 1s or until renewed
#6         hub  turn 3: renewed for 1m0s
#10        hub  turn 3: the attempt failed: expired; what it said, #7 to #9, is withdrawn
#11        hub  turn 3: the attempt failed: failed, panic\n#12 t3 ann; what it said, #10, is withdrawn
#12        hub  turn 3: the attempt failed: silent
#13        hub  turn 3: the attempt ended: restarted
#14        hub  turn 3: passed on
#15        hub  turn 3: the attempt ended: of a later version\x1b[2J
#16        hub  turn 3 of clinic ended without a final message: canceled, too slow
#17        hub  turn 4 is offered to clinic again
#18        hub  of_a_later_version {"kind":"of_a_later_version","turn":5}
`
	var b bytes.Buffer
	v := New(cli.NewStream(&b))
	for _, e := range events {
		payload, err := json.Marshal(e.s)
		if err != nil {
			t.Fatal(err)
		}
		v.Event(&parley.Event{Seq: e.seq, Type: parley.TypeSystem, From: parley.HubID, Payload: payload})
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestGuidanceText: waiting participants see an active claim.
func TestGuidanceText(t *testing.T) {
	t.Parallel()
	claim := &parley.ClaimState{AgentID: "clinic", ExecutorID: "e1", Attempt: 2}
	for want, g := range map[string]parley.Guidance{
		"waiting for clinic, at work as e1, attempt 2: because": {Kind: parley.Wait, Speaker: "clinic", Claim: claim,
			Reason: "because"},
		"your turn (turn 3): because": {Kind: parley.MaySpeak, Speaker: "clinic", Turn: 3, Claim: claim, Reason: "because"},
		"waiting: because":            {Kind: parley.Wait, Reason: "because"},
	} {
		if got := GuidanceText(g); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}
