package llm

// Capabilities are what is known of a model. The zero value takes all, and knows no context window.
type Capabilities struct {
	API API `json:"api,omitempty"`
	// NoTools, NoSchema, NoTemperature, NoTopP, NoSeed: it does not take them. Tools are refused, a schema stands at the end of the instructions, and the others are left out. APIResponses
	// has no seed.
	NoTools       bool `json:"no_tools,omitempty"`
	NoSchema      bool `json:"no_schema,omitempty"`
	NoTemperature bool `json:"no_temperature,omitempty"`
	NoTopP        bool `json:"no_top_p,omitempty"`
	NoSeed        bool `json:"no_seed,omitempty"`
	// FixedTemperature is the only one that it takes, sent where one is given; MaxTemperature clamps.
	FixedTemperature *float64 `json:"fixed_temperature,omitempty"`
	MaxTemperature   *float64 `json:"max_temperature,omitempty"`
	// TemperatureOrTopP: not both; then the temperature stays.
	TemperatureOrTopP bool `json:"temperature_or_top_p,omitempty"`
	// MaxTokensParam is its name for max_tokens, and MaxOutputTokens the most that it takes. DefaultMaxTokens is sent where none is given.
	MaxTokensParam string `json:"max_tokens_param,omitempty"`
	// MinOutputTokens is the least that it takes: a definition with fewer is refused, and a budget that leaves fewer does not suffice.
	MinOutputTokens  int `json:"min_output_tokens,omitempty"`
	MaxOutputTokens  int `json:"max_output_tokens,omitempty"`
	DefaultMaxTokens int `json:"default_max_tokens,omitempty"`
	ContextWindow    int `json:"context_window,omitempty"`
	// StrictSchema says which schemas the model can be held to; empty, those that all vendors take. Others are sent, where there is a place, and checked afterwards.
	StrictSchema SchemaSet `json:"strict_schema,omitempty"`
	Price        *Price    `json:"price,omitempty"`
}

// SchemaSet is the part of JSON Schema that strict schemas of a vendor may use.
type SchemaSet string

// The values of SchemaSet. SchemasCommon is what OpenAI and Anthropic both take.
const (
	SchemasCommon SchemaSet = ""
	SchemasOpenAI SchemaSet = "openai"
)

// Price is in US dollars for a million tokens. An absent price of caches is that of Input; 0 is none.
type Price struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read,omitempty"`
	CacheWrite *float64 `json:"cache_write,omitempty"`
}

// ModelRow says what models are like whose names begin so; of several rows that fit, the one with the longest Prefix counts. An empty Prefix fits all.
type ModelRow struct {
	Prefix string `json:"prefix"`
	Capabilities
}

// Models is the registry of the models of one runtime.
type Models []ModelRow
