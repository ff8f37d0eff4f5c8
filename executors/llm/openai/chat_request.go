package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

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
		if p.own || isOpenAIReasoning(req.Model) {
			params.MaxCompletionTokens = param.NewOpt(int64(req.MaxTokens))
		} else {
			params.MaxTokens = param.NewOpt(int64(req.MaxTokens))
		}
	}
	if req.Instructions != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(req.Instructions))
	}
	legacy := false // the results are those of a function_call
	messages := p.callIDs(req.Model, &chatIDs).Rename(req.Messages)
	for i := range messages {
		m := &messages[i]
		own := p.ownMessage(m)
		switch m.Role {
		case llm.RoleTool:
			params.Messages = append(params.Messages, chatResults(req.Model, m.Results, legacy)...)
			continue
		case llm.RoleAssistant:
			legacy = own.Legacy && len(m.ToolCalls) == 1
			params.Messages = append(params.Messages, assistantMessage(m, &own, legacy))
			continue
		}
		params.Messages = append(params.Messages, userMessage(m))
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
	if name, ok := req.ToolChoice.Tool(); ok {
		params.ToolChoice.OfFunctionToolChoice = &openai.ChatCompletionNamedToolChoiceParam{
			Function: openai.ChatCompletionNamedToolChoiceFunctionParam{Name: name}}
	} else if req.ToolChoice != llm.ToolsAuto && len(req.Tools) > 0 {
		params.ToolChoice.OfAuto = param.NewOpt(string(req.ToolChoice))
	}
	if len(req.Tools) > 0 {
		params.ParallelToolCalls = optional(req.ParallelTools)
	}
	params.ReasoningEffort = shared.ReasoningEffort(req.ReasoningEffort)
	params.Stop.OfStringArray = req.Stop
	if req.ThinkingTokens > 0 {
		return nil, p.server.Invalid(noBudget)
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

func userMessage(m *llm.Message) openai.ChatCompletionMessageParamUnion {
	if len(m.Files) == 0 {
		return openai.UserMessage(m.Text)
	}
	return openai.UserMessage(chatParts(m.Text, m.Files))
}

// ownMessage returns the parts of a message that only this server can read. It is empty for a
// message from another provider or another API.
func (p *Provider) ownMessage(m *llm.Message) opaque {
	var own opaque
	if m.Opaque == nil || m.Opaque.Provider != p.server.Name || json.Unmarshal(m.Opaque.Data, &own) != nil ||
		own.API != llm.APIChat {
		return opaque{}
	}
	return own
}

// assistantMessage returns a message of the model with its unknown members.
func assistantMessage(m *llm.Message, own *opaque, legacy bool) openai.ChatCompletionMessageParamUnion {
	said := &openai.ChatCompletionAssistantMessageParam{}
	if m.Text != "" || len(m.ToolCalls) == 0 {
		said.Content.OfString = param.NewOpt(m.Text)
	}
	more := extra(own.Message)
	if content := ownContent(own.Content, m.Text); content != nil {
		more["content"] = content
	}
	for i, c := range m.ToolCalls {
		arguments := string(wire.Arguments(c.Arguments))
		if legacy {
			more["function_call"] = map[string]string{"name": c.Name, "arguments": arguments}
			break
		}
		call := &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments}}
		if i < len(own.Calls) {
			members := extra(own.Calls[i])
			if function, ok := members["function"].(json.RawMessage); ok {
				call.Function.SetExtraFields(extra(function))
				delete(members, "function")
			}
			call.SetExtraFields(members)
		}
		said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: call})
	}
	said.SetExtraFields(more)
	return openai.ChatCompletionMessageParamUnion{OfAssistant: said}
}

// extra returns the members of an object as additional fields of the SDK.
func extra(raw json.RawMessage) map[string]any {
	all := map[string]any{}
	for name, value := range wire.Members(raw) {
		all[name] = value
	}
	return all
}

// ownContent returns the original content of a message. A text that was appended to the message
// follows it. ownContent returns nil if the message has another text than the content.
func ownContent(raw json.RawMessage, text string) any {
	if len(raw) == 0 {
		return nil
	}
	var c chatContent
	c.add(raw)
	original := c.text.String()
	appended, ok := strings.CutPrefix(text, original)
	if !ok {
		_, visible := wire.SplitThink(original)
		appended, ok = strings.CutPrefix(text, visible)
	}
	switch {
	case !ok:
		return nil
	case c.parts == nil:
		return original + appended
	case appended != "":
		c.addText(nil, appended)
	}
	return c.raw(false)
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

// The ids of calls that the models of OpenAI accept, and those of Mistral.
var (
	chatIDs      = wire.CallIDs{Valid: regexp.MustCompile(`^.{1,40}$`), Most: 40}
	responsesIDs = wire.CallIDs{Valid: regexp.MustCompile(`^.{1,64}$`), Most: 64}
	mistralIDs   = wire.CallIDs{Valid: regexp.MustCompile(`^[a-zA-Z0-9]{9}$`), Most: 9}
)

// callIDs returns the ids that a model accepts. own are those of OpenAI.
func (p *Provider) callIDs(model string, own *wire.CallIDs) *wire.CallIDs {
	switch {
	case p.own, isOpenAIReasoning(model), strings.HasPrefix(familyName(model), "gpt-"):
		return own
	case noUserAfterTools.MatchString(model):
		return &mistralIDs
	}
	return nil
}

// chatResults returns the results of tools. The API takes only text in them, so their images follow
// in a user message. legacy is true if the call was a function_call.
func chatResults(model string, results []llm.ToolResult, legacy bool) []openai.ChatCompletionMessageParamUnion {
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
		if legacy {
			all = append(all, openai.ChatCompletionMessageParamOfFunction(text, r.Name))
			continue
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
