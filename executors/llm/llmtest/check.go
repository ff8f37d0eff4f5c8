package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Rules are the rules of single vendors. The zero value has only those that all vendors have.
type Rules struct {
	// Signature is the thought signature that each tool call must return, as for Gemini 3.
	Signature string
	// Reasoning is the text that each message with tool calls must return, as for DeepSeek and Kimi.
	Reasoning string
	// Mistral refuses a user message after the results of tools, and ids of calls that have not
	// exactly nine letters and digits.
	Mistral bool
}

// Check refuses a request that the real vendors refuse, with the reason. It returns the body.
func (w *Wire) Check(r *http.Request, raw []byte, rules Rules) (Object, error) {
	c := &checker{rules: rules, header: r.Header}
	switch err := json.Unmarshal(raw, &c.body); {
	case r.Method != http.MethodPost || r.URL.Path != w.Path:
		return nil, fmt.Errorf("%s %s: expected POST %s", r.Method, r.URL.Path, w.Path)
	case err != nil || c.body == nil:
		return nil, errors.New("the body is not a JSON object")
	case !utf8.Valid(raw):
		return nil, errors.New("the body is not UTF-8")
	case hasLoneSurrogate(raw):
		return nil, errors.New("the body has half of a surrogate pair")
	case r.Header.Get("X-Stainless-Retry-Count") != "0" && r.Header.Get("X-Stainless-Retry-Count") != "":
		return nil, errors.New("the library of the vendor retries")
	}
	if c.model = c.text(c.body, "model"); c.model == "" {
		c.refuse("model: you must provide a model parameter")
	}
	w.check(c)
	return c.body, errors.Join(c.faults...)
}

// checker checks one request.
type checker struct {
	rules  Rules
	header http.Header
	body   Object
	model  string
	faults []error
}

func (c *checker) refuse(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(format, args...))
}

// text returns a member that must be a text if it is present.
func (c *checker) text(o Object, name string) string {
	text, ok := o[name].(string)
	if _, present := o[name]; present && !ok {
		c.refuse("%s: expected a string, got %s", name, JSON(o[name]))
	}
	return text
}

// objects returns a member that must be a list of objects if it is present.
func (c *checker) objects(o Object, name string) []Object {
	value, present := o[name]
	if !present {
		return nil
	}
	items, ok := value.([]any)
	if !ok {
		c.refuse("%s: expected an array, got %s", name, JSON(value))
	}
	all := make([]Object, 0, len(items))
	for i, item := range items {
		object, ok := item.(Object)
		if !ok {
			c.refuse("%s[%d]: expected an object", name, i)
		}
		all = append(all, object)
	}
	return all
}

// known refuses parameters that the API does not have.
func (c *checker) known(names string) {
	for name := range c.body {
		if !slices.Contains(strings.Fields(names), name) {
			c.refuse("unknown parameter: %s", name)
		}
	}
}

var (
	validName   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	lookAround  = regexp.MustCompile(`\(\?(=|!|<[=!])`)
	mistralID   = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	openAIThink = regexp.MustCompile(`^(.*/)?(o[1-9]|gpt-[5-9])`)
	plainClaude = regexp.MustCompile(`^claude-(3|[a-z]+-4-([0-6]|20))`)
)

// reasons reports whether the model is a reasoning model of OpenAI, which takes no sampling.
func (c *checker) reasons() bool {
	return openAIThink.MatchString(c.model) && !strings.HasPrefix(c.model, "gpt-5-chat")
}

// number returns a member that must be a number within the bounds if it is present.
func (c *checker) number(name string, least, most float64) (n float64, present bool) {
	value, present := c.body[name]
	n, ok := value.(float64)
	if present && (!ok || n < least || n > most) {
		c.refuse("%s: expected a number from %v to %v, got %s", name, least, most, JSON(value))
	}
	return n, present
}

// sampling checks temperature and top_p of the APIs of OpenAI.
func (c *checker) sampling() {
	c.number("temperature", 0, 2)
	c.number("top_p", 0, 1)
	for _, name := range []string{"temperature", "top_p"} {
		if _, present := c.body[name]; present && c.reasons() {
			c.refuse("unsupported parameter: %s is not supported with this model", name)
		}
	}
}

// toolNames refuses invalid and duplicate names, and settings of tools without tools.
func (c *checker) toolNames(names []string, settings ...string) {
	if _, present := c.body["tools"]; present && len(names) == 0 {
		c.refuse("tools: [] is too short")
	}
	if len(names) > 128 {
		c.refuse("tools: expected at most 128, got %d", len(names))
	}
	for i, name := range names {
		switch {
		case !validName.MatchString(name):
			c.refuse("tools[%d].name %q does not match %s", i, name, validName)
		case slices.Contains(names[:i], name):
			c.refuse("tools: tool names must be unique: %q", name)
		}
	}
	for _, name := range settings {
		if _, present := c.body[name]; present && len(names) == 0 {
			c.refuse("%s is only allowed when tools are specified", name)
		}
	}
}

// schema refuses the schemas of tools and answers that vendors refuse.
func (c *checker) schema(at string, value any, root bool) {
	schema, ok := value.(Object)
	if !ok {
		c.refuse("%s: expected a schema, got %s", at, JSON(value))
		return
	}
	if root && schema["type"] != "object" {
		c.refuse(`%s: schema must have type "object"`, at)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf", "enum", "not", "$ref"} {
		if _, present := schema[name]; root && present {
			c.refuse("%s: schema must not have %s at the top level", at, name)
		}
	}
	for name, v := range schema {
		if v == nil && name != "default" && name != "const" {
			c.refuse("%s.%s: null is not allowed", at, name)
		}
	}
	if pattern, ok := schema["pattern"].(string); ok && lookAround.MatchString(pattern) {
		c.refuse("%s.pattern: look-around is not supported", at)
	}
	if schema["type"] == "array" && schema["items"] == nil {
		c.refuse("%s: array schema missing items", at)
	}
	if required, ok := schema["required"].([]any); ok {
		for i, name := range required {
			if _, text := name.(string); !text || slices.Contains(required[:i], name) {
				c.refuse("%s.required[%d]: expected a unique string", at, i)
			}
		}
	} else if schema["required"] != nil {
		c.refuse("%s.required: expected an array", at)
	}
	for _, name := range []string{"properties", "$defs"} {
		if members, ok := schema[name].(Object); ok {
			for key, v := range members {
				c.schema(at+"."+key, v, false)
			}
		} else if schema[name] != nil {
			c.refuse("%s.%s: expected an object", at, name)
		}
	}
	if items, ok := schema["items"].(Object); ok {
		c.schema(at+".items", items, false)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		branches, _ := schema[name].([]any)
		for i, v := range branches {
			c.schema(at+"."+name+"["+strconv.Itoa(i)+"]", v, false)
		}
	}
}

// strictSchema refuses an answer schema with strict: true that leaves members open.
func (c *checker) strictSchema(at string, value any) {
	schema, _ := value.(Object)
	properties, _ := schema["properties"].(Object)
	required, _ := schema["required"].([]any)
	if schema["additionalProperties"] != false {
		c.refuse("%s: additionalProperties is required to be supplied and to be false", at)
	}
	if len(required) != len(properties) {
		c.refuse("%s: required must include every key in properties", at)
	}
}

// arguments refuses arguments of a call that are not the text of a JSON object.
func (c *checker) arguments(at string, value any) {
	text, ok := value.(string)
	var o Object
	if !ok || json.Unmarshal([]byte(text), &o) != nil || o == nil {
		c.refuse("%s.arguments is not a valid JSON object: %s", at, JSON(value))
	}
}

// imageTypes are the types of images that all vendors take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// imageURL checks the URL of an image: an address, or a data URL of a supported type.
func (c *checker) imageURL(at, url string) {
	data, ok := strings.CutPrefix(url, "data:")
	if !ok {
		if !strings.HasPrefix(url, "https://") {
			c.refuse("%s: invalid image URL", at)
		}
		return
	}
	kind, data, ok := strings.Cut(data, ";base64,")
	if !ok {
		c.refuse("%s: expected a base64-encoded data URL", at)
	}
	c.image(at, kind, data)
}

func (c *checker) image(at, kind, data string) {
	raw, err := base64.StdEncoding.DecodeString(data)
	switch {
	case !slices.Contains(imageTypes, kind):
		c.refuse("%s: unsupported image type %q", at, kind)
	case err != nil || len(raw) == 0:
		c.refuse("%s: invalid base64 data", at)
	}
}

// pending are the calls that have no result yet.
type pending struct {
	c    *checker
	seen map[string]bool
	open []string
}

func (p *pending) call(at, id, name string) {
	switch {
	case id == "":
		p.c.refuse("%s: missing id of a tool call", at)
	case p.seen[id]:
		p.c.refuse("%s: tool call ids must be unique: %q", at, id)
	}
	if !validName.MatchString(name) {
		p.c.refuse("%s: the name %q of a tool call does not match %s", at, name, validName)
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[id] = true
	p.open = append(p.open, id)
}

func (p *pending) result(at, id string) {
	i := slices.Index(p.open, id)
	if i < 0 {
		p.c.refuse("%s: the result %q answers no call of the message before it", at, id)
		return
	}
	p.open = slices.Delete(p.open, i, i+1)
}

// end refuses calls without results.
func (p *pending) end(at string) {
	if len(p.open) > 0 {
		p.c.refuse("%s: no result for the tool calls %v", at, p.open)
	}
	p.open = nil
}

// hasLoneSurrogate reports whether JSON escapes one half of a surrogate pair.
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++ // the escaped character
		half, ok := unicodeEscape(raw[i-1:])
		if !ok || !utf16.IsSurrogate(half) {
			continue
		}
		low, _ := unicodeEscape(raw[i+5:])
		if utf16.DecodeRune(half, low) == utf8.RuneError {
			return true
		}
		i += 10
	}
	return false
}

func unicodeEscape(raw []byte) (rune, bool) {
	if len(raw) < 6 || !bytes.HasPrefix(raw, []byte(`\u`)) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}
