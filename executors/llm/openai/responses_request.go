package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// reasoning matches the models that return encrypted thoughts. Other models refuse a request for
// them.
var reasoning = regexp.MustCompile(`^(o[1-9]|gpt-([5-9]|[1-9][0-9])|codex|computer-use)`)

func returnsThoughts(model string) bool {
	if rest, ok := strings.CutPrefix(model, "ft:"); ok {
		model = rest
	}
	if i := strings.LastIndexByte(model, '/'); i >= 0 { // gateways use a prefix
		model = model[i+1:]
	}
	return reasoning.MatchString(model) && !strings.Contains(model, "-chat")
}

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
	for i := range req.Messages {
		input = append(input, p.items(&req.Messages[i])...)
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
	if req.ToolChoice != llm.ToolsAuto && len(req.Tools) > 0 {
		params.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptions(req.ToolChoice))
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
			all = append(all, responses.ResponseInputItemParamOfFunctionCall(cmp.Or(c.Arguments, "{}"), c.ID, c.Name))
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
// message is from another provider, or has calls that the items do not have.
func (p *Provider) ownItems(m *llm.Message) []responses.ResponseInputItemUnionParam {
	var own opaque
	if m.Opaque == nil || m.Opaque.Provider != p.server.Name || json.Unmarshal(m.Opaque.Data, &own) != nil ||
		own.API != llm.APIResponses {
		return nil
	}
	calls := map[string]bool{}
	for _, c := range m.ToolCalls {
		calls[c.ID] = true
	}
	var all []responses.ResponseInputItemUnionParam
	for _, raw := range own.Items {
		var item struct {
			Type   string `json:"type"`
			CallID string `json:"call_id"`
		}
		if json.Unmarshal(raw, &item) != nil {
			return nil
		}
		if item.Type == "function_call" {
			if !calls[item.CallID] {
				continue
			}
			delete(calls, item.CallID)
		}
		all = append(all, param.Override[responses.ResponseInputItemUnionParam](raw))
	}
	if len(calls) > 0 {
		return nil
	}
	return all
}

// opaque is the output of a response in llm.Opaque.Data.
type opaque struct {
	API   llm.API           `json:"api"`
	Items []json.RawMessage `json:"items"`
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
