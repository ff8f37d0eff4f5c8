package parley

import "encoding/json"

// ParamsVia says how a command gets its parameters.
type ParamsVia string

// The values of ParamsVia.
const (
	ParamsFlags ParamsVia = "flags" // --key=value. The default
	ParamsStdin ParamsVia = "stdin" // one JSON object
	ParamsEnv   ParamsVia = "env"   // PARAM_KEY=value
)

// Valid reports whether v is a known way, or none.
func (v ParamsVia) Valid() bool {
	return v == "" || v == ParamsFlags || v == ParamsStdin || v == ParamsEnv
}

// Blueprint is what a runner tells the hub of an agent that it runs: a command, of which what it is stays with the runner, or an LLM agent, whose config the hub checks and keeps.
// Its keys are those of the seeds (000, section 1; 002, section 1).
type Blueprint struct {
	// Name is that of the agent: an id like a participant's.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Type is AgentTypeDeterministic, AgentTypeAgent, AgentTypeFunction or AgentTypeWorkflow; absent, the first. What a function or workflow does stays with the runner.
	Type AgentType `json:"type,omitempty"`
	// AgentConfig is an AgentConfig, as it stands in the file, and is there with AgentTypeAgent alone. ParamsVia and Idempotent are not.
	AgentConfig json.RawMessage `json:"agent_config,omitempty"`
	// ParametersSchema is a JSON Schema of what a session takes, and OutputSchema one of its result_data; at most 64 KiB each.
	ParametersSchema json.RawMessage `json:"parameters_schema"`
	OutputSchema     json.RawMessage `json:"output_schema,omitempty"`
	ParamsVia        ParamsVia       `json:"params_via,omitempty"`
	// TimeoutMs bounds one run: 100 to MaxSessionTimeoutMs; absent, DefaultSessionTimeoutMs.
	TimeoutMs int64 `json:"timeout_ms,omitempty"`
	// Idempotent allows that a run that was interrupted is begun again, at most twice.
	Idempotent bool `json:"idempotent,omitempty"`
	// Subscriptions are what wakes the agent, and its context: an object as ParseSubscriptions takes it, in any of its spellings. They need a token that may speak as Name.
	Subscriptions json.RawMessage `json:"subscriptions,omitempty"`
	// Labels are added to the runner's; what a session demands must be among them.
	Labels map[string]string `json:"labels,omitempty"`
}

// Kind is Type with its default.
func (b *Blueprint) Kind() AgentType {
	if b.Type == "" {
		return AgentTypeDeterministic
	}
	return b.Type
}

// RegisterBlueprintsParams say which agents the executor of this connection runs. They replace what it has said before; none: the runner leaves, and the
// sessions of its commands fail.
type RegisterBlueprintsParams struct {
	Blueprints []Blueprint `json:"blueprints"`
}

// RegisteredBlueprint tells by which name a blueprint's agent is found: its own, or name@runnerId where another runner has it.
type RegisteredBlueprint struct {
	Name      string `json:"name"`
	AgentName string `json:"agentName"`
}

// RegisterBlueprintsResult has the agents in the order of the blueprints.
type RegisterBlueprintsResult struct {
	Agents []RegisteredBlueprint `json:"agents"`
}

// ClaimWaitingNotification tells the holder of a claim that its turn waits for a session that its agent has started in mode sync, and so holds
// no capacity of its executor; or that it does no longer.
type ClaimWaitingNotification struct {
	ConversationID string `json:"conversationId"`
	AgentID        string `json:"agentId"`
	Turn           int64  `json:"turn"`
	ClaimID        string `json:"claimId"`
	Waiting        bool   `json:"waiting"`
}

// RunnerRecord is the payload of runner_registered in the hub's own log of runners.
type RunnerRecord struct {
	RunnerRef
	Blueprints []Blueprint       `json:"blueprints"`
	Labels     map[string]string `json:"labels,omitempty"`
	// Workspaces are those that its token grants; "*" alone stands for any, with an admin's.
	Workspaces []string `json:"workspaces,omitempty"`
	// Internal is true for a runner in the hub's process.
	Internal bool `json:"internal,omitempty"`
}
