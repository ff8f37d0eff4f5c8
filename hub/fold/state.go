package fold

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// State is what the events up to Seq mean. It is a value: Apply returns a new State. The slices and pointers of a State
// refer to data that never changes. Each embedded type has the data of one concern.
type State struct {
	ID         string
	Seq        int64
	Status     parley.Status
	Title      string
	CreatedBy  string
	CreatedAt  parley.Timestamp
	CreateKey  string
	ParamsHash string
	Policy     parley.Policy
	StartsWith string
	Limits     parley.Limits
	Metadata   json.RawMessage
	// Workspace is the workspace of the conversation, or empty.
	Workspace string
	// Fork is set if the conversation is a fork.
	Fork *parley.ForkRecord
	// LastAt is the time of the event Seq.
	LastAt  parley.Timestamp
	Outcome *parley.Outcome

	Roster
	TurnOrder
	LastMessages
	Claims
	ApprovalList
	Sessions
	Triggers
	Usage
	TurnSpans
	Attachments Attachments
}

// Exists reports whether the conversation has been created.
func (s *State) Exists() bool { return s.Seq > 0 }

// Closed reports whether the conversation is closed.
func (s *State) Closed() bool { return s.Status == parley.StatusClosed }

// CurrentTurn is the open turn, or else the next one. After the close it is the last one.
func (s *State) CurrentTurn() int64 {
	if s.Open || s.Closed() {
		return s.Turn
	}
	return s.Turn + 1
}

// AwaitsApproval reports whether the current turn waits for an approval. Then no time limit of its claim runs. If the
// claim ends, no executor can claim the turn until all approvals are resolved.
func (s *State) AwaitsApproval() bool { return s.pendingApproval(s.CurrentTurn()) != nil }

// Apply returns the state after e, whose encoding has size bytes. It returns an error for a log that no hub wrote. The
// state is not usable then.
func (s State) Apply(e *parley.Event, size int) (State, error) {
	err := s.apply(e, size)
	return s, err
}

// apply changes s to the state after e. After an error s is not usable.
func (s *State) apply(e *parley.Event, size int) (err error) {
	switch {
	case e.Seq != s.Seq+1:
		return fmt.Errorf("event %d follows %d", e.Seq, s.Seq)
	case s.Closed():
		return fmt.Errorf("event %d follows the close", e.Seq)
	case !s.Exists() != (e.Type == parley.TypeSystem && e.Seq == 1):
		return fmt.Errorf("event %d: %w", e.Seq, errNoCreation)
	case e.At < s.LastAt:
		return fmt.Errorf("event %d: time goes back", e.Seq)
	case e.Hops < 0 || e.Cause != nil && (e.Cause.Seq < 1 || e.Cause.ConversationID == "" && e.Cause.Seq >= e.Seq):
		return fmt.Errorf("event %d: a cause that does not come before it", e.Seq)
	}
	switch e.Type {
	case parley.TypeSystem:
		err = applySystem(s, e, size)
	case parley.TypeMessage, parley.TypeTrace:
		err = applySpeech(s, e, size)
	default:
		err = fmt.Errorf("unknown type %q", e.Type)
	}
	if s.Seq, s.LastAt = e.Seq, e.At; s.FloorSeq == e.Seq {
		s.FloorSince = e.At
	}
	if err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return nil
}

var (
	errNoCreation = errors.New("a conversation begins with conversation_created")
	errNoDetails  = errors.New("approval_requested without its approval_details")
)

func applySystem(s *State, e *parley.Event, size int) error {
	sys, err := e.System()
	if err != nil {
		return err
	}
	if (e.Seq == 1) != (sys.Kind == parley.KindConversationCreated) {
		return errNoCreation
	}
	if s.lacksDetails(s.Seq) && sys.Kind != parley.KindApprovalDetails && sys.Kind != parley.KindConversationForked {
		return errNoDetails
	}
	switch sys.Kind {
	case parley.KindConversationCreated:
		applyCreated(s, e, &sys)
	case parley.KindParticipantAdded:
		if sys.Participant == nil {
			return errors.New("participant_added without a participant")
		}
		s.addSeat(*sys.Participant, e.Seq)
	case parley.KindParticipantPrivate:
		s.setPrivate(sys.ParticipantID, sys.Text)
	case parley.KindNote:
		s.ActiveAt = e.At
		s.count(size)
		s.WakeEvent = WakeEvent{Seq: e.Seq, From: e.From, Hops: e.Hops, Traceparent: e.Traceparent}
	case parley.KindAttachmentAdded:
		return applyAttachment(s, e, &sys, size)
	case parley.KindTurnClaimed:
		return applyClaimed(s, e, &sys)
	case parley.KindClaimRenewed:
		return applyRenewed(s, e, &sys)
	case parley.KindClaimEnded:
		return applyClaimEnded(s, e, &sys)
	case parley.KindTurnEnded:
		return applyTurnEnded(s, e, &sys, size)
	case parley.KindTurnReoffered:
		return applyReoffered(s, e, &sys)
	case parley.KindSessionStarted:
		return applyChildStarted(s, e, &sys, size)
	case parley.KindSessionEnded:
		return applyChildEnded(s, e, &sys)
	case parley.KindSessionBound:
		return applyBound(s, &sys)
	case parley.KindApprovalRequested, parley.KindApprovalDetails, parley.KindApprovalResolved, parley.KindApprovalAnswer:
		return applyApproval(s, e, &sys, size)
	case parley.KindTriggerMatched:
		return applyMatched(s, e, &sys, size)
	case parley.KindTriggerEnded:
		return applyTriggerEnded(s, e, &sys)
	case parley.KindConversationForked:
		return applyForked(s, e, &sys)
	}
	return nil
}

func applyCreated(s *State, e *parley.Event, sys *parley.System) {
	s.Status, s.Title, s.CreatedBy, s.CreatedAt = parley.StatusActive, sys.Title, sys.CreatedBy, e.At
	s.CreateKey, s.ParamsHash = e.ClientRequestID, sys.ParamsHash
	s.StartsWith, s.Metadata, s.Session, s.Workspace = sys.StartsWith, sys.Metadata, sys.Session, sys.Workspace
	if sys.Policy != nil {
		s.Policy = *sys.Policy
	}
	if sys.Limits != nil {
		s.Limits = *sys.Limits
	}
	s.Roster = newRoster(sys.Participants, e.Seq)
	s.ActiveAt, s.FloorSeq = e.At, e.Seq
	s.startNextTurn(e)
}

// applySpeech applies a message or trace.
func applySpeech(s *State, e *parley.Event, size int) error {
	byHub := e.From == parley.HubID
	switch {
	case s.Open && e.Turn != s.Turn, !s.Open && e.Turn != s.Turn+1:
		return fmt.Errorf("turn %d where %d is current", e.Turn, s.CurrentTurn())
	case s.Open && e.From != s.Owner && !byHub:
		return fmt.Errorf("%s in the turn of %s", e.From, s.Owner)
	case s.Claim != nil && e.From != s.Claim.AgentID && !byHub:
		return fmt.Errorf("%s in a turn that %s has claimed", e.From, s.Claim.AgentID)
	case e.Type == parley.TypeTrace && e.Finality != "":
		return errors.New("a trace with finality")
	case s.Claim == nil && !byHub && s.AwaitsApproval():
		return fmt.Errorf("%s in a turn that waits for an approval", e.From)
	case s.lacksDetails(s.Seq):
		return errNoDetails
	}
	if !s.Open {
		s.Open, s.Turn, s.Owner = true, e.Turn, e.From
	}
	if s.WordsFrom == 0 {
		s.WordsFrom = e.Seq
	}
	if !byHub {
		countSpeech(s, e, size)
	}
	if !e.Finality.Final() {
		return nil
	}
	if applyFinal(s, e); byHub && e.Finality == parley.FinalityTurn {
		return applyCallback(s, e)
	}
	if e.Finality == parley.FinalityConversation {
		s.Status = parley.StatusClosed
		s.Outcome = &parley.Outcome{Status: parley.OutcomeCompleted}
		if e.Outcome != nil {
			*s.Outcome = *e.Outcome // the caller may change the event
		}
		s.Matches, s.Recent = nil, nil
	}
	return nil
}

// applyFinal ends the turn and its claim.
func applyFinal(s *State, e *parley.Event) {
	cancelApprovals(s, e)
	if e.From == parley.HubID {
		recordEndedTurn(s, e, hubOutcome(e))
		s.startNextTurn(e)
		s.endClaim(parley.ClaimClosed)
		s.clearTurn(e.Seq)
		s.Tries = nil
		return
	}
	recordEndedTurn(s, e, TurnFinal)
	s.startNextTurn(e)
	s.dropMatchesOf(e.From, s.Claim)
	s.endClaim(parley.ClaimFinal)
	s.LastSpeaker = e.From
	endTurn(s, e.Seq, e.From)
	if s.kindOf(e.From) == parley.KindHuman {
		s.Autonomous = 0
	} else {
		s.Autonomous++
	}
	s.recordFinal(e.From, e.Seq)
	s.Choice = chooseAfterMessage(s, e)
	s.WakeEvent = WakeEvent{Seq: e.Seq, From: e.From, Hops: e.Hops, Message: true, Traceparent: e.Traceparent}
}

// countSpeech counts a message or trace of a participant.
func countSpeech(s *State, e *parley.Event, size int) {
	s.ActiveAt = e.At
	s.count(size)
	if s.Claim == nil {
		s.FloorSeq = e.Seq
	}
	if e.Type == parley.TypeMessage {
		s.addMessage(e.From, e.Seq)
	} else if s.Session != nil {
		s.recordProgress(e)
	}
}

// applyTurnEnded ends a turn without a final message.
func applyTurnEnded(s *State, e *parley.Event, sys *parley.System, size int) error {
	if sys.Turn != s.CurrentTurn() || !s.HasParticipant(sys.AgentID) {
		return fmt.Errorf("the end of turn %d of %s where %d is current", sys.Turn, sys.AgentID, s.CurrentTurn())
	}
	cancelApprovals(s, e)
	recordEndedTurn(s, e, sys.Reason)
	s.startNextTurn(e)
	s.dropMatchesOf(sys.AgentID, s.Claim)
	s.endClaim(parley.ClaimTurnEnded)
	s.count(size) // else a participant could yield any number of times
	s.Turn = sys.Turn
	endTurn(s, e.Seq, sys.AgentID)
	if s.kindOf(sys.AgentID) != parley.KindHuman {
		s.Autonomous++
	}
	if !slices.Contains(s.Passed, sys.AgentID) {
		s.Passed = append(slices.Clone(s.Passed), sys.AgentID)
	}
	s.Choice = chooseAfterPass(s, sys.AgentID)
	return nil
}

// endTurn counts the end of a turn of a participant and clears the data of the turn.
func endTurn(s *State, seq int64, owner string) {
	s.Turns++
	if s.LastOwner = owner; owner == s.CallbackFor { // a human may have to speak before it
		s.CallbackFor, s.CallbackHops = "", 0
	}
	if k := s.kindOf(owner); k != "" && !k.Claims() {
		s.LastPerson = owner
	}
	s.clearTurn(seq)
	s.Tries = nil
}
