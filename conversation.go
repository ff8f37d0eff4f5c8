package parley

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"

	"github.com/parleyhub/parley/internal/limits"
)

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

// Claims reports whether a participant of this kind works under claims: an agent or a tool. People and peers never do.
func (k ParticipantKind) Claims() bool { return k == KindAgent || k == KindTool }

// ExecutorPlace says where the agent of a seat may run.
type ExecutorPlace string

// The values of ExecutorPlace.
const (
	ExecutorAny      ExecutorPlace = "any" // the default
	ExecutorInternal ExecutorPlace = "internal"
	ExecutorExternal ExecutorPlace = "external"
)

// Valid reports whether p is a known place, or none.
func (p ExecutorPlace) Valid() bool {
	return p == "" || p == ExecutorAny || p == ExecutorInternal || p == ExecutorExternal
}

// Participant is a seat in a conversation.
type Participant struct {
	// ID is what tokens speak as: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit; not "hub".
	ID   string          `json:"id"`
	Kind ParticipantKind `json:"kind"`
	// Agent is the name of the agent that sits here, for kinds agent and tool: an id like ID; absent, ID itself.
	Agent string `json:"agent,omitempty"`
	// Executor says where the agent may run: any, internal (in the hub's process) or external (over a socket). Offers go nowhere else, and nobody
	// else may claim.
	Executor ExecutorPlace `json:"executor,omitempty"`
	// Role is free text, at most 64 bytes, kept and returned. Rules see it.
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
	// PolicyOpen gives the floor to anyone; the first append or claim takes the turn.
	PolicyOpen PolicyKind = "open"
	// PolicyAddressed gives the floor to whom the last message names: by turnHint, else by one @mention.
	PolicyAddressed PolicyKind = "addressed"
	// PolicyRules gives the floor by the first of Rules that holds.
	PolicyRules PolicyKind = "rules"
	// PolicyModerator lets one participant name the next, who gives the floor back to it.
	PolicyModerator PolicyKind = "moderator"
	// PolicyTriggers gives the floor to the agents that the last messages have woken by their subscriptions, one after the other, and else to people and peers in the order they were
	// named. An agent or tool that nothing has woken does not speak, unless the conversation starts with it.
	PolicyTriggers PolicyKind = "triggers"
)

// Policies are all of them.
var Policies = []PolicyKind{PolicyRoundRobin, PolicyOpen, PolicyAddressed, PolicyRules, PolicyModerator, PolicyTriggers}

// Policy says who has the floor when no turn is open. A policy that finds nobody falls back to round_robin, after the one who had the last turn, and
// guidance says why.
type Policy struct {
	Kind PolicyKind `json:"kind"`
	// Rules are for kind rules: 1 to 32, 8 KiB of expressions in all, tried in order when a turn has ended with a message.
	Rules []Rule `json:"rules,omitempty"`
	// Moderator is for kind moderator: the id of a participant.
	Moderator string `json:"moderator,omitempty"`
}

// Rule gives the floor to Next when When holds.
type Rule struct {
	// When is an expression in CEL that gives a bool: at most 2 KiB. See protocol.md, section 8, for its variables and its cost.
	When string `json:"when"`
	// Next is the id of a participant.
	Next string `json:"next"`
}

// TurnHint names who shall be next.
type TurnHint struct {
	Next string `json:"next"`
}

// TurnTimeout says what happens to a turn that nobody takes or brings to an end.
type TurnTimeout string

// The values of TurnTimeout.
const (
	TurnReoffer TurnTimeout = "reoffer" // begin again, at growing intervals. The default
	TurnSkip    TurnTimeout = "skip"    // end the turn and go on
	TurnClose   TurnTimeout = "close"   // close the conversation
)

// Valid reports whether t is a known value, or none.
func (t TurnTimeout) Valid() bool {
	return t == "" || t == TurnReoffer || t == TurnSkip || t == TurnClose
}

// Limits close a conversation without anybody's doing, and bound its turns; zero means none, or the default where there is one.
type Limits struct {
	// MaxTurns counts turns of participants that have ended, whether or not with a message. 1 to 1,000,000.
	MaxTurns int64 `json:"maxTurns,omitempty"`
	// MaxEvents counts messages, traces, notes, attachments, and ends of turns without a message. 1 to 1,000,000; default 100,000.
	MaxEvents int64 `json:"maxEvents,omitempty"`
	// MaxBytes counts the encoded bytes of the same, and those of the files. 1,024 to 1 GiB; default 256 MiB.
	MaxBytes int64 `json:"maxBytes,omitempty"`
	// IdleTimeoutMs runs from the last message, trace, note or attachment, or from creation. 100 ms to 366 days.
	IdleTimeoutMs int64 `json:"idleTimeoutMs,omitempty"`
	// DeadlineMs runs from creation. 100 ms to 366 days.
	DeadlineMs int64 `json:"deadlineMs,omitempty"`
	// TurnTimeoutMs is how long a claim lasts without renewal, and how long the turn of an agent may be without one. 100 ms to 24 h; default 60 s. When it
	// is given it holds for people and peers too.
	TurnTimeoutMs int64 `json:"turnTimeoutMs,omitempty"`
	// OnTurnTimeout says what comes of a turn that was not taken in time, or failed MaxAttempts times. Absent, reoffer.
	OnTurnTimeout TurnTimeout `json:"onTurnTimeout,omitempty"`
	// MaxAttempts bounds the claims of one turn that end as failures. 1 to 100; default 3.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// MaxClaimMs bounds one claim over all renewals. At least TurnTimeoutMs, at most 24 h; default ten times TurnTimeoutMs.
	MaxClaimMs int64 `json:"maxClaimMs,omitempty"`
	// ClaimWindowMs is how long one executor is asked alone. 50 ms to 60 s; default 2 s.
	ClaimWindowMs int64 `json:"claimWindowMs,omitempty"`
	// MaxAutonomousTurns bounds the turns of others since a human last ended one with a message: then a human has the floor, and where there is none the
	// conversation is closed. 1 to 1,000,000.
	MaxAutonomousTurns int64 `json:"maxAutonomousTurns,omitempty"`
	// MaxHops bounds how many wakes may follow one from another: 1 to MaxHopsLimit; default DefaultMaxHops.
	MaxHops int `json:"maxHops,omitempty"`
	// MaxWakesPerMinute bounds how often within a minute one agent's events wake one agent, itself too: 1 to MaxWakesLimit; default DefaultMaxWakesPerMinute. Those of people and
	// peers that nothing has woken do not count.
	MaxWakesPerMinute int `json:"maxWakesPerMinute,omitempty"`
	// StopWhen is an expression in CEL, like that of a rule: when it holds after a turn has ended with a message, the conversation is closed as completed.
	StopWhen string `json:"stopWhen,omitempty"`
}

// The limits of turns with their defaults.

// TurnTimeout gives TurnTimeoutMs or its default.
func (l *Limits) TurnTimeout() int64 { return cmp.Or(l.TurnTimeoutMs, limits.DefaultTurnTimeoutMs) }

// Attempts gives MaxAttempts or its default.
func (l *Limits) Attempts() int { return cmp.Or(l.MaxAttempts, limits.DefaultMaxAttempts) }

// MaxClaim gives MaxClaimMs or its default.
func (l *Limits) MaxClaim() int64 {
	return cmp.Or(l.MaxClaimMs, min(10*l.TurnTimeout(), limits.MaxTurnMs))
}

// ClaimWindow gives ClaimWindowMs or its default.
func (l *Limits) ClaimWindow() int64 { return cmp.Or(l.ClaimWindowMs, limits.DefaultClaimWindowMs) }

// Hops gives MaxHops or its default.
func (l *Limits) Hops() int { return cmp.Or(l.MaxHops, DefaultMaxHops) }

// WakesPerMinute gives MaxWakesPerMinute or its default.
func (l *Limits) WakesPerMinute() int {
	return cmp.Or(l.MaxWakesPerMinute, limits.DefaultMaxWakesPerMinute)
}

// AtTurnTimeout gives OnTurnTimeout or its default.
func (l *Limits) AtTurnTimeout() TurnTimeout { return cmp.Or(l.OnTurnTimeout, TurnReoffer) }

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

// The reasons that the hub itself gives in an outcome. They come with OutcomeCanceled, but for ReasonClosed, which closeConversation gives when it is called
// without an outcome, and ReasonStopWhen, both with OutcomeCompleted; and ReasonTurnTimeout and ReasonAttempts with OutcomeFailed.
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

	// Those of sessions: ReasonNoRunner and ReasonInterrupted with OutcomeFailed.
	ReasonNoRunner     = "no_runner"     // nobody has taken it in time
	ReasonInterrupted  = "interrupted"   // who ran it was lost
	ReasonStopped      = "stopped"       // by stopSession
	ReasonParentClosed = "parent_closed" // the conversation out of which it was started
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
	// Claim is the one that stands.
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
	// Session is set when the conversation is one.
	Session *SessionRecord `json:"session,omitempty"`
	// Fork is set when it is a fork.
	Fork      *ForkRecord `json:"fork,omitempty"`
	LatestSeq int64       `json:"latestSeq"`
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
	Workspace      string    `json:"workspace,omitempty"`
	Outcome        *Outcome  `json:"outcome,omitempty"`
	// Floor is that of an active conversation.
	Floor *Floor `json:"floor,omitempty"`
	// Session is set when the conversation is one, and Fork when it is a fork.
	Session *SessionSummary `json:"session,omitempty"`
	Fork    *ForkRecord     `json:"fork,omitempty"`
}

// SessionSummary is what listConversations says of a session.
type SessionSummary struct {
	Agent  string        `json:"agent"`
	Caller string        `json:"caller"`
	Parent string        `json:"parent,omitempty"`
	Status SessionStatus `json:"status"`
}

var derivedID = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// DerivedConversationID is the id that createConversation gives to what agentID creates with clientRequestId and without conversationId: so that who knows the
// key finds the conversation without creating it.
func DerivedConversationID(agentID, clientRequestID string) string {
	return derived("createConversation", agentID, clientRequestID)
}

// derived is the id of what an agent makes with a method and a key.
func derived(method, agentID, clientRequestID string) string {
	sum := sha256.Sum256([]byte(method + "\x00" + agentID + "\x00" + clientRequestID))
	return "cnv_" + derivedID.EncodeToString(sum[:15])
}
