package fold

import (
	"encoding/json"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Action is what a [Command] asks for: a pointer to one of the types of this file, or to [Fork].
type Action interface {
	// decide decides the action on d.s.
	decide(d *decision)
}

// isByHub reports whether an action is one of the hub. It does nothing if it was done before, if its cause is gone, or
// if the conversation is closed.
func isByHub(a Action) bool {
	switch a.(type) {
	case *Tick, *EndClaim, *Timeout, *EndChild, *EndTrigger, *Bind, *Callback, *EndSession:
		return true
	}
	return false
}

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

// The actions of callers. Each is named after its method of the protocol, or after the event that it appends.
type (
	// Create with Session begins a session. Then Payload is the message of its caller, and Digest identifies the call.
	Create struct {
		Params  *parley.CreateConversationParams
		Session *parley.SessionRecord
		Digest  string
		Payload json.RawMessage
	}
	// Message has the Payload and the Speech of [check.Message].
	Message struct {
		Turn     int64
		AfterSeq *int64
		Finality parley.Finality
		Outcome  *parley.Outcome
		TurnHint *parley.TurnHint
		Payload  json.RawMessage
		check.Speech
		NewClaim
		// Wakes are the agents that the message would wake by its subscriptions, before limits are applied. SessionID
		// is set for the agents whose sessions it would start.
		Wakes []parley.Wake
	}
	// Trace has a Payload that passed [check.Trace].
	Trace struct {
		Turn    int64
		Payload json.RawMessage
		NewClaim
	}
	// Note has the Wakes of [Message].
	Note struct {
		Note  *parley.Note
		Wakes []parley.Wake
	}
	// Delta is refused when a message of the turn would be, and appends nothing.
	Delta          struct{ Turn int64 }
	AddParticipant struct{ Participant *parley.Participant }
	Close          struct{ Outcome *parley.Outcome }
	AddToken       struct{ Token *parley.TokenRecord }
	RevokeToken    struct{ TokenID string }
	// AddSystem appends a system event of the hub to a reserved conversation.
	AddSystem struct{ Event *parley.System }
	// AddAttachment has the payload of attachment_added.
	AddAttachment struct{ Attachment *parley.System }
	// OfferAttachment is refused when AddAttachment would be, and appends nothing. SHA256 and Size of Attachment are
	// empty if they are unknown.
	OfferAttachment struct{ Attachment *parley.System }
	// Take is claimTurn. Offered is true if the claim New was offered to this executor for Turn.
	Take struct {
		Turn int64
		NewClaim
		Offered bool
	}
	// Renew is renewClaim. LeftMs is the remaining time of the claim without a renewal. The hub renews too, with
	// RenewedSeq. If ShortenMs is positive, it is the new remaining time.
	Renew struct{ LeftMs, ShortenMs, RenewedSeq int64 }
	// Release is releaseClaim.
	Release struct {
		Reason parley.ClaimEnd
		Detail string
	}
	// Cancel is cancelTurn.
	Cancel struct {
		Turn   int64
		Detail string
	}
	// RequestApproval uses Key, Title, Details, AnswerSchema, TokenID and Account of the record. The JSON is compact.
	RequestApproval struct {
		parley.ApprovalRecord
		ExpiresInMs int64
	}
	// ResolveApproval uses Status, By, Comment and Answer of the record for the approval at Seq. The JSON is compact.
	ResolveApproval struct {
		parley.ApprovalRecord
		Seq int64
	}
	// StartChild reports that the session Child was started from this conversation.
	StartChild struct{ Child Child }
)

// The actions of the hub.
type (
	// Tick closes an overdue conversation, ends the approvals whose time is over, and does nothing else.
	Tick struct{}
	// EndClaim ends the claim that the command names. RenewedSeq is the event from which the hub has watched the
	// duration of the claim. It is 0 if the claim ends for another reason than its time.
	EndClaim struct {
		Reason     parley.ClaimEnd
		RenewedSeq int64
	}
	// Timeout reports that AgentID has not taken its turn since Since. Asked is true if an executor was offered the
	// turn since then.
	Timeout struct {
		AgentID string
		Since   int64
		Asked   bool
	}
	// EndChild reports that a session that was started from this conversation ended. If a match started the session,
	// Answer answers the match.
	EndChild struct {
		SessionID string
		Status    parley.SessionStatus
		Answer
	}
	// EndTrigger ends the match of a session that cannot be started. Detail is the reason.
	EndTrigger struct {
		SessionID string
		Detail    string
		Answer
	}
	// Bind binds a session to a runner.
	Bind struct{ Runner *parley.RunnerRef }
	// Callback notifies a participant of the ends of its sessions.
	Callback struct{ Callbacks []parley.Callback }
	// EndSession closes a session with an outcome and a text.
	EndSession struct {
		Outcome parley.Outcome
		Detail  string
	}
)

// Answer is the note with which a session that a match started answers. A nil Note is no answer. Wakes are those of
// [Message] for the note.
type Answer struct {
	Note  *parley.Note
	By    string
	Wakes []parley.Wake
}
