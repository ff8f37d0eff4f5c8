package llmtest

import (
	"fmt"
	"slices"
	"strings"
)

func oneOf(names, name string) bool { return slices.Contains(strings.Fields(names), name) }

// responses checks a request of the Responses API.
func (c *checker) responses() {
	c.known(`model input instructions stream temperature top_p max_output_tokens tools tool_choice parallel_tool_calls
		text store include metadata reasoning prompt_cache_key user truncation`)
	c.sampling()
	c.number("max_output_tokens", 16, 1<<31)
	if _, present := c.body["reasoning"]; present && !c.reasons() {
		c.refuse("unsupported parameter: reasoning is not supported with this model")
	}
	include, _ := c.body["include"].([]any)
	for _, name := range include {
		if name != "reasoning.encrypted_content" {
			c.refuse("include: invalid value %v", name)
		} else if !c.reasons() {
			c.refuse("include: encrypted content is not supported with this model")
		}
	}
	var names []string
	for i, tool := range c.objects(c.body, "tools") {
		if tool["type"] != "function" {
			c.refuse("tools[%d]: expected a function", i)
			continue
		}
		name := c.text(tool, "name")
		names = append(names, name)
		c.schema("tools["+name+"].parameters", tool["parameters"], true)
		if tool["strict"] == true {
			c.strictSchema("tools["+name+"].parameters", tool["parameters"])
		}
	}
	c.toolNames(names, "tool_choice", "parallel_tool_calls")
	if text, ok := c.body["text"].(Object); ok {
		if format, ok := text["format"].(Object); ok && format["type"] == "json_schema" {
			c.answerSchema("text.format", format)
		}
	}
	if metadata, ok := c.body["metadata"].(Object); ok && len(metadata) > 16 {
		c.refuse("metadata: expected at most 16 members")
	}
	c.inputItems()
}

func (c *checker) inputItems() {
	if text, ok := c.body["input"].(string); ok && text != "" {
		return
	}
	calls := &pending{c: c}
	items := c.objects(c.body, "input")
	if len(items) == 0 {
		c.refuse("input: [] is too short")
	}
	thought := "" // encrypted content of the reasoning item before
	for i, item := range items {
		at := fmt.Sprintf("input[%d]", i)
		kind := c.text(item, "type")
		if kind == "" && item["role"] != nil {
			kind = "message"
		}
		switch kind {
		case "message":
			c.inputMessage(at, item)
		case "reasoning":
			thought = c.text(item, "encrypted_content")
			if thought == "" && c.body["store"] == false {
				c.refuse("%s: item %v not found: items are not persisted when store is false", at, item["id"])
			}
			if i == len(items)-1 {
				c.refuse("%s: item of type reasoning was provided without its required following item", at)
			}
		case "function_call":
			calls.call(at, c.text(item, "call_id"), c.text(item, "name"))
			c.arguments(at, item["arguments"])
			c.signature(at, item)
			if c.rules.Reasoning != "" && thought != c.rules.Reasoning {
				c.refuse("%s: function_call was provided without its required reasoning item", at)
			}
			if id := c.text(item, "id"); id != "" && !strings.HasPrefix(id, "fc") {
				c.refuse("%s.id: expected an ID that begins with fc, got %q", at, id)
			}
			if len(c.text(item, "call_id")) > 64 {
				c.refuse("%s.call_id: string too long", at)
			}
		case "function_call_output":
			calls.result(at, c.text(item, "call_id"))
			if _, ok := item["output"].(string); ok {
				continue
			}
			parts, ok := item["output"].([]any)
			if !ok || len(parts) == 0 {
				c.refuse("%s.output: expected a string or parts", at)
			}
			for j := range parts {
				c.part(fmt.Sprintf("%s.output[%d]", at, j), parts[j], "input_text input_image input_file")
			}
		default:
			if kind == "" || oneOf("tool_result tool_use text", kind) {
				c.refuse("%s: invalid type %q", at, kind)
			}
		}
	}
	calls.end("input")
}

func (c *checker) inputMessage(at string, m Object) {
	role := c.text(m, "role")
	if !oneOf("user assistant system developer", role) {
		c.refuse("%s: invalid role %q", at, role)
	}
	if _, ok := m["content"].(string); ok {
		return
	}
	parts, ok := m["content"].([]any)
	if !ok || len(parts) == 0 {
		c.refuse("%s.content: expected a string or parts, got %s", at, JSON(m["content"]))
	}
	kinds := "input_text input_image input_file"
	if role == "assistant" {
		kinds = "output_text refusal"
	}
	for i := range parts {
		c.part(fmt.Sprintf("%s.content[%d]", at, i), parts[i], kinds)
	}
}
