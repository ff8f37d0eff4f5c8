package llm

// AnthropicModels is what is known of the models of Anthropic, without prices: those come from the configuration. All need a bound of what they say. Up to Opus and Sonnet 4.6 and Haiku 4.5
// they take a temperature; from Opus 4.1 on not together with top_p. Later ones take neither, and one that is not known is taken for a later one.
func AnthropicModels() Models {
	return Models{
		{Prefix: "", Capabilities: unsampled(200_000, 0)},

		{Prefix: "claude-3", Capabilities: sampled(200_000, 4_096, noSchema)},
		{Prefix: "claude-3-5", Capabilities: sampled(200_000, 8_192, noSchema)},
		{Prefix: "claude-3-7", Capabilities: sampled(200_000, 64_000, noSchema)},
		{Prefix: "claude-opus-4-0", Capabilities: sampled(200_000, 32_000, noSchema)},
		{Prefix: "claude-opus-4-2025", Capabilities: sampled(200_000, 32_000, noSchema)},
		{Prefix: "claude-sonnet-4-0", Capabilities: sampled(200_000, 64_000, noSchema)},
		{Prefix: "claude-sonnet-4-2025", Capabilities: sampled(200_000, 64_000, noSchema)},

		{Prefix: "claude-opus-4-1", Capabilities: sampled(200_000, 32_000, oneSampler)},
		{Prefix: "claude-opus-4-5", Capabilities: sampled(200_000, 64_000, oneSampler)},
		{Prefix: "claude-sonnet-4-5", Capabilities: sampled(200_000, 64_000, oneSampler)},
		{Prefix: "claude-haiku-4-5", Capabilities: sampled(200_000, 64_000, oneSampler)},
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

// What is sent as max_tokens where a definition has none: thoughts count.
const (
	saidTokens    = 8_192
	thoughtTokens = 16_384
)

// sampled is a model that takes a temperature up to 1.
func sampled(window, output int, also ...func(*Capabilities)) Capabilities {
	c := Capabilities{NoSeed: true, MaxTemperature: number(1), DefaultMaxTokens: min(saidTokens, output),
		ContextWindow: window, MaxOutputTokens: output}
	for _, with := range also {
		with(&c)
	}
	return c
}

func oneSampler(c *Capabilities) { c.TemperatureOrTopP = true }

// unsampled is a model that takes neither temperature nor top_p.
func unsampled(window, output int) Capabilities {
	return Capabilities{NoSeed: true, NoTemperature: true, NoTopP: true, DefaultMaxTokens: thoughtTokens,
		ContextWindow: window, MaxOutputTokens: output}
}
