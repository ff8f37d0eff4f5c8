//lint:file-ignore SA1019 The suite asks for what the protocol is about to drop: sampling and roots.

package conformance

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
)

type object = map[string]any

// form asks for one text.
func form(name string) object {
	return object{"type": "object", "properties": object{name: object{"type": "string"}}, "required": []string{name}}
}

// primitives asks for one value of each kind, with defaults (SEP-1034).
var primitives = object{"type": "object", "properties": object{
	"name":     object{"type": "string", "default": "John Doe"},
	"age":      object{"type": "integer", "default": 30},
	"score":    object{"type": "number", "default": 95.5},
	"status":   object{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
	"verified": object{"type": "boolean", "default": true},
}}

// choices asks for one of several, and for several, with and without titles (SEP-1330).
var choices = object{"type": "object", "properties": object{
	"untitledSingle": object{"type": "string", "enum": options},
	"titledSingle":   object{"type": "string", "oneOf": titled},
	"legacyEnum":     object{"type": "string", "enum": []string{"opt1", "opt2", "opt3"}, "enumNames": []string{"Option One", "Option Two", "Option Three"}},
	"untitledMulti":  object{"type": "array", "minItems": 1, "maxItems": 3, "items": object{"type": "string", "enum": options}},
	"titledMulti":    object{"type": "array", "minItems": 1, "maxItems": 3, "items": object{"type": "string", "anyOf": titled}},
}}

var (
	options = []string{"option1", "option2", "option3"}
	titled  = []object{
		{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"},
		{"const": "value3", "title": "Third Option"},
	}
)

func sample(prompt string) *protocol.CreateMessageParams {
	return &protocol.CreateMessageParams{MaxTokens: 100, Messages: []*protocol.SamplingMessage{{Role: "user", Content: text(prompt)}}}
}

func elicit(field string) *protocol.ElicitParams {
	return &protocol.ElicitParams{Message: "Please give " + field, RequestedSchema: form(field)}
}

// addQuestions adds the tools that ask the client in a separate request, in the era of sessions.
func addQuestions(s *protocol.Server) {
	fixture(s, "test_sampling", func(ctx context.Context, req *toolCall) (*protocol.CallToolResult, error) {
		r, err := req.Session.CreateMessage(ctx, sample("What is it?"))
		if err != nil {
			return nil, err
		}
		said, ok := r.Content.(*protocol.TextContent)
		if !ok {
			return nil, fmt.Errorf("the answer is a %T", r.Content)
		}
		return result(text("LLM response: " + said.Text)), nil
	})
	for name, schema := range map[string]object{
		"test_elicitation": form("username"), "test_elicitation_sep1034_defaults": primitives,
		"test_elicitation_sep1330_enums": choices,
	} {
		fixture(s, name, func(ctx context.Context, req *toolCall) (*protocol.CallToolResult, error) {
			r, err := req.Session.Elicit(ctx, &protocol.ElicitParams{Message: "Please fill it in", RequestedSchema: schema})
			if err != nil {
				return nil, err
			}
			return result(text(fmt.Sprintf("Elicitation result: action=%s, content=%v", r.Action, r.Content))), nil
		})
	}
}

// given returns the answer of the client to a question, or nothing.
func given(answers protocol.InputResponseMap, question, field string) string {
	switch a := answers[question].(type) {
	case *protocol.ElicitResult:
		if s, ok := a.Content[field].(string); ok && a.Action == "accept" {
			return s
		}
	case *protocol.CreateMessageWithToolsResult:
		for _, c := range a.Content {
			if t, ok := c.(*protocol.TextContent); ok {
				return t.Text
			}
		}
	case *protocol.ListRootsResult:
		return fmt.Sprintf("%d roots", len(a.Roots))
	}
	return ""
}

// asks returns a result that asks the client, which calls again with state.
func asks(state string, questions protocol.InputRequestMap) *protocol.CallToolResult {
	return &protocol.CallToolResult{InputRequests: questions, RequestState: state}
}

// addUnfinished adds what asks the client in its result, in the era without sessions (SEP-2322).
func addUnfinished(s *protocol.Server) {
	for name, questions := range map[string]protocol.InputRequestMap{
		"test_input_required_result_elicitation": {"user_name": elicit("name")},
		"test_input_required_result_sampling":    {"capital_question": sample("What is the capital of France?")},
		"test_input_required_result_list_roots":  {"client_roots": &protocol.ListRootsParams{}},
		"test_input_required_result_multiple_inputs": {
			"user_name": elicit("name"), "greeting": sample("Greet me"), "client_roots": &protocol.ListRootsParams{},
		},
	} {
		fixture(s, name, func(_ context.Context, req *toolCall) (*protocol.CallToolResult, error) {
			said := "Given:"
			for question := range questions {
				one := given(req.Params.InputResponses, question, "name")
				if one == "" {
					return asks("asked", questions), nil
				}
				said += " " + one
			}
			return result(text(said)), nil
		})
	}
	for _, name := range []string{"test_input_required_result_request_state",
		"test_input_required_result_tampered_state"} {
		fixture(s, name, confirmed)
	}
	fixture(s, "test_input_required_result_multi_round", rounds)
	fixture(s, "test_input_required_result_capabilities", capable)
	s.AddPrompt(&protocol.Prompt{Name: "test_input_required_result_prompt", Description: "for the conformance suite"},
		func(_ context.Context, req *protocol.GetPromptRequest) (*protocol.GetPromptResult, error) {
			if said := given(req.Params.InputResponses, "user_context", "context"); said != "" {
				return prompted(text("Context: " + said)), nil
			}
			return &protocol.GetPromptResult{InputRequests: protocol.InputRequestMap{"user_context": elicit("context")}}, nil
		})
}

// confirmed takes the state back that it has given, and no other.
func confirmed(_ context.Context, req *toolCall) (*protocol.CallToolResult, error) {
	const state = "to be confirmed"
	switch {
	case req.Params.RequestState == "":
		ok := object{"type": "object", "properties": object{"ok": object{"type": "boolean"}}, "required": []string{"ok"}}
		return asks(state, protocol.InputRequestMap{"confirm": &protocol.ElicitParams{Message: "Please confirm",
			RequestedSchema: ok}}), nil
	case req.Params.RequestState != state:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid requestState"}
	}
	return result(text("state-ok: confirmed")), nil
}

// rounds asks twice. The state of the second round has the answer of the first.
func rounds(_ context.Context, req *toolCall) (*protocol.CallToolResult, error) {
	switch req.Params.RequestState {
	case "":
		return asks("round=1", protocol.InputRequestMap{"step1": elicit("name")}), nil
	case "round=1":
		return asks("name="+given(req.Params.InputResponses, "step1", "name"),
			protocol.InputRequestMap{"step2": elicit("color")}), nil
	}
	return result(text(req.Params.RequestState + ", color=" + given(req.Params.InputResponses, "step2", "color"))), nil
}

// capable asks only for capabilities that the client has declared.
func capable(_ context.Context, req *toolCall) (*protocol.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		return result(text("answered")), nil
	}
	questions := protocol.InputRequestMap{}
	if caps := req.ClientCapabilities(); caps != nil {
		if caps.Elicitation != nil {
			questions["user_name"] = elicit("name")
		}
		if caps.Sampling != nil {
			questions["greeting"] = sample("Greet me")
		}
	}
	if len(questions) == 0 {
		return result(text("there is nothing that the client can be asked")), nil
	}
	return asks("", questions), nil
}
