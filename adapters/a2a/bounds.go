package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// refusePart returns an error with the fault of a part and the expected value.
func refusePart(what, expected string) error {
	return fmt.Errorf("%w: %s; expected %s", a2a.ErrInvalidParams, what, expected)
}

func overBound(what string, most int) error {
	return parley.Refuse(parley.ErrTooLarge, what, fmt.Sprintf("at most %d", most))
}

// checkLabels checks the filename, media type and metadata of a part.
func checkLabels(name string, p *a2a.Part) error {
	for _, x := range []struct {
		name, value string
		most        int
	}{
		{".filename", p.Filename, MaxFilenameBytes},
		{".mediaType", p.MediaType, MaxPartTypeBytes},
	} {
		if len(x.value) > x.most {
			return refusePart(fmt.Sprintf("%s%s has %d bytes", name, x.name, len(x.value)), fmt.Sprintf("at most %d", x.most))
		}
		if !utf8.ValidString(x.value) {
			return refusePart(name+x.name+" is not UTF-8", "text")
		}
	}
	return checkMetadata(name+".metadata", p.Metadata)
}

func checkMetadata(name string, m map[string]any) error {
	if m == nil {
		return nil
	}
	raw, err := encode(m)
	if err != nil {
		return refusePart(name+" is not valid JSON", "an object")
	}
	if len(raw) > MaxMetadataBytes {
		return refusePart(fmt.Sprintf("%s has %d bytes", name, len(raw)), fmt.Sprintf("at most %d", MaxMetadataBytes))
	}
	if depth(raw) > maxValueDepth {
		return refusePart(name+" is nested too deeply", fmt.Sprintf("at most %d levels", maxValueDepth))
	}
	return nil
}

// encode returns v as the hub stores JSON: compact, and without HTML escapes.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// depth returns the nesting depth of JSON. The result for other text is undefined.
func depth(raw []byte) (most int) {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			most = max(most, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return most
}

// plainName returns a file name that the hub accepts: without path and control characters, and
// within the limit. It may return "".
func plainName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = clip(removeControls(name), limits.MaxNameBytes)
	if name == "." || name == ".." {
		return ""
	}
	return name
}

// plainType returns a media type that the hub accepts.
func plainType(mediaType string) string {
	return clip(removeControls(mediaType), limits.MaxMediaTypeBytes)
}

// removeControls removes the characters that the hub refuses in names.
func removeControls(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// clip cuts text at a character boundary.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// bareType returns a media type in lower case, without its parameters.
func bareType(mediaType string) string {
	if t, _, err := mime.ParseMediaType(mediaType); err == nil {
		return t
	}
	return strings.ToLower(strings.TrimSpace(mediaType))
}
