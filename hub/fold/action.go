package fold

import (
	"encoding/json"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Action is what a [Command] asks for: a pointer to one of the types of this file, or to [Fork].
type Action interface {
	// meet reports whether the log has the result of the action already. Then d.out has it.
	meet(d *decision) bool
	// decide decides the action on d.s.
	decide(d *decision)
	// isByHub reports whether the action is one of the hub. On a closed conversation it does nothing.
	isByHub() bool
}

// byCaller is part of the actions of callers.
type byCaller struct{}

func (byCaller) meet(*decision) bool { return false }
func (byCaller) isByHub() bool       { return false }

// byHub is part of the actions of the hub. Each does nothing if it was done before, or if its cause is gone.
type byHub struct{}

func (byHub) meet(*decision) bool { return false }
func (byHub) isByHub() bool       { return true }

// NewClaim is a claim that an action may take: the hash of its id, and its grace. Others is true if an executor in push
// mode that has not tried this turn is connected.
type NewClaim struct {
	New     eventdata.ClaimHash
	GraceMs int64
	Others  bool
}

// NewClaim returns the claim that the action may take. It returns nil for an action that takes none.
func (c *Command) NewClaim() *NewClaim {
	switch a := c.Do.(type) {
	case *Message:
		return &a.NewClaim
	case *Trace:
		return &a.NewClaim
	case *Take:
		return &a.NewClaim
	}
	return nil
}

// Create is createConversation. With Session it begins a session. Then Payload is the message of its caller, and Digest
// identifies the call.
type Create struct {
	byCaller
	Params  *parley.CreateConversationParams
	Session *parley.SessionRecord
	Digest  string
	Payload json.RawMessage
}

// Message is sendMessage. Payload and Speech are those of [check.Message].
type Message struct {
	byCaller
	Turn     int64
	AfterSeq *int64
	Finality parley.Finality
	Outcome  *parley.Outcome
	TurnHint *parley.TurnHint
	Payload  json.RawMessage
	check.Speech
	NewClaim
	// Wakes are the agents that the message would wake by its subscriptions, before limits are applied. SessionID is set
	// for the agents whose sessions it would start.
	Wakes []parley.Wake
}

// Trace is sendTrace. Payload passed [check.Trace].
type Trace struct {
	byCaller
	Turn    int64
	Payload json.RawMessage
	NewClaim
}

// Note is sendNote. Wakes are those of [Message].
type Note struct {
	byCaller
	Note  *parley.Note
	Wakes []parley.Wake
}

// Delta is sendDelta: it is refused when a message of the turn would be, and appends nothing.
type Delta struct {
	byCaller
	Turn int64
}

// AddParticipant is addParticipant.
type AddParticipant struct {
	byCaller
	Participant *parley.Participant
}

// Close is closeConversation.
type Close struct {
	byCaller
	Outcome *parley.Outcome
}

// AddToken creates a token.
type AddToken struct {
	byCaller
	Token *parley.TokenRecord
}

// RevokeToken revokes a token.
type RevokeToken struct {
	byCaller
	TokenID string
}

// AddSystem appends a system event of the hub to a reserved conversation.
type AddSystem struct {
	byCaller
	Event *parley.System
}

// AddAttachment adds a file. Attachment is the payload of attachment_added.
type AddAttachment struct {
	byCaller
	Attachment *parley.System
}

// OfferAttachment is refused when AddAttachment would be, and appends nothing. SHA256 and Size of Attachment are empty
// if they are unknown.
type OfferAttachment struct {
	byCaller
	Attachment *parley.System
}

// Take is claimTurn. Offered is true if the claim New was offered to this executor for Turn.
type Take struct {
	byCaller
	Turn int64
	NewClaim
	Offered bool
}

// Renew is renewClaim. LeftMs is the remaining time of the claim without a renewal. The hub renews too, with
// RenewedSeq. If ShortenMs is positive, it is the new remaining time.
type Renew struct {
	byCaller
	LeftMs, ShortenMs, RenewedSeq int64
}

// Release is releaseClaim.
type Release struct {
	byCaller
	Reason parley.ClaimEnd
	Detail string
}

// Cancel is cancelTurn.
type Cancel struct {
	byCaller
	Turn   int64
	Detail string
}

// RequestApproval is requestApproval. Of the record it uses Key, Title, Details, AnswerSchema, TokenID and Account. The
// JSON is compact.
type RequestApproval struct {
	byCaller
	parley.ApprovalRecord
	ExpiresInMs int64
}

// ResolveApproval is resolveApproval for the approval at Seq. Of the record it uses Status, By, Comment and Answer. The
// JSON is compact.
type ResolveApproval struct {
	byCaller
	parley.ApprovalRecord
	Seq int64
}

// Tick closes an overdue conversation, ends the approvals whose time is over, and does nothing else.
type Tick struct{ byHub }

// EndClaim ends the claim that the command names. RenewedSeq is the event from which the hub has watched the duration
// of the claim. It is 0 if the claim ends for another reason than its time.
type EndClaim struct {
	byHub
	Reason     parley.ClaimEnd
	RenewedSeq int64
}

// Timeout reports that AgentID has not taken its turn since Since. Asked is true if an executor was offered the turn
// since then.
type Timeout struct {
	byHub
	AgentID string
	Since   int64
	Asked   bool
}

// StartChild reports that the session Child was started from this conversation.
type StartChild struct {
	byCaller
	Child Child
}

// EndChild reports that a session that was started from this conversation ended. If a match started the session, Answer
// answers the match.
type EndChild struct {
	byHub
	SessionID string
	Status    parley.SessionStatus
	Answer
}

// EndTrigger ends the match of a session that cannot be started. Detail is the reason.
type EndTrigger struct {
	byHub
	SessionID string
	Detail    string
	Answer
}

// Answer is the note with which a session that a match started answers. A nil Note is no answer. Wakes are those of
// [Message] for the note.
type Answer struct {
	Note  *parley.Note
	By    string
	Wakes []parley.Wake
}

// Bind binds a session to a runner.
type Bind struct {
	byHub
	Runner *parley.RunnerRef
}

// Callback notifies a participant of the ends of its sessions.
type Callback struct {
	byHub
	Callbacks []parley.Callback
}

// EndSession closes a session with an outcome and a text.
type EndSession struct {
	byHub
	Outcome parley.Outcome
	Detail  string
}
