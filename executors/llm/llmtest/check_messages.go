package llmtest

import (
	"fmt"
	"regexp"
	"strings"
)

// messages checks a request of the Messages API.
func (c *checker) messages() {
	c.known(`model messages system max_tokens stream temperature top_p top_k stop_sequences tools tool_choice
		thinking metadata output_config cache_control service_tier`)
	if c.header.Get("Anthropic-Version") == "" {
		c.refuse("anthropic-version: header is required")
	}
	most, present := c.number("max_tokens", 1, 1<<31)
	if !present {
		c.refuse("max_tokens: field required")
	}
	c.messagesSampling()
	if thinking, ok := c.body["thinking"].(Object); ok && thinking["type"] == "enabled" {
		budget, _ := thinking["budget_tokens"].(float64)
		choice, _ := c.body["tool_choice"].(Object)
		switch {
		case budget < 1024:
			c.refuse("thinking.budget_tokens: input should be greater than or equal to 1024")
		case budget >= most:
			c.refuse("max_tokens must be greater than thinking.budget_tokens")
		case oneOf("any tool", fmt.Sprint(choice["type"])):
			c.refuse("thinking may not be enabled when tool_choice forces tool use")
		}
	}
	c.messagesStops()
	c.messagesTools()
	cached := c.cacheMarks("tools", c.objects(c.body, "tools"))
	if c.body["cache_control"] != nil {
		cached++
	}
	if _, ok := c.body["system"].(string); !ok {
		system := c.objects(c.body, "system")
		cached += c.cacheMarks("system", system)
		for i, b := range system {
			c.textBlock(fmt.Sprintf("system[%d]", i), b)
		}
	}
	if cached += c.turns(); cached > 4 {
		c.refuse("a maximum of 4 blocks with cache_control may be provided. Found %d", cached)
	}
	if config, ok := c.body["output_config"].(Object); ok && config["format"] != nil {
		format, _ := config["format"].(Object)
		if format["type"] != "json_schema" {
			c.refuse("output_config.format.type: expected json_schema")
		}
		c.schema("output_config.format.schema", format["schema"], true)
	}
}

// messagesSampling checks temperature and top_p. Later models take neither, and those before take
// one of them.
func (c *checker) messagesSampling() {
	temperature, one := c.number("temperature", 0, 1)
	_, other := c.number("top_p", 0, 1)
	thinking, _ := c.body["thinking"].(Object)
	switch {
	case (one || other) && strings.HasPrefix(c.model, "claude-") && !plainClaude.MatchString(c.model):
		c.refuse("temperature and top_p are not supported for this model")
	case one && other && !strings.HasPrefix(c.model, "claude-3"):
		c.refuse("temperature and top_p cannot both be specified for this model")
	case one && thinking["type"] == "enabled" && temperature != 1:
		c.refuse("temperature may only be set to 1 when thinking is enabled")
	}
}

func (c *checker) messagesStops() {
	if _, present := c.body["stop_sequences"]; !present {
		return
	}
	all, _ := c.body["stop_sequences"].([]any)
	for _, s := range all {
		if text, _ := s.(string); strings.TrimSpace(text) == "" {
			c.refuse("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
}

// callID matches the ids of calls that the API takes.
var callID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// propertyName matches the names of properties that the API takes.
var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

func (c *checker) messagesTools() {
	var names []string
	for i, tool := range c.objects(c.body, "tools") {
		names = append(names, c.text(tool, "name"))
		at := fmt.Sprintf("tools[%d].input_schema", i)
		c.schema(at, tool["input_schema"], true)
		schema, _ := tool["input_schema"].(Object)
		properties, _ := schema["properties"].(Object)
		for name := range properties {
			if !propertyName.MatchString(name) {
				c.refuse("%s.properties: the key %q does not match %s", at, name, propertyName)
			}
		}
	}
	c.toolNames(names, "tool_choice")
	if choice, present := c.body["tool_choice"]; present {
		o, _ := choice.(Object)
		if !oneOf("auto any tool none", c.text(o, "type")) {
			c.refuse("tool_choice: expected an object with a type, got %s", JSON(choice))
		}
	}
}

// turns checks the messages, and returns the number of their cache marks.
func (c *checker) turns() (cached int) {
	calls := &pending{c: c}
	messages := c.objects(c.body, "messages")
	if len(messages) == 0 {
		c.refuse("messages: at least one message is required")
	}
	for i, m := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		role := c.text(m, "role")
		if !oneOf("user assistant", role) {
			c.refuse("%s: unexpected role %q", at, role)
		}
		text, ok := m["content"].(string)
		if ok {
			m = Object{"content": []any{Object{"type": "text", "text": text}}}
		}
		blocks := c.objects(m, "content")
		if len(blocks) == 0 {
			c.refuse("%s: all messages must have non-empty content", at)
		}
		cached += c.cacheMarks(at, blocks)
		waiting := len(calls.open) > 0
		for j, b := range blocks {
			c.block(fmt.Sprintf("%s.content[%d]", at, j), b, role, calls, j > 0 && blocks[j-1]["type"] != "tool_result")
		}
		if waiting {
			c.unanswered(at, calls, blocks)
		}
		c.thoughts(at, blocks)
		if last := blocks[max(len(blocks)-1, 0):]; role == "assistant" && i == len(messages)-1 && len(last) > 0 {
			if text, _ := last[0]["text"].(string); text != strings.TrimRight(text, " \t\r\n") {
				c.refuse("%s: final assistant content cannot end with trailing whitespace", at)
			}
		}
	}
	calls.end("messages")
	return cached
}

// unanswered refuses a message that leaves calls of the message before it without results.
func (c *checker) unanswered(at string, calls *pending, blocks []Object) {
	own := 0
	for _, b := range blocks {
		if b["type"] == "tool_use" {
			own++
		}
	}
	if open := calls.open[:max(len(calls.open)-own, 0)]; len(open) > 0 {
		c.refuse("%s: tool_use ids were found without tool_result blocks immediately after: %v", at, open)
		calls.open = calls.open[len(open):]
	}
}

// thoughts refuses a message with calls that lacks the thought before them, if the vendor thinks.
func (c *checker) thoughts(at string, blocks []Object) {
	thought := ""
	for _, b := range blocks {
		switch b["type"] {
		case "thinking":
			thought = c.text(b, "thinking")
		case "tool_use":
			c.signature(at, b)
			if c.rules.Reasoning != "" && thought != c.rules.Reasoning {
				c.refuse("%s: expected thinking or redacted_thinking before tool_use", at)
			}
		}
	}
}

// block checks one block. late is true after a block that is no result.
func (c *checker) block(at string, b Object, role string, calls *pending, late bool) {
	kind := c.text(b, "type")
	switch {
	case oneOf("tool_use thinking redacted_thinking server_tool_use", kind) && role != "assistant":
		c.refuse("%s: %s blocks can only be in assistant messages", at, kind)
	case oneOf("tool_result image document", kind) && role != "user":
		c.refuse("%s: %s blocks can only be in user messages", at, kind)
	}
	switch kind {
	case "text":
		c.textBlock(at, b)
	case "image":
		c.imageBlock(at, b)
	case "tool_use":
		calls.call(at, c.text(b, "id"), c.text(b, "name"))
		if !callID.MatchString(c.text(b, "id")) {
			c.refuse("%s.id: %q does not match %s", at, b["id"], callID)
		}
		if _, ok := b["input"].(Object); !ok {
			c.refuse("%s.input: input should be a valid dictionary", at)
		}
	case "tool_result":
		if late {
			c.refuse("%s: tool_result blocks must come first", at)
		}
		calls.result(at, c.text(b, "tool_use_id"))
		c.toolResult(at, b)
	case "thinking":
		if c.text(b, "signature") == "" {
			c.refuse("%s: each thinking block must contain a signature", at)
		}
	case "redacted_thinking":
		if c.text(b, "data") == "" {
			c.refuse("%s.data: field required", at)
		}
	case "":
		c.refuse("%s.type: field required", at)
	}
}

func (c *checker) textBlock(at string, b Object) {
	if strings.TrimSpace(c.text(b, "text")) == "" {
		c.refuse("%s: text content blocks must contain non-whitespace text", at)
	}
}

func (c *checker) imageBlock(at string, b Object) {
	source, _ := b["source"].(Object)
	if source["type"] == "base64" {
		c.image(at, c.text(source, "media_type"), c.text(source, "data"))
	}
}

func (c *checker) toolResult(at string, b Object) {
	if _, ok := b["content"].(string); ok {
		return
	}
	for j, part := range c.objects(b, "content") {
		at := fmt.Sprintf("%s.content[%d]", at, j)
		switch c.text(part, "type") {
		case "text":
			c.textBlock(at, part)
		case "image":
			if b["is_error"] == true {
				c.refuse("%s: when is_error is true, all content must be type text", at)
			}
			c.imageBlock(at, part)
		}
	}
}

// cacheMarks returns the number of blocks with cache_control, and checks each.
func (c *checker) cacheMarks(at string, blocks []Object) (n int) {
	for i, b := range blocks {
		mark, present := b["cache_control"]
		if !present || mark == nil {
			continue
		}
		n++
		o, _ := mark.(Object)
		if o["type"] != "ephemeral" || o["ttl"] != nil && o["ttl"] != "5m" && o["ttl"] != "1h" {
			c.refuse("%s[%d].cache_control: invalid value %s", at, i, JSON(mark))
		}
		if oneOf("thinking redacted_thinking", c.text(b, "type")) {
			c.refuse("%s[%d].cache_control: not allowed for thinking blocks", at, i)
		}
	}
	return n
}
