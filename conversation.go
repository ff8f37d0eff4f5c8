package parley

import "encoding/json"

// Status of a conversation. It changes once, from active to closed.
type Status string

// The values of Status.
const (
	StatusActive Status = "active"
	StatusClosed Status = "closed"
)

// ParticipantKind says what sits on a seat.
type ParticipantKind string

// The values of ParticipantKind.
const (
	KindHuman ParticipantKind = "human"
	KindAgent ParticipantKind = "agent"
	KindTool  ParticipantKind = "tool"
	KindPeer  ParticipantKind = "peer"
)

// Valid reports whether k is a known kind.
func (k ParticipantKind) Valid() bool {
	return k == KindHuman || k == KindAgent || k == KindTool || k == KindPeer
}

// Participant is a seat in a conversation.
type Participant struct {
	// ID is what tokens speak as: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit; not "hub".
	ID   string          `json:"id"`
	Kind ParticipantKind `json:"kind"`
	// Role is free text, at most 64 bytes, kept and returned.
	Role string `json:"role,omitempty"`
	// Private is a text for this participant alone, at most 16 KiB. It is written as an event of its own that nobody
	// else reads, and is never returned in a participant list.
	Private string `json:"private,omitempty"`
}

// PolicyKind names a rule for who has the floor.
type PolicyKind string

// The policies of this version.
const (
	// PolicyRoundRobin gives the floor to the next participant in the order they were named. The default.
	PolicyRoundRobin PolicyKind = "round_robin"
	// PolicyOpen gives the floor to anyone; the first append opens the turn.
	PolicyOpen PolicyKind = "open"
)

// Policy says who has the floor when no turn is open.
type Policy struct {
	Kind PolicyKind `json:"kind"`
}

// Limits close a conversation without anybody's doing; zero means none, but for the two that have a default.
type Limits struct {
	// MaxTurns counts turns that participants closed. 1 to 1,000,000.
	MaxTurns int64 `json:"maxTurns,omitempty"`
	// MaxEvents counts messages, traces and notes. 1 to 1,000,000; default 100,000.
	MaxEvents int64 `json:"maxEvents,omitempty"`
	// MaxBytes counts the encoded bytes of the same. 1,024 to 1 GiB; default 256 MiB.
	MaxBytes int64 `json:"maxBytes,omitempty"`
	// IdleTimeoutMs runs from the last message, trace or note, or from creation. 100 ms to 366 days.
	IdleTimeoutMs int64 `json:"idleTimeoutMs,omitempty"`
	// DeadlineMs runs from creation. 100 ms to 366 days.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
}

// OutcomeStatus says how a conversation ended.
type OutcomeStatus string

// The values of OutcomeStatus.
const (
	OutcomeCompleted OutcomeStatus = "completed"
	OutcomeFailed    OutcomeStatus = "failed"
	OutcomeCanceled  OutcomeStatus = "canceled"
)

// Valid reports whether s is a known status.
func (s OutcomeStatus) Valid() bool {
	return s == OutcomeCompleted || s == OutcomeFailed || s == OutcomeCanceled
}

// The reasons that the hub itself gives in an outcome. All come with OutcomeCanceled but ReasonClosed, which
// closeConversation gives with OutcomeCompleted when it is called without an outcome.
const (
	ReasonMaxTurns    = "max_turns"
	ReasonMaxEvents   = "max_events"
	ReasonMaxBytes    = "max_bytes"
	ReasonIdleTimeout = "idle_timeout"
	ReasonDeadline    = "deadline"
	ReasonClosed      = "closed"
)

// Outcome says how and why a conversation ended.
type Outcome struct {
	Status OutcomeStatus `json:"status"`
	// Reason is free text of the closer, at most 1 KiB, or one of the hub's reasons.
	Reason string `json:"reason,omitempty"`
}

// OpenTurn is the turn that is open now.
type OpenTurn struct {
	Turn  int64  `json:"turn"`
	Owner string `json:"owner"`
}

// Snapshot is a conversation as one participant sees it at LatestSeq.
type Snapshot struct {
	ConversationID string          `json:"conversationId"`
	Status         Status          `json:"status"`
	Title          string          `json:"title,omitempty"`
	CreatedBy      string          `json:"createdBy"`
	CreatedAt      Timestamp       `json:"createdAt"`
	Participants   []Participant   `json:"participants"`
	Policy         Policy          `json:"policy"`
	StartsWith     string          `json:"startsWith,omitempty"`
	Limits         Limits          `json:"limits"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`
	LatestSeq      int64           `json:"latestSeq"`
	// Turn is the open turn, else the next one; after close, the last one.
	Turn     int64     `json:"turn"`
	OpenTurn *OpenTurn `json:"openTurn,omitempty"`
	Guidance Guidance  `json:"guidance"`
	// HeadHash is the hash chain at LatestSeq, in lower-case hex.
	HeadHash string   `json:"headHash"`
	Outcome  *Outcome `json:"outcome,omitempty"`
	// Events are the visible events after SinceSeq; NextSeq is the last seq examined, the cursor to go on from.
	Events  []Event `json:"events"`
	NextSeq int64   `json:"nextSeq"`
	// Duplicate is true when createConversation has met the conversation of an earlier call with the same key.
	Duplicate bool `json:"duplicate,omitempty"`
}

// ConversationSummary is a row of listConversations.
type ConversationSummary struct {
	ConversationID string    `json:"conversationId"`
	Status         Status    `json:"status"`
	Title          string    `json:"title,omitempty"`
	CreatedBy      string    `json:"createdBy"`
	CreatedAt      Timestamp `json:"createdAt"`
	UpdatedAt      Timestamp `json:"updatedAt"`
	Participants   []string  `json:"participants"`
	LatestSeq      int64     `json:"latestSeq"`
	Turn           int64     `json:"turn"`
	Outcome        *Outcome  `json:"outcome,omitempty"`
}
