package fold

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
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

	// Turn is the last turn that was opened; 0 before the first.
	Turn  int64
	Open  bool
	Owner string
	// LastSpeaker owned the last turn that a participant closed.
	LastSpeaker string
	// MessageSeq is the seq of the last message of a participant, MessageBy its author, and OtherSeq the seq of the last message of
	// any other participant than MessageBy.
	MessageSeq int64
	MessageBy  string
	OtherSeq   int64

	// Attachments are the files that were added, by hash.
	Attachments []Attachment

	// Turns counts turns that participants closed; Events and Bytes count messages, traces, notes and attachments, with the bytes of
	// their files.
	Turns  int64
	Events int64
	Bytes  int64

	LastAt parley.Timestamp
	// ActiveAt is when the last message, trace, note or attachment, or the creation, happened.
	ActiveAt parley.Timestamp
	Outcome  *parley.Outcome
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
// written.
func (s State) Apply(e *parley.Event, size int) (State, error) {
	switch {
	case e.Seq != s.Seq+1:
		return s, fmt.Errorf("event %d follows %d", e.Seq, s.Seq)
	case s.Closed():
		return s, fmt.Errorf("event %d follows the close", e.Seq)
	case !s.Exists() != (e.Type == parley.TypeSystem && e.Seq == 1):
		return s, fmt.Errorf("event %d: a conversation begins with conversation_created", e.Seq)
	case e.At < s.LastAt:
		return s, fmt.Errorf("event %d: time goes back", e.Seq)
	}
	var err error
	switch e.Type {
	case parley.TypeSystem:
		s, err = s.applySystem(e, size)
	case parley.TypeMessage, parley.TypeTrace:
		s, err = s.applySpeech(e, size)
	default:
		err = fmt.Errorf("event %d: unknown type %q", e.Seq, e.Type)
	}
	s.Seq, s.LastAt = e.Seq, e.At
	return s, err
}

func (s State) applySystem(e *parley.Event, size int) (State, error) {
	sys, err := e.System()
	if err != nil {
		return s, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	if (e.Seq == 1) != (sys.Kind == parley.KindConversationCreated) {
		return s, fmt.Errorf("event %d: a conversation begins with conversation_created", e.Seq)
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
		s.ActiveAt = e.At
		s.SeatSeqs = slices.Repeat([]int64{e.Seq}, len(s.Participants))
		s.SeatPrivates = make([][16]byte, len(s.Participants))
	case parley.KindParticipantAdded:
		if sys.Participant == nil {
			return s, fmt.Errorf("event %d: participant_added without a participant", e.Seq)
		}
		s.Participants = append(s.Participants[:len(s.Participants):len(s.Participants)], *sys.Participant)
		s.SeatSeqs = append(s.SeatSeqs[:len(s.SeatSeqs):len(s.SeatSeqs)], e.Seq)
		s.SeatPrivates = append(s.SeatPrivates[:len(s.SeatPrivates):len(s.SeatPrivates)], [16]byte{})
	case parley.KindParticipantPrivate:
		if seat := s.Seat(sys.ParticipantID); seat >= 0 {
			s.SeatPrivates = slices.Clone(s.SeatPrivates)
			s.SeatPrivates[seat] = privateDigest(sys.Text)
		}
	case parley.KindNote:
		s.ActiveAt = e.At
		s.Events++
		s.Bytes += int64(size)
	case parley.KindAttachmentAdded:
		return s.applyAttachment(e, &sys, size)
	}
	return s, nil
}

func (s State) applySpeech(e *parley.Event, size int) (State, error) {
	switch {
	case s.Open && e.Turn != s.Turn, !s.Open && e.Turn != s.Turn+1:
		return s, fmt.Errorf("event %d: turn %d where %d is current", e.Seq, e.Turn, s.CurrentTurn())
	case s.Open && e.From != s.Owner && e.From != parley.HubID:
		return s, fmt.Errorf("event %d: %s in the turn of %s", e.Seq, e.From, s.Owner)
	case e.Type == parley.TypeTrace && e.Finality != "":
		return s, fmt.Errorf("event %d: a trace with finality", e.Seq)
	}
	if !s.Open {
		s.Open, s.Turn, s.Owner = true, e.Turn, e.From
	}
	if e.From != parley.HubID {
		s = s.countSpeech(e, size)
	}
	if !e.Finality.Final() {
		return s, nil
	}
	if e.From != parley.HubID {
		s.Turns++
		s.LastSpeaker = s.Owner
	}
	s.Open, s.Owner = false, ""
	if e.Finality == parley.FinalityConversation {
		s.Status = parley.StatusClosed
		s.Outcome = &parley.Outcome{Status: parley.OutcomeCompleted}
		if e.Outcome != nil {
			*s.Outcome = *e.Outcome // the event may hold on to its author's
		}
	}
	return s, nil
}

func (s State) countSpeech(e *parley.Event, size int) State {
	s.ActiveAt = e.At
	s.Events++
	s.Bytes += int64(size)
	if e.Type != parley.TypeMessage {
		return s
	}
	if e.From != s.MessageBy {
		s.OtherSeq, s.MessageBy = s.MessageSeq, e.From
	}
	s.MessageSeq = e.Seq
	return s
}

// Due gives when a limit closes the conversation if nothing is said before, and which; zero when none runs.
func (s *State) Due() (parley.Timestamp, string) {
	if s.Closed() || !s.Exists() {
		return 0, ""
	}
	var due parley.Timestamp
	var reason string
	if d := s.Limits.DeadlineMs; d > 0 {
		due, reason = s.CreatedAt+parley.Timestamp(d), parley.ReasonDeadline
	}
	if d := s.Limits.IdleTimeoutMs; d > 0 {
		if at := s.ActiveAt + parley.Timestamp(d); due == 0 || at < due {
			due, reason = at, parley.ReasonIdleTimeout
		}
	}
	return due, reason
}
