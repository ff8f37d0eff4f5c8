package paramschema

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// valuePath formats a place in a value: $.list[2].name, $["odd name"].
func valuePath(path []step) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range path {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case plainName(s.name, false):
			b.WriteString("." + clip(s.name))
		default:
			b.WriteString("[" + quoted(clip(s.name)) + "]")
		}
	}
	return b.String()
}

// schemaPath formats a place in a schema: properties.url.format, properties["odd name"].anyOf.0.
// The root is "".
func schemaPath(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		if !plainName(t, true) {
			b.WriteString("[" + quoted(clip(t)) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(clip(t))
	}
	return b.String()
}

// plainName reports whether a name needs no quotes in a path. In a schema, it may begin with a
// digit, and have $ and -.
func plainName(s string, inSchema bool) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		digit := c >= '0' && c <= '9'
		switch {
		case letter, digit && i > 0:
		case inSchema && (digit || c == '$' || c == '-'):
		default:
			return false
		}
	}
	return s != ""
}

// tokensOf converts a path to the tokens of a place in a schema.
func tokensOf(path []step) []string {
	tokens := make([]string, len(path))
	for i, s := range path {
		tokens[i] = s.name
		if s.index >= 0 {
			tokens[i] = strconv.Itoa(s.index)
		}
	}
	return tokens
}

// clip cuts s to at most maxShown bytes at a character boundary, and marks the cut.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// showName returns a text in single quotes on one line.
func showName(s string) string {
	q := strconv.Quote(clip(s))
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(q, "'", `\'`) + "'"
}

// show returns a value on one line, in about maxShown bytes.
func show(v *value) string {
	var b strings.Builder
	showTo(&b, v)
	return b.String()
}

func showTo(b *strings.Builder, v *value) {
	switch v.kind {
	case text:
		b.WriteString(showName(v.string()))
	case array:
		b.WriteByte('[')
		for i, item := range v.items {
			if !showNext(b, i) {
				break
			}
			showTo(b, item)
		}
		b.WriteByte(']')
	case object:
		b.WriteByte('{')
		for i, m := range v.members {
			if !showNext(b, i) {
				break
			}
			b.WriteString(showName(m.name) + ": ")
			showTo(b, m.value)
		}
		b.WriteByte('}')
	default:
		b.WriteString(clip(v.raw))
	}
}

// showNext writes the separator of the next part of a list, and reports whether there is room for
// it.
func showNext(b *strings.Builder, i int) bool {
	if i > 0 {
		b.WriteString(", ")
	}
	if b.Len() < maxShown {
		return true
	}
	b.WriteString("…")
	return false
}

// escape encodes a token of a JSON pointer in the form of the library.
func escape(token string) string {
	token = strings.ReplaceAll(token, "~", "~0")
	return url.PathEscape(strings.ReplaceAll(token, "/", "~1"))
}

// pointer formats a place in a schema in the form of the library.
func pointer(tokens []string) string {
	var b strings.Builder
	b.WriteByte('#')
	for _, t := range tokens {
		b.WriteString("/" + escape(t))
	}
	return b.String()
}

// unescape decodes a token of the library.
func unescape(token string) string {
	if t, err := url.PathUnescape(token); err == nil {
		token = t
	}
	return unescapeTilde(token)
}

func unescapeTilde(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
