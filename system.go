package parley

import "encoding/json"

// The kinds of system events that this version writes. Readers must let an unknown kind pass.
const (
	KindConversationCreated = "conversation_created"
	KindParticipantAdded    = "participant_added"
	KindParticipantPrivate  = "participant_private"
	KindNote                = "note"
	KindAttachmentAdded     = "attachment_added"
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
	ExpiresAt     Timestamp `json:"expiresAt,omitempty"`
	CreatedBy     string    `json:"createdBy"`
	// Parent is the id of the token that this one was made with: it ends with it.
	Parent string `json:"parent,omitempty"`
	// Account is the token that its use is counted under where that is not itself: what was made with a token counts as that one, or making tokens
	// would be a way round every limit. What an admin has made stands for itself.
	Account string `json:"account,omitempty"`
}
