package scripted

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// when has conditions, which all must hold.
type when struct {
	Step         int                        `json:"step"`
	Last         string                     `json:"last"`
	Said         string                     `json:"said"`
	Instructions string                     `json:"instructions"`
	Params       map[string]json.RawMessage `json:"params"`
	Tool         string                     `json:"tool"`
	Result       string                     `json:"result"`
	Failed       *bool                      `json:"failed"`
	Offers       string                     `json:"offers"`
	Schema       *bool                      `json:"schema"`

	last, said, instructions, result matcher
}

// always reports whether there are no conditions.
func (w *when) always() bool {
	return w.Step == 0 && w.Last == "" && w.Said == "" && w.Instructions == "" && len(w.Params) == 0 && w.Tool == "" &&
		w.Result == "" && w.Failed == nil && w.Offers == "" && w.Schema == nil
}

func (w *when) holds(a *asked) bool {
	return (w.Step == 0 || w.Step == a.step) &&
		w.last.match(a.last) &&
		w.instructions.match(a.req.Instructions) &&
		w.hasSaid(a) && w.hasParams(a) && w.hasResult(a) && w.isOffered(a) &&
		(w.Schema == nil || *w.Schema == (a.req.Output != nil))
}

func (w *when) hasSaid(a *asked) bool {
	return w.Said == "" ||
		slices.ContainsFunc(a.req.Messages,
			func(m llm.Message) bool { return m.Role == llm.RoleAssistant && w.said.match(m.Text) })
}

func (w *when) hasParams(a *asked) bool {
	for at, raw := range w.Params {
		path, err := parsePath(at)
		want, ok := decode(string(raw))
		if err != nil || !ok {
			return false
		}
		if got, ok := a.param(path); !ok || !same(got, want) {
			return false
		}
	}
	return true
}

func (w *when) hasResult(a *asked) bool {
	if w.Tool == "" && w.Result == "" && w.Failed == nil {
		return true
	}
	return slices.ContainsFunc(a.fresh, func(r llm.ToolResult) bool {
		return (w.Tool == "" || w.Tool == r.Name) && w.result.match(r.Text) && (w.Failed == nil || *w.Failed == r.IsError)
	})
}

func (w *when) isOffered(a *asked) bool {
	return w.Offers == "" || slices.ContainsFunc(a.req.Tools, func(t llm.ToolSpec) bool { return t.Name == w.Offers })
}

// matcher is a text that must be contained, or a regular expression. The zero value matches
// everything.
type matcher struct {
	text string
	re   *regexp.Regexp
}

func newMatcher(text string) (matcher, error) {
	if len(text) < 3 || !strings.HasPrefix(text, "/") || !strings.HasSuffix(text, "/") {
		return matcher{text: text}, nil
	}
	re, err := regexp.Compile(text[1 : len(text)-1])
	return matcher{re: re}, err
}

func (m matcher) match(text string) bool {
	if m.re != nil {
		return m.re.MatchString(text)
	}
	return strings.Contains(text, m.text)
}
