package fold_test

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// TestStale checks that a decision of the hub does nothing if the log has changed since.
func TestStale(t *testing.T) {
	s := &story{t: t, state: fold.State{ID: "x"}, keys: idempotency.Keys{}}
	s.create(roundRobin, "", &parley.Limits{MaxAttempts: 5, OnTurnTimeout: parley.TurnSkip}, agentsAnd("h", "a", "b")...)
	given := s.state.Asks()[0].Since
	s.take("a", "a1")
	first := *s.state.Claim
	s.renew("a", 30_000, 1)
	end := &fold.EndClaim{RenewedSeq: first.RenewedSeq, Reason: parley.ClaimExpired}
	expire := fold.Command{Do: end, From: parley.HubID, Named: &first.Hash}
	s.wantNothing("the deadline of a claim that was renewed", expire)
	s.lapse(parley.ClaimExpired)
	s.wantNothing("the time of a turn that was claimed since",
		fold.Command{Do: &fold.Timeout{AgentID: "a", Since: given, Asked: true}, From: parley.HubID})
	s.take("a", "a2")
	end.RenewedSeq = 0
	s.wantNothing("the end of a claim before this", expire)
}

func (s *story) wantNothing(what string, c fold.Command) {
	s.t.Helper()
	c.Now = s.now
	if d := fold.Decide(s.state, s.keys, c); len(d.Events) > 0 || d.Err != nil {
		s.t.Errorf("%s: %d events, %v", what, len(d.Events), d.Err)
	}
}
