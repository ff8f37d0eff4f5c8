package parley

import "encoding/json"

// The kinds of system events that this version writes. Readers must let an unknown kind pass.
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
	// KindRunnerRegistered and KindRunnerLeft are written to the hub's own conversation of runners only.
	KindRunnerRegistered = "runner_registered"
	KindRunnerLeft       = "runner_left"
	// KindTokenCreated and KindTokenRevoked are written to the hub's own conversation of tokens only.
	KindTokenCreated = "token_created"
	KindTokenRevoked = "token_revoked"
)

// System is the payload of a system event: Kind says which of the other fields are set.
type System struct {
	Kind string `json:"kind"`

	// conversation_created, always seq 1. ParamsHash tells a retry of createConversation from another call.
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

	// conversation_forked, after the events that a fork shares with the other. It has CreatedBy, ParamsHash and, where it has one of its own, Title.
	Fork *ForkRecord `json:"fork,omitempty"`

	// participant_added has Participant, AddedBy; participant_private has ParticipantID, Text.
	Participant   *Participant `json:"participant,omitempty"`
	AddedBy       string       `json:"addedBy,omitempty"`
	ParticipantID string       `json:"participantId,omitempty"`
	Text          string       `json:"text,omitempty"`

	// note
	Schema string          `json:"schema,omitempty"`
	Tags   []string        `json:"tags,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`

	// attachment_added
	SHA256    string `json:"sha256,omitempty"`
	Size      int64  `json:"size,omitempty"`
	Name      string `json:"name,omitempty"`
	MediaType string `json:"mediaType,omitempty"`

	// turn_claimed, claim_renewed and claim_ended have Turn and ClaimHash, the SHA-256 of the claim's id in lower-case hex. turn_claimed also has
	// AgentID, ExecutorID, Attempt, DurationMs, UpTo, the seq that its speaker was given, GraceMs where a connection holds it, Internal where that is in
	// the hub's process, and Runner, the id as which its claimer is known where that is not AgentID; claim_renewed has DurationMs, from its own time on, and Reason, disconnected, where that is short because one of several hubs has lost the holder. claim_ended has Reason, ResetFrom, the first seq of this turn whose words and traces are withdrawn, up to the event
	// itself, and Detail. turn_ended has Turn, AgentID, Reason, Detail; turn_reoffered has Turn, AgentID.
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

	// session_started has SessionID, AgentID, the participant that has started it, Agent, the name of what was started, and Mode. session_ended has
	// SessionID and Status. Both are in the parent of the session.
	SessionID string        `json:"sessionId,omitempty"`
	Agent     string        `json:"agent,omitempty"`
	Mode      SessionMode   `json:"mode,omitempty"`
	Status    SessionStatus `json:"status,omitempty"`

	// The four of approvals have Approval, and Turn and AgentID of who asks; approval_requested has ClaimHash too, and approval_resolved DurationMs, how long the claim then lasts
	// from its own time on, where one stands.
	Approval *ApprovalRecord `json:"approval,omitempty"`

	// trigger_matched and trigger_ended have Trigger; trigger_ended may have Detail.
	Trigger *TriggerRecord `json:"trigger,omitempty"`

	// runner_registered has RunnerRecord; runner_left has RunnerRef and Reason, left or offline.
	RunnerRecord *RunnerRecord `json:"runnerRecord,omitempty"`
	RunnerRef    *RunnerRef    `json:"runnerRef,omitempty"`

	// token_created has Token; token_revoked has TokenID, RevokedBy.
	Token     *TokenRecord `json:"token,omitempty"`
	TokenID   string       `json:"tokenId,omitempty"`
	RevokedBy string       `json:"revokedBy,omitempty"`
}

// TokenRecord is what the hub keeps of a token: never the secret, only its SHA-256.
type TokenRecord struct {
	TokenID       string    `json:"tokenId"`
	SHA256        string    `json:"sha256"`
	Agents        []string  `json:"agents"`
	Scopes        []Scope   `json:"scopes"`
	Conversations []string  `json:"conversations,omitempty"`
	Workspaces    []string  `json:"workspaces,omitempty"`
	ExpiresAt     Timestamp `json:"expiresAt,omitempty"`
	CreatedBy     string    `json:"createdBy"`
	// Parent is the id of the token that this one was made with: it ends with it.
	Parent string `json:"parent,omitempty"`
	// Account is the token that its use is counted under where that is not itself: what was made with a token counts as that one, or making tokens
	// would be a way round every limit. What an admin has made stands for itself.
	Account string `json:"account,omitempty"`
	// ClaimHash is set for one that ends with a claim of the one conversation in Conversations.
	ClaimHash string `json:"claimHash,omitempty"`
}
