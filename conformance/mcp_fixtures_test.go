//lint:file-ignore SA1019 The suite asks for what the protocol is about to drop: sampling and logging.

package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A picture of one pixel, and a sound of no length.
var (
	pixel   = decoded("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	silence = decoded("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decoded(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func text(s string) protocol.Content { return &protocol.TextContent{Text: s} }

func picture() protocol.Content { return &protocol.ImageContent{Data: pixel, MIMEType: "image/png"} }

func embedded(uri string) protocol.Content {
	return &protocol.EmbeddedResource{Resource: &protocol.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "an embedded resource"}}
}

// addFixtures adds the tools that the suite calls by fixed names.
func addFixtures(s *protocol.Server) {
	addAnswers(s)
	addTellers(s)
	addSchemas(s)
	addChanges(s)
	addResources(s)
	addPrompts(s)
	addQuestions(s)
	addUnfinished(s)
	addTasks(s)
}

type toolCall = protocol.CallToolRequest

// fixture adds a tool that takes any arguments.
func fixture(s *protocol.Server, name string, f func(context.Context, *toolCall) (*protocol.CallToolResult, error)) {
	protocol.AddTool(s, &protocol.Tool{Name: name, Description: "for the conformance suite"},
		func(ctx context.Context, req *toolCall, _ any) (*protocol.CallToolResult, any, error) {
			r, err := f(ctx, req)
			return r, nil, err
		})
}

func result(c ...protocol.Content) *protocol.CallToolResult {
	return &protocol.CallToolResult{Content: c}
}

// addAnswers adds the tools that answer always the same.
func addAnswers(s *protocol.Server) {
	for name, content := range map[string][]protocol.Content{
		"test_simple_text":            {text("This is a simple text response for testing.")},
		"test_image_content":          {picture()},
		"test_audio_content":          {&protocol.AudioContent{Data: silence, MIMEType: "audio/wav"}},
		"test_embedded_resource":      {embedded("test://embedded-resource")},
		"test_multiple_content_types": {text("one of several"), picture(), embedded("test://mixed-content-resource")},
		"test_streaming_elicitation":  {text("the stream has nothing but this result")},
	} {
		fixture(s, name, func(context.Context, *toolCall) (*protocol.CallToolResult, error) {
			return result(content...),
				nil
		})
	}
	fixture(s, "test_error_handling", func(context.Context, *toolCall) (*protocol.CallToolResult, error) {
		return nil, errors.New("this tool intentionally returns an error for testing")
	})
	fixture(s, "test_missing_capability", func(_ context.Context, req *toolCall) (*protocol.CallToolResult, error) {
		if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
			return result(text("the client can sample")), nil
		}
		data, err := json.Marshal(protocol.MissingRequiredClientCapabilityData{RequiredCapabilities: &protocol.ClientCapabilities{Sampling: &protocol.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: protocol.CodeMissingRequiredClientCapabilities, Message: "needs sampling",
			Data: data}
	})
}

// addTellers adds the tools that send notifications while they run.
func addTellers(s *protocol.Server) {
	fixture(s, "test_tool_with_progress", func(ctx context.Context, req *toolCall) (*protocol.CallToolResult, error) {
		token := req.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			if err := req.Session.NotifyProgress(ctx, &protocol.ProgressNotificationParams{ProgressToken: token, Progress: done,
				Total: 100}); err != nil {
				return nil, err
			}
		}
		return result(text(fmt.Sprint(token))), nil
	})
	for name, lines := range map[string][]string{
		"test_tool_with_logging": {"Tool execution started", "Tool processing data", "Tool execution completed"},
		"test_logging_tool":      {"logged"},
	} {
		fixture(s, name, func(ctx context.Context, req *toolCall) (*protocol.CallToolResult, error) {
			for _, line := range lines {
				if err := req.Session.Log(ctx, &protocol.LoggingMessageParams{Level: "info", Data: line}); err != nil {
					return nil, err
				}
			}
			return result(text("logged")), nil
		})
	}
	fixture(s, "test_reconnection", func(_ context.Context, req *toolCall) (*protocol.CallToolResult, error) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(protocol.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		return result(text("the stream was closed before this")), nil
	})
}

// addSchemas adds the tools whose schemas must reach the client as they are.
func addSchemas(s *protocol.Server) {
	for name, schema := range map[string]string{
		"json_schema_2020_12_tool": `{
			"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
			"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
			"properties": {
				"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
				"phone": {"type": "string"}, "email": {"type": "string"}},
			"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
			"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
			"then": {"required": ["phone"]}, "else": {"required": ["email"]}}`,
		"test_x_mcp_header": `{"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`,
	} {
		s.AddTool(&protocol.Tool{Name: name, Description: "for the conformance suite", InputSchema: json.RawMessage(schema)},
			func(_ context.Context, req *toolCall) (*protocol.CallToolResult, error) {
				return result(text(string(req.Params.Arguments))), nil
			})
	}
}

// addChanges adds the tools that change what the server has.
func addChanges(s *protocol.Server) {
	fixture(s, "test_trigger_tool_change", func(context.Context, *toolCall) (*protocol.CallToolResult, error) {
		fixture(s, "test_new", func(context.Context, *toolCall) (*protocol.CallToolResult, error) { return result(), nil })
		return result(text("changed")), nil
	})
	fixture(s, "test_trigger_prompt_change", func(context.Context, *toolCall) (*protocol.CallToolResult, error) {
		says(s, "test_new")
		return result(text("changed")), nil
	})
}

// templated is what URIs of the template look like.
var templated = regexp.MustCompile(`^test://template/([^/]+)/data$`)

func addResources(s *protocol.Server) {
	read := func(mime string, blob []byte, say func(uri string) string) protocol.ResourceHandler {
		return func(_ context.Context, req *protocol.ReadResourceRequest) (*protocol.ReadResourceResult, error) {
			c := &protocol.ResourceContents{URI: req.Params.URI, MIMEType: mime, Blob: blob}
			if blob == nil {
				c.Text = say(req.Params.URI)
			}
			return &protocol.ReadResourceResult{Contents: []*protocol.ResourceContents{c}}, nil
		}
	}
	always := func(string) string { return "This is the content of the static text resource." }
	for _, name := range []string{"static-text", "watched-resource"} {
		s.AddResource(&protocol.Resource{Name: name, URI: "test://" + name, MIMEType: "text/plain"},
			read("text/plain", nil, always))
	}
	s.AddResource(&protocol.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png"},
		read("image/png", pixel, nil))
	s.AddResourceTemplate(&protocol.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data",
		MIMEType: "application/json"},
		read("application/json", nil, func(uri string) string {
			return fmt.Sprintf(`{"id": %q, "templateTest": true}`, templated.FindStringSubmatch(uri)[1])
		}))
}

// says adds a prompt without arguments.
func says(s *protocol.Server, name string, content ...protocol.Content) {
	s.AddPrompt(&protocol.Prompt{Name: name, Description: "for the conformance suite"},
		func(context.Context, *protocol.GetPromptRequest) (*protocol.GetPromptResult, error) {
			return prompted(content...), nil
		})
}

func prompted(content ...protocol.Content) *protocol.GetPromptResult {
	r := &protocol.GetPromptResult{Description: "for the conformance suite"}
	for _, c := range content {
		r.Messages = append(r.Messages, &protocol.PromptMessage{Role: "user", Content: c})
	}
	return r
}

func addPrompts(s *protocol.Server) {
	says(s, "test_simple_prompt", text("This is a simple prompt for testing."))
	says(s, "test_prompt_with_image", picture(), text("What is in this picture?"))
	arguments := func(names ...string) (all []*protocol.PromptArgument) {
		for _, name := range names {
			all = append(all, &protocol.PromptArgument{Name: name, Description: "for the conformance suite", Required: true})
		}
		return all
	}
	s.AddPrompt(&protocol.Prompt{Name: "test_prompt_with_arguments", Description: "for the conformance suite",
		Arguments: arguments("arg1", "arg2")},
		func(_ context.Context, req *protocol.GetPromptRequest) (*protocol.GetPromptResult, error) {
			return prompted(text(fmt.Sprintf("arg1='%s', arg2='%s'", req.Params.Arguments["arg1"],
				req.Params.Arguments["arg2"]))), nil
		})
	s.AddPrompt(&protocol.Prompt{Name: "test_prompt_with_embedded_resource", Description: "for the conformance suite",
		Arguments: arguments("resourceUri")},
		func(_ context.Context, req *protocol.GetPromptRequest) (*protocol.GetPromptResult, error) {
			return prompted(embedded(req.Params.Arguments["resourceUri"]), text("What does it say?")), nil
		})
}
