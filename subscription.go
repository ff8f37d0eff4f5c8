package parley

import (
	"encoding/json"

	"github.com/parleyhub/parley/internal/limits"
)

// SelectorRole says what an event that a selector matches is for.
type SelectorRole string

// The values of SelectorRole.
const (
	// RoleTrigger wakes the agent. The default.
	RoleTrigger SelectorRole = "trigger"
	// RoleContext is fetched when the agent runs, and wakes nobody.
	RoleContext SelectorRole = "context"
)

// Valid reports whether r is a known role, or none.
func (r SelectorRole) Valid() bool { return r == "" || r == RoleTrigger || r == RoleContext }

// FetchMethod says which of the matching events a context selector brings.
type FetchMethod string

// The values of FetchMethod.
const (
	// FetchEventData brings the trigger itself, where it matches. The default of triggers.
	FetchEventData FetchMethod = "event_data"
	// FetchLatest brings the last one, as one value. The default of context selectors.
	FetchLatest FetchMethod = "latest"
	// FetchRecent brings the last ones, oldest first, as a list.
	FetchRecent FetchMethod = "recent"
	// FetchVector brings those that are most like the trigger, the most similar first, as a list.
	FetchVector FetchMethod = "vector"
)

// Valid reports whether m is a known method, or none.
func (m FetchMethod) Valid() bool {
	return m == "" || m == FetchEventData || m == FetchLatest || m == FetchRecent || m == FetchVector
}

// SelectorScope says where a selector looks.
type SelectorScope string

// The values of SelectorScope.
const (
	// InConversation is the conversation in which the agent sits, or out of which its session was started. The default.
	InConversation SelectorScope = "conversation"
	// InWorkspace is every conversation of the workspaces that the token of its runner grants.
	InWorkspace SelectorScope = "workspace"
)

// Valid reports whether s is a known scope, or none.
func (s SelectorScope) Valid() bool {
	return s == "" || s == InConversation || s == InWorkspace
}

// MatchOp compares what stands at a path with a value.
type MatchOp string

// The operators of context_match. At least one of the values that the path finds must do; a value of another type never does. ne is the opposite of eq, so it
// holds where the path finds nothing.
const (
	OpEq          MatchOp = "eq"           // the same JSON value
	OpNe          MatchOp = "ne"           // not eq
	OpGt          MatchOp = "gt"           // numbers, or texts by their bytes
	OpGte         MatchOp = "gte"          //
	OpLt          MatchOp = "lt"           //
	OpLte         MatchOp = "lte"          //
	OpContains    MatchOp = "contains"     // a text that has it as a part, or a list that has it as an element
	OpContainsAny MatchOp = "contains_any" // contains, of one of a list of values
	OpExists      MatchOp = "exists"       // the path finds something; with value false, nothing
)

// MatchOps are all of them.
var MatchOps = []MatchOp{OpEq, OpNe, OpGt, OpGte, OpLt, OpLte, OpContains, OpContainsAny, OpExists}

// ContextMatch is a condition on the data of an event.
type ContextMatch struct {
	// Path is a JSONPath (RFC 9535) over payload.data: at most MaxMatchPathBytes. The pattern of match and search is a text in quotes. Where data takes too many steps
	// to look at, the condition does not hold, whatever its operator.
	Path string  `json:"path"`
	Op   MatchOp `json:"op"`
	// Value is any JSON of at most MaxMatchValueBytes; only exists goes without.
	Value json.RawMessage `json:"value,omitempty"`
}

// Fetch says what a context selector brings. In a file it is a text, the method, or an object; limit beside it means the same as in it.
type Fetch struct {
	Method FetchMethod `json:"method,omitempty"`
	// Limit is for recent: 1 to MaxFetchLimit; absent, DefaultFetchLimit. latest takes 1 for one, and nothing else.
	Limit int `json:"limit,omitempty"`
	// NN is for vector: 1 to MaxFetchNN; absent, DefaultFetchNN.
	NN int `json:"nn,omitempty"`
}

// Hints say what of the data of an event is handed over, in this order: Include alone, without Exclude, as the text of Template. Include and Exclude are
// dotted names of members, such as user.name, which lead through a list to each of its elements.
type Hints struct {
	Include []string `json:"include,omitzero"`
	Exclude []string `json:"exclude,omitempty"`
	// Template is a text in which {{name}}, a dotted name, is replaced by what stands there, a text as it is and anything else as JSON; nothing where there is nothing.
	Template string `json:"template,omitempty"`
}

// Selector says which events an agent wants, and what for. An event is matched when all that is given holds: absent, it does. Events are notes, and messages that
// end a turn.
type Selector struct {
	// SchemaName is the event's schema, whole.
	SchemaName string `json:"schema_name,omitempty"`
	// AnyTags needs one of these tags: an empty list matches nothing. AllTags needs all of them. Nil is absent.
	AnyTags []string `json:"any_tags,omitzero"`
	AllTags []string `json:"all_tags,omitzero"`
	// ContextMatch are conditions on the data, of which all must hold.
	ContextMatch []ContextMatch `json:"context_match,omitempty"`
	Role         SelectorRole   `json:"role,omitempty"`
	Fetch        *Fetch         `json:"fetch,omitempty"`
	// Key is where a context selector's values stand in the context; absent, what ContextKey makes of SchemaName. Not "trigger" or "triggers".
	Key      string        `json:"key,omitempty"`
	Scope    SelectorScope `json:"scope,omitempty"`
	LLMHints *Hints        `json:"llm_hints,omitempty"`
}

// Trigger reports whether it wakes.
func (s *Selector) Trigger() bool { return s.Role != RoleContext }

// Workspace reports whether it looks at the workspace.
func (s *Selector) Workspace() bool { return s.Scope == InWorkspace }

// FetchOf is Fetch with its defaults.
func (s *Selector) FetchOf() Fetch {
	f := Fetch{}
	if s.Fetch != nil {
		f = *s.Fetch
	}
	switch {
	case f.Method != "":
	case s.Trigger():
		f.Method = FetchEventData
	default:
		f.Method = FetchLatest
	}
	if f.Method == FetchRecent && f.Limit == 0 {
		f.Limit = limits.DefaultFetchLimit
	}
	if f.Method == FetchVector && f.NN == 0 {
		f.NN = limits.DefaultFetchNN
	}
	return f
}

// Subscriptions say what wakes an agent, and what it is given when it runs (seed 004; design, section 9).
type Subscriptions struct {
	// Selectors are 1 to MaxSelectors. An agent wakes once for an event, by the first trigger that matches it; a context selector never hides a trigger.
	Selectors []Selector `json:"selectors"`
	// AnswerSchema is the schema of the note with which a session answers a note; absent, AgentResponseSchema for LLM agents and ToolResponseSchema for others.
	AnswerSchema string `json:"answer_schema,omitempty"`
	// IncludeSelf has the agent wake on its own words too.
	IncludeSelf bool `json:"include_self,omitempty"`
	// MaxContextBytes bounds the context: MinContextBytes to MaxContextBytes; absent, DefaultContextBytes.
	MaxContextBytes int `json:"max_context_bytes,omitempty"`
}

// The schemas of answers, those of the seed.
const (
	AgentResponseSchema = "agent.response.v1"
	ToolResponseSchema  = "tool.response.v1"
)

// ContextBytes is MaxContextBytes with its default.
func (s *Subscriptions) ContextBytes() int {
	if s.MaxContextBytes == 0 {
		return limits.DefaultContextBytes
	}
	return s.MaxContextBytes
}
