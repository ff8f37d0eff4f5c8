package fold

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// State is what the events up to Seq mean. It is a value: Apply gives a new one, and what its slices and
// pointers refer to is never changed.
type State struct {
	ID           string
	Seq          int64
	Status       parley.Status
	Title        string
	CreatedBy    string
	CreatedAt    parley.Timestamp
	CreateKey    string
	ParamsHash   string
	Participants []parley.Participant
	// SeatSeqs has, for each of Participants, the seq of the event that brought it.
	SeatSeqs []int64
	// SeatPrivates has, for each of Participants, the digest of its private text; zero where there is none.
	SeatPrivates [][16]byte
	Policy       parley.Policy
	StartsWith   string
	Limits       parley.Limits
	Metadata     json.RawMessage
	// Workspace is the one that the conversation belongs to; empty, none.
	Workspace string

	// Turn is the last turn that was opened; 0 before the first.
	Turn  int64
	Open  bool
	Owner string
	// LastSpeaker owned the last turn that a participant closed; LastHad the last turn of a participant that has ended in whatever way.
	LastSpeaker string
	LastOwner   string
	// LastPerson is LastHad of people and peers alone.
	LastPerson string
	// Choice is what the policy found when that turn ended.
	Choice *policyChoice
	// Passed are those whose turns have ended without a final message since the last message of a participant.
	Passed []string
	// Autonomous counts the turns that have ended since the last one of a human.
	Autonomous int64
	// Spoke has, for each of Participants, what it has done.
	Activities []Activity

	// Claim is the one that stands, nil when none does; Ended the one that has ended last.
	Claim *Claim
	Ended *EndedClaim
	// Tries are what has become of the current turn's claims.
	Tries []Try
	// FloorSeq is the seq of the event that gave the floor; in a turn without claims, of the last that was said in it.
	FloorSeq int64
	// FloorSince is when that was written.
	FloorSince parley.Timestamp
	// WordsFrom is the seq of the open turn's first message or trace that was not withdrawn; 0 when there is none.
	WordsFrom int64
	Withdrawn []Withdrawn
	// Traceparent is that of the message, or of the beginning of the log, that gave the floor, and FloorAt when the last turn has ended. Worked is the last turn that was claimed and has
	// ended, nil before the first.
	Traceparent string
	FloorAt     parley.Timestamp
	EndedTurn   *EndedTurn

	// MessageSeq is the seq of the last message of a participant, MessageBy its author, and OtherSeq the seq of the last message of
	// any other participant than MessageBy.
	MessageSeq int64
	MessageBy  string
	OtherSeq   int64

	// Session is set when the conversation is one; Progress is the last that its agent has told of it.
	Session *parley.SessionRecord
	// ClaimedAt is when the last claim was taken.
	ClaimedAt parley.Timestamp
	Progress  *parley.SessionProgress
	// Children are the sessions that were started out of it and run; Callbacks those that have ended and of which it was not told yet. CallbackFor has the
	// floor because it was told of one, and CallbackHops are the hops of what it was told.
	Children     []Child
	Callbacks    []EndedChild
	CallbackFor  string
	CallbackHops int

	// Approvals are those of the current turn, and the last that were resolved, in the order in which they were asked for.
	Approvals []Approval

	// Fork is set when the conversation is a fork. Lender is the conversation whose approvals are in events that are shared with it, before the one that says so.
	Fork   *parley.ForkRecord
	Lender string

	// Woken are the matches that wait or are worked at, in the order of their events. Recent counts for limits.maxWakesPerMinute. Waker is the last event that may
	// wake.
	Matches   []Match
	Recent    []RecentWakes
	WakeEvent WakeEvent

	// Attachments are the files that were added, by hash.
	Attachments []Attachment

	// Turns counts turns that participants closed; Events and Bytes count messages, traces, notes, attachments, with the bytes of
	// their files, approvals, with what was answered, and matches.
	Turns  int64
	Events int64
	Bytes  int64

	LastAt parley.Timestamp
	// ActiveAt is when the last message, trace, note or attachment, or the creation, happened, or an approval was asked for or resolved.
	ActiveAt parley.Timestamp
	Outcome  *parley.Outcome
}

// Spoke is what a participant has done in a conversation.
type Activity struct {
	// Turns counts the turns that it has ended with a message, and FinalSeq is the seq of the last of these messages.
	Turns    int64
	FinalSeq int64
	// ExecutorID had its last claim.
	ExecutorID string
}

// Exists reports whether the conversation has been created.
func (s *State) Exists() bool { return s.Seq > 0 }

// Closed reports whether the conversation is closed.
func (s *State) Closed() bool { return s.Status == parley.StatusClosed }

// CurrentTurn is the open turn, else the next one; after close, the last one.
func (s *State) CurrentTurn() int64 {
	if s.Open || s.Closed() {
		return s.Turn
	}
	return s.Turn + 1
}

// Seat gives the index of a participant in Participants, or -1.
func (s *State) Seat(id string) int {
	return slices.IndexFunc(s.Participants, func(p parley.Participant) bool { return p.ID == id })
}

// HasParticipant reports whether id takes part.
func (s *State) HasParticipant(id string) bool { return s.Seat(id) >= 0 }

// spokenByOtherSince reports whether another participant than from has added a message after seq.
func (s *State) spokenByOtherSince(from string, seq int64) bool {
	if s.MessageBy == from {
		return s.OtherSeq > seq
	}
	return s.MessageSeq > seq
}

// Apply gives the state after e, whose encoding has size bytes. An error means that the log is not one that a hub has
// written; the state is of no use then.
func (s State) Apply(e *parley.Event, size int) (State, error) {
	err := s.apply(e, size)
	return s, err
}

// apply moves s on. After an error s is of no use.
func (s *State) apply(e *parley.Event, size int) (err error) {
	switch {
	case e.Seq != s.Seq+1:
		return fmt.Errorf("event %d follows %d", e.Seq, s.Seq)
	case s.Closed():
		return fmt.Errorf("event %d follows the close", e.Seq)
	case !s.Exists() != (e.Type == parley.TypeSystem && e.Seq == 1):
		return fmt.Errorf("event %d: a conversation begins with conversation_created", e.Seq)
	case e.At < s.LastAt:
		return fmt.Errorf("event %d: time goes back", e.Seq)
	case e.Hops < 0 || e.Cause != nil && (e.Cause.Seq < 1 || e.Cause.ConversationID == "" && e.Cause.Seq >= e.Seq):
		return fmt.Errorf("event %d: a cause that does not come before it", e.Seq)
	}
	switch e.Type {
	case parley.TypeSystem:
		err = s.applySystem(e, size)
	case parley.TypeMessage, parley.TypeTrace:
		err = s.applySpeech(e, size)
	default:
		err = fmt.Errorf("event %d: unknown type %q", e.Seq, e.Type)
	}
	if s.Seq, s.LastAt = e.Seq, e.At; s.FloorSeq == e.Seq {
		s.FloorSince = e.At
	}
	return err
}

func (s *State) applySystem(e *parley.Event, size int) error {
	sys, err := e.System()
	if err != nil {
		return fmt.Errorf("event %d: %w", e.Seq, err)
	}
	if (e.Seq == 1) != (sys.Kind == parley.KindConversationCreated) {
		return fmt.Errorf("event %d: a conversation begins with conversation_created", e.Seq)
	}
	if s.lacksDetails() && sys.Kind != parley.KindApprovalDetails && sys.Kind != parley.KindConversationForked {
		return fmt.Errorf("event %d: approval_requested without its approval_details", e.Seq)
	}
	switch sys.Kind {
	case parley.KindConversationCreated:
		s.Status, s.Title, s.CreatedBy, s.CreatedAt = parley.StatusActive, sys.Title, sys.CreatedBy, e.At
		s.CreateKey, s.ParamsHash = e.ClientRequestID, sys.ParamsHash
		s.Participants, s.StartsWith, s.Metadata = sys.Participants, sys.StartsWith, sys.Metadata
		if sys.Policy != nil {
			s.Policy = *sys.Policy
		}
		if sys.Limits != nil {
			s.Limits = *sys.Limits
		}
		s.ActiveAt, s.FloorSeq, s.Session, s.Workspace = e.At, e.Seq, sys.Session, sys.Workspace
		s.Activities = make([]Activity, len(s.Participants))
		s.SeatSeqs = slices.Repeat([]int64{e.Seq}, len(s.Participants))
		s.SeatPrivates = make([][16]byte, len(s.Participants))
		s.startNextTurn(e)
	case parley.KindParticipantAdded:
		if sys.Participant == nil {
			return fmt.Errorf("event %d: participant_added without a participant", e.Seq)
		}
		s.Participants = append(s.Participants[:len(s.Participants):len(s.Participants)], *sys.Participant)
		s.Activities = append(s.Activities[:len(s.Activities):len(s.Activities)], Activity{})
		s.SeatSeqs = append(s.SeatSeqs[:len(s.SeatSeqs):len(s.SeatSeqs)], e.Seq)
		s.SeatPrivates = append(s.SeatPrivates[:len(s.SeatPrivates):len(s.SeatPrivates)], [16]byte{})
	case parley.KindParticipantPrivate:
		if seat := s.Seat(sys.ParticipantID); seat >= 0 {
			s.SeatPrivates = slices.Clone(s.SeatPrivates)
			s.SeatPrivates[seat] = idempotency.DigestPrivate(sys.Text)
		}
	case parley.KindNote:
		s.ActiveAt = e.At
		s.Events++
		s.Bytes += int64(size)
		s.WakeEvent = WakeEvent{Seq: e.Seq, From: e.From, Hops: e.Hops, Traceparent: e.Traceparent}
	case parley.KindAttachmentAdded:
		return s.applyAttachment(e, &sys, size)
	case parley.KindTurnClaimed:
		return s.applyClaimed(e, &sys)
	case parley.KindClaimRenewed:
		return s.applyRenewed(e, &sys)
	case parley.KindClaimEnded:
		return s.applyClaimEnded(e, &sys)
	case parley.KindTurnEnded:
		return s.applyTurnEnded(e, &sys, size)
	case parley.KindTurnReoffered:
		return s.applyReoffered(e, &sys)
	case parley.KindSessionStarted:
		return s.applyChildStarted(e, &sys, size)
	case parley.KindSessionEnded:
		return s.applyChildEnded(e, &sys)
	case parley.KindSessionBound:
		return s.applyBound(e, &sys)
	case parley.KindApprovalRequested, parley.KindApprovalDetails, parley.KindApprovalResolved, parley.KindApprovalAnswer:
		return s.applyApproval(e, &sys, size)
	case parley.KindTriggerMatched:
		return s.applyMatched(e, &sys, size)
	case parley.KindTriggerEnded:
		return s.applyTriggerEnded(e, &sys)
	case parley.KindConversationForked:
		return s.applyForked(e, &sys)
	}
	return nil
}

func (s *State) applySpeech(e *parley.Event, size int) error {
	switch {
	case s.Open && e.Turn != s.Turn, !s.Open && e.Turn != s.Turn+1:
		return fmt.Errorf("event %d: turn %d where %d is current", e.Seq, e.Turn, s.CurrentTurn())
	case s.Open && e.From != s.Owner && e.From != parley.HubID:
		return fmt.Errorf("event %d: %s in the turn of %s", e.Seq, e.From, s.Owner)
	case s.Claim != nil && e.From != s.Claim.AgentID && e.From != parley.HubID:
		return fmt.Errorf("event %d: %s in a turn that %s has claimed", e.Seq, e.From, s.Claim.AgentID)
	case e.Type == parley.TypeTrace && e.Finality != "":
		return fmt.Errorf("event %d: a trace with finality", e.Seq)
	case s.Claim == nil && e.From != parley.HubID && s.AwaitsApproval():
		return fmt.Errorf("event %d: %s in a turn that waits for an approval", e.Seq, e.From)
	case s.lacksDetails():
		return fmt.Errorf("event %d: approval_requested without its approval_details", e.Seq)
	}
	if !s.Open {
		s.Open, s.Turn, s.Owner = true, e.Turn, e.From
	}
	if s.WordsFrom == 0 {
		s.WordsFrom = e.Seq
	}
	if e.From != parley.HubID {
		s.countSpeech(e, size)
	}
	if !e.Finality.Final() {
		return nil
	}
	if s.applyFinal(e); e.From == parley.HubID && e.Finality == parley.FinalityTurn {
		return s.applyCallback(e)
	}
	if e.Finality == parley.FinalityConversation {
		s.Status = parley.StatusClosed
		s.Outcome = &parley.Outcome{Status: parley.OutcomeCompleted}
		if e.Outcome != nil {
			*s.Outcome = *e.Outcome // the event may hold on to its author's
		}
		s.Matches, s.Recent = nil, nil
	}
	return nil
}

// applyFinal ends the turn, and the claim with it.
func (s *State) applyFinal(e *parley.Event) {
	s.cancelApprovals(e)
	if e.From == parley.HubID {
		s.recordEndedTurn(e, hubOutcome(e))
		s.startNextTurn(e)
		s.endClaim(parley.ClaimClosed)
		s.Open, s.Owner, s.Tries, s.WordsFrom, s.FloorSeq = false, "", nil, 0, e.Seq
		return
	}
	s.recordEndedTurn(e, TurnFinal)
	s.startNextTurn(e)
	s.dropMatchesOf(e.From)
	s.endClaim(parley.ClaimFinal)
	s.LastSpeaker = e.From
	s.endTurn(e.Seq, e.From)
	if s.kindOf(e.From) == parley.KindHuman {
		s.Autonomous = 0
	} else {
		s.Autonomous++
	}
	if seat := s.Seat(e.From); seat >= 0 {
		s.Activities = slices.Clone(s.Activities)
		s.Activities[seat].Turns++
		s.Activities[seat].FinalSeq = e.Seq
	}
	s.Choice = s.chooseAfterMessage(e)
	s.WakeEvent = WakeEvent{Seq: e.Seq, From: e.From, Hops: e.Hops, Message: true, Traceparent: e.Traceparent}
}

func (s *State) countSpeech(e *parley.Event, size int) {
	s.ActiveAt = e.At
	s.Events++
	s.Bytes += int64(size)
	if s.Claim == nil {
		s.FloorSeq = e.Seq
	}
	if e.Type != parley.TypeMessage {
		s.applyProgress(e)
		return
	}
	s.Passed = nil
	if e.From != s.MessageBy {
		s.OtherSeq, s.MessageBy = s.MessageSeq, e.From
	}
	s.MessageSeq = e.Seq
}

// due gives when a limit closes the conversation if nothing is said before, and which; zero when none runs. Nothing counts as silence while an approval is pending.
func (s *State) due() (parley.Timestamp, string) {
	if s.Closed() || !s.Exists() {
		return 0, ""
	}
	var due parley.Timestamp
	var reason string
	if d := s.Limits.DeadlineMs; d > 0 {
		due, reason = s.CreatedAt+parley.Timestamp(d), parley.ReasonDeadline
	}
	if d := s.Limits.IdleTimeoutMs; d > 0 && !s.AwaitsApproval() {
		if at := s.ActiveAt + parley.Timestamp(d); due == 0 || at < due {
			due, reason = at, parley.ReasonIdleTimeout
		}
	}
	return due, reason
}
