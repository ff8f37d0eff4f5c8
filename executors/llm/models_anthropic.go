package llm

// AnthropicModels returns the models of Anthropic, without prices; the configuration adds those.
// Every model needs a max_tokens. Models up to Opus 4.6, Sonnet 4.6 and Haiku 4.5 accept a
// temperature, from Opus 4.1 on not together with top_p. Later models accept neither. Unknown
// models are treated as later ones.
func AnthropicModels() Models {
	return Models{
		{Prefix: "", Capabilities: unsampled(200_000, 0)},

		{Prefix: "claude-3", Capabilities: sampled(200_000, 4_096, noSchema, noThoughts)},
		{Prefix: "claude-3-5", Capabilities: sampled(200_000, 8_192, noSchema, noThoughts)},
		{Prefix: "claude-3-7", Capabilities: sampled(200_000, 64_000, noSchema, budgeted)},
		{Prefix: "claude-opus-4-0", Capabilities: sampled(200_000, 32_000, noSchema, budgeted)},
		{Prefix: "claude-opus-4-2025", Capabilities: sampled(200_000, 32_000, noSchema, budgeted)},
		{Prefix: "claude-sonnet-4-0", Capabilities: sampled(200_000, 64_000, noSchema, budgeted)},
		{Prefix: "claude-sonnet-4-2025", Capabilities: sampled(200_000, 64_000, noSchema, budgeted)},

		{Prefix: "claude-opus-4-1", Capabilities: sampled(200_000, 32_000, oneSampler, budgeted)},
		{Prefix: "claude-opus-4-5", Capabilities: sampled(200_000, 64_000, oneSampler, budgeted)},
		{Prefix: "claude-sonnet-4-5", Capabilities: sampled(200_000, 64_000, oneSampler, budgeted)},
		{Prefix: "claude-haiku-4-5", Capabilities: sampled(200_000, 64_000, oneSampler, budgeted)},
		{Prefix: "claude-opus-4-6", Capabilities: sampled(1_000_000, 128_000, oneSampler)},
		{Prefix: "claude-sonnet-4-6", Capabilities: sampled(1_000_000, 128_000, oneSampler)},

		{Prefix: "claude-opus-4-7", Capabilities: unsampled(1_000_000, 128_000)},
		{Prefix: "claude-opus-4-8", Capabilities: unsampled(1_000_000, 128_000)},
		{Prefix: "claude-mythos", Capabilities: unsampled(1_000_000, 128_000)},
		{Prefix: "claude-fable", Capabilities: unsampled(1_000_000, 128_000)},
		{Prefix: "claude-opus-5", Capabilities: unsampled(1_000_000, 128_000)},
		{Prefix: "claude-sonnet-5", Capabilities: unsampled(1_000_000, 128_000)},
		{Prefix: "claude-haiku-5", Capabilities: unsampled(1_000_000, 0)},
	}
}

// The default of max_tokens. Thoughts count as output.
const (
	outputTokens    = 8_192
	reasoningTokens = 16_384
)

// sampled returns the capabilities of a model that accepts a temperature up to 1.
func sampled(window, output int, also ...func(*Capabilities)) Capabilities {
	c := Capabilities{NoSeed: true, MaxTemperature: number(1), DefaultMaxTokens: min(outputTokens, output),
		ContextWindow: window, MaxOutputTokens: output}
	for _, with := range also {
		with(&c)
	}
	return c
}

// noThoughts is of models without thoughts, and budgeted of models that take only a budget for them.
func noThoughts(c *Capabilities) { c.NoReasoningEffort, c.NoThinkingBudget = true, true }

func budgeted(c *Capabilities) { c.EffortAsBudget = true }

func oneSampler(c *Capabilities) { c.TemperatureOrTopP = true }

// unsampled returns the capabilities of a model that accepts neither temperature nor top_p.
func unsampled(window, output int) Capabilities {
	return Capabilities{NoSeed: true, NoTemperature: true, NoTopP: true, NoThinkingBudget: true,
		DefaultMaxTokens: reasoningTokens,
		ContextWindow:    window, MaxOutputTokens: output}
}
