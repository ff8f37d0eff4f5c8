package mcptool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// resultOf returns a result for the model: its texts, its images, and the part of the structured
// content that the texts do not have. Other content is listed with its size.
func resultOf(r *mcp.CallToolResult) *tool.Result {
	result := &tool.Result{IsError: r.IsError}
	var parts, texts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			texts, parts = append(texts, c.Text), append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, addFile(result, "image", c.MIMEType, c.Data))
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio, %s, %d bytes, not shown]", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, "["+list("resource "+c.URI+": "+c.Name, c.Title, c.MIMEType, c.Description)+"]")
		case *mcp.EmbeddedResource:
			switch res := c.Resource; {
			case res == nil:
				parts = append(parts, "[missing resource]")
			case len(res.Blob) > 0 && tool.IsText(res.Blob, true) && !llm.IsImage(res.MIMEType): // in base64
				texts = append(texts, string(res.Blob))
				parts = append(parts, "["+list("resource "+res.URI, res.MIMEType)+"]", string(res.Blob))
			case len(res.Blob) > 0:
				parts = append(parts, addFile(result, "resource "+res.URI, res.MIMEType, res.Blob))
			default:
				texts = append(texts, res.Text)
				parts = append(parts, "["+list("resource "+res.URI, res.MIMEType)+"]", res.Text)
			}
		default:
			parts = append(parts, fmt.Sprintf("[content of the unknown type %T]", c))
		}
	}
	if more := addition(r, texts); more != "" {
		parts = append(parts, more)
	}
	result.Text = strings.Join(parts, "\n")
	return result
}

// list joins the words that are not empty.
func list(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}

// addFile adds an image to the result. It returns the text that names the file.
func addFile(r *tool.Result, what, mediaType string, data []byte) string {
	text := list(what, mediaType, fmt.Sprintf("%d bytes", len(data)))
	if mediaType != "" && !llm.IsImage(mediaType) {
		return "[" + text + ", not shown]"
	}
	image, err := llm.NewImage("", data)
	if err != nil {
		return "[" + text + ", not shown: " + err.Error() + "]"
	}
	r.Files = append(r.Files, image)
	return "[" + text + "]"
}

// shortest is the length from which a text that structured content repeats is left out of it, under
// any name. textNames are the names under which a shorter text is left out too.
const shortest = 64

var textNames = []string{"content", "result", "text", "output"}

// addition returns the structured content as JSON, without the members that repeat a text. It is
// empty if nothing remains.
func addition(r *mcp.CallToolResult, texts []string) string {
	raw, err := marshal(r.StructuredContent)
	var v any
	if err != nil || json.Unmarshal(raw, &v) != nil || v == nil {
		return ""
	}
	if len(texts) == 0 {
		return string(raw)
	}
	s := newTexts(texts)
	if s.have(v) {
		return ""
	}
	object, ok := v.(map[string]any)
	if !ok {
		return string(raw)
	}
	members := len(object)
	maps.DeleteFunc(object, func(name string, value any) bool {
		text, isText := value.(string)
		return value == nil || name == "isError" && value == r.IsError ||
			s.have(value) && (slices.Contains(textNames, name) || isText && len(text) >= shortest)
	})
	switch {
	case len(object) == 0:
		return ""
	case len(object) < members:
		raw, _ = marshal(object) // v was decoded, so it can be encoded
	}
	return string(raw)
}

// spoken are the texts of a result, each and joined, without space around them. values are those that
// are JSON. They are decoded once, because both the texts and the members to compare may be many.
type spoken struct {
	each, whole []string
	values      []any
}

func newTexts(texts []string) *spoken {
	s := &spoken{}
	for _, t := range texts {
		s.each = append(s.each, plain(t))
	}
	s.whole = slices.Clone(s.each)
	if len(texts) > 1 {
		s.whole = append(s.whole, plain(strings.Join(texts, "")), plain(strings.Join(texts, "\n")))
	}
	for _, t := range s.whole {
		var v any
		if json.Unmarshal([]byte(t), &v) == nil {
			s.values = append(s.values, v)
		}
	}
	return s
}

func plain(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// have reports whether the texts have a value of structured content: as a text, as JSON, as a list
// with one element for each text, or as the only member of an object.
func (s *spoken) have(v any) bool {
	if text, ok := v.(string); ok && slices.Contains(s.whole, plain(text)) {
		return true
	}
	if slices.ContainsFunc(s.values, func(x any) bool { return reflect.DeepEqual(x, v) }) {
		return true
	}
	switch v := v.(type) {
	case []any:
		if len(v) != len(s.each) {
			return false
		}
		for i := range v {
			one := s
			if len(v) > 1 {
				one = newTexts(s.each[i : i+1])
			}
			if !one.have(v[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		if v["type"] == "text" && len(v) == 2 {
			return s.have(v["text"])
		}
		for _, only := range v {
			return len(v) == 1 && s.have(only)
		}
		return true // an empty object
	}
	return false
}

// marshal is json.Marshal without escaping of <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
