package parley

import "encoding/json"

// The kinds of system events that this version writes. Readers must ignore an unknown kind.
const (
	KindConversationCreated = "conversation_created"
	KindConversationForked  = "conversation_forked"
	KindParticipantAdded    = "participant_added"
	KindParticipantPrivate  = "participant_private"
	KindNote                = "note"
	KindAttachmentAdded     = "attachment_added"
	KindTurnClaimed         = "turn_claimed"
	KindClaimRenewed        = "claim_renewed"
	KindClaimEnded          = "claim_ended"
	KindTurnEnded           = "turn_ended"
	KindTurnReoffered       = "turn_reoffered"
	KindSessionStarted      = "session_started"
	KindSessionEnded        = "session_ended"
	KindSessionBound        = "session_bound"
	KindApprovalRequested   = "approval_requested"
	KindApprovalDetails     = "approval_details"
	KindApprovalResolved    = "approval_resolved"
	KindApprovalAnswer      = "approval_answer"
	KindTriggerMatched      = "trigger_matched"
	KindTriggerEnded        = "trigger_ended"
	// KindRunnerRegistered and KindRunnerLeft occur in the hub's own conversation of runners only.
	KindRunnerRegistered = "runner_registered"
	KindRunnerLeft       = "runner_left"
	// KindTokenCreated and KindTokenRevoked occur in the hub's own conversation of tokens only.
	KindTokenCreated = "token_created"
	KindTokenRevoked = "token_revoked"
)

// System is the payload of a system event. Kind decides which of the other fields are set.
type System struct {
	Kind string `json:"kind"`

	// The fields of conversation_created, which is always seq 1. ParamsHash distinguishes a repeated
	// createConversation from another call.
	Title        string          `json:"title,omitempty"`
	CreatedBy    string          `json:"createdBy,omitempty"`
	Participants []Participant   `json:"participants,omitempty"`
	Policy       *Policy         `json:"policy,omitempty"`
	StartsWith   string          `json:"startsWith,omitempty"`
	Limits       *Limits         `json:"limits,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	ParamsHash   string          `json:"paramsHash,omitempty"`
	Session      *SessionRecord  `json:"session,omitempty"`
	Workspace    string          `json:"workspace,omitempty"`

	// The field of conversation_forked, which follows the events that a fork shares. The event also
	// has CreatedBy, ParamsHash and, if the fork has its own title, Title.
	Fork *ForkRecord `json:"fork,omitempty"`

	// participant_added has Participant and AddedBy. participant_private has ParticipantID and Text.
	Participant   *Participant `json:"participant,omitempty"`
	AddedBy       string       `json:"addedBy,omitempty"`
	ParticipantID string       `json:"participantId,omitempty"`
	Text          string       `json:"text,omitempty"`

	// The fields of note.
	Schema string          `json:"schema,omitempty"`
	Tags   []string        `json:"tags,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`

	// The fields of attachment_added.
	SHA256    string `json:"sha256,omitempty"`
	Size      int64  `json:"size,omitempty"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"mediaType,omitempty"`

	// turn_claimed, claim_renewed and claim_ended have Turn and ClaimHash, the SHA-256 of the id of
	// the claim in lower-case hex.
	//
	// turn_claimed also has AgentID, ExecutorID, Attempt and DurationMs. UpTo is the last seq that the
	// speaker had received. GraceMs is set if a connection holds the claim. Internal is true if that
	// is in the process of the hub. Runner is the id of the claiming participant, if it is not
	// AgentID.
	//
	// claim_renewed also has DurationMs, which starts at the time of the event. Its Reason is
	// disconnected if the duration is short because one of several hubs lost the holder.
	//
	// claim_ended also has Reason and Detail. ResetFrom is the first seq of the withdrawn range: the
	// messages and traces of this turn up to the event itself.
	//
	// turn_ended has Turn, AgentID, Reason and Detail. turn_reoffered has Turn and AgentID.
	Turn       int64  `json:"turn,omitempty"`
	AgentID    string `json:"agentId,omitempty"`
	ExecutorID string `json:"executorId,omitempty"`
	Runner     string `json:"runner,omitempty"`
	Attempt    int    `json:"attempt,omitempty"`
	ClaimHash  string `json:"claimHash,omitempty"`
	DurationMs int64  `json:"durationMs,omitempty"`
	GraceMs    int64  `json:"graceMs,omitempty"`
	UpTo       int64  `json:"upTo,omitempty"`
	Internal   bool   `json:"internal,omitempty"`
	Reason     string `json:"reason,omitempty"`
	ResetFrom  int64  `json:"resetFrom,omitempty"`
	Detail     string `json:"detail,omitempty"`

	// session_started has SessionID, AgentID, Agent and Mode. AgentID is the participant that started
	// the session, and Agent is the name of the started agent. session_ended has SessionID and Status.
	// Both are in the parent of the session.
	SessionID string        `json:"sessionId,omitempty"`
	Agent     string        `json:"agent,omitempty"`
	Mode      SessionMode   `json:"mode,omitempty"`
	Status    SessionStatus `json:"status,omitempty"`

	// The four events of approvals have Approval, and Turn and AgentID of the participant that asks.
	// approval_requested also has ClaimHash. approval_resolved also has DurationMs if there is a
	// claim: its duration from the time of the event.
	Approval *ApprovalRecord `json:"approval,omitempty"`

	// trigger_matched and trigger_ended have Trigger. trigger_ended may have Detail.
	Trigger *TriggerRecord `json:"trigger,omitempty"`

	// runner_registered has RunnerRecord. runner_left has RunnerRef and Reason, left or offline.
	RunnerRecord *RunnerRecord `json:"runnerRecord,omitempty"`
	RunnerRef    *RunnerRef    `json:"runnerRef,omitempty"`

	// token_created has Token. token_revoked has TokenID and RevokedBy.
	Token     *TokenRecord `json:"token,omitempty"`
	TokenID   string       `json:"tokenId,omitempty"`
	RevokedBy string       `json:"revokedBy,omitempty"`
}

// TokenRecord is the stored data of a token. It has the SHA-256 of the secret, never the secret.
type TokenRecord struct {
	TokenID       string    `json:"tokenId"`
	SHA256        string    `json:"sha256"`
	Agents        []string  `json:"agents"`
	Scopes        []Scope   `json:"scopes"`
	Conversations []string  `json:"conversations,omitempty"`
	Workspaces    []string  `json:"workspaces,omitempty"`
	ExpiresAt     Timestamp `json:"expiresAt,omitempty"`
	CreatedBy     string    `json:"createdBy"`
	// Parent is the id of the token that created this one. This token ends with it.
	Parent string `json:"parent,omitempty"`
	// Account is the token whose limits count the use of this token, if that is another one. A token
	// that was created with another token counts as that one, so that new tokens do not avoid a limit.
	// A token of an admin is its own account.
	Account string `json:"account,omitempty"`
	// ClaimHash is set for a token that ends with a claim in the only conversation of Conversations.
	ClaimHash string `json:"claimHash,omitempty"`
}
