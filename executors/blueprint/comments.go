package blueprint

import "bytes"

// withoutComments gives JSON with spaces in the place of its comments, from // to the end of the line: so everything else stays where it stands.
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
