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

// refuse says what is wrong with a request, and what was expected.
func refuse(what, expected string) error {
	return fmt.Errorf("%w: %s; expected %s", a2a.ErrInvalidParams, what, expected)
}

func overBound(what string, most int) error {
	return parley.Refuse(parley.ErrTooLarge, what, fmt.Sprintf("at most %d", most))
}

// checkLabels holds what a part says of itself against the bounds.
func checkLabels(name string, p *a2a.Part) error {
	for _, x := range []struct {
		name, value string
		most        int
	}{
		{".filename", p.Filename, MaxFilenameBytes},
		{".mediaType", p.MediaType, MaxPartTypeBytes},
	} {
		if len(x.value) > x.most {
			return refuse(fmt.Sprintf("%s%s has %d bytes", name, x.name, len(x.value)), fmt.Sprintf("at most %d", x.most))
		}
		if !utf8.ValidString(x.value) {
			return refuse(name+x.name+" is not UTF-8", "text")
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
		return refuse(name+" is no JSON", "an object")
	}
	if len(raw) > MaxMetadataBytes {
		return refuse(fmt.Sprintf("%s has %d bytes", name, len(raw)), fmt.Sprintf("at most %d", MaxMetadataBytes))
	}
	if depth(raw) > maxValueDepth {
		return refuse(name+" nests too deep", fmt.Sprintf("at most %d levels", maxValueDepth))
	}
	return nil
}

// encode writes JSON as the hub keeps it: compact, and with <, > and & as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// depth is how deep JSON nests; of what is none it is some number.
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

// plainName makes of a filename one that the hub takes: without path and control characters, at most as long as it may be; empty for none.
func plainName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = clip(plain(name), limits.MaxNameBytes)
	if name == "." || name == ".." {
		return ""
	}
	return name
}

// plainType makes of a media type one that the hub takes.
func plainType(mediaType string) string { return clip(plain(mediaType), limits.MaxMediaTypeBytes) }

// plain leaves out what the hub refuses in names.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// clip cuts text at a whole character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// bareType is a media type without its parameters, in lower case.
func bareType(mediaType string) string {
	if t, _, err := mime.ParseMediaType(mediaType); err == nil {
		return t
	}
	return strings.ToLower(strings.TrimSpace(mediaType))
}
