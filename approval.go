package parley

import "encoding/json"

// ApprovalStatus says where an approval stands. All but the first are ends, and never change.
type ApprovalStatus string

// The values of ApprovalStatus.
const (
	ApprovalPending  ApprovalStatus = "pending"
	ApprovalApproved ApprovalStatus = "approved"
	ApprovalRejected ApprovalStatus = "rejected"
	ApprovalTimedOut ApprovalStatus = "timed_out" // nobody has answered by expiresAt: not approved
	ApprovalCanceled ApprovalStatus = "canceled"  // the turn or the conversation has ended before
)

// ApprovalStatuses are all of them.
var ApprovalStatuses = []ApprovalStatus{ApprovalPending, ApprovalApproved, ApprovalRejected, ApprovalTimedOut, ApprovalCanceled}

// Resolved reports whether s is an end.
func (s ApprovalStatus) Resolved() bool { return s != ApprovalPending && s != "" }

// ApprovalDecision is what somebody answers.
type ApprovalDecision string

// The values of ApprovalDecision.
const (
	DecisionApproved ApprovalDecision = "approved"
	DecisionRejected ApprovalDecision = "rejected"
)

// Valid reports whether d is a known decision. There is no default: what is not understood approves nothing.
func (d ApprovalDecision) Valid() bool { return d == DecisionApproved || d == DecisionRejected }

// Approval is a question of an agent that works on its turn: may I do this? While one is pending the deadline of the claim does not run. It is answered once, or times out.
type Approval struct {
	// ApprovalID is the id of the conversation, a dot, and the seq of approval_requested.
	ApprovalID     string `json:"approvalId"`
	ConversationID string `json:"conversationId"`
	// AgentID is the participant that asks, in the turn Turn.
	AgentID string `json:"agentId"`
	Turn    int64  `json:"turn"`
	// Key is the asker's own name for it: in one turn there is one approval of a key, however many attempts ask.
	Key   string `json:"key"`
	Title string `json:"title"`
	// Details are what is to be decided on, for whoever decides. They, AnswerSchema and Answer are given to the asker, to who may answer, to tokens with the scope trace, and to admins.
	Details json.RawMessage `json:"details,omitempty"`
	// AnswerSchema is a JSON Schema of the answer that may come with an approval, as edited arguments; absent: none may.
	AnswerSchema json.RawMessage `json:"answerSchema,omitempty"`
	Status       ApprovalStatus  `json:"status"`
	RequestedAt  Timestamp       `json:"requestedAt"`
	ExpiresAt    Timestamp       `json:"expiresAt"`
	// ResolvedAt, By, Comment and Answer are of one that was answered; By is empty when it timed out.
	ResolvedAt Timestamp       `json:"resolvedAt,omitempty"`
	By         string          `json:"by,omitempty"`
	Comment    string          `json:"comment,omitempty"`
	Answer     json.RawMessage `json:"answer,omitempty"`
	// MayAnswer is true when it is pending and the caller may answer it.
	MayAnswer bool `json:"mayAnswer,omitempty"`
	// Seq is where the log of its conversation stood when this was so: what comes later is after it.
	Seq int64 `json:"seq"`
	// Duplicate is true when the call has met what an earlier call with the same key has done.
	Duplicate bool `json:"duplicate,omitempty"`
	// TimedOut is true when the time to wait was over before it was resolved.
	TimedOut bool `json:"timedOut,omitempty"`
}

// RequestApprovalParams ask for an approval under a claim that is current (claim_lost, claim_required). The same key in the same turn, also of a later attempt, meets
// the first one, answered or not; with another title, details or schema it is refused: idempotency_conflict.
type RequestApprovalParams struct {
	ConversationID string `json:"conversationId"`
	// ClaimID may be left out as in sendMessage.
	ClaimID string `json:"claimId,omitempty"`
	// Key has at most MaxKeyBytes.
	Key string `json:"key"`
	// Title is one line that all participants read: at most MaxTitleBytes.
	Title string `json:"title"`
	// Details are an object of at most MaxApprovalBytes.
	Details json.RawMessage `json:"details,omitempty"`
	// AnswerSchema is at most MaxAgentSchemaBytes.
	AnswerSchema json.RawMessage `json:"answerSchema,omitempty"`
	// ExpiresInMs is MinApprovalMs to MaxApprovalMs; absent, DefaultApprovalMs. It runs by hub time, also while the hub is down.
	ExpiresInMs int64 `json:"expiresInMs,omitempty"`
}

// ResolveApprovalParams answer an approval that is pending (already_resolved). They may be sent by people and peers of its conversation, or of one above it in the tree of sessions, whose token has the
// scope approve, and by admins; never by who asks, by an agent, or with the token that has asked; and, unless the scope is admin,
// not with one that counts under the same account, or that may speak as who asks.
type ResolveApprovalParams struct {
	ApprovalID string           `json:"approvalId"`
	Decision   ApprovalDecision `json:"decision"`
	// Answer goes with DecisionApproved alone and matches the answerSchema.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Comment is at most MaxReasonBytes, and all participants read it.
	Comment         string `json:"comment,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
}

// GetApprovalParams ask how an approval stands. Whoever may neither answer it nor has asked gets not_found.
type GetApprovalParams struct {
	ApprovalID string `json:"approvalId"`
	// TimeoutMs waits until it is resolved; absent or 0 answers at once; more than MaxWaitMs is taken as MaxWaitMs.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
}

// ListApprovalsParams ask for the approvals that the caller may answer or has asked for, the oldest first. Of those that are resolved each conversation keeps the last
// MaxKeptApprovals at hand; the log has all. With a Status other than pending and no ConversationID they come conversation by conversation, of those that are open, and a
// page that is empty may have a NextCursor.
type ListApprovalsParams struct {
	// Status is one of ApprovalStatuses; absent, pending.
	Status ApprovalStatus `json:"status,omitempty"`
	// ConversationID narrows to one conversation.
	ConversationID string `json:"conversationId,omitempty"`
	Limit          int    `json:"limit,omitempty"`
	Cursor         string `json:"cursor,omitempty"`
}

// ListApprovalsResult is a page; NextCursor is empty on the last.
type ListApprovalsResult struct {
	Approvals  []Approval `json:"approvals"`
	NextCursor string     `json:"nextCursor,omitempty"`
}

// ApprovalRecord is what the events of an approval say of it. approval_requested has ApprovalID, Title and ExpiresAt; approval_resolved has ApprovalID, Status, By and Comment, and all
// participants read both. approval_details has ApprovalID, Key, Details, AnswerSchema, Hash, TokenID and Account, approval_answer has ApprovalID and Answer: they come right after, and are
// for the asker, tokens with the scope trace, and admins.
type ApprovalRecord struct {
	ApprovalID   string          `json:"approvalId"`
	Key          string          `json:"key,omitempty"`
	Title        string          `json:"title,omitempty"`
	ExpiresAt    Timestamp       `json:"expiresAt,omitempty"`
	Status       ApprovalStatus  `json:"status,omitempty"`
	By           string          `json:"by,omitempty"`
	Comment      string          `json:"comment,omitempty"`
	Details      json.RawMessage `json:"details,omitempty"`
	AnswerSchema json.RawMessage `json:"answerSchema,omitempty"`
	Answer       json.RawMessage `json:"answer,omitempty"`
	// Hash tells a question from another one with the same key. TokenID is the token with which it was asked, Account the one that its use is counted under; both are empty for an agent in the hub's process.
	Hash    string `json:"hash,omitempty"`
	TokenID string `json:"tokenId,omitempty"`
	Account string `json:"account,omitempty"`
}
