package fold

import (
	"encoding/json"

	"github.com/parleyhub/parley"
)

// Verb says what a command wants.
type Verb int

// The verbs.
const (
	Create Verb = iota
	Message
	Trace
	Note
	Delta
	AddParticipant
	Close
	Token
	Revoke
	// AddAttachment adds a file; OfferAttachment finds out whether that would be refused, and does nothing.
	AddAttachment
	OfferAttachment
	// Tick closes an overdue conversation and does nothing else.
	Tick
)

// Command is what somebody asks of a conversation. Payload is compact JSON that passed [CheckMessage] or [CheckTrace]; for
// the verbs Create, Note, AddParticipant, Close, Token and AddAttachment the struct beside it counts.
type Command struct {
	Verb Verb
	From string
	// Admin is true for a caller with that scope.
	Admin bool
	// Now is hub time. Events never get an At before the last one's.
	Now parley.Timestamp

	Turn     int64
	AfterSeq *int64
	Finality parley.Finality
	Outcome  *parley.Outcome
	Payload  json.RawMessage
	Key      string
	// Refers are the files to which a message refers, as [CheckMessage] found them in Payload.
	Refers []AttachmentHash

	// Before and After are bytes that stand around each encoded event in its array, so that a frame around it needs no copy.
	Before, After []byte

	Create      *parley.CreateConversationParams
	Participant *parley.Participant
	Note        *parley.Note
	Token       *parley.TokenRecord
	// TokenID is the token that Revoke ends.
	TokenID string
	// Attachment is the payload of attachment_added. For OfferAttachment SHA256 and Size may be empty: not known yet.
	Attachment *parley.System
}

// Encoded is an event and its stored bytes, which lie in Framed between the command's Before and After.
type Encoded struct {
	Event  parley.Event
	Data   []byte
	Framed []byte
}

// Decision is what comes of a command: events to append, a result or a refusal.
type Decision struct {
	// Events follow the state that was decided on, together or not at all.
	Events []Encoded
	// State is the state after Events.
	State State
	// Seq and Turn are the result; Duplicate is set when it is an earlier one.
	Seq, Turn int64
	Duplicate bool
	// Err is a refusal. It is a *parley.Error.
	Err error
	// RestsOn is the seq that must be durable before the caller may be told.
	RestsOn int64
}
