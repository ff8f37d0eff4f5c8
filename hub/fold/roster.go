package fold

import (
	"cmp"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// Roster is the participants of a conversation. Its slices are parallel.
type Roster struct {
	Participants []parley.Participant
	// SeatSeqs are the seqs of the events that added the participants.
	SeatSeqs []int64
	// SeatPrivates are the digests of the private texts, zero for a participant without one.
	SeatPrivates [][16]byte
	Activities   []Activity
}

// Activity is what a participant did in a conversation.
type Activity struct {
	// Turns counts the turns that it ended with a message, and FinalSeq is the seq of the last such message.
	Turns    int64
	FinalSeq int64
	// ExecutorID is the executor of its last claim.
	ExecutorID string
}

func newRoster(participants []parley.Participant, seq int64) Roster {
	n := len(participants)
	return Roster{
		Participants: participants, SeatSeqs: slices.Repeat([]int64{seq}, n), SeatPrivates: make([][16]byte, n),
		Activities: make([]Activity, n),
	}
}

// Seat returns the index of a participant in Participants, or -1.
func (r *Roster) Seat(id string) int {
	return slices.IndexFunc(r.Participants, func(p parley.Participant) bool { return p.ID == id })
}

// HasParticipant reports whether id is a participant.
func (r *Roster) HasParticipant(id string) bool { return r.Seat(id) >= 0 }

// kindOf returns the kind of a participant, or an empty string.
func (r *Roster) kindOf(id string) parley.ParticipantKind {
	if i := r.Seat(id); i >= 0 {
		return r.Participants[i].Kind
	}
	return ""
}

func (r *Roster) hasKind(k parley.ParticipantKind) bool {
	return slices.ContainsFunc(r.Participants, func(p parley.Participant) bool { return p.Kind == k })
}

func (r *Roster) addSeat(p parley.Participant, seq int64) {
	r.Participants = append(slices.Clip(r.Participants), p)
	r.SeatSeqs = append(slices.Clip(r.SeatSeqs), seq)
	r.SeatPrivates = append(slices.Clip(r.SeatPrivates), [16]byte{})
	r.Activities = append(slices.Clip(r.Activities), Activity{})
}

func (r *Roster) setPrivate(id, text string) {
	if seat := r.Seat(id); seat >= 0 {
		r.SeatPrivates = slices.Clone(r.SeatPrivates)
		r.SeatPrivates[seat] = idempotency.DigestPrivate(text)
	}
}

// recordFinal counts the final message of a participant.
func (r *Roster) recordFinal(id string, seq int64) {
	if seat := r.Seat(id); seat >= 0 {
		r.Activities = slices.Clone(r.Activities)
		r.Activities[seat].Turns++
		r.Activities[seat].FinalSeq = seq
	}
}

// AgentName is the name of the agent that has a seat.
func AgentName(p parley.Participant) string { return cmp.Or(p.Agent, p.ID) }
