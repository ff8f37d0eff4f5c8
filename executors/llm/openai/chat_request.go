package openai

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

func (p *Provider) chatParams(req *llm.Request, stream bool) (*openai.ChatCompletionNewParams, error) {
	params := &openai.ChatCompletionNewParams{
		Model:       req.Model,
		Temperature: optional(req.Temperature),
		TopP:        optional(req.TopP),
		Seed:        optional(req.Seed),
	}
	if p.own {
		params.Store = param.NewOpt(false) // other servers may not support it
	}
	if stream {
		params.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	if req.MaxTokens > 0 && ownParam(req) == "" {
		if p.own {
			params.MaxCompletionTokens = param.NewOpt(int64(req.MaxTokens))
		} else {
			params.MaxTokens = param.NewOpt(int64(req.MaxTokens))
		}
	}
	if req.Instructions != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(req.Instructions))
	}
	for i := range req.Messages {
		params.Messages = append(params.Messages, chatMessages(req.Model, &req.Messages[i])...)
	}
	for _, t := range req.Tools {
		parameters, err := wire.Parameters(t.Parameters)
		if err != nil {
			return nil, p.server.Invalid(fmt.Sprintf("invalid parameters of the tool %q: %v", t.Name, err))
		}
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: parameters}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(f))
	}
	if req.ToolChoice != llm.ToolsAuto && len(req.Tools) > 0 {
		params.ToolChoice.OfAuto = param.NewOpt(string(req.ToolChoice))
	}
	if o := req.Output; o != nil {
		schema, err := wire.Object(o.Schema)
		if err != nil {
			return nil, p.server.Invalid(fmt.Sprintf("invalid output schema: %v", err))
		}
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: o.Name, Schema: schema,
				Strict: param.NewOpt(o.Strict)},
		}
	}
	return params, nil
}

func chatMessages(model string, m *llm.Message) []openai.ChatCompletionMessageParamUnion {
	switch m.Role {
	case llm.RoleTool:
		return chatResults(model, m.Results)
	case llm.RoleAssistant:
		said := &openai.ChatCompletionAssistantMessageParam{}
		if m.Text != "" || len(m.ToolCalls) == 0 {
			said.Content.OfString = param.NewOpt(m.Text)
		}
		for _, c := range m.ToolCalls {
			said.ToolCalls = append(said.ToolCalls,
				openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name,
						Arguments: cmp.Or(c.Arguments, "{}")},
				}})
		}
		return []openai.ChatCompletionMessageParamUnion{{OfAssistant: said}}
	}
	if len(m.Files) == 0 {
		return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(m.Text)}
	}
	return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(chatParts(m.Text, m.Files))}
}

// chatParts returns a text and files as parts of the content.
func chatParts(text string, files []llm.File) []openai.ChatCompletionContentPartUnionParam {
	var parts []openai.ChatCompletionContentPartUnionParam
	if text != "" {
		parts = append(parts, openai.TextContentPart(text))
	}
	for i := range files {
		parts = append(parts,
			openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: dataURL(&files[i])}))
	}
	return parts
}

// noUserAfterTools matches the models whose API refuses a user message after the results of tools.
var noUserAfterTools = regexp.MustCompile(
	`(?i)(^|/)(open-)?(mistral|mixtral|ministral|magistral|pixtral|codestral|devstral)`)

// chatResults returns the results of tools. The API takes only text in them, so their images follow
// in a user message.
func chatResults(model string, results []llm.ToolResult) []openai.ChatCompletionMessageParamUnion {
	var all []openai.ChatCompletionMessageParamUnion
	var parts []openai.ChatCompletionContentPartUnionParam
	for i := range results {
		r := &results[i]
		text := resultText(r)
		switch {
		case len(r.Files) == 0:
		case noUserAfterTools.MatchString(model):
			text += "\n[The images of this result are not shown, because the API takes none.]"
		default:
			parts = append(parts, chatParts("The images of the result of the tool call "+r.CallID+":", r.Files)...)
		}
		all = append(all, openai.ToolMessage(text, r.CallID))
	}
	if len(parts) > 0 {
		all = append(all, openai.UserMessage(parts))
	}
	return all
}

// dataURL returns a file as a data URL.
func dataURL(f *llm.File) string {
	return "data:" + f.MediaType + ";base64," + base64.StdEncoding.EncodeToString(f.Data)
}
