package fold

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Claims are the claims of a conversation.
type Claims struct {
	// Claim is the current claim, or nil. Ended is the claim that ended last.
	Claim *Claim
	Ended *EndedClaim
	// Tries describe the ended claims of the current turn.
	Tries     []Try
	Withdrawn []Withdrawn
	// ClaimedAt is the time of the last turn_claimed.
	ClaimedAt parley.Timestamp
}

// Claim is a current claim. It does not change.
type Claim struct {
	Hash       eventdata.ClaimHash
	Turn       int64
	AgentID    string
	ExecutorID string
	Attempt    int
	// Seq and At are those of turn_claimed.
	Seq int64
	At  parley.Timestamp
	// RenewedSeq and RenewedAt are those of the event from which DurationMs counts.
	RenewedSeq int64
	RenewedAt  parley.Timestamp
	DurationMs int64
	// HeldMs is the least time for which the claim was held. It counts half a duration for each renewal, because a
	// holder renews when half of the duration is over. A hub that watched the claim may know a longer time.
	HeldMs int64
	// Lost is true if a hub that lost the connection of the holder has set the deadline, in a log that hubs share.
	Lost bool
	// GraceMs is 0 if the claim belongs to no connection. Then only its deadline ends it.
	GraceMs int64
	// LastMessages are those before the claim. They are valid again if the messages of the claim are withdrawn.
	LastMessages
	// UpTo is the seq up to which the holder has received the conversation.
	UpTo int64
	// Internal is true if its executor is a part of a hub.
	Internal bool
}

// EndedClaim is the claim that ended last.
type EndedClaim struct {
	Hash    eventdata.ClaimHash
	Turn    int64
	AgentID string
	Reason  parley.ClaimEnd
	// Lost is Lost of the claim.
	Lost bool
}

// Try describes the ended claims of an agent in the current turn.
type Try struct {
	AgentID string
	// Attempts counts the failed claims.
	Attempts int
	// Since is the seq of the event that ended the last claim or offered the turn again.
	Since    int64
	Reoffers int
	Ended    []ExecutorEnds
	Used     []eventdata.ClaimHash
}

// ExecutorEnds counts the claims that an executor lost or released since the turn was last offered again.
type ExecutorEnds struct {
	ExecutorID string
	Claims     int
}

// Withdrawn is a range of messages and traces of a turn that are no longer valid. To is the seq of the claim_ended
// after them.
type Withdrawn struct {
	Turn, From, To int64
}

// IsWithdrawn reports whether the message or trace at a seq was withdrawn. All messages and traces within a range are
// of its turn.
func (c *Claims) IsWithdrawn(seq int64) bool {
	i, _ := slices.BinarySearchFunc(c.Withdrawn, seq, func(w Withdrawn, seq int64) int { return cmp.Compare(w.To, seq+1) })
	return i < len(c.Withdrawn) && c.Withdrawn[i].From <= seq
}

// Attempts counts the failed claims of an agent in the current turn.
func (c *Claims) Attempts(agent string) int { return c.triesOf(agent).Attempts }

// triesOf returns the Try of an agent, which is empty if it has claimed nothing.
func (c *Claims) triesOf(agent string) Try {
	if i := c.tryIndex(agent); i >= 0 {
		return c.Tries[i]
	}
	return Try{AgentID: agent}
}

func (c *Claims) tryIndex(agent string) int {
	return slices.IndexFunc(c.Tries, func(t Try) bool { return t.AgentID == agent })
}

// setTry replaces the Try of an agent.
func (c *Claims) setTry(t Try) {
	c.Tries = slices.Clone(c.Tries)
	if i := c.tryIndex(t.AgentID); i >= 0 {
		c.Tries[i] = t
	} else {
		c.Tries = append(c.Tries, t)
	}
}

// hasUsedClaim reports whether an ended claim of the current turn has this hash.
func (c *Claims) hasUsedClaim(h eventdata.ClaimHash) bool {
	return slices.ContainsFunc(c.Tries, func(t Try) bool { return slices.Contains(t.Used, h) })
}

// requireClaim returns an error if an event is not about the current claim.
func (c *Claims) requireClaim(sys *parley.System) error {
	h, ok := eventdata.ParseClaimHash(sys.ClaimHash)
	if !ok || c.Claim == nil || c.Claim.Hash != h {
		return fmt.Errorf("%s of a claim that is not current", sys.Kind)
	}
	return nil
}

// renewClaim starts the duration of the claim at e.
func (c *Claims) renewClaim(e *parley.Event, durationMs, heldMs int64, lost bool) {
	claim := *c.Claim
	claim.RenewedSeq, claim.RenewedAt, claim.DurationMs, claim.HeldMs, claim.Lost = e.Seq, e.At, durationMs, heldMs, lost
	c.Claim = &claim
}

// endClaim removes the current claim, if there is one.
func (c *Claims) endClaim(reason parley.ClaimEnd) {
	if o := c.Claim; o != nil {
		c.Ended = &EndedClaim{Hash: o.Hash, Turn: o.Turn, AgentID: o.AgentID, Reason: reason, Lost: o.Lost}
		c.Claim = nil
	}
}

func applyClaimed(s *State, e *parley.Event, sys *parley.System) error {
	h, ok := eventdata.ParseClaimHash(sys.ClaimHash)
	seat := s.Seat(sys.AgentID)
	switch {
	case !ok || sys.DurationMs < 1 || sys.Attempt < 1:
		return errors.New("turn_claimed without hash, duration or attempt")
	case s.Claim != nil:
		return fmt.Errorf("a second claim on turn %d", s.Claim.Turn)
	case sys.Turn != s.CurrentTurn():
		return fmt.Errorf("a claim on turn %d where %d is current", sys.Turn, s.CurrentTurn())
	case seat < 0 || s.Open && s.Owner != sys.AgentID:
		return fmt.Errorf("a claim of %s in the turn of %s", sys.AgentID, s.Owner)
	case s.Claim == nil && s.AwaitsApproval():
		return fmt.Errorf("a claim on turn %d, which waits for an approval", sys.Turn)
	case s.hasUsedClaim(h):
		return errors.New("the id of an ended claim")
	}
	s.Claim = &Claim{
		Hash: h, Turn: sys.Turn, AgentID: sys.AgentID, ExecutorID: sys.ExecutorID, Attempt: sys.Attempt,
		Seq: e.Seq, At: e.At, RenewedSeq: e.Seq, RenewedAt: e.At, DurationMs: sys.DurationMs, GraceMs: sys.GraceMs,
		LastMessages: s.LastMessages, Internal: sys.Internal, UpTo: sys.UpTo,
	}
	s.ClaimedAt = e.At
	s.Activities = slices.Clone(s.Activities)
	s.Activities[seat].ExecutorID = sys.ExecutorID
	return nil
}

func applyRenewed(s *State, e *parley.Event, sys *parley.System) error {
	if err := s.requireClaim(sys); err != nil {
		return err
	}
	if sys.DurationMs < 1 {
		return errors.New("claim_renewed without a duration")
	}
	held := s.Claim.HeldMs
	if full := s.Limits.TurnTimeout(); s.Claim.DurationMs >= full && sys.DurationMs >= full {
		held = min(held+full/2, s.Limits.MaxClaim())
	}
	s.renewClaim(e, sys.DurationMs, held, parley.ClaimEnd(sys.Reason) == parley.ClaimDisconnected)
	return nil
}

func applyClaimEnded(s *State, e *parley.Event, sys *parley.System) error {
	if err := s.requireClaim(sys); err != nil {
		return err
	}
	if sys.ResetFrom != 0 && (!s.Open || sys.ResetFrom != s.WordsFrom) {
		return fmt.Errorf("resetFrom %d in a turn whose messages begin at %d", sys.ResetFrom, s.WordsFrom)
	}
	reason := parley.ClaimEnd(sys.Reason)
	t := s.triesOf(s.Claim.AgentID)
	t.Since = e.Seq
	t.Used = append(slices.Clone(t.Used), s.Claim.Hash)
	if reason.IsAttempt() || reason == parley.ClaimRestarted && s.Session.Deterministic() {
		t.Attempts++
		t.Ended = countEnd(t.Ended, s.Claim.ExecutorID)
	}
	s.setTry(t)
	if sys.ResetFrom != 0 {
		s.Withdrawn = append(slices.Clone(s.Withdrawn), Withdrawn{Turn: s.Turn, From: sys.ResetFrom, To: e.Seq})
		s.WordsFrom, s.LastMessages = 0, s.Claim.LastMessages
	}
	s.endClaim(reason)
	return nil
}

func countEnd(ended []ExecutorEnds, executor string) []ExecutorEnds {
	ended = slices.Clone(ended)
	for i := range ended {
		if ended[i].ExecutorID == executor {
			ended[i].Claims++
			return ended
		}
	}
	return append(ended, ExecutorEnds{ExecutorID: executor, Claims: 1})
}

// CountEnded counts the claims that an executor lost or released.
func CountEnded(ended []ExecutorEnds, executor string) int {
	for _, e := range ended {
		if e.ExecutorID == executor {
			return e.Claims
		}
	}
	return 0
}

func applyReoffered(s *State, e *parley.Event, sys *parley.System) error {
	if s.Claim != nil || sys.Turn != s.CurrentTurn() || !s.HasParticipant(sys.AgentID) {
		return fmt.Errorf("turn %d of %s cannot be offered again", sys.Turn, sys.AgentID)
	}
	t := s.triesOf(sys.AgentID)
	s.setTry(Try{AgentID: t.AgentID, Since: e.Seq, Reoffers: t.Reoffers + 1, Used: t.Used})
	return nil
}
