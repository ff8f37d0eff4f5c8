package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

func (p *Provider) params(req *llm.Request) (*anthropic.MessageNewParams, error) {
	params := &anthropic.MessageNewParams{
		Model:       req.Model,
		MaxTokens:   DefaultMaxTokens,
		Temperature: optional(req.Temperature),
		TopP:        optional(req.TopP),
	}
	if req.MaxTokens > 0 {
		params.MaxTokens = int64(req.MaxTokens)
	}
	if user := req.Metadata["user_id"]; user != "" {
		params.Metadata.UserID = param.NewOpt(user)
	}
	if !isBlank(req.Instructions) {
		params.System = []anthropic.TextBlockParam{{Text: req.Instructions}}
	}
	messages := callIDs(req.Model).Rename(req.Messages)
	for i := range messages {
		if m := p.message(&messages[i]); len(m.Content) > 0 { // the vendor refuses empty messages
			params.Messages = append(params.Messages, m)
		}
	}
	for _, t := range req.Tools {
		schema, err := wire.Parameters(t.Parameters)
		if err != nil {
			return nil, p.server.Invalid(fmt.Sprintf("invalid parameters of the tool %q: %v", t.Name, err))
		}
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: tool(&t, schema)})
	}
	chooseTool(params, req)
	think(params, req)
	params.StopSequences = req.Stop
	err := p.output(params, req.Output)
	if caches := req.PromptCaching; caches != nil && *caches || caches == nil && p.isOwn() {
		cachePrefix(params)
	}
	return params, err
}

// chooseTool sets tool_choice. It is absent if the model decides, without a limit.
func chooseTool(params *anthropic.MessageNewParams, req *llm.Request) {
	if len(req.Tools) == 0 {
		return
	}
	var one param.Opt[bool] // disable_parallel_tool_use
	if req.ParallelTools != nil {
		one = param.NewOpt(!*req.ParallelTools)
	}
	name, named := req.ToolChoice.Tool()
	switch choice := &params.ToolChoice; {
	case named:
		choice.OfTool = &anthropic.ToolChoiceToolParam{Name: name, DisableParallelToolUse: one}
	case req.ToolChoice == llm.ToolsNone:
		choice.OfNone = &anthropic.ToolChoiceNoneParam{}
	case req.ToolChoice == llm.ToolsRequired:
		choice.OfAny = &anthropic.ToolChoiceAnyParam{DisableParallelToolUse: one}
	case req.ParallelTools != nil:
		choice.OfAuto = &anthropic.ToolChoiceAutoParam{DisableParallelToolUse: one}
	}
}

// think sets the budget or the effort of thoughts. With thoughts, the vendor accepts neither a
// temperature, nor a tool that the model must call.
func think(params *anthropic.MessageNewParams, req *llm.Request) {
	forced := params.ToolChoice.OfAny != nil || params.ToolChoice.OfTool != nil
	switch effort := req.ReasoningEffort; {
	case req.ThinkingTokens > 0 && !forced:
		params.Thinking = anthropic.ThinkingConfigParamOfEnabled(int64(req.ThinkingTokens))
	case effort == "", req.ThinkingTokens > 0:
		return
	case effort == "none":
		params.Thinking.OfDisabled = &anthropic.ThinkingConfigDisabledParam{}
		return
	default:
		if effort == "minimal" {
			effort = "low"
		}
		params.OutputConfig.Effort = anthropic.OutputConfigEffort(effort)
		if forced {
			return
		}
		params.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{}
	}
	params.Temperature, params.TopP = param.Opt[float64]{}, param.Opt[float64]{}
}

// cachePrefix marks the stable beginning of the prompt: the tools, the system prompt and, if there
// are tools and so another call is likely, the last message.
func cachePrefix(params *anthropic.MessageNewParams) {
	mark := anthropic.NewCacheControlEphemeralParam()
	if n := len(params.Tools); n > 0 && params.Tools[n-1].OfTool != nil {
		params.Tools[n-1].OfTool.CacheControl = mark
	}
	if n := len(params.System); n > 0 {
		params.System[n-1].CacheControl = mark
	}
	n := len(params.Messages)
	if len(params.Tools) == 0 || n == 0 || len(params.Messages[n-1].Content) == 0 {
		return
	}
	content := params.Messages[n-1].Content
	if c := content[len(content)-1].GetCacheControl(); c != nil {
		*c = mark
	}
}

// claudeIDs are the ids of calls that Claude accepts behind any server.
var claudeIDs = wire.CallIDs{Valid: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), Most: 64}

func callIDs(model string) *wire.CallIDs {
	if strings.Contains(strings.ToLower(model), "claude") {
		return &claudeIDs
	}
	return nil
}

func tool(t *llm.ToolSpec, schema map[string]any) *anthropic.ToolParam {
	made := &anthropic.ToolParam{Name: t.Name, InputSchema: anthropic.ToolInputSchemaParam{ExtraFields: map[string]any{}}}
	for k, v := range schema {
		switch k {
		case "type": // always object
		case "properties":
			made.InputSchema.Properties = v
		default:
			made.InputSchema.ExtraFields[k] = v
		}
	}
	if t.Description != "" {
		made.Description = param.NewOpt(t.Description)
	}
	return made
}

// output asks for JSON that matches a schema: with output_config if it is strict, otherwise in the
// system prompt.
func (p *Provider) output(params *anthropic.MessageNewParams, o *llm.OutputSchema) error {
	if o == nil {
		return nil
	}
	schema, err := wire.Object(o.Schema)
	if err != nil {
		return p.server.Invalid(fmt.Sprintf("invalid output schema: %v", err))
	}
	if o.Strict {
		params.OutputConfig.Format.Schema = schema
		return nil
	}
	var plain bytes.Buffer
	if err := json.Compact(&plain, o.Schema); err != nil {
		return p.server.Invalid("the output schema is not JSON")
	}
	params.System = append(params.System, anthropic.TextBlockParam{
		Text: "Your final answer is exactly one JSON value that matches this JSON Schema, without any other text:\n" +
			plain.String(),
	})
	return nil
}

func (p *Provider) message(m *llm.Message) anthropic.MessageParam {
	switch m.Role {
	case llm.RoleTool:
		var all []anthropic.ContentBlockParamUnion
		for i := range m.Results {
			all = append(all, anthropic.ContentBlockParamUnion{OfToolResult: result(&m.Results[i])})
		}
		for i := range m.Results {
			if m.Results[i].IsError { // its block takes text only
				all = append(all, images(m.Results[i].Files)...)
			}
		}
		return anthropic.NewUserMessage(all...)
	case llm.RoleAssistant:
		if own := p.ownBlocks(m); own != nil {
			return anthropic.NewAssistantMessage(own...)
		}
		var all []anthropic.ContentBlockParamUnion
		if !isBlank(m.Text) {
			all = append(all, anthropic.NewTextBlock(m.Text))
		}
		for _, c := range m.ToolCalls {
			all = append(all, anthropic.NewToolUseBlock(c.ID, wire.Arguments(c.Arguments), c.Name))
		}
		return anthropic.NewAssistantMessage(all...)
	}
	var all []anthropic.ContentBlockParamUnion
	if !isBlank(m.Text) {
		all = append(all, anthropic.NewTextBlock(m.Text))
	}
	return anthropic.NewUserMessage(append(all, images(m.Files)...)...)
}

// images returns files as blocks.
func images(files []llm.File) []anthropic.ContentBlockParamUnion {
	all := make([]anthropic.ContentBlockParamUnion, len(files))
	for i, f := range files {
		all[i] = anthropic.NewImageBlockBase64(f.MediaType, base64.StdEncoding.EncodeToString(f.Data))
	}
	return all
}

// isBlank reports whether a text has only space. The vendor refuses such texts.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

func result(r *llm.ToolResult) *anthropic.ToolResultBlockParam {
	b := &anthropic.ToolResultBlockParam{ToolUseID: r.CallID}
	if r.IsError {
		b.IsError = param.NewOpt(true)
	}
	if !isBlank(r.Text) {
		b.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: r.Text}}}
	}
	if !r.IsError {
		for _, image := range images(r.Files) {
			b.Content = append(b.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: image.OfImage})
		}
	}
	return b
}

// ownBlocks returns the original blocks of the vendor, without removed calls and blank texts, which
// the vendor refuses. It returns nil if the message is from another provider, or has calls that the
// blocks do not have. A call gets the id that the message has for it.
func (p *Provider) ownBlocks(m *llm.Message) []anthropic.ContentBlockParamUnion {
	var blocks []json.RawMessage
	if m.Opaque == nil || m.Opaque.Provider != p.server.Name || json.Unmarshal(m.Opaque.Data, &blocks) != nil {
		return nil
	}
	var all []anthropic.ContentBlockParamUnion
	calls := wire.NewCallMatcher(m.ToolCalls, blocks, "tool_use", "id")
	for _, raw := range blocks {
		b := wire.Members(raw)
		if b == nil {
			return nil
		}
		switch wire.Text(b["type"]) {
		case "text":
			if isBlank(wire.Text(b["text"])) {
				continue
			}
		case "tool_use":
			c := calls.Next(b)
			if c == nil {
				continue
			}
			raw = wire.WithMembers(raw, b, map[string]any{"id": c.ID, "input": wire.Arguments(inputOf(b))})
		}
		all = append(all, param.Override[anthropic.ContentBlockParamUnion](raw))
	}
	if !calls.Done() {
		return nil
	}
	return all
}

func optional[T comparable](v *T) param.Opt[T] {
	if v == nil {
		return param.Opt[T]{}
	}
	return param.NewOpt(*v)
}
