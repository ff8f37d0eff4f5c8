package llm

import (
	"unicode"
	"unicode/utf8"
)

// CountTokens estimates the tokens of a text without a tokenizer. The estimate for English and JSON
// is rather too high than too low.
//
//   - A word of ASCII letters counts 1 token per 6 letters.
//   - A number counts 1 token per 3 digits.
//   - Any other character and each line break counts 1.
//   - Other space counts 0.
func CountTokens(text string) int64 {
	var c counter
	c.add(text)
	return c.tokens
}

// HeadTokens returns the number of bytes at the beginning of a text that count at most the given
// number of tokens.
func HeadTokens(text string, most int64) int {
	var c counter
	for i, r := range text {
		if c.addRune(r); c.tokens > most {
			return i
		}
	}
	return len(text)
}

// TailTokens returns the offset of the end of a text that counts at most the given number of tokens.
func TailTokens(text string, most int64) int {
	var c counter
	for i := len(text); i > 0; {
		r, n := utf8.DecodeLastRuneInString(text[:i])
		if c.addRune(r); c.tokens > most {
			return i
		}
		i -= n
	}
	return 0
}

// The tokens that an API adds for each message and each tool.
const (
	messageTokens = 4
	toolTokens    = 8
)

// CountTokens estimates the tokens of the prompt of a run.
func (p *Prepared) CountTokens(in *Input) (int64, error) {
	req, err := p.newRequest(in)
	if err != nil {
		return 0, err
	}
	return promptTokens(req), nil
}

func promptTokens(r *Request) int64 {
	n := int64(messageTokens)
	if r.Instructions != "" {
		n += messageTokens + CountTokens(r.Instructions)
	}
	for i := range r.Messages {
		n += messageTokens + spokenTokens(&r.Messages[i]) + imageTokens*int64(len(r.Messages[i].Files))
		for _, result := range r.Messages[i].Results {
			n += messageTokens + CountTokens(result.Text) + imageTokens*int64(len(result.Files))
		}
	}
	for _, t := range r.Tools {
		n += toolTokens + CountTokens(t.Name) + CountTokens(t.Description) + CountTokens(string(t.Parameters))
	}
	if r.Output != nil {
		n += CountTokens(string(r.Output.Schema))
	}
	return n
}

// spokenTokens estimates the output tokens of a message of the model.
func spokenTokens(m *Message) int64 {
	n := CountTokens(m.Text)
	for _, c := range m.ToolCalls {
		n += messageTokens + CountTokens(c.Name) + CountTokens(c.Arguments)
	}
	return n
}

// estimate returns the estimated usage of an exchange for which the vendor reported none.
func estimate(r *Request, said *Message, refusal string) Usage {
	u := Usage{PromptTokens: promptTokens(r), CompletionTokens: spokenTokens(said) + CountTokens(refusal), Estimated: true}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// counter counts the tokens of a text that arrives in pieces. The result does not depend on the
// pieces.
type counter struct {
	tokens int64
	kind   runeKind
	run    int // number of runes of kind in a row
}

type runeKind int

const (
	kindSpace runeKind = iota
	kindLetter
	kindDigit
	kindOther
)

func (c *counter) add(text string) {
	for _, r := range text {
		c.addRune(r)
	}
}

func (c *counter) addRune(r rune) {
	kind, each := kindOf(r)
	if kind != c.kind {
		c.kind, c.run = kind, 0
	}
	if each > 0 && c.run%each == 0 {
		c.tokens++
	}
	c.run++
}

// kindOf returns the kind of a rune, and how many runes of this kind make a token. 0 means that
// they count nothing.
func kindOf(r rune) (kind runeKind, each int) {
	switch {
	case r == '\n':
		return kindOther, 1
	case unicode.IsSpace(r):
		return kindSpace, 0
	case r < unicode.MaxASCII && unicode.IsLetter(r):
		return kindLetter, 6
	case unicode.IsDigit(r):
		return kindDigit, 3
	}
	return kindOther, 1
}
