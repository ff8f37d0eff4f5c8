// Package limits has the bounds and defaults that the hub enforces and that callers rarely need in
// Go. The bounds that callers need are in limits.go of package parley. docs/reference lists all of
// them. For example, an executor has the capacity DefaultCapacity if its registration names none:
//
//	capacity := cmp.Or(params.Capacity, limits.DefaultCapacity)
//
// Names that end in Bytes are in bytes, and names that end in Ms are in milliseconds.
package limits

// Bounds of the wire and of names.
const (
	// MaxDepth is the maximum nesting of JSON.
	MaxDepth = 64
	// MaxIDBytes is the maximum size of a JSON-RPC id in its encoded form.
	MaxIDBytes = 128
	// MaxInFlight is the maximum number of calls in progress on one WebSocket.
	MaxInFlight = 64
	// MaxSubscriptions is the maximum number of subscriptions of one WebSocket.
	MaxSubscriptions = 1000
	// DefaultPage is the number of rows of a page if the caller names no limit.
	DefaultPage = 200
	// MaxPageBytes is the maximum size of a page. A page ends before a row that would exceed it.
	MaxPageBytes = 768 << 10

	MaxRoleBytes         = 64
	MaxPrivateBytes      = 16 << 10
	MaxMetadataBytes     = 16 << 10
	MaxParticipants      = 64
	MaxTags              = 32
	MaxTagBytes          = 128
	MaxTokenIDs          = 64
	MaxConversationScope = 256
	MaxNameBytes         = 255
	MaxMediaTypeBytes    = 127
	// MaxTokenBytes is the maximum size of a token. The hub refuses a longer one without looking it up.
	MaxTokenBytes = 8 << 10
	// MaxAgentDescriptionBytes is the maximum size of the description of a registered agent.
	MaxAgentDescriptionBytes = 1 << 10
	// MaxAgentSchemaBytes is the maximum size of each schema of a registered agent.
	MaxAgentSchemaBytes = 64 << 10
)

// Bounds of executors.
const (
	MaxExecutorAgents = 64
	DefaultCapacity   = 16
	MaxCapacity       = 10_000
	DefaultGraceMs    = 5_000
	MinGraceMs        = 100
	MaxGraceMs        = 600_000
	// MaxHolding is the maximum number of claims that a registration names.
	MaxHolding = 10_000
)

// Bounds of forks.
const (
	// MaxForkEvents is the maximum number of events that a fork copies.
	MaxForkEvents = 20_000
	// MaxForkBytes is the maximum size of the encoded events that a fork copies.
	MaxForkBytes = 16 << 20
)

// Bounds of sessions and blueprints.
const (
	// MaxSessionDepth is the maximum depth of a tree of sessions.
	MaxSessionDepth = 8
	// MaxLiveSessions is the maximum number of sessions of one tree that have not ended.
	MaxLiveSessions = 64
	// SessionQueueMs is how long a session waits for a runner.
	SessionQueueMs = 180_000
	// StaleMs is how long after its disconnection listAgents reports a runner as stale.
	StaleMs = 90_000
	// OfflineMs is how long after its disconnection the hub forgets a runner.
	OfflineMs = 180_000
	// DefaultSessionTimeoutMs is the timeout of one run of a command that names none.
	DefaultSessionTimeoutMs = 5 * 60_000
	// MaxSessionTimeoutMs is the maximum timeout of one run of a command.
	MaxSessionTimeoutMs = 23 * 3600 * 1000
	// SessionSlackMs is how much longer than the timeout of the run the claim of a command lasts.
	SessionSlackMs = 10_000
	// SessionIdleMs is the time without messages after which the hub closes a session. It does not
	// apply to sessions of deterministic agents.
	SessionIdleMs = 24 * 3600 * 1000
	// IdempotentAttempts is the maximum number of runs of an idempotent command.
	IdempotentAttempts = 3
	// MaxBlueprints is the maximum number of blueprints of one runner.
	MaxBlueprints = 256
	// MaxLabels is the maximum number of labels of an executor, and of demands of a session.
	MaxLabels = 32
	// MaxLabelBytes is the maximum size of each key and of each value of labels and demands.
	MaxLabelBytes = 128
	// MaxCallbackBytes is the approximate maximum size of all results in one callback message.
	MaxCallbackBytes = 512 << 10
	// MaxCallbackResultBytes is the maximum size of one result in a callback message.
	MaxCallbackResultBytes = 128 << 10
)

// Bounds of approvals.
const (
	// DefaultApprovalMs is the time after which an approval times out if the request names none.
	DefaultApprovalMs = 10 * 60_000
	MinApprovalMs     = 100
	MaxApprovalMs     = 7 * 24 * 3600 * 1000
	// MaxApprovalBytes is the maximum size of the details, and of the answer, of one approval.
	MaxApprovalBytes = 64 << 10
	// MaxPendingApprovals is the maximum number of pending approvals of one turn.
	MaxPendingApprovals = 32
	// MaxTurnApprovals is the maximum number of approvals of one turn.
	MaxTurnApprovals = 256
	// MaxKeptApprovals is how many resolved approvals of one conversation listApprovals can list.
	MaxKeptApprovals = 100
)

// Bounds of the triggers of agents and of the work that they start.
const (
	MaxSelectors         = 32
	MaxSubscriptionBytes = 64 << 10
	// MaxContextMatches is the maximum number of conditions of one selector.
	MaxContextMatches  = 16
	MaxMatchPathBytes  = 512
	MaxMatchValueBytes = 4 << 10
	MaxSchemaNameBytes = 128
	MaxContextKeyBytes = 128
	// MaxHintFields is the maximum number of names in each of include and exclude.
	MaxHintFields = 64
	// MaxHintBytes is the maximum size of each name in include and exclude.
	MaxHintBytes      = 256
	MaxTemplateBytes  = 4 << 10
	DefaultFetchLimit = 10
	MaxFetchLimit     = 100
	DefaultFetchNN    = 5
	MaxFetchNN        = 50
	// DefaultContextBytes is the maximum size of an agent context if max_context_bytes is absent.
	DefaultContextBytes = 64 << 10
	MinContextBytes     = 1 << 10
	MaxContextBytes     = 512 << 10
	// MaxFetchScan is how many events of a conversation one fetch examines, from its end backwards.
	MaxFetchScan = 20_000
	// MaxWoken is the maximum length of the backlog of a conversation.
	MaxWoken = 1000
	// MaxWokenOfOne is the maximum length of the backlog of one agent in a conversation.
	MaxWokenOfOne = 100
	// MaxWatchers is the maximum number of watchers of a workspace that one event triggers.
	MaxWatchers = 64
	// MaxExplained is the maximum number of agents in the result of explainTriggers.
	MaxExplained = 256
	// MaxAnswerBytes is the maximum size of the result in the note that answers a trigger.
	MaxAnswerBytes = 512 << 10
	// MaxWorkspaces is the maximum number of workspaces of a token.
	MaxWorkspaces = 64
)

// Bounds of attachments and tickets.
const (
	// MaxAttachments is the maximum number of files of one conversation.
	MaxAttachments = 1000
	// MaxAttachmentPart is the maximum size of the part that getAttachment returns.
	MaxAttachmentPart = 512 << 10
	// TicketLifeMs is how long a ticket is valid before its only use.
	TicketLifeMs = 30_000
)

// Bounds of the limits and rules of a conversation.
const (
	MaxTurnsLimit    = 1_000_000
	DefaultMaxEvents = 100_000
	MinBytesLimit    = 1 << 10
	DefaultMaxBytes  = 256 << 20
	MinDurationMs    = 100
	MaxDurationMs    = 366 * 24 * 3600 * 1000

	DefaultTurnTimeoutMs = 60_000
	MaxTurnMs            = 24 * 3600 * 1000
	DefaultMaxAttempts   = 3
	MaxAttemptsLimit     = 100
	DefaultClaimWindowMs = 2_000
	MinClaimWindowMs     = 50
	MaxClaimWindowMs     = 60_000
	MaxRules             = 32
	// MaxExpressionBytes is the maximum size of one CEL expression.
	MaxExpressionBytes = 2 << 10
	// MaxRulesBytes is the maximum size of the expressions of all rules of a policy.
	MaxRulesBytes = 8 << 10
	// MaxExpressionCost is the maximum cost of one evaluation of an expression, in the units of CEL.
	MaxExpressionCost = 100_000

	MaxHopsLimit             = 100
	DefaultMaxWakesPerMinute = 30
	MaxWakesLimit            = 10_000
)

// Bounds and defaults of agent configs. The fields of parley.AgentConfig name them.
const (
	DefaultMaxSteps  = 12
	MaxMaxSteps      = 100
	DefaultSubagents = 3
	MaxSubagents     = 7 // seed 002, section 6
	// DefaultToolOutputTokens limits a result of a tool, and a file in the prompt, in tokens.
	DefaultToolOutputTokens = 25_000
	MinToolOutputTokens     = 256
	MaxToolOutputTokens     = 1_000_000

	DefaultMaxRetries = 2
	MaxMaxRetries     = 10
	// MaxStop is the maximum number of stop sequences, and MaxFallbacks that of fallback models.
	MaxStop      = 4
	MaxFallbacks = 4
	// MaxIdleMs and MaxRequestMs bound idle_timeout and request_timeout.
	MaxIdleMs    = 3600 * 1000
	MaxRequestMs = 24 * 3600 * 1000
	// MaxInstructionsBytes is the maximum size of each of instructions, planning_instructions and
	// user_template.
	MaxInstructionsBytes = 64 << 10
	// MaxAgentConfigBytes is the maximum size of the whole config.
	MaxAgentConfigBytes = 256 << 10
	MaxModelTokens      = 10_000_000
	MaxAgentTools       = 128
	MaxMCPServers       = 16
	// DefaultMCPStartMs and MaxMCPStartMs limit the start_timeout of an MCP server.
	DefaultMCPStartMs = 30_000
	MaxMCPStartMs     = 600_000
	MaxInjectedArgs   = 32
)
