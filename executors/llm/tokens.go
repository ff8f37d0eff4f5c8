package llm

import "unicode"

// CountTokens estimates how many tokens a text is, without a vendor's tokenizer: a word of letters counts 1 for each 6, a number 1 for each 3 digits, other signs and letters of other
// scripts 1 each, and spaces none, but for ends of lines. For English and JSON it is rather too high than too low.
func CountTokens(text string) int64 {
	var c counter
	c.add(text)
	return c.tokens
}

// What an API adds to each message and each tool.
const (
	messageTokens = 4
	toolTokens    = 8
)

// CountTokens estimates how many tokens the prompt of a run is.
func (p *Prepared) CountTokens(in *Input) (int64, error) {
	req, err := p.ask(in)
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
		n += messageTokens + spokenTokens(&r.Messages[i])
		for _, result := range r.Messages[i].Results {
			n += messageTokens + CountTokens(result.Text)
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

// spokenTokens are those that a message of the model has cost.
func spokenTokens(m *Message) int64 {
	n := CountTokens(m.Text)
	for _, c := range m.ToolCalls {
		n += messageTokens + CountTokens(c.Name) + CountTokens(c.Arguments)
	}
	return n
}

// estimate is the usage of an exchange whose vendor has told none.
func estimate(r *Request, said *Message, refusal string) Usage {
	u := Usage{PromptTokens: promptTokens(r), CompletionTokens: spokenTokens(said) + CountTokens(refusal), Estimated: true}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// counter counts a text that comes in pieces as if it came at once.
type counter struct {
	tokens int64
	kind   runeKind
	run    int // of kind, so far
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
		kind, each := kindOf(r)
		if kind != c.kind {
			c.kind, c.run = kind, 0
		}
		if each > 0 && c.run%each == 0 {
			c.tokens++
		}
		c.run++
	}
}

// kindOf gives the kind of a sign, and how many of it make a token: 0 for what makes none.
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
