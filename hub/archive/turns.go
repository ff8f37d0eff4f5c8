package archive

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

// checkTurn refuses an event of a turn that no hub writes; s is the state before it.
// The fold checks the claim.
func checkTurn(s *fold.State, sys *parley.System) error {
	if err := check.Reason(sys.Detail); err != nil {
		return err
	}
	if sys.ExecutorID != "" && !parley.ValidParticipantID(sys.ExecutorID) {
		return fmt.Errorf("executorId %.80q", sys.ExecutorID)
	}
	if sys.Runner != "" && (!parley.ValidParticipantID(sys.Runner) || sys.Runner == sys.AgentID) {
		return fmt.Errorf("runner %.80q", sys.Runner)
	}
	if sys.DurationMs > limits.MaxTurnMs || sys.GraceMs < 0 || sys.GraceMs > limits.MaxGraceMs || sys.UpTo < 0 || sys.UpTo > s.Seq {
		return fmt.Errorf("%s with durationMs %d, graceMs %d, upTo %d", sys.Kind, sys.DurationMs, sys.GraceMs, sys.UpTo)
	}
	if err := checkSessionTurn(s.Session, sys); err != nil {
		return err
	}
	switch sys.Kind {
	case parley.KindTurnClaimed:
		if seat := s.Seat(sys.AgentID); seat < 0 || !s.Participants[seat].Kind.Claims() {
			return fmt.Errorf("%.80q is no agent of the conversation, but claims", sys.AgentID)
		}
		if attempts := s.Attempts(sys.AgentID); attempts >= s.Limits.Attempts() {
			return fmt.Errorf("a claim after %d attempts", attempts)
		}
		if !s.MaySpeak(sys.AgentID) {
			return fmt.Errorf("a claim of %s, which does not have the floor", sys.AgentID)
		}
	case parley.KindClaimRenewed:
		if why := parley.ClaimEnd(sys.Reason); why != "" && why != parley.ClaimDisconnected {
			return fmt.Errorf("claim_renewed with reason %.80q", sys.Reason)
		}
	case parley.KindClaimEnded:
		switch end := parley.ClaimEnd(sys.Reason); {
		case end.IsAttempt(), end == parley.ClaimRestarted, end == parley.ClaimYielded:
		default:
			return fmt.Errorf("claim_ended with reason %.80q", sys.Reason)
		}
	case parley.KindTurnReoffered:
		if !s.MaySpeak(sys.AgentID) {
			return fmt.Errorf("turn_reoffered of %s, which does not have the floor", sys.AgentID)
		}
	case parley.KindTurnEnded:
		if f := s.Floor(); !f.Anyone && f.Speaker != sys.AgentID {
			return fmt.Errorf("turn_ended of %s, which does not have the floor", sys.AgentID)
		}
		switch parley.TurnEnd(sys.Reason) {
		case parley.TurnYielded, parley.TurnSkipped, parley.TurnCanceled:
		default:
			return fmt.Errorf("turn_ended with reason %.80q", sys.Reason)
		}
	}
	return nil
}

// checkHint refuses a turnHint that the policy would not accept.
func checkHint(s *fold.State, e *parley.Event) error {
	if e.TurnHint == nil {
		return nil
	}
	return policy.CheckHint(s.Policy, s.Participants, e.From, e.TurnHint.Next, e.Finality)
}
