package llm

// OpenAIModels is what is known of the models of OpenAI, without prices: those come from the configuration. A model that thinks takes neither temperature nor top_p, and one that is not
// known is taken for one of these. The Responses API is used for all; it takes no seed.
func OpenAIModels() Models {
	return Models{
		{Prefix: "",
			Capabilities: Capabilities{API: APIResponses, MaxTokensParam: completionTokens, MinOutputTokens: leastTokens,
				StrictSchema: SchemasOpenAI, MaxTemperature: number(2)}},
		{Prefix: "gpt-", Capabilities: thinks(0, 0)},

		{Prefix: "gpt-3.5-turbo", Capabilities: chats(16_385, 4_096, noSchema)},
		{Prefix: "gpt-4", Capabilities: chats(8_192, 8_192, noSchema)},
		{Prefix: "gpt-4-turbo", Capabilities: chats(128_000, 4_096, noSchema)},
		{Prefix: "gpt-4o", Capabilities: chats(128_000, 16_384)},
		{Prefix: "gpt-4o-2024-05-13", Capabilities: chats(128_000, 4_096, noSchema)},
		{Prefix: "gpt-4.1", Capabilities: chats(1_047_576, 32_768)},

		{Prefix: "o1", Capabilities: thinks(200_000, 100_000)},
		{Prefix: "o3", Capabilities: thinks(200_000, 100_000)},
		{Prefix: "o4", Capabilities: thinks(200_000, 100_000)},
		{Prefix: "codex-mini", Capabilities: thinks(200_000, 100_000)},

		{Prefix: "gpt-5", Capabilities: thinks(400_000, 128_000)},
		{Prefix: "gpt-5-pro", Capabilities: thinks(400_000, 272_000)},
		{Prefix: "gpt-5-chat", Capabilities: chats(128_000, 16_384)},
		{Prefix: "gpt-5.1-chat", Capabilities: thinks(128_000, 16_384)},
		{Prefix: "gpt-5.2-chat", Capabilities: thinks(128_000, 16_384)},
		{Prefix: "gpt-5.3-chat", Capabilities: thinks(128_000, 16_384)},
		{Prefix: "gpt-5.4", Capabilities: thinks(1_050_000, 128_000)},
		{Prefix: "gpt-5.4-mini", Capabilities: thinks(400_000, 128_000)},
		{Prefix: "gpt-5.4-nano", Capabilities: thinks(400_000, 128_000)},
		{Prefix: "gpt-5.5", Capabilities: thinks(1_050_000, 128_000)},
		{Prefix: "gpt-5.6-sol", Capabilities: thinks(1_050_000, 128_000)},
		{Prefix: "gpt-5.6-terra", Capabilities: thinks(1_050_000, 128_000)},
		{Prefix: "gpt-6", Capabilities: thinks(400_000, 128_000)},
		{Prefix: "gpt-6-sol", Capabilities: thinks(1_050_000, 128_000)},
		{Prefix: "gpt-6.1-sol", Capabilities: thinks(1_050_000, 128_000)},
		{Prefix: "gpt-6.2-sol", Capabilities: thinks(1_050_000, 128_000)},
	}
}

// completionTokens is the name of max_tokens in chat completions, where older servers have another.
const completionTokens = "max_completion_tokens"

// leastTokens is the least that the Responses API takes for max_output_tokens.
const leastTokens = 16

// thinks is a model that thinks before it speaks.
func thinks(window, output int) Capabilities {
	return Capabilities{API: APIResponses, MaxTokensParam: completionTokens, MinOutputTokens: leastTokens,
		StrictSchema: SchemasOpenAI, NoTemperature: true, NoTopP: true, ContextWindow: window, MaxOutputTokens: output}
}

// chats is one that does not.
func chats(window, output int, lacks ...func(*Capabilities)) Capabilities {
	c := Capabilities{API: APIResponses, MaxTokensParam: completionTokens, MinOutputTokens: leastTokens,
		StrictSchema: SchemasOpenAI, MaxTemperature: number(2), ContextWindow: window, MaxOutputTokens: output}
	for _, lack := range lacks {
		lack(&c)
	}
	return c
}

func noSchema(c *Capabilities) { c.NoSchema = true }

func number(n float64) *float64 { return &n }
