package parley

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"

	"github.com/parleyhub/parley/internal/limits"
)

// Status is the state of a conversation. It changes once, from active to closed.
type Status string

// The values of Status.
const (
	StatusActive Status = "active"
	StatusClosed Status = "closed"
)

// ParticipantKind is the kind of a participant.
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

// Claims reports whether a participant of this kind takes its turns under claims. Agents and tools
// do. Humans and peers do not.
func (k ParticipantKind) Claims() bool { return k == KindAgent || k == KindTool }

// ExecutorPlace is where the agent of a seat may run.
type ExecutorPlace string

// The values of ExecutorPlace.
const (
	ExecutorAny      ExecutorPlace = "any" // the default
	ExecutorInternal ExecutorPlace = "internal"
	ExecutorExternal ExecutorPlace = "external"
)

// Valid reports whether p is a known place or empty.
func (p ExecutorPlace) Valid() bool {
	return p == "" || p == ExecutorAny || p == ExecutorInternal || p == ExecutorExternal
}

// Participant is a seat in a conversation.
type Participant struct {
	// ID is the id that tokens speak as: 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -. The first
	// one is a letter or digit. "hub" is not allowed.
	ID   string          `json:"id"`
	Kind ParticipantKind `json:"kind"`
	// Agent is the name of the agent on the seat, for the kinds agent and tool. It has the form of ID;
	// absent, it is ID.
	Agent string `json:"agent,omitempty"`
	// Executor is where the agent may run: any, internal (in the process of the hub) or external (over
	// a connection). The hub offers turns only there, and refuses claims from elsewhere.
	Executor ExecutorPlace `json:"executor,omitempty"`
	// Role is free text of at most 64 bytes. The hub stores it, and rules can use it.
	Role string `json:"role,omitempty"`
	// Private is a text of at most 16 KiB for this participant only. It is stored in a separate event
	// that no one else can read, and is never part of a list of participants.
	Private string `json:"private,omitempty"`
}

// PolicyKind is the kind of a policy.
type PolicyKind string

// The values of PolicyKind. See protocol.md, section 8.
const (
	// PolicyRoundRobin grants the floor to the participants in the order of their seats. The default.
	PolicyRoundRobin PolicyKind = "round_robin"
	// PolicyOpen lets anyone take the floor. The first append or claim takes the turn.
	PolicyOpen PolicyKind = "open"
	// PolicyAddressed grants the floor to the participant that the last message names, by turnHint or
	// else by a single @mention.
	PolicyAddressed PolicyKind = "addressed"
	// PolicyRules grants the floor by the first of Rules whose condition holds.
	PolicyRules PolicyKind = "rules"
	// PolicyModerator lets one participant choose the next one. After each turn the moderator has the
	// floor again.
	PolicyModerator PolicyKind = "moderator"
	// PolicyTriggers grants the floor to the agents that the last messages triggered, one after the
	// other. Otherwise it grants the floor to humans and peers in the order of their seats. An agent
	// or tool without a trigger does not speak, unless the conversation starts with it.
	PolicyTriggers PolicyKind = "triggers"
)

// Policies has all values of PolicyKind.
var Policies = []PolicyKind{PolicyRoundRobin, PolicyOpen, PolicyAddressed, PolicyRules, PolicyModerator, PolicyTriggers}

// Policy decides which participant has the floor when no turn is open. If a policy finds no
// participant, it falls back to round_robin after the participant of the last turn. Guidance
// reports that as its reason.
type Policy struct {
	Kind PolicyKind `json:"kind"`
	// Rules are for kind rules: 1 to 32 rules with at most 8 KiB of expressions in all. The hub tries
	// them in order after a turn that ended with a message.
	Rules []Rule `json:"rules,omitempty"`
	// Moderator is the id of a participant, for kind moderator.
	Moderator string `json:"moderator,omitempty"`
}

// Rule grants the floor to Next if When holds.
type Rule struct {
	// When is a CEL expression of type bool, at most 2 KiB. protocol.md, section 8, has its variables
	// and the limit of its cost.
	When string `json:"when"`
	// Next is the id of a participant.
	Next string `json:"next"`
}

// TurnHint names the participant that should have the next turn.
type TurnHint struct {
	Next string `json:"next"`
}

// TurnTimeout is what happens to a turn that no executor takes in time, or in which all attempts
// fail.
type TurnTimeout string

// The values of TurnTimeout.
const (
	TurnReoffer TurnTimeout = "reoffer" // offer the turn again, at growing intervals. The default
	TurnSkip    TurnTimeout = "skip"    // end the turn and continue with the next one
	TurnClose   TurnTimeout = "close"   // close the conversation
)

// Valid reports whether t is a known value or empty.
func (t TurnTimeout) Valid() bool {
	return t == "" || t == TurnReoffer || t == TurnSkip || t == TurnClose
}

// Limits are the conditions under which the hub closes a conversation by itself, and the bounds of
// its turns. A zero value means the default, or no limit if there is no default.
type Limits struct {
	// MaxTurns is the maximum number of ended turns of participants, with or without a message. 1 to
	// 1,000,000.
	MaxTurns int64 `json:"maxTurns,omitempty"`
	// MaxEvents is the maximum number of messages, traces, notes, attachments, and turns that ended
	// without a message. 1 to 1,000,000; default 100,000.
	MaxEvents int64 `json:"maxEvents,omitempty"`
	// MaxBytes is the maximum number of encoded bytes of the same events, and of the files. 1,024 to 1
	// GiB; default 256 MiB.
	MaxBytes int64 `json:"maxBytes,omitempty"`
	// IdleTimeoutMs is measured from the last message, trace, note or attachment, or from creation.
	// 100 ms to 366 days.
	IdleTimeoutMs int64 `json:"idleTimeoutMs,omitempty"`
	// DeadlineMs is measured from creation. 100 ms to 366 days.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
	// TurnTimeoutMs is how long a claim lasts without renewal, and how long the turn of an agent may
	// be without a claim. 100 ms to 24 h; default 60 s. An explicit value also applies to humans and
	// peers.
	TurnTimeoutMs int64 `json:"turnTimeoutMs,omitempty"`
	// OnTurnTimeout is what happens to a turn that was not taken in time, or that failed MaxAttempts
	// times. Absent, reoffer.
	OnTurnTimeout TurnTimeout `json:"onTurnTimeout,omitempty"`
	// MaxAttempts is the maximum number of failed claims of one turn. 1 to 100; default 3.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// MaxClaimMs is the maximum duration of one claim with all renewals. TurnTimeoutMs to 24 h;
	// default ten times TurnTimeoutMs.
	MaxClaimMs int64 `json:"maxClaimMs,omitempty"`
	// ClaimWindowMs is how long the hub offers a turn to one executor before it offers it to another
	// one. 50 ms to 60 s; default 2 s.
	ClaimWindowMs int64 `json:"claimWindowMs,omitempty"`
	// MaxAutonomousTurns is the maximum number of turns of others since a human last ended a turn with
	// a message. Then a human has the floor. Without a human, the hub closes the conversation. 1 to
	// 1,000,000.
	MaxAutonomousTurns int64 `json:"maxAutonomousTurns,omitempty"`
	// MaxHops is the maximum length of a chain of events in which each event triggered the author of
	// the next one. 1 to 100; default 8.
	MaxHops int `json:"maxHops,omitempty"`
	// MaxWakesPerMinute is how often per minute the events of one agent may trigger one agent. An
	// agent that triggers itself is counted too. Events of humans and peers that nothing triggered are
	// not counted. 1 to 10,000; default 30.
	MaxWakesPerMinute int `json:"maxWakesPerMinute,omitempty"`
	// StopWhen is a CEL expression like the condition of a rule. If it holds after a turn that ended
	// with a message, the hub closes the conversation as completed.
	StopWhen string `json:"stopWhen,omitempty"`
}

// TurnTimeout returns TurnTimeoutMs, or its default.
func (l *Limits) TurnTimeout() int64 { return cmp.Or(l.TurnTimeoutMs, limits.DefaultTurnTimeoutMs) }

// Attempts returns MaxAttempts, or its default.
func (l *Limits) Attempts() int { return cmp.Or(l.MaxAttempts, limits.DefaultMaxAttempts) }

// MaxClaim returns MaxClaimMs, or its default.
func (l *Limits) MaxClaim() int64 {
	return cmp.Or(l.MaxClaimMs, min(10*l.TurnTimeout(), limits.MaxTurnMs))
}

// ClaimWindow returns ClaimWindowMs, or its default.
func (l *Limits) ClaimWindow() int64 { return cmp.Or(l.ClaimWindowMs, limits.DefaultClaimWindowMs) }

// Hops returns MaxHops, or its default.
func (l *Limits) Hops() int { return cmp.Or(l.MaxHops, DefaultMaxHops) }

// WakesPerMinute returns MaxWakesPerMinute, or its default.
func (l *Limits) WakesPerMinute() int {
	return cmp.Or(l.MaxWakesPerMinute, limits.DefaultMaxWakesPerMinute)
}

// AtTurnTimeout returns OnTurnTimeout, or its default.
func (l *Limits) AtTurnTimeout() TurnTimeout { return cmp.Or(l.OnTurnTimeout, TurnReoffer) }

// OutcomeStatus is how a conversation ended.
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

// The reasons that the hub writes into an outcome. Most of them come with OutcomeCanceled.
// ReasonClosed, which closeConversation uses if the caller names no outcome, and ReasonStopWhen
// come with OutcomeCompleted. ReasonTurnTimeout, ReasonAttempts, ReasonNoRunner and
// ReasonInterrupted come with OutcomeFailed.
const (
	ReasonMaxTurns    = "max_turns"
	ReasonMaxEvents   = "max_events"
	ReasonMaxBytes    = "max_bytes"
	ReasonIdleTimeout = "idle_timeout"
	ReasonDeadline    = "deadline"
	ReasonClosed      = "closed"

	ReasonMaxAutonomousTurns = "max_autonomous_turns"
	ReasonStopWhen           = "stop_when"
	ReasonTurnTimeout        = "turn_timeout"
	ReasonAttempts           = "attempts"

	// no runner took the session in time
	ReasonNoRunner     = "no_runner"
	ReasonInterrupted  = "interrupted"   // the runner of the session was lost
	ReasonStopped      = "stopped"       // stopSession was called
	ReasonParentClosed = "parent_closed" // the parent conversation was closed
)

// Outcome is how and why a conversation ended.
type Outcome struct {
	Status OutcomeStatus `json:"status"`
	// Reason is free text of the closer, at most 1 KiB, or one of the reasons of the hub.
	Reason string `json:"reason,omitempty"`
}

// OpenTurn is the turn that is open now.
type OpenTurn struct {
	Turn  int64  `json:"turn"`
	Owner string `json:"owner"`
	// Claim is the current claim.
	Claim *ClaimState `json:"claim,omitempty"`
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
	Workspace      string          `json:"workspace,omitempty"`
	// Session is set if the conversation is a session.
	Session *SessionRecord `json:"session,omitempty"`
	// Fork is set if the conversation is a fork.
	Fork      *ForkRecord `json:"fork,omitempty"`
	LatestSeq int64       `json:"latestSeq"`
	// Turn is the open turn, or the next one. After the close, it is the last one.
	Turn     int64     `json:"turn"`
	OpenTurn *OpenTurn `json:"openTurn,omitempty"`
	Guidance Guidance  `json:"guidance"`
	// HeadHash is the value of the hash chain at LatestSeq, in lower-case hex.
	HeadHash string   `json:"headHash"`
	Outcome  *Outcome `json:"outcome,omitempty"`
	// Events are the visible events after SinceSeq. NextSeq is the last examined seq: the cursor of
	// the next call.
	Events  []Event `json:"events"`
	NextSeq int64   `json:"nextSeq"`
	// Duplicate is true if an earlier createConversation with the same key created the conversation.
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
	Workspace      string    `json:"workspace,omitempty"`
	Outcome        *Outcome  `json:"outcome,omitempty"`
	// Floor is present in active conversations.
	Floor *Floor `json:"floor,omitempty"`
	// Session is set if the conversation is a session, and Fork if it is a fork.
	Session *SessionSummary `json:"session,omitempty"`
	Fork    *ForkRecord     `json:"fork,omitempty"`
}

// SessionSummary describes a session in listConversations.
type SessionSummary struct {
	Agent  string        `json:"agent"`
	Caller string        `json:"caller"`
	Parent string        `json:"parent,omitempty"`
	Status SessionStatus `json:"status"`
}

var derivedID = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// DerivedConversationID returns the id of a conversation that agentID creates with clientRequestID
// and without a conversation id. With it, a caller that knows the key can find the conversation
// without creating it.
func DerivedConversationID(agentID, clientRequestID string) string {
	return derived("createConversation", agentID, clientRequestID)
}

// derived returns the id of a conversation that an agent creates with a method and a key.
func derived(method, agentID, clientRequestID string) string {
	sum := sha256.Sum256([]byte(method + "\x00" + agentID + "\x00" + clientRequestID))
	return "cnv_" + derivedID.EncodeToString(sum[:15])
}
