package parley

import "encoding/json"

// ApprovalStatus is the state of an approval. All states except ApprovalPending are final.
type ApprovalStatus string

// The values of ApprovalStatus.
const (
	ApprovalPending  ApprovalStatus = "pending"
	ApprovalApproved ApprovalStatus = "approved"
	ApprovalRejected ApprovalStatus = "rejected"
	ApprovalTimedOut ApprovalStatus = "timed_out" // not answered by expiresAt, and so not approved
	ApprovalCanceled ApprovalStatus = "canceled"  // the turn or the conversation ended first
)

// ApprovalStatuses has all values of ApprovalStatus.
var ApprovalStatuses = []ApprovalStatus{
	ApprovalPending,
	ApprovalApproved,
	ApprovalRejected,
	ApprovalTimedOut,
	ApprovalCanceled,
}

// Resolved reports whether s is final.
func (s ApprovalStatus) Resolved() bool { return s != ApprovalPending && s != "" }

// ApprovalDecision is the answer to an approval.
type ApprovalDecision string

// The values of ApprovalDecision.
const (
	DecisionApproved ApprovalDecision = "approved"
	DecisionRejected ApprovalDecision = "rejected"
)

// Valid reports whether d is a known decision. There is no default: an unknown decision approves
// nothing.
func (d ApprovalDecision) Valid() bool { return d == DecisionApproved || d == DecisionRejected }

// Approval is a question of an agent during its turn: may it do this? While an approval is pending,
// the deadline of the claim does not run. An approval is answered once, or it times out.
type Approval struct {
	// ApprovalID is the id of the conversation, a dot, and the seq of the event approval_requested.
	ApprovalID     string `json:"approvalId"`
	ConversationID string `json:"conversationId"`
	// AgentID is the participant that asks, in the turn Turn.
	AgentID string `json:"agentId"`
	Turn    int64  `json:"turn"`
	// Key is the idempotency key. One turn has one approval for a key, however many attempts ask.
	Key   string `json:"key"`
	Title string `json:"title"`
	// Details is what to decide on. The hub shows Details, AnswerSchema and Answer only to the
	// participant that asks, to participants that may answer, to tokens with the scope trace, and to
	// admins.
	Details json.RawMessage `json:"details,omitempty"`
	// AnswerSchema is a JSON Schema of the answer that may come with an approval, such as edited
	// arguments. If it is absent, an answer is not allowed.
	AnswerSchema json.RawMessage `json:"answerSchema,omitempty"`
	Status       ApprovalStatus  `json:"status"`
	RequestedAt  Timestamp       `json:"requestedAt"`
	ExpiresAt    Timestamp       `json:"expiresAt"`
	// ResolvedAt, By, Comment and Answer describe the resolution. By is empty if the approval timed
	// out.
	ResolvedAt Timestamp       `json:"resolvedAt,omitempty"`
	By         string          `json:"by,omitempty"`
	Comment    string          `json:"comment,omitempty"`
	Answer     json.RawMessage `json:"answer,omitempty"`
	// MayAnswer is true if the approval is pending and the caller may answer it.
	MayAnswer bool `json:"mayAnswer,omitempty"`
	// Seq is the last seq of the conversation that this state includes.
	Seq int64 `json:"seq"`
	// Duplicate is true if an earlier call with the same key had already done the same.
	Duplicate bool `json:"duplicate,omitempty"`
	// TimedOut is true if the call waited for its whole timeout and the approval is still pending.
	TimedOut bool `json:"timedOut,omitempty"`
}

// RequestApprovalParams request an approval under the current claim (claim_required, claim_lost). A
// request with the same key in the same turn returns the first approval, answered or not. This
// includes requests of later attempts. With another title, details or schema the hub refuses it:
// idempotency_conflict.
type RequestApprovalParams struct {
	ConversationID string `json:"conversationId"`
	// ClaimID may be absent under the same conditions as in sendMessage.
	ClaimID string `json:"claimId,omitempty"`
	// Key has 1 to 128 bytes.
	Key string `json:"key"`
	// Title is one line of at most 256 bytes that all participants can read.
	Title string `json:"title"`
	// Details is an object of at most 64 KiB.
	Details json.RawMessage `json:"details,omitempty"`
	// AnswerSchema is a JSON Schema of at most 64 KiB.
	AnswerSchema json.RawMessage `json:"answerSchema,omitempty"`
	// ExpiresInMs is the time to answer in milliseconds: 100 ms to 7 days; absent, 10 minutes. It is
	// measured in hub time, and includes time in which the hub is down.
	ExpiresInMs int64 `json:"expiresInMs,omitempty"`
}

// ResolveApprovalParams resolve a pending approval. A second call is refused with already_resolved.
// Humans and peers of the conversation, or of a conversation above it in the tree of sessions, may
// resolve it with a token that has the scope approve. Admins may always do so. The participant that
// asks, agents, and the token that asked never may. Without the scope admin, the token must not
// belong to the account that asked, and must not be able to speak as the participant that asks.
type ResolveApprovalParams struct {
	ApprovalID string           `json:"approvalId"`
	Decision   ApprovalDecision `json:"decision"`
	// Answer is allowed with the decision approved only. It must match the answerSchema.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Comment has at most 1 KiB. All participants can read it.
	Comment         string `json:"comment,omitempty"`
	ClientRequestID string `json:"clientRequestId,omitempty"`
}

// GetApprovalParams request the state of an approval. The hub answers not_found to a caller that
// neither requested it nor may answer it.
type GetApprovalParams struct {
	ApprovalID string `json:"approvalId"`
	// TimeoutMs is how long the call waits until the approval is resolved. If it is absent or 0, the
	// call does not wait. The hub reduces a value over MaxWaitMs to MaxWaitMs.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
}

// ListApprovalsParams list the approvals that the caller may answer or has requested, oldest first.
// Of the resolved approvals, only the last 100 of each conversation are listed; the log has all of
// them. With a Status other than pending and without ConversationID, the approvals of open
// conversations are listed one conversation after the other, and a page may be empty although it
// has a nextCursor.
type ListApprovalsParams struct {
	// Status is pending, approved, rejected, timed_out or canceled; absent, pending.
	Status ApprovalStatus `json:"status,omitempty"`
	// ConversationID restricts the list to one conversation.
	ConversationID string `json:"conversationId,omitempty"`
	Limit          int    `json:"limit,omitempty"`
	Cursor         string `json:"cursor,omitempty"`
}

// ListApprovalsResult is a page; NextCursor is empty on the last.
type ListApprovalsResult struct {
	Approvals  []Approval `json:"approvals"`
	NextCursor string     `json:"nextCursor,omitempty"`
}

// ApprovalRecord is the data of the events of an approval. approval_requested has ApprovalID, Title
// and ExpiresAt. approval_resolved has ApprovalID, Status, By and Comment. All participants can
// read both.
//
// approval_details has ApprovalID, Key, Details, AnswerSchema, Hash, TokenID and Account, and
// approval_answer has ApprovalID and Answer. Each follows the event that it belongs to. Only the
// participant that asks, tokens with the scope trace, and admins can read them.
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
	// Hash distinguishes the request from another one with the same key. TokenID is the token that was
	// used, and Account is its account. Both are empty for an agent in the process of the hub.
	Hash    string `json:"hash,omitempty"`
	TokenID string `json:"tokenId,omitempty"`
	Account string `json:"account,omitempty"`
}
