package ledger

import (
	"crypto/sha256"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
)

// Said is a message with a key, and the results that its author received.
type Said struct {
	Params parley.SendMessageParams
	// Sent is how often it was sent, and Lost how often no answer came, or one that does not know.
	Sent, Lost int
	// Seq and Turn are what was acknowledged, Seq 0 is nothing; By is the hub that has done it.
	Seq, Turn int64
	By        int
	// LostBy is the last hub that did not answer.
	LostBy int
	// Found is true if the acknowledgement says that the message is a duplicate.
	Found bool
	// Never is set when each answer was a refusal: it must not be in the log.
	Never bool
}

// Op is the call that sends it, as the history has it.
func (m *Said) Op(author string) history.Op {
	return history.Op{
		Conversation: m.Params.ConversationID, Client: author, Kind: history.Append, Key: m.Params.ClientRequestID,
		Closes: m.Params.Finality == parley.FinalityConversation,
	}
}

// EntryOf is an event as the history knows it.
func EntryOf(e *parley.Event) history.Entry {
	return history.Entry{From: e.From, Key: e.ClientRequestID}
}

// Seen has the hash of each event that a reader was shown, by conversation, at index seq-1.
type Seen map[string][][sha256.Size]byte

// Take records the hash of an event, and compares it with an earlier one of the same seq. The event
// must not be after the next one.
func (s Seen) Take(id string, e *parley.Event) error {
	sum := sha256.Sum256(e.Raw())
	seen := s[id]
	switch next := int64(len(seen)) + 1; {
	case e.Seq == next:
		s[id] = append(seen, sum)
	case e.Seq > next:
		return fmt.Errorf("%s: seq %d was shown, and %d not yet", id, e.Seq, next)
	case seen[e.Seq-1] != sum:
		return fmt.Errorf("%s: seq %d was another event before: %.300s", id, e.Seq, e.Raw())
	}
	return nil
}
