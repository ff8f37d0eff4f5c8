package openai

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// reasoning matches the reasoning models of OpenAI, also in the spelling of deployments. They
// return encrypted thoughts, and refuse max_tokens.
var reasoning = regexp.MustCompile(`^(o[1-9]([^a-z]|$)|gpt-?([5-9]|[12][0-9])([^0-9]|$)|codex|computer-use)`)

// isOpenAIReasoning reports whether a model is of a family of OpenAI that reasons, behind any
// server. Gateways put their own prefix before the name.
func isOpenAIReasoning(model string) bool { return reasoning.MatchString(familyName(model)) }

// familyName returns the name of a model without the prefix of a gateway or of a fine-tuned model.
func familyName(model string) string {
	model = strings.ToLower(model)
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, prefix := range []string{"ft:", "openai.", "openai-", "openai:", "azure-", "azure:"} {
		model = strings.TrimPrefix(model, prefix)
	}
	return model
}

func returnsThoughts(model string) bool {
	return isOpenAIReasoning(model) && !strings.Contains(model, "-chat")
}

const noBudget = "thinking: this API has no thinking budget: expected reasoning_effort"

func (p *Provider) responsesParams(req *llm.Request) (*responses.ResponseNewParams, error) {
	params := &responses.ResponseNewParams{
		Model:       req.Model,
		Store:       param.NewOpt(false),
		Temperature: optional(req.Temperature),
		TopP:        optional(req.TopP),
		Metadata:    req.Metadata,
	}
	if returnsThoughts(req.Model) {
		params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if req.MaxTokens > 0 && ownParam(req) == "" {
		params.MaxOutputTokens = param.NewOpt(int64(req.MaxTokens))
	}
	var input responses.ResponseInputParam
	switch {
	case req.Instructions == "":
	case req.UseInstructions:
		params.Instructions = param.NewOpt(req.Instructions)
	default:
		input = append(
			input, responses.ResponseInputItemParamOfMessage(req.Instructions, responses.EasyInputMessageRoleSystem))
	}
	messages := p.callIDs(req.Model, &responsesIDs).Rename(req.Messages)
	for i := range messages {
		input = append(input, p.items(&messages[i])...)
	}
	params.Input.OfInputItemList = input
	for _, t := range req.Tools {
		parameters, err := wire.Parameters(t.Parameters)
		if err != nil {
			return nil, p.server.Invalid(fmt.Sprintf("invalid parameters of the tool %q: %v", t.Name, err))
		}
		f := &responses.FunctionToolParam{Name: t.Name, Parameters: parameters, Strict: param.NewOpt(false)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: f})
	}
	if name, ok := req.ToolChoice.Tool(); ok {
		params.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: name}
	} else if req.ToolChoice != llm.ToolsAuto && len(req.Tools) > 0 {
		params.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptions(req.ToolChoice))
	}
	if len(req.Tools) > 0 {
		params.ParallelToolCalls = optional(req.ParallelTools)
	}
	params.Reasoning.Effort = shared.ReasoningEffort(req.ReasoningEffort)
	switch {
	case req.ThinkingTokens > 0:
		return nil, p.server.Invalid(noBudget)
	case len(req.Stop) > 0:
		return nil, p.server.Invalid("stop: the Responses API does not support it")
	}
	if o := req.Output; o != nil {
		schema, err := wire.Object(o.Schema)
		if err != nil {
			return nil, p.server.Invalid(fmt.Sprintf("invalid output schema: %v", err))
		}
		params.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{Name: o.Name, Schema: schema,
			Strict: param.NewOpt(o.Strict)}
	}
	return params, nil
}

// items returns a message as items of the input.
func (p *Provider) items(m *llm.Message) []responses.ResponseInputItemUnionParam {
	switch m.Role {
	case llm.RoleTool:
		var all []responses.ResponseInputItemUnionParam
		for _, r := range m.Results {
			all = append(
				all, responses.ResponseInputItemUnionParam{
					OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
						CallID: param.NewOpt(r.CallID), Output: callOutput(&r),
					}})
		}
		return all
	case llm.RoleAssistant:
		if own := p.ownItems(m); own != nil {
			return own
		}
		var all []responses.ResponseInputItemUnionParam
		if m.Text != "" {
			all = append(all, responses.ResponseInputItemParamOfMessage(m.Text, responses.EasyInputMessageRoleAssistant))
		}
		for _, c := range m.ToolCalls {
			all = append(all, responses.ResponseInputItemParamOfFunctionCall(string(wire.Arguments(c.Arguments)), c.ID, c.Name))
		}
		return all
	}
	if len(m.Files) == 0 {
		return []responses.ResponseInputItemUnionParam{
			responses.ResponseInputItemParamOfMessage(m.Text, responses.EasyInputMessageRoleUser)}
	}
	var parts responses.ResponseInputMessageContentListParam
	if m.Text != "" {
		parts = append(parts, responses.ResponseInputContentParamOfInputText(m.Text))
	}
	for i := range m.Files {
		part := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetailAuto)
		part.OfInputImage.ImageURL = param.NewOpt(dataURL(&m.Files[i]))
		parts = append(parts, part)
	}
	return []responses.ResponseInputItemUnionParam{
		responses.ResponseInputItemParamOfMessage(parts, responses.EasyInputMessageRoleUser)}
}

// callOutput returns the result of a tool as a text, or as a list if it has images.
func callOutput(r *llm.ToolResult) (o responses.ResponseInputItemFunctionCallOutputOutputUnionParam) {
	text := resultText(r)
	if len(r.Files) == 0 {
		o.OfString = param.NewOpt(text)
		return o
	}
	var all responses.ResponseFunctionCallOutputItemListParam
	if text != "" {
		all = append(all, responses.ResponseFunctionCallOutputItemUnionParam{
			OfInputText: &responses.ResponseInputTextContentParam{Text: text}})
	}
	for i := range r.Files {
		all = append(all, responses.ResponseFunctionCallOutputItemUnionParam{
			OfInputImage: &responses.ResponseInputImageContentParam{ImageURL: param.NewOpt(dataURL(&r.Files[i]))}})
	}
	o.OfResponseFunctionCallOutputItemArray = all
	return o
}

// ownItems returns the original items of the vendor, without removed calls. It returns nil if the
// message is from another provider, or has calls that the items do not have. A call gets the id that
// the message has for it, and arguments that are JSON.
func (p *Provider) ownItems(m *llm.Message) []responses.ResponseInputItemUnionParam {
	var own opaque
	if m.Opaque == nil || m.Opaque.Provider != p.server.Name || json.Unmarshal(m.Opaque.Data, &own) != nil ||
		own.API != llm.APIResponses {
		return nil
	}
	var all []responses.ResponseInputItemUnionParam
	calls := wire.NewCallMatcher(m.ToolCalls, own.Items, "function_call", "call_id")
	for _, raw := range own.Items {
		item := wire.Members(raw)
		if item == nil {
			return nil
		}
		if wire.Text(item["type"]) == "function_call" {
			c := calls.Next(item)
			if c == nil {
				continue
			}
			raw = wire.WithMembers(raw, item, map[string]any{"call_id": c.ID,
				"arguments": string(wire.Arguments(itemArguments(raw)))})
		}
		all = append(all, param.Override[responses.ResponseInputItemUnionParam](raw))
	}
	if !calls.Done() {
		return nil
	}
	return all
}

// opaque is llm.Opaque.Data. Items is the output of a response. The other members belong to a chat
// completion.
type opaque struct {
	API   llm.API           `json:"api"`
	Items []json.RawMessage `json:"items,omitempty"`
	// Message has the unknown members of the message, and Calls those of each call, or null.
	Message json.RawMessage   `json:"message,omitempty"`
	Calls   []json.RawMessage `json:"calls,omitempty"`
	// Content is the content if the text of the message does not have all of it.
	Content json.RawMessage `json:"content,omitempty"`
	// Legacy is true if the call is a function_call.
	Legacy bool `json:"legacy,omitempty"`
}

// resultText marks an error in the text, because the API has no field for it.
func resultText(r *llm.ToolResult) string {
	if r.IsError && !strings.HasPrefix(strings.ToLower(r.Text), "error") {
		return "Error: " + r.Text
	}
	return r.Text
}

func optional[T comparable](v *T) param.Opt[T] {
	if v == nil {
		return param.Opt[T]{}
	}
	return param.NewOpt(*v)
}
