package scripted

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// answer returns the response of a turn.
func (t *turn) answer(a *asked, s *script, number int) (*llm.Response, error) {
	r := &llm.Response{Finish: llm.FinishStop, Model: cmp.Or(t.Model, s.name),
		Metadata: map[string]string{"script": s.name, "turn": itoa(number)}}
	var err error
	if r.Text, err = a.fill(t.Text); err != nil {
		return nil, err
	}
	if t.JSON != nil {
		filled, err := a.fillJSON(t.JSON)
		if err != nil {
			return nil, err
		}
		r.Text = string(filled)
	}
	if r.Refusal, err = a.fill(t.Refusal); err != nil {
		return nil, err
	}
	if r.Refusal != "" {
		r.Finish = llm.FinishRefusal
	}
	for i := range t.ToolCalls {
		c, err := t.ToolCalls[i].fill(a, a.calls+i+1)
		if err != nil {
			return nil, err
		}
		r.ToolCalls, r.Finish = append(r.ToolCalls, c), llm.FinishToolCalls
	}
	r.Finish = cmp.Or(t.Finish, r.Finish)
	if t.Usage != nil {
		usage := *t.Usage
		r.Usage = &usage
	}
	return r, nil
}

func (c *call) fill(a *asked, number int) (llm.ToolCall, error) {
	out := llm.ToolCall{ID: cmp.Or(c.ID, "call_"+itoa(number)), Name: c.Name}
	if c.ArgumentsText != "" {
		text, err := a.fill(c.ArgumentsText)
		out.Arguments = text
		return out, err
	}
	raw, err := a.fillJSON([]byte(cmp.Or(string(c.Arguments), "{}")))
	out.Arguments = string(raw)
	return out, err
}

// err returns the error of a turn.
func (f *failure) err(provider string) *llm.ProviderError {
	e := &llm.ProviderError{Provider: provider, Category: f.Category, Status: f.Status, Code: f.Code, Message: f.Message,
		RetryAfter: f.after}
	switch f.Category {
	case llm.CategoryRateLimit, llm.CategoryServer, llm.CategoryTimeout, llm.CategoryNetwork:
		e.Retryable = true
	default:
		e.Retryable = f.Status == http.StatusConflict
	}
	return e
}

// mark identifies the turn of a message of the model.
type mark struct {
	Script string `json:"script"`
	Turn   int    `json:"turn"`
}

// isUsed reports whether a message of the request came from turn i. A message without a mark is
// recognized by its text. Messages of a conversation have no mark, because the log has only their
// text.
func (t *turn) isUsed(a *asked, s *script, provider string, i int) bool {
	for _, m := range a.req.Messages {
		if m.Role != llm.RoleAssistant {
			continue
		}
		if m.Opaque != nil && m.Opaque.Provider == provider {
			var at mark
			if json.Unmarshal(m.Opaque.Data, &at) == nil && at == (mark{s.name, i}) {
				return true
			}
			continue
		}
		if t.couldSay(m) {
			return true
		}
	}
	return false
}

// couldSay reports whether a message has the text of a turn, with any values for its references.
func (t *turn) couldSay(m llm.Message) bool {
	if len(m.ToolCalls) != len(t.ToolCalls) {
		return false
	}
	for i, c := range t.ToolCalls {
		if m.ToolCalls[i].Name != c.Name {
			return false
		}
	}
	words := cmp.Or(t.Text, t.Refusal)
	if t.JSON != nil {
		said, ok := decode(m.Text)
		want, _ := decode(string(t.JSON))
		if !ok {
			return false
		}
		return textPattern(wholeRef.ReplaceAllString(string(encode(want)), "$1")).MatchString(string(encode(said)))
	}
	return (words != "" || len(t.ToolCalls) > 0) && textPattern(words).MatchString(m.Text)
}

// wholeRef matches a JSON string that is only a reference, which may be replaced by any value.
var wholeRef = regexp.MustCompile(`"(\$\{[^}"]*\})"`)

// textPattern returns a pattern for a text with any values for its references.
func textPattern(text string) *regexp.Regexp {
	var b strings.Builder
	at := 0
	for _, r := range references(text) {
		b.WriteString(regexp.QuoteMeta(unescape(text[at:r.from])) + "(?s:.*)")
		at = r.to
	}
	b.WriteString(regexp.QuoteMeta(unescape(text[at:])))
	return regexp.MustCompile(fmt.Sprintf("^%s$", b.String()))
}
