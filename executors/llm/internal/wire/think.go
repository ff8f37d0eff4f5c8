package wire

import "strings"

const (
	thinkStart = "<think>"
	thinkEnd   = "</think>"
)

// thinkSplitter separates <think> blocks at the beginning of an answer from its text. The result
// does not depend on the pieces in which the answer arrives. A block without an end is reasoning up
// to the end of the answer.
type thinkSplitter struct {
	inside bool   // within a block
	passed bool   // the text started
	found  bool   // a block was found
	held   string // not yet decided
}

// add returns the reasoning and the text that a piece of the answer completes.
func (t *thinkSplitter) add(piece string) (reasoning, text string) {
	if t.passed {
		return "", piece
	}
	t.held += piece
	for {
		if t.inside {
			block, rest, ended := strings.Cut(t.held, thinkEnd)
			if !ended {
				keep := partialEnd(t.held, thinkEnd)
				reasoning += t.held[:len(t.held)-keep]
				t.held = t.held[len(t.held)-keep:]
				return reasoning, text
			}
			reasoning += block
			t.inside, t.held = false, rest
		}
		start := strings.TrimLeft(t.held, " \t\r\n")
		switch {
		case strings.HasPrefix(start, thinkStart):
			t.inside, t.found, t.held = true, true, start[len(thinkStart):]
		case strings.HasPrefix(thinkStart, start):
			return reasoning, text
		default:
			return reasoning, t.end()
		}
	}
}

// end returns the rest of the text.
func (t *thinkSplitter) end() (text string) {
	text = t.held
	if t.inside {
		return ""
	}
	if t.found {
		text = strings.TrimLeft(text, " \t\r\n")
	}
	t.held, t.passed = "", true
	return text
}

// partialEnd returns the length of the longest end of text that is a beginning of tag.
func partialEnd(text, tag string) int {
	for n := min(len(text), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
}

// Thinks reports whether an answer begins with a <think> block.
func Thinks(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), thinkStart)
}

// SplitThink returns the reasoning in the <think> blocks at the beginning of an answer, and the
// text after them.
func SplitThink(answer string) (reasoning, text string) {
	var t thinkSplitter
	reasoning, text = t.add(answer)
	if t.inside {
		return reasoning + t.held, ""
	}
	return reasoning, text + t.end()
}
