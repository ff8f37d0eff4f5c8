package fold

import (
	"encoding/json"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
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
	// Own is the hub's own: the event Own, for a log of its own.
	Own
	// AddAttachment adds a file; OfferAttachment finds out whether that would be refused, and does nothing.
	AddAttachment
	OfferAttachment
	// Tick closes an overdue conversation, ends the approvals whose time is over, and does nothing else.
	Tick

	// Take is claimTurn, Renew renewClaim, Release releaseClaim, Cancel cancelTurn.
	Take
	Renew
	Release
	Cancel
	// EndClaim is the hub's own: the claim Named has ended as Reason says. It does nothing when another claim stands, or none.
	EndClaim
	// StartChild and EndChild are the hub's own: the session Child was started out of this conversation, or has ended. Bind gives a session to Runner, Callback
	// tells of ends, and EndSession closes a session with Outcome and the words Detail. Each does nothing where that was done.
	StartChild
	EndChild
	Bind
	Callback
	EndSession
	// RequestApproval is requestApproval, ResolveApproval resolveApproval.
	RequestApproval
	ResolveApproval
	// EndTrigger is the hub's own: the match of the session Child.ID ends as Detail says, with TriggerNotStarted, and with Answer where there is one. It does nothing where that is not pending.
	EndTrigger
	// Timeout is the hub's own: AgentID has not taken its turn since Since. It does nothing when that is no longer so.
	Timeout
	// Begin is forkConversation: the conversation begins as Fork says.
	Begin
)

// Command is what somebody asks of a conversation. Payload is compact JSON that passed [check.Message] or [check.Trace]; for
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
	// Traceparent goes into the events that the command is about, and counts for no retry.
	Traceparent string
	// Refers are the files to which a message refers, as [check.Message] found them in Payload.
	Refers []eventdata.AttachmentHash

	// Parameters and Result are true when Payload has these members.
	Parameters, Result bool

	// Child is the session of StartChild and EndChild, Status how it has ended; Runner is for Bind, and Callbacks for Callback.
	Child     Child
	Status    parley.SessionStatus
	Runner    *parley.RunnerRef
	Callbacks []parley.Callback

	// Before and After are bytes that stand around each encoded event in its array, so that a frame around it needs no copy.
	Before, After []byte

	Create *parley.CreateConversationParams
	Fork   *Fork
	// Session makes Create begin a session; then Payload is the message of its caller, and Digest tells one call from another.
	Session     *parley.SessionRecord
	Digest      string
	Participant *parley.Participant
	Note        *parley.Note
	Token       *parley.TokenRecord
	// Own is the event of the verb Own.
	Own *parley.System
	// TokenID is the token that Revoke ends.
	TokenID string

	// TurnHint goes with a message.
	TurnHint *parley.TurnHint
	// Named is the claim that the caller names; Implied the one that its connection has taken last in this conversation, of the turn ImpliedTurn.
	Named       *eventdata.ClaimHash
	Implied     *eventdata.ClaimHash
	ImpliedTurn int64
	// By is the id that the caller's token speaks as where that is not From; else empty.
	By string
	// Executor is who the caller's connection is.
	Executor Executor
	// New is the hash of the id of a claim that the command may take, GraceMs its grace.
	New     eventdata.ClaimHash
	GraceMs int64
	// Offered is true when New was offered to this executor for Turn.
	Offered bool
	// Others is true when an executor in push mode that has not had this turn is connected.
	Others bool
	// HeldMs is how long the hub has watched the claim Named, or for approvals the one that stands, LeftMs how long it would stand without Renew. ShortenMs, if not 0, is how long it
	// shall stand instead.
	HeldMs, LeftMs, ShortenMs int64
	// Reason is how EndClaim and Release end a claim. RenewedSeq is the event from which the hub has watched its duration; 0 when it has ended otherwise.
	Reason     parley.ClaimEnd
	RenewedSeq int64
	Detail     string
	// AgentID and Since say whose turn Timeout is about, and from when. Asked is true when the turn was offered to somebody since.
	AgentID string
	Since   int64
	Asked   bool

	// Approval is what is asked or answered.
	Approval *Asked

	// Wakes are whom the event of Message or Note would wake, or with EndChild that of Answer, as subscriptions say: the limits are not applied yet. SessionID is set for those that start
	// sessions.
	Wakes []parley.Wake
	// Answer is the note with which a session that a trigger has started answers, for EndChild and EndTrigger; AnswerBy is its author.
	Answer   *parley.Note
	AnswerBy string

	// Attachment is the payload of attachment_added. For OfferAttachment SHA256 and Size may be empty: not known yet.
	Attachment *parley.System
}

// Executor is the connection that a command came on.
type Executor struct {
	// ID is empty when it is not registered.
	ID string
	// Internal is true in the hub's own process.
	Internal bool
	// Owner is who has registered it, and Labels what it was registered with.
	Owner  string
	Labels map[string]string
}

// Encoded is an event and its stored bytes, which lie in Framed between the command's Before and After.
type Encoded struct {
	Event parley.Event
	// Claim is the one under which it was said.
	Claim  *eventdata.ClaimHash
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
	// Claimed is true when the command has taken the claim New, or meets the one that it had taken: then Claim is that.
	Claimed bool
	Claim   *Claim
	// Err is a refusal. It is a *parley.Error.
	Err error
}
