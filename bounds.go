package parley

import (
	"regexp"
	"strings"
)

// ProtocolVersion is the version of protocol.md, told by authenticate. It is separate from the module's.
const ProtocolVersion = "1"

// Bounds of the wire and of names. Sizes are in bytes.
const (
	// MaxFrameBytes bounds one WebSocket message or HTTP body. Larger ones end with close 1009 or HTTP 413.
	MaxFrameBytes = 1 << 20
	// MaxDepth bounds how deep JSON may nest.
	MaxDepth = 64
	// MaxIDBytes bounds the JSON-RPC id as it is written.
	MaxIDBytes = 128
	// MaxInFlight bounds the calls under way on one socket.
	MaxInFlight = 64
	// MaxSubscriptions bounds the subscriptions of one socket.
	MaxSubscriptions = 1000
	// MaxWaitMs bounds timeoutMs of the waiting methods; more is taken as this much.
	MaxWaitMs = 60_000
	// MaxPage bounds limit; DefaultPage is used when it is absent. A page also ends before it passes MaxPageBytes.
	MaxPage      = 1000
	DefaultPage  = 200
	MaxPageBytes = 768 << 10

	MaxTitleBytes        = 256
	MaxRoleBytes         = 64
	MaxPrivateBytes      = 16 << 10
	MaxMetadataBytes     = 16 << 10
	MaxReasonBytes       = 1 << 10
	MaxKeyBytes          = 128
	MaxParticipants      = 64
	MaxTags              = 32
	MaxTagBytes          = 128
	MaxDeltaBytes        = 16 << 10
	MaxTokenIDs          = 64
	MaxConversationScope = 256
	MaxNameBytes         = 255
	MaxMediaTypeBytes    = 127
	// MaxTokenBytes bounds a token that is shown; a longer one is not looked at.
	MaxTokenBytes = 8 << 10
	// MaxAgentDescriptionBytes and MaxAgentSchemaBytes bound what a registered agent says of itself.
	MaxAgentDescriptionBytes = 1 << 10
	MaxAgentSchemaBytes      = 64 << 10
)

// Bounds of executors.
const (
	MaxExecutorAgents = 64
	DefaultCapacity   = 16
	MaxCapacity       = 10_000
	DefaultGraceMs    = 5_000
	MinGraceMs        = 100
	MaxGraceMs        = 600_000
	// MaxHolding bounds the claims that a registration names.
	MaxHolding = 10_000
)

// Bounds of forks.
const (
	// MaxForkEvents and MaxForkBytes bound what a fork copies: events, and the bytes of their encodings.
	MaxForkEvents = 20_000
	MaxForkBytes  = 16 << 20
)

// Bounds of sessions and blueprints.
const (
	// MaxSessionDepth bounds how deep sessions start sessions, and MaxLiveSessions how many of one tree have not ended.
	MaxSessionDepth = 8
	MaxLiveSessions = 64
	// SessionQueueMs is how long a session waits for a runner.
	SessionQueueMs = 180_000
	// StaleMs and OfflineMs are how long a runner is away until it is told to be stale, and until it is gone.
	StaleMs   = 90_000
	OfflineMs = 180_000
	// DefaultSessionTimeoutMs and MaxSessionTimeoutMs bound one run of a command, and SessionSlackMs is how much longer its claim lasts.
	DefaultSessionTimeoutMs = 5 * 60_000
	MaxSessionTimeoutMs     = 23 * 3600 * 1000
	SessionSlackMs          = 10_000
	// SessionIdleMs closes a session, of an agent that is not deterministic, in which nothing is said.
	SessionIdleMs = 24 * 3600 * 1000
	// IdempotentAttempts bounds the runs of an idempotent command.
	IdempotentAttempts = 3
	// MaxBlueprints bounds the blueprints of one runner.
	MaxBlueprints = 256
	// MaxLabels bounds labels and demands, and MaxLabelBytes each key and value.
	MaxLabels     = 32
	MaxLabelBytes = 128
	// MaxCallbackBytes is about how much of results one callback message holds, and MaxCallbackResultBytes how much of one.
	MaxCallbackBytes       = 512 << 10
	MaxCallbackResultBytes = 128 << 10
)

// Bounds of approvals.
const (
	// DefaultApprovalMs is how long an approval waits for its answer unless it says otherwise: MinApprovalMs to MaxApprovalMs.
	DefaultApprovalMs = 10 * 60_000
	MinApprovalMs     = 100
	MaxApprovalMs     = 7 * 24 * 3600 * 1000
	// MaxApprovalBytes bounds the details and the answer of one.
	MaxApprovalBytes = 64 << 10
	// MaxPendingApprovals bounds those of one turn that are pending, and MaxTurnApprovals all of one turn.
	MaxPendingApprovals = 32
	MaxTurnApprovals    = 256
	// MaxKeptApprovals is how many that are resolved listApprovals knows of one conversation.
	MaxKeptApprovals = 100
)

// Bounds of subscriptions and of what they wake.
const (
	MaxSelectors         = 32
	MaxSubscriptionBytes = 64 << 10
	// MaxContextMatches bounds the conditions of one selector.
	MaxContextMatches  = 16
	MaxMatchPathBytes  = 512
	MaxMatchValueBytes = 4 << 10
	MaxSchemaNameBytes = 128
	MaxContextKeyBytes = 128
	// MaxHintFields bounds include and exclude, MaxHintBytes each name, and MaxTemplateBytes a template.
	MaxHintFields     = 64
	MaxHintBytes      = 256
	MaxTemplateBytes  = 4 << 10
	DefaultFetchLimit = 10
	MaxFetchLimit     = 100
	DefaultFetchNN    = 5
	MaxFetchNN        = 50
	// DefaultContextBytes is how large a context may be unless subscriptions say otherwise.
	DefaultContextBytes = 64 << 10
	MinContextBytes     = 1 << 10
	MaxContextBytes     = 512 << 10
	// MaxFetchScan is how many events one fetch looks at in a conversation, from its end backwards.
	MaxFetchScan = 20_000
	// MaxWoken bounds the matches of a conversation that wait, and MaxWokenOfOne those of one agent.
	MaxWoken      = 1000
	MaxWokenOfOne = 100
	// MaxWatchers bounds the watchers of a workspace that one event wakes.
	MaxWatchers = 64
	// MaxExplained bounds the rows of explainTriggers.
	MaxExplained = 256
	// MaxAnswerBytes bounds what of a result stands in the note that answers.
	MaxAnswerBytes = 512 << 10
	// MaxWorkspaces bounds the workspaces of a token.
	MaxWorkspaces = 64
)

// Bounds of attachments and tickets.
const (
	// MaxAttachmentBytes bounds one file, and MaxAttachments the files of one conversation.
	MaxAttachmentBytes = 16 << 20
	MaxAttachments     = 1000
	// MaxAttachmentPart bounds what getAttachment gives at once.
	MaxAttachmentPart = 512 << 10
	// MaxMessageAttachments bounds the attachments that one message refers to.
	MaxMessageAttachments = 16
	// TicketLifeMs is how long a ticket may wait for its one use.
	TicketLifeMs = 30_000
)

// Bounds of Limits.
const (
	MaxTurnsLimit    = 1_000_000
	MaxEventsLimit   = 1_000_000
	DefaultMaxEvents = 100_000
	MinBytesLimit    = 1 << 10
	MaxBytesLimit    = 1 << 30
	DefaultMaxBytes  = 256 << 20
	MinDurationMs    = 100

	DefaultTurnTimeoutMs = 60_000
	MaxTurnMs            = 24 * 3600 * 1000
	DefaultMaxAttempts   = 3
	MaxAttemptsLimit     = 100
	DefaultClaimWindowMs = 2_000
	MinClaimWindowMs     = 50
	MaxClaimWindowMs     = 60_000
	MaxRules             = 32
	// MaxExpressionBytes bounds an expression of CEL, and MaxExpressionCost what one evaluation of it may cost, in CEL's units.
	MaxExpressionBytes = 2 << 10
	// MaxRulesBytes bounds the expressions of all rules of a policy together.
	MaxRulesBytes     = 8 << 10
	MaxExpressionCost = 100_000

	DefaultMaxHops           = 8
	MaxHopsLimit             = 100
	DefaultMaxWakesPerMinute = 30
	MaxWakesLimit            = 10_000
	MaxDurationMs            = 366 * 24 * 3600 * 1000
)

var (
	conversationID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	participantID  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// ValidConversationID reports whether callers may name a conversation so: 1 to 64 of A-Z a-z 0-9 _ -.
// (The hub's own begin with "~".)
func ValidConversationID(id string) bool { return conversationID.MatchString(id) }

// KeptConversationID reports whether a conversation named so is one in which an adapter keeps what is its own: "~a2a." and 1 to 59 of A-Z a-z 0-9 _ -.
// Admins alone create, read and write such, by notes.
func KeptConversationID(id string) bool {
	rest, ok := strings.CutPrefix(id, "~a2a.")
	return ok && len(id) <= 64 && ValidConversationID(rest)
}

// ValidWorkspace reports whether a workspace may be named so: like a participant.
func ValidWorkspace(name string) bool { return participantID.MatchString(name) }

// ValidAgentName reports whether an agent may be named so: like a participant, or that, "@" and the id of a runner.
func ValidAgentName(name string) bool {
	plain, runner, at := strings.Cut(name, "@")
	return ValidParticipantID(plain) && (!at || ValidParticipantID(runner))
}

// ValidParticipantID reports whether a participant may be named so: 1 to 64 of A-Z a-z 0-9 . _ -, beginning
// with a letter or digit, and not HubID.
func ValidParticipantID(id string) bool { return id != HubID && participantID.MatchString(id) }
