package paramschema

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// valuePath writes a place in a value: $.list[2].name, $["odd name"].
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

// schemaPath writes a place in a schema: properties.url.format, properties["odd name"].anyOf.0. The root is empty.
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

// plainName reports whether a name stands in a path without quotes. In a schema it may begin with a digit, and have $ and -.
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

// tokensOf gives a path as the tokens of a place in a schema.
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

// clip keeps at most maxShown bytes of s, whole characters, and says that more was there.
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

// showName writes a name, or another text, in single quotes on one line.
func showName(s string) string {
	q := strconv.Quote(clip(s))
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(q, "'", `\'`) + "'"
}

// show writes a value on one line, in about maxShown bytes.
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

// showNext goes on to the next part of a list, and reports whether there is room for it.
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

// escape writes a token of a JSON pointer as the library does.
func escape(token string) string {
	token = strings.ReplaceAll(token, "~", "~0")
	return url.PathEscape(strings.ReplaceAll(token, "/", "~1"))
}

// pointer writes a place in a schema as the library does.
func pointer(tokens []string) string {
	var b strings.Builder
	b.WriteByte('#')
	for _, t := range tokens {
		b.WriteString("/" + escape(t))
	}
	return b.String()
}

// unescape reads a token that the library has written.
func unescape(token string) string {
	if t, err := url.PathUnescape(token); err == nil {
		token = t
	}
	return unescapeTilde(token)
}

func unescapeTilde(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
