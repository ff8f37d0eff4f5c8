package openai

import (
	"cmp"
	"fmt"

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
		params.Messages = append(params.Messages, chatMessages(&req.Messages[i])...)
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

func chatMessages(m *llm.Message) []openai.ChatCompletionMessageParamUnion {
	switch m.Role {
	case llm.RoleTool:
		var all []openai.ChatCompletionMessageParamUnion
		for _, r := range m.Results {
			all = append(all, openai.ToolMessage(resultText(&r), r.CallID))
		}
		return all
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
	return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(m.Text)}
}
