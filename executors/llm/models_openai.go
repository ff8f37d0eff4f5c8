package llm

// OpenAIModels returns the models of OpenAI, without prices; the configuration adds those. A
// reasoning model accepts neither temperature nor top_p. An unknown GPT model is treated as a
// reasoning model. All models use the Responses API, which has no seed.
func OpenAIModels() Models {
	return Models{
		{Prefix: "",
			Capabilities: Capabilities{API: APIResponses, MaxTokensParam: completionTokens, MinOutputTokens: leastTokens,
				StrictSchema: SchemasOpenAI, MaxTemperature: number(2), NoThinkingBudget: true}},
		{Prefix: "gpt-", Capabilities: reasoningModel(0, 0)},

		{Prefix: "gpt-3.5-turbo", Capabilities: chatModel(16_385, 4_096, noSchema)},
		{Prefix: "gpt-4", Capabilities: chatModel(8_192, 8_192, noSchema)},
		{Prefix: "gpt-4-turbo", Capabilities: chatModel(128_000, 4_096, noSchema)},
		{Prefix: "gpt-4o", Capabilities: chatModel(128_000, 16_384)},
		{Prefix: "gpt-4o-2024-05-13", Capabilities: chatModel(128_000, 4_096, noSchema)},
		{Prefix: "gpt-4.1", Capabilities: chatModel(1_047_576, 32_768)},

		{Prefix: "o1", Capabilities: reasoningModel(200_000, 100_000)},
		{Prefix: "o3", Capabilities: reasoningModel(200_000, 100_000)},
		{Prefix: "o4", Capabilities: reasoningModel(200_000, 100_000)},
		{Prefix: "codex-mini", Capabilities: reasoningModel(200_000, 100_000)},

		{Prefix: "gpt-5", Capabilities: reasoningModel(400_000, 128_000)},
		{Prefix: "gpt-5-pro", Capabilities: reasoningModel(400_000, 272_000)},
		{Prefix: "gpt-5-chat", Capabilities: chatModel(128_000, 16_384)},
		{Prefix: "gpt-5.1-chat", Capabilities: reasoningModel(128_000, 16_384)},
		{Prefix: "gpt-5.2-chat", Capabilities: reasoningModel(128_000, 16_384)},
		{Prefix: "gpt-5.3-chat", Capabilities: reasoningModel(128_000, 16_384)},
		{Prefix: "gpt-5.4", Capabilities: reasoningModel(1_050_000, 128_000)},
		{Prefix: "gpt-5.4-mini", Capabilities: reasoningModel(400_000, 128_000)},
		{Prefix: "gpt-5.4-nano", Capabilities: reasoningModel(400_000, 128_000)},
		{Prefix: "gpt-5.5", Capabilities: reasoningModel(1_050_000, 128_000)},
		{Prefix: "gpt-5.6-sol", Capabilities: reasoningModel(1_050_000, 128_000)},
		{Prefix: "gpt-5.6-terra", Capabilities: reasoningModel(1_050_000, 128_000)},
		{Prefix: "gpt-6", Capabilities: reasoningModel(400_000, 128_000)},
		{Prefix: "gpt-6-sol", Capabilities: reasoningModel(1_050_000, 128_000)},
		{Prefix: "gpt-6.1-sol", Capabilities: reasoningModel(1_050_000, 128_000)},
		{Prefix: "gpt-6.2-sol", Capabilities: reasoningModel(1_050_000, 128_000)},
	}
}

// completionTokens is the name of max_tokens in chat completions. Older servers use another name.
const completionTokens = "max_completion_tokens"

// leastTokens is the smallest max_output_tokens of the Responses API.
const leastTokens = 16

// reasoningModel returns the capabilities of a model that reasons before it answers.
func reasoningModel(window, output int) Capabilities {
	return Capabilities{API: APIResponses, MaxTokensParam: completionTokens, MinOutputTokens: leastTokens,
		StrictSchema: SchemasOpenAI, NoTemperature: true, NoTopP: true, NoThinkingBudget: true, NoStop: true,
		ContextWindow: window, MaxOutputTokens: output}
}

// chatModel returns the capabilities of a model without reasoning.
func chatModel(window, output int, lacks ...func(*Capabilities)) Capabilities {
	c := Capabilities{API: APIResponses, MaxTokensParam: completionTokens, MinOutputTokens: leastTokens,
		StrictSchema: SchemasOpenAI, NoReasoningEffort: true, NoThinkingBudget: true, MaxTemperature: number(2), ContextWindow: window, MaxOutputTokens: output}
	for _, lack := range lacks {
		lack(&c)
	}
	return c
}

func noSchema(c *Capabilities) { c.NoSchema = true }

func number(n float64) *float64 { return &n }
