package llmtest

import "fmt"

// chat checks a request of chat completions.
func (c *checker) chat() {
	c.known(`model messages stream stream_options temperature top_p seed max_tokens max_completion_tokens tools
		tool_choice parallel_tool_calls response_format store stop reasoning_effort metadata user n`)
	c.sampling()
	_, older := c.number("max_tokens", 1, 1<<31)
	_, newer := c.number("max_completion_tokens", 1, 1<<31)
	switch {
	case older && c.reasons():
		c.refuse("unsupported parameter: max_tokens: use max_completion_tokens instead")
	case older && newer:
		c.refuse("max_tokens and max_completion_tokens are mutually exclusive")
	}
	if _, present := c.body["stream_options"]; present && c.body["stream"] != true {
		c.refuse("stream_options is only allowed when stream is enabled")
	}
	if _, present := c.body["reasoning_effort"]; present && !c.reasons() {
		c.refuse("unsupported parameter: reasoning_effort is not supported with this model")
	}
	c.stops("stop", 4)
	if c.reasons() && c.body["stop"] != nil {
		c.refuse("unsupported parameter: stop is not supported with this model")
	}
	c.chatTools()
	if format, ok := c.body["response_format"].(Object); ok && format["type"] == "json_schema" {
		inner, _ := format["json_schema"].(Object)
		c.answerSchema("response_format.json_schema", inner)
	}
	c.chatMessages()
}

// answerSchema checks a schema of answers with its name.
func (c *checker) answerSchema(at string, o Object) {
	if name := c.text(o, "name"); !validName.MatchString(name) {
		c.refuse("%s.name %q does not match %s", at, name, validName)
	}
	c.schema(at+".schema", o["schema"], true)
	if o["strict"] == true {
		c.strictSchema(at+".schema", o["schema"])
	}
}

// stops checks stop sequences.
func (c *checker) stops(name string, most int) {
	value, present := c.body[name]
	if !present {
		return
	}
	all, _ := value.([]any)
	if text, ok := value.(string); ok {
		all = []any{text}
	}
	if len(all) == 0 || len(all) > most {
		c.refuse("%s: expected 1 to %d texts, got %s", name, most, JSON(value))
	}
	for _, s := range all {
		if text, ok := s.(string); !ok || text == "" {
			c.refuse("%s: expected texts that are not empty, got %s", name, JSON(value))
		}
	}
}

func (c *checker) chatTools() {
	var names []string
	for i, tool := range c.objects(c.body, "tools") {
		f, ok := tool["function"].(Object)
		if tool["type"] != "function" || !ok {
			c.refuse("tools[%d]: expected a function", i)
			continue
		}
		names = append(names, c.text(f, "name"))
		c.text(f, "description")
		if parameters, present := f["parameters"]; present {
			c.schema("tools["+c.text(f, "name")+"].parameters", parameters, true)
		}
	}
	c.toolNames(names, "tool_choice", "parallel_tool_calls")
}

func (c *checker) chatMessages() {
	calls := &pending{c: c}
	legacy := "" // name of a function_call without its result
	messages := c.objects(c.body, "messages")
	if len(messages) == 0 {
		c.refuse("messages: [] is too short")
	}
	for i, m := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		role := c.text(m, "role")
		if role != "tool" {
			calls.end(at)
		}
		if role != "function" && legacy != "" {
			c.refuse("%s: no result for the function_call %q", at, legacy)
			legacy = ""
		}
		switch role {
		case "system", "developer":
			if i > 0 {
				c.refuse("%s: system message must be at the beginning", at)
			}
			c.chatContent(at, m["content"], "text")
		case "user":
			c.chatContent(at, m["content"], "text image_url input_audio file")
			if c.rules.Mistral && i > 0 && messages[i-1]["role"] == "tool" {
				c.refuse("%s: unexpected role user after role tool", at)
			}
		case "tool":
			calls.result(at, c.text(m, "tool_call_id"))
			c.chatContent(at, m["content"], "text")
		case "function":
			if legacy == "" || legacy != m["name"] {
				c.refuse("%s: the result of %v answers no function_call", at, m["name"])
			}
			legacy = ""
		case "assistant":
			legacy = c.chatAssistant(at, m, calls)
		default:
			c.refuse("%s: invalid role %q", at, role)
		}
	}
	calls.end("messages")
	if legacy != "" {
		c.refuse("messages: no result for the function_call %q", legacy)
	}
}

// chatAssistant checks a message of the model, and returns the name of its function_call.
func (c *checker) chatAssistant(at string, m Object, calls *pending) (legacy string) {
	if _, present := m["tool_calls"]; present && len(c.objects(m, "tool_calls")) == 0 {
		c.refuse("%s.tool_calls: [] is too short", at)
	}
	for j, call := range c.objects(m, "tool_calls") {
		at := fmt.Sprintf("%s.tool_calls[%d]", at, j)
		f, _ := call["function"].(Object)
		if call["type"] != "function" {
			c.refuse("%s.type: expected function", at)
		}
		calls.call(at, c.text(call, "id"), c.text(f, "name"))
		switch id := c.text(call, "id"); {
		case len(id) > 40:
			c.refuse("%s.id: string too long: expected a maximum length of 40", at)
		case c.rules.Mistral && !mistralID.MatchString(id):
			c.refuse("%s.id: tool call id was %s but must match %s", at, id, mistralID)
		}
		c.arguments(at, f["arguments"])
		c.signature(at, call)
	}
	if f, ok := m["function_call"].(Object); ok {
		legacy = c.text(f, "name")
		c.arguments(at+".function_call", f["arguments"])
	}
	called := m["tool_calls"] != nil || m["function_call"] != nil
	if called && c.rules.Reasoning != "" && m["reasoning_content"] != c.rules.Reasoning {
		c.refuse("%s: the reasoning_content in the thinking mode must be passed back to the API", at)
	}
	if m["content"] == nil && !called {
		c.refuse("%s.content: expected a string, got null", at)
	}
	if m["content"] != nil {
		c.chatContent(at, m["content"], "text refusal thinking reasoning reference")
	}
	return legacy
}

// signature refuses a call without its thought signature.
func (c *checker) signature(at string, call Object) {
	if c.rules.Signature == "" {
		return
	}
	extra, _ := call["extra_content"].(Object)
	google, _ := extra["google"].(Object)
	if google["thought_signature"] != c.rules.Signature {
		c.refuse("%s: function call is missing a thought_signature", at)
	}
}

// chatContent checks the content of a message: a text, or a list of parts of the given types.
func (c *checker) chatContent(at string, content any, kinds string) {
	if _, ok := content.(string); ok {
		return
	}
	parts, ok := content.([]any)
	if !ok || len(parts) == 0 {
		c.refuse("%s.content: expected a string or parts, got %s", at, JSON(content))
	}
	for i := range parts {
		c.part(fmt.Sprintf("%s.content[%d]", at, i), parts[i], kinds)
	}
}

// part checks a part of a content in the APIs of OpenAI.
func (c *checker) part(at string, value any, kinds string) {
	part, _ := value.(Object)
	kind := c.text(part, "type")
	if !oneOf(kinds, kind) {
		c.refuse("%s: invalid type %q: expected one of %s", at, kind, kinds)
	}
	switch kind {
	case "text", "input_text", "output_text":
		if text, ok := part["text"].(string); !ok || text == "" {
			c.refuse("%s: text content blocks must be non-empty", at)
		}
	case "image_url":
		image, _ := part["image_url"].(Object)
		c.imageURL(at, c.text(image, "url"))
	case "input_image":
		c.imageURL(at, c.text(part, "image_url"))
	}
}
