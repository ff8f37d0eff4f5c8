package fold

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Claim is the claim that stands. It does not change.
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
	// HeldMs is how long it has stood at least, by its renewals: each comes when half of the time is over. Who has watched it for longer knows more.
	HeldMs int64
	// Lost is true while its deadline is that of a hub that has lost its holder, when several share the log.
	Lost bool
	// GraceMs is 0 when no connection holds it: then only the deadline ends it.
	GraceMs int64
	// Passed, MessageSeq, MessageBy and OtherSeq are the state's when it was taken: they count again when what was said under it is withdrawn.
	Passed               []string
	MessageSeq, OtherSeq int64
	MessageBy            string
	// UpTo is the seq that its speaker was given.
	UpTo int64
	// Internal is true when its executor is a part of a hub.
	Internal bool
}

// EndedClaim is the claim that has ended last.
type EndedClaim struct {
	Hash    eventdata.ClaimHash
	Turn    int64
	AgentID string
	Reason  parley.ClaimEnd
	// Lost is the claim's.
	Lost bool
}

// Try is what has become of the current turn's claims of one agent.
type Try struct {
	AgentID  string
	Attempts int
	// Since is the seq of the event that ended the last claim, or offered the turn anew.
	Since    int64
	Reoffers int
	Ended    []ExecutorEnds
	Used     []eventdata.ClaimHash
}

// EndedBy counts the claims of the turn that an executor has lost or given back since it was offered anew.
type ExecutorEnds struct {
	ExecutorID string
	Claims     int
}

// Withdrawn is a range of a turn's messages and traces that counts no more. To is the seq of the claim_ended behind it.
type Withdrawn struct {
	Turn, From, To int64
}

// IsWithdrawn reports whether the message or trace of a seq has been withdrawn. In such a range there are none but those of the one turn.
func (s *State) IsWithdrawn(seq int64) bool {
	i, _ := slices.BinarySearchFunc(s.Withdrawn, seq, func(w Withdrawn, seq int64) int { return cmp.Compare(w.To, seq+1) })
	return i < len(s.Withdrawn) && s.Withdrawn[i].From <= seq
}

// Attempts counts the failed claims of an agent in the current turn.
func (s *State) Attempts(agent string) int { return s.triesOf(agent).Attempts }

// try gives what an agent has tried in the current turn.
func (s *State) triesOf(agent string) Try {
	if i := s.tryIndex(agent); i >= 0 {
		return s.Tries[i]
	}
	return Try{AgentID: agent}
}

func (s *State) tryIndex(agent string) int {
	return slices.IndexFunc(s.Tries, func(t Try) bool { return t.AgentID == agent })
}

// withTry gives the state with t in the place of what its agent had tried.
func (s *State) setTry(t Try) {
	s.Tries = slices.Clone(s.Tries)
	if i := s.tryIndex(t.AgentID); i >= 0 {
		s.Tries[i] = t
	} else {
		s.Tries = append(s.Tries, t)
	}
}

// used reports whether a claim of the current turn had this id.
func (s *State) hasUsedClaim(h eventdata.ClaimHash) bool {
	return slices.ContainsFunc(s.Tries, func(t Try) bool { return slices.Contains(t.Used, h) })
}

func (s *State) applyClaimed(e *parley.Event, sys *parley.System) error {
	h, ok := eventdata.ParseClaimHash(sys.ClaimHash)
	seat := s.Seat(sys.AgentID)
	switch {
	case !ok || sys.DurationMs < 1 || sys.Attempt < 1:
		return fmt.Errorf("event %d: turn_claimed without hash, duration or attempt", e.Seq)
	case s.Claim != nil:
		return fmt.Errorf("event %d: a second claim on turn %d", e.Seq, s.Claim.Turn)
	case sys.Turn != s.CurrentTurn():
		return fmt.Errorf("event %d: a claim on turn %d where %d is current", e.Seq, sys.Turn, s.CurrentTurn())
	case seat < 0 || s.Open && s.Owner != sys.AgentID:
		return fmt.Errorf("event %d: a claim of %s in the turn of %s", e.Seq, sys.AgentID, s.Owner)
	case s.Claim == nil && s.AwaitsApproval():
		return fmt.Errorf("event %d: a claim on turn %d, which waits for an approval", e.Seq, sys.Turn)
	case s.hasUsedClaim(h):
		return fmt.Errorf("event %d: the id of a claim that has ended", e.Seq)
	}
	s.Claim = &Claim{
		Hash: h, Turn: sys.Turn, AgentID: sys.AgentID, ExecutorID: sys.ExecutorID, Attempt: sys.Attempt, Seq: e.Seq, At: e.At,
		RenewedSeq: e.Seq, RenewedAt: e.At, DurationMs: sys.DurationMs, GraceMs: sys.GraceMs,
		Passed: s.Passed, MessageSeq: s.MessageSeq, MessageBy: s.MessageBy, OtherSeq: s.OtherSeq, Internal: sys.Internal, UpTo: sys.UpTo,
	}
	s.ClaimedAt = e.At
	s.Activities = slices.Clone(s.Activities)
	s.Activities[seat].ExecutorID = sys.ExecutorID
	return nil
}

func (s *State) applyRenewed(e *parley.Event, sys *parley.System) error {
	if err := s.checkClaim(e, sys); err != nil {
		return err
	}
	if sys.DurationMs < 1 {
		return fmt.Errorf("event %d: claim_renewed without a duration", e.Seq)
	}
	c := *s.Claim
	if full := s.Limits.TurnTimeout(); c.DurationMs >= full && sys.DurationMs >= full {
		c.HeldMs = min(c.HeldMs+full/2, s.Limits.MaxClaim())
	}
	c.RenewedSeq, c.RenewedAt, c.DurationMs, c.Lost = e.Seq, e.At, sys.DurationMs, parley.ClaimEnd(sys.Reason) == parley.ClaimDisconnected
	s.Claim = &c
	return nil
}

// checkClaim holds an event about a claim against the one that stands.
func (s *State) checkClaim(e *parley.Event, sys *parley.System) error {
	h, ok := eventdata.ParseClaimHash(sys.ClaimHash)
	if !ok || s.Claim == nil || s.Claim.Hash != h {
		return fmt.Errorf("event %d: %s of a claim that does not stand", e.Seq, sys.Kind)
	}
	return nil
}

func (s *State) applyClaimEnded(e *parley.Event, sys *parley.System) error {
	if err := s.checkClaim(e, sys); err != nil {
		return err
	}
	if sys.ResetFrom != 0 && (!s.Open || sys.ResetFrom != s.WordsFrom) {
		return fmt.Errorf("event %d: resetFrom %d where the turn's words begin at %d", e.Seq, sys.ResetFrom, s.WordsFrom)
	}
	reason := parley.ClaimEnd(sys.Reason)
	t := s.triesOf(s.Claim.AgentID)
	t.Since = e.Seq
	t.Used = append(slices.Clone(t.Used), s.Claim.Hash)
	if reason.IsAttempt() || reason == parley.ClaimRestarted && s.Session.Deterministic() {
		t.Attempts++
		t.Ended = countEnded(t.Ended, s.Claim.ExecutorID)
	}
	s.setTry(t)
	if sys.ResetFrom != 0 {
		s.Withdrawn = append(slices.Clone(s.Withdrawn), Withdrawn{Turn: s.Turn, From: sys.ResetFrom, To: e.Seq})
		s.WordsFrom, s.Passed = 0, s.Claim.Passed
		s.MessageSeq, s.MessageBy, s.OtherSeq = s.Claim.MessageSeq, s.Claim.MessageBy, s.Claim.OtherSeq
	}
	s.endClaim(reason)
	return nil
}

// endClaim takes the claim away, if one stands.
func (s *State) endClaim(reason parley.ClaimEnd) {
	if s.Claim != nil {
		s.Ended = &EndedClaim{Hash: s.Claim.Hash, Turn: s.Claim.Turn, AgentID: s.Claim.AgentID, Reason: reason, Lost: s.Claim.Lost}
		s.Claim = nil
	}
}

func countEnded(ended []ExecutorEnds, executor string) []ExecutorEnds {
	ended = slices.Clone(ended)
	for i := range ended {
		if ended[i].ExecutorID == executor {
			ended[i].Claims++
			return ended
		}
	}
	return append(ended, ExecutorEnds{ExecutorID: executor, Claims: 1})
}

// EndedClaims counts the claims that an executor has lost or given back among ended.
func CountEnded(ended []ExecutorEnds, executor string) int {
	for _, e := range ended {
		if e.ExecutorID == executor {
			return e.Claims
		}
	}
	return 0
}

func (s *State) applyTurnEnded(e *parley.Event, sys *parley.System, size int) error {
	seat := s.Seat(sys.AgentID)
	if sys.Turn != s.CurrentTurn() || seat < 0 {
		return fmt.Errorf("event %d: the end of turn %d of %s where %d is current", e.Seq, sys.Turn, sys.AgentID, s.CurrentTurn())
	}
	s.cancelApprovals(e)
	s.recordEndedTurn(e, sys.Reason)
	s.startNextTurn(e)
	s.dropMatchesOf(sys.AgentID)
	s.endClaim(parley.ClaimTurnEnded)
	s.Events++ // else who yields again and again is bounded by nothing
	s.Bytes += int64(size)
	s.Turn = sys.Turn
	s.endTurn(e.Seq, sys.AgentID)
	if s.kindOf(sys.AgentID) != parley.KindHuman {
		s.Autonomous++
	}
	if !slices.Contains(s.Passed, sys.AgentID) {
		s.Passed = append(slices.Clone(s.Passed), sys.AgentID)
	}
	s.Choice = s.chooseAfterPass(sys.AgentID)
	return nil
}

// endTurn counts the end of a turn of a participant and clears what belonged to it.
func (s *State) endTurn(seq int64, who string) {
	s.Turns++
	if s.LastOwner = who; who == s.CallbackFor { // a human may have to speak before it
		s.CallbackFor, s.CallbackHops = "", 0
	}
	if k := s.kindOf(who); k != "" && !k.Claims() {
		s.LastPerson = who
	}
	s.Open, s.Owner, s.Tries, s.WordsFrom, s.FloorSeq = false, "", nil, 0, seq
}

func (s *State) kindOf(id string) parley.ParticipantKind {
	if i := s.Seat(id); i >= 0 {
		return s.Participants[i].Kind
	}
	return ""
}

func (s *State) applyReoffered(e *parley.Event, sys *parley.System) error {
	if s.Claim != nil || sys.Turn != s.CurrentTurn() || s.Seat(sys.AgentID) < 0 {
		return fmt.Errorf("event %d: turn %d of %s is offered anew where it cannot be", e.Seq, sys.Turn, sys.AgentID)
	}
	t := s.triesOf(sys.AgentID)
	s.setTry(Try{AgentID: t.AgentID, Since: e.Seq, Reoffers: t.Reoffers + 1, Used: t.Used})
	return nil
}
