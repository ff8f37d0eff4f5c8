package llm

// Capabilities describe a model. The zero value supports everything and has no known context
// window.
type Capabilities struct {
	API API `json:"api,omitempty"`
	// The No fields name parameters that the model does not support. Tools are then refused, a
	// schema is appended to the instructions, and the others are left out. APIResponses never has a
	// seed.
	NoTools       bool `json:"no_tools,omitempty"`
	NoSchema      bool `json:"no_schema,omitempty"`
	NoTemperature bool `json:"no_temperature,omitempty"`
	NoTopP        bool `json:"no_top_p,omitempty"`
	NoSeed        bool `json:"no_seed,omitempty"`
	// A reasoning effort, a thinking budget or stop sequences that the model does not support are
	// refused. APIResponses never has stop sequences. With EffortAsBudget, an effort is sent as a
	// thinking budget.
	NoReasoningEffort bool `json:"no_reasoning_effort,omitempty"`
	NoThinkingBudget  bool `json:"no_thinking_budget,omitempty"`
	NoStop            bool `json:"no_stop,omitempty"`
	EffortAsBudget    bool `json:"effort_as_budget,omitempty"`
	// Images reports whether the model accepts images. Nil means that the name of the model decides.
	// See AcceptsImages.
	Images *bool `json:"images,omitempty"`
	// FixedTemperature replaces every temperature. MaxTemperature is an upper bound.
	FixedTemperature *float64 `json:"fixed_temperature,omitempty"`
	MaxTemperature   *float64 `json:"max_temperature,omitempty"`
	// TemperatureOrTopP means that the model supports only one of both. The temperature takes
	// precedence.
	TemperatureOrTopP bool `json:"temperature_or_top_p,omitempty"`
	// MaxTokensParam is the model's name for max_tokens. MaxOutputTokens is the largest value, and
	// DefaultMaxTokens the value that is sent if the definition has none.
	MaxTokensParam string `json:"max_tokens_param,omitempty"`
	// ThinkTags is false if a leading <think> block is text. See Request.ThinkTags.
	ThinkTags *bool `json:"think_tags,omitempty"`
	// MinOutputTokens is the smallest value. A smaller max_tokens is refused, and a smaller rest of
	// a budget is a BudgetError.
	MinOutputTokens  int `json:"min_output_tokens,omitempty"`
	MaxOutputTokens  int `json:"max_output_tokens,omitempty"`
	DefaultMaxTokens int `json:"default_max_tokens,omitempty"`
	ContextWindow    int `json:"context_window,omitempty"`
	// StrictSchema names the schemas that the vendor can enforce. Empty means the schemas that all
	// vendors can enforce. Other schemas are sent if the API allows it, and are checked after the
	// answer.
	StrictSchema SchemaSet `json:"strict_schema,omitempty"`
	Price        *Price    `json:"price,omitempty"`
}

// SchemaSet is the part of JSON Schema that a vendor accepts in strict schemas.
type SchemaSet string

// The values of SchemaSet. SchemasCommon is the part that both OpenAI and Anthropic accept.
const (
	SchemasCommon SchemaSet = ""
	SchemasOpenAI SchemaSet = "openai"
)

// Price is in US dollars per million tokens. A missing cache price defaults to Input; 0 is free.
type Price struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`
}

// ModelRow describes the models whose names start with Prefix. The row with the longest matching
// Prefix applies. An empty Prefix matches every model.
type ModelRow struct {
	Prefix string `json:"prefix"`
	Capabilities
}

// Models is the registry of the models of one runtime.
type Models []ModelRow
