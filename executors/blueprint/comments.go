package blueprint

import "bytes"

// withoutComments replaces comments in JSON, from // to the end of the line, by spaces. So the
// positions of everything else stay the same.
func withoutComments(text []byte) []byte {
	if !bytes.Contains(text, []byte("//")) {
		return text
	}
	out := bytes.Clone(text)
	quoted, comment := false, false
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '\n':
			comment = false
		case comment:
			out[i] = ' '
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && bytes.HasPrefix(out[i:], []byte("//")):
			out[i], comment = ' ', true
		}
	}
	return out
}
