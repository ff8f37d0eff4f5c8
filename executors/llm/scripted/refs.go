package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reference is ${...} in a text: last, step, params.PATH, result.TOOL or result.TOOL.PATH.
type reference struct {
	from, to int // in the text
	root     string
	tool     string
	path     []step
	err      error
}

var refText = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

// references returns the references in a text. $${ is not a reference but an escaped ${.
func references(text string) []reference {
	var all []reference
	for _, at := range refText.FindAllStringIndex(text, -1) {
		if found := text[at[0]:at[1]]; !strings.HasPrefix(found, "$$") {
			r := parseReference(found)
			r.from, r.to = at[0], at[1]
			all = append(all, r)
		}
	}
	return all
}

func parseReference(text string) (r reference) {
	name, ended := strings.CutSuffix(strings.TrimPrefix(text, "${"), "}")
	root, rest, deeper := strings.Cut(name, ".")
	r.root = root
	switch {
	case ended && !deeper && (root == "last" || root == "step"):
		return r
	case ended && deeper && root == "params":
		r.path, r.err = parsePath(rest)
	case ended && deeper && root == "result":
		r.tool, rest, deeper = cutPath(rest)
		if r.tool == "" {
			r.err = errPath
		} else if deeper {
			r.path, r.err = parsePath(rest)
		}
	default:
		r.err = errPath
	}
	if r.err != nil {
		r.err = fmt.Errorf(
			"expected ${last}, ${step}, ${params.PATH}, ${result.TOOL} or ${result.TOOL.PATH}; write $${ for the text ${")
	}
	return r
}

// cutPath splits off the name of a tool.
func cutPath(text string) (tool, rest string, deeper bool) {
	at := strings.IndexAny(text, ".[")
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at:], true
}

// value returns the value of a reference.
func (a *asked) value(r reference) (any, bool) {
	switch r.root {
	case "last":
		return a.last, true
	case "step":
		return json.Number(itoa(a.step)), true
	case "params":
		return a.param(r.path)
	}
	text, ok := a.result(r.tool)
	if !ok || r.path == nil {
		return text, ok
	}
	return within(text, r.path)
}

// within returns the value at a path of a text. If the text is not JSON, it uses the last JSON
// object in it that has the path.
func within(text string, path []step) (any, bool) {
	if v, ok := decode(text); ok {
		return lookup(v, path)
	}
	for _, d := range slices.Backward(documents(text)) {
		if v, ok := lookup(d, path); ok {
			return v, true
		}
	}
	if v, ok := first(text); ok {
		return lookup(v, path)
	}
	return nil, false
}

// missingError is a reference without a value in this request.
type missingError struct{ ref string }

func (e *missingError) Error() string {
	return "the request has no value for " + e.ref
}

// fill replaces references by values. A value that is not a string is inserted as JSON.
func (a *asked) fill(text string) (string, error) {
	var b strings.Builder
	at := 0
	for _, r := range references(text) {
		v, ok := a.value(r)
		if !ok {
			return "", &missingError{text[r.from:r.to]}
		}
		b.WriteString(unescape(text[at:r.from]))
		if s, isText := v.(string); isText {
			b.WriteString(s)
		} else {
			b.Write(encode(v))
		}
		at = r.to
	}
	b.WriteString(unescape(text[at:]))
	return b.String(), nil
}

func unescape(text string) string { return strings.ReplaceAll(text, "$${", "${") }

var jsonText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// fillJSON is fill for the strings in JSON. A string that is only a reference becomes the value
// itself.
func (a *asked) fillJSON(raw json.RawMessage) (json.RawMessage, error) {
	var wrong error
	out := jsonText.ReplaceAllFunc(raw, func(quoted []byte) []byte {
		var text string
		if wrong != nil || json.Unmarshal(quoted, &text) != nil || !strings.Contains(text, "${") {
			return quoted
		}
		if refs := references(text); len(refs) == 1 && refs[0].from == 0 && refs[0].to == len(text) {
			if v, ok := a.value(refs[0]); ok {
				return encode(v)
			}
		}
		filled, err := a.fill(text)
		wrong = err
		return encode(filled)
	})
	return out, wrong
}

func itoa(n int) string { return strconv.Itoa(n) }
