package fold

import "github.com/parleyhub/parley"

// TurnOrder is whose turn it is and whose turn it was.
type TurnOrder struct {
	// Turn is the last turn that was opened, or 0.
	Turn  int64
	Open  bool
	Owner string
	// LastSpeaker owned the last turn that ended with a message of its owner. LastOwner owned the last turn of a
	// participant, however it ended. LastPerson is the last such owner who is a person or peer.
	LastSpeaker string
	LastOwner   string
	LastPerson  string
	// Choice is the choice of the policy at the end of the last turn.
	Choice *policyChoice
	// Autonomous counts the turns that ended since the last turn of a human.
	Autonomous int64
	// FloorSeq is the seq of the event that decided who has the floor. In a turn without claims it is the seq of the
	// last message or trace of the turn. FloorSince is the time of that event.
	FloorSeq   int64
	FloorSince parley.Timestamp
	// WordsFrom is the seq of the first message or trace of the open turn that was not withdrawn, or 0.
	WordsFrom int64
}

// clearTurn clears the data of the open turn, which the event at seq ends.
func (t *TurnOrder) clearTurn(seq int64) {
	t.Open, t.Owner, t.WordsFrom, t.FloorSeq = false, "", 0, seq
}

// LastMessages are the last messages of participants. If the messages of a claim are withdrawn, the LastMessages from
// before the claim are valid again.
type LastMessages struct {
	// MessageSeq is the seq of the last message of a participant, and MessageBy its author. OtherSeq is the seq of the
	// last message of any other participant.
	MessageSeq int64
	MessageBy  string
	OtherSeq   int64
	// Passed are the participants whose turns ended without a final message since the last message.
	Passed []string
}

func (m *LastMessages) addMessage(from string, seq int64) {
	if m.Passed = nil; from != m.MessageBy {
		m.OtherSeq, m.MessageBy = m.MessageSeq, from
	}
	m.MessageSeq = seq
}

// spokenByOtherSince reports whether a participant except from added a message after seq.
func (m *LastMessages) spokenByOtherSince(from string, seq int64) bool {
	if m.MessageBy == from {
		return m.OtherSeq > seq
	}
	return m.MessageSeq > seq
}
