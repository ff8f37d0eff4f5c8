package parley

import (
	"encoding/json"

	"github.com/parleyhub/parley/internal/limits"
)

// SelectorRole is the purpose of a selector.
type SelectorRole string

// The values of SelectorRole.
const (
	// RoleTrigger starts work of the agent. The default.
	RoleTrigger SelectorRole = "trigger"
	// RoleContext selects events for the agent context, and starts nothing.
	RoleContext SelectorRole = "context"
)

// Valid reports whether r is a known role or empty.
func (r SelectorRole) Valid() bool { return r == "" || r == RoleTrigger || r == RoleContext }

// FetchMethod is which of the matching events a context selector fetches.
type FetchMethod string

// The values of FetchMethod.
const (
	// FetchEventData fetches the triggering event, if it matches. The default of triggers.
	FetchEventData FetchMethod = "event_data"
	// FetchLatest fetches the last event, as one value. The default of context selectors.
	FetchLatest FetchMethod = "latest"
	// FetchRecent fetches the last events, oldest first, as a list.
	FetchRecent FetchMethod = "recent"
	// FetchVector fetches the events that are most similar to the triggering one, most similar first,
	// as a list.
	FetchVector FetchMethod = "vector"
)

// Valid reports whether m is a known method or empty.
func (m FetchMethod) Valid() bool {
	return m == "" || m == FetchEventData || m == FetchLatest || m == FetchRecent || m == FetchVector
}

// SelectorScope is the set of conversations that a selector examines.
type SelectorScope string

// The values of SelectorScope.
const (
	// InConversation is the conversation of the agent, or the parent of its session. The default.
	InConversation SelectorScope = "conversation"
	// InWorkspace is every conversation of the workspaces that the token of its runner grants.
	InWorkspace SelectorScope = "workspace"
)

// Valid reports whether s is a known scope or empty.
func (s SelectorScope) Valid() bool {
	return s == "" || s == InConversation || s == InWorkspace
}

// MatchOp is the operator that compares the values at a path with a value.
type MatchOp string

// The operators of context_match. A condition holds if it holds for at least one of the values at
// the path. Values of different types never match. OpNe is the opposite of OpEq, so it also holds
// if the path finds nothing.
const (
	OpEq          MatchOp = "eq" // the same JSON value
	OpNe          MatchOp = "ne" // not eq
	OpGt          MatchOp = "gt" // numbers, or texts by their bytes; also for the next three
	OpGte         MatchOp = "gte"
	OpLt          MatchOp = "lt"
	OpLte         MatchOp = "lte"
	OpContains    MatchOp = "contains"     // a text with this part, or a list with this element
	OpContainsAny MatchOp = "contains_any" // contains, for at least one element of a list
	OpExists      MatchOp = "exists"       // the path finds something; with the value false, nothing
)

// MatchOps has all values of MatchOp.
var MatchOps = []MatchOp{OpEq, OpNe, OpGt, OpGte, OpLt, OpLte, OpContains, OpContainsAny, OpExists}

// ContextMatch is a condition on the data of an event.
type ContextMatch struct {
	// Path is a JSONPath (RFC 9535) over payload.data, at most 512 bytes. The pattern of match and
	// search must be a string literal. If the evaluation takes too many steps, the condition does not
	// hold, whatever its operator is.
	Path string  `json:"path"`
	Op   MatchOp `json:"op"`
	// Value is JSON of at most 4 KiB. Only exists does not require it.
	Value json.RawMessage `json:"value,omitempty"`
}

// Fetch is what a context selector fetches. In a file it is an object, or only the method as a
// text. A limit or nn beside it has the same meaning as in it.
type Fetch struct {
	Method FetchMethod `json:"method,omitempty"`
	// Limit is for recent: 1 to 100; absent, 10. With latest, only 1 is allowed.
	Limit int `json:"limit,omitempty"`
	// NN is for vector: 1 to 50; absent, 5.
	NN int `json:"nn,omitempty"`
}

// Hints select the part of the data of an event that an agent receives. The hub applies Include,
// then Exclude, then Template. Include and Exclude are dotted names of members, such as user.name.
// A name that meets a list applies to each of its elements.
type Hints struct {
	Include []string `json:"include,omitzero"`
	Exclude []string `json:"exclude,omitempty"`
	// Template is a text in which {{name}} is replaced by the value with this dotted name: a text as
	// it is, any other value as JSON, and a missing value as nothing.
	Template string `json:"template,omitempty"`
}

// Selector selects events for an agent. An event matches if all fields that are present match. Only
// notes and messages that end a turn are examined.
type Selector struct {
	// SchemaName is the exact schema of the event.
	SchemaName string `json:"schema_name,omitempty"`
	// AnyTags requires one of these tags; an empty list matches nothing. AllTags requires all of them.
	// Nil is absent.
	AnyTags []string `json:"any_tags,omitzero"`
	AllTags []string `json:"all_tags,omitzero"`
	// ContextMatch are conditions on the data. All must hold.
	ContextMatch []ContextMatch `json:"context_match,omitempty"`
	Role         SelectorRole   `json:"role,omitempty"`
	Fetch        *Fetch         `json:"fetch,omitempty"`
	// Key is the member of the agent context for the fetched events of a context selector; absent, the
	// key that ContextKey makes of SchemaName. "trigger" and "triggers" are not allowed.
	Key      string        `json:"key,omitempty"`
	Scope    SelectorScope `json:"scope,omitempty"`
	LLMHints *Hints        `json:"llm_hints,omitempty"`
}

// Trigger reports whether the selector starts work.
func (s *Selector) Trigger() bool { return s.Role != RoleContext }

// Workspace reports whether the selector examines the workspace.
func (s *Selector) Workspace() bool { return s.Scope == InWorkspace }

// FetchOf returns Fetch with its defaults.
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

// Subscriptions are the triggers of an agent and the selectors of its agent context (seed 004;
// design, section 9).
type Subscriptions struct {
	// Selectors are 1 to 32 selectors. An event starts an agent once, by the first trigger that
	// matches. A context selector never hides a trigger.
	Selectors []Selector `json:"selectors"`
	// AnswerSchema is the schema of the note with which a session answers a note; absent,
	// agent.response.v1 for LLM agents and tool.response.v1 for others.
	AnswerSchema string `json:"answer_schema,omitempty"`
	// IncludeSelf allows the events of the agent to trigger itself.
	IncludeSelf bool `json:"include_self,omitempty"`
	// MaxContextBytes bounds the agent context: 1 KiB to 512 KiB; absent, 64 KiB.
	MaxContextBytes int `json:"max_context_bytes,omitempty"`
}

// The default schemas of answers (seed 004).
const (
	AgentResponseSchema = "agent.response.v1"
	ToolResponseSchema  = "tool.response.v1"
)

// ContextBytes returns MaxContextBytes, or its default.
func (s *Subscriptions) ContextBytes() int {
	if s.MaxContextBytes == 0 {
		return limits.DefaultContextBytes
	}
	return s.MaxContextBytes
}
