package parley

import "encoding/json"

// ParamsVia is how a command receives its parameters.
type ParamsVia string

// The values of ParamsVia.
const (
	ParamsFlags ParamsVia = "flags" // --key=value. The default
	ParamsStdin ParamsVia = "stdin" // one JSON object
	ParamsEnv   ParamsVia = "env"   // PARAM_KEY=value
)

// Valid reports whether v is a known value or empty.
func (v ParamsVia) Valid() bool {
	return v == "" || v == ParamsFlags || v == ParamsStdin || v == ParamsEnv
}

// Blueprint describes an agent that a runner registers (seed 000, section 1; seed 002, section 1).
// The program of a command, function or workflow stays with the runner. The hub checks and keeps
// the config of an LLM agent.
type Blueprint struct {
	// Name is the name of the agent, in the form of a participant id.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Type is deterministic, agent, function or workflow; absent, deterministic.
	Type AgentType `json:"type,omitempty"`
	// AgentConfig is an AgentConfig as in the file of the blueprint. It is required with type agent,
	// and not allowed with other types. ParamsVia and Idempotent are not allowed with it.
	AgentConfig json.RawMessage `json:"agent_config,omitempty"`
	// ParametersSchema is a JSON Schema of the parameters of a session, and OutputSchema is one of its
	// result_data. Each has at most 64 KiB.
	ParametersSchema json.RawMessage `json:"parameters_schema"`
	OutputSchema     json.RawMessage `json:"output_schema,omitempty"`
	ParamsVia        ParamsVia       `json:"params_via,omitempty"`
	// TimeoutMs bounds one run, in milliseconds: 100 ms to 23 h; absent, 5 minutes.
	TimeoutMs int64 `json:"timeout_ms,omitempty"`
	// Idempotent allows the hub to start an interrupted run again, at most twice.
	Idempotent bool `json:"idempotent,omitempty"`
	// Subscriptions are the triggers and the context selectors of the agent, in any form that
	// ParseSubscriptions accepts. They require a token that may speak as Name.
	Subscriptions json.RawMessage `json:"subscriptions,omitempty"`
	// Labels are added to the labels of the runner. A session can demand labels.
	Labels map[string]string `json:"labels,omitempty"`
}

// Kind returns Type, or its default.
func (b *Blueprint) Kind() AgentType {
	if b.Type == "" {
		return AgentTypeDeterministic
	}
	return b.Type
}

// RegisterBlueprintsParams register the agents that the executor of this connection runs. They
// replace the earlier registration. With an empty list the runner leaves, and the sessions of its
// commands fail.
type RegisterBlueprintsParams struct {
	Blueprints []Blueprint `json:"blueprints"`
}

// RegisteredBlueprint has the name under which the agent of a blueprint was registered: its own
// name, or name@runnerId if another runner has registered that name.
type RegisteredBlueprint struct {
	Name      string `json:"name"`
	AgentName string `json:"agentName"`
}

// RegisterBlueprintsResult has the agents in the order of the blueprints.
type RegisterBlueprintsResult struct {
	Agents []RegisteredBlueprint `json:"agents"`
}

// ClaimWaitingNotification reports to the holder of a claim that its turn starts or stops waiting
// for a session that its agent started in mode sync. A waiting turn does not use capacity of its
// executor.
type ClaimWaitingNotification struct {
	ConversationID string `json:"conversationId"`
	AgentID        string `json:"agentId"`
	Turn           int64  `json:"turn"`
	ClaimID        string `json:"claimId"`
	Waiting        bool   `json:"waiting"`
}

// RunnerRecord is the data of the event runner_registered in the hub's own log of runners.
type RunnerRecord struct {
	RunnerRef
	Blueprints []Blueprint       `json:"blueprints"`
	Labels     map[string]string `json:"labels,omitempty"`
	// Workspaces are the workspaces of its token. "*" alone means any workspace, with an admin token.
	Workspaces []string `json:"workspaces,omitempty"`
	// Internal is true for a runner in the process of the hub.
	Internal bool `json:"internal,omitempty"`
}
