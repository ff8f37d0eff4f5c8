package scripted

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// maxPause limits every pause of a script.
const maxPause = time.Hour

// checker checks the rules that the table cannot express, and prepares patterns and pauses. It
// ignores parts that could not be read.
type checker struct {
	shape.Reader
	content content
}

func (c *checker) fault(path, format string, args ...any) { c.At(path, fmt.Sprintf(format, args...)) }

func (c *checker) check() {
	every := c.pause("delay", c.content.Delay)
	for i, t := range c.content.Turns {
		if t == nil { // the table reported it
			continue
		}
		path := fmt.Sprintf("turns[%d]", i)
		c.turn(path, t)
		t.pace = pace{
			wait: c.pause(path+".wait", t.Wait), delay: every, chunk: cmp.Or(t.Chunk, c.content.Chunk),
			breaks: t.BreakAfter, hangs: t.HangAfter,
		}
		if t.Delay != "" {
			t.pace.delay = c.pause(path+".delay", t.Delay)
		}
	}
	always := slices.IndexFunc(c.content.Turns,
		func(t *turn) bool { return t != nil && !t.Once && t.When.always() && t.Unless == nil })
	if always >= 0 && always < len(c.content.Turns)-1 && !c.Faulty(fmt.Sprintf("turns[%d]", always)) {
		c.fault(fmt.Sprintf("turns[%d]", always+1), "unreachable: turns[%d] answers every request", always)
	}
}

func (c *checker) turn(path string, t *turn) {
	c.answers(path, t)
	c.when(path+".when", &t.When)
	if t.Unless != nil {
		c.when(path+".unless", t.Unless)
		if t.Unless.always() && !c.Faulty(path) {
			c.fault(path+".unless", "expected a condition: this one is always true")
		}
	}
	c.refs(path+".text", t.Text)
	c.refs(path+".refusal", t.Refusal)
	c.refs(path+".json", string(t.JSON))
	for i, call := range t.ToolCalls {
		at := fmt.Sprintf("%s.tool_calls[%d]", path, i)
		c.refs(at+".arguments", string(call.Arguments))
		c.refs(at+".arguments_text", call.ArgumentsText)
		if call.Arguments != nil && call.ArgumentsText != "" {
			c.fault(at+".arguments_text", "arguments and arguments_text are mutually exclusive")
		}
	}
	if e := t.Error; e != nil {
		e.after = c.pause(path+".error.retry_after", e.RetryAfter)
		if e.Status == 0 && e.Category == "" && !c.Faulty(path+".error") {
			c.fault(path+".error", "expected a status, a category or both")
		}
		e.Category = cmp.Or(e.Category, categoryOf(e.Status))
	}
	if t.Usage != nil {
		t.Usage.TotalTokens = t.Usage.PromptTokens + t.Usage.CompletionTokens
	}
}

// answers refuses a turn with no answer or several answers. Text may be combined with tool calls.
func (c *checker) answers(path string, t *turn) {
	const kinds = "one of text, json, tool_calls, refusal and error; text may go with tool_calls"
	var given []string
	for _, kind := range []string{"text", "json", "tool_calls", "refusal", "error"} {
		if c.Has(path + "." + kind) {
			given = append(given, kind)
		}
	}
	both := slices.Equal(given, []string{"text", "tool_calls"})
	switch {
	case len(given) == 0 && !c.Faulty(path):
		c.fault(path, "missing answer: expected %s", kinds)
	case len(given) > 1 && !both:
		c.fault(path+"."+given[1], "expected %s", kinds)
	case t.Error != nil && (t.Finish != "" || t.Usage != nil || t.BreakAfter != nil || t.HangAfter != nil):
		c.fault(path+".error", "expected neither finish, usage, break_after nor hang_after with an error")
	case t.BreakAfter != nil && t.HangAfter != nil:
		c.fault(path+".hang_after", "break_after and hang_after are mutually exclusive")
	}
}

// when prepares the conditions.
func (c *checker) when(path string, w *when) {
	for _, p := range []struct {
		name, text string
		to         *matcher
	}{{"last", w.Last, &w.last}, {"said", w.Said, &w.said}, {"instructions", w.Instructions, &w.instructions},
		{"result", w.Result, &w.result}} {
		m, err := newMatcher(p.text)
		if err != nil {
			c.fault(path+"."+p.name, "expected a regular expression in RE2 syntax between the slashes")
		}
		*p.to = m
	}
	for _, at := range slices.Sorted(maps.Keys(w.Params)) {
		if _, err := parsePath(at); err != nil {
			c.fault(path+".params."+yamlfile.Brief(at), "expected a path, such as case.id or items[0]")
		}
	}
}

// refs refuses invalid references.
func (c *checker) refs(path, text string) {
	for _, r := range references(text) {
		if r.err != nil {
			c.fault(path, "%v", r.err)
			return
		}
	}
}

func (c *checker) pause(path, text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < 0 || d > maxPause {
		c.fault(path, "expected a duration of at most 1h, such as 20ms or 2s")
	}
	return d
}

// categoryOf returns the category of a status.
func categoryOf(status int) llm.Category {
	switch {
	case status == 401 || status == 403:
		return llm.CategoryAuthentication
	case status == 402:
		return llm.CategoryQuota
	case status == 404:
		return llm.CategoryNotFound
	case status == 408:
		return llm.CategoryTimeout
	case status == 429:
		return llm.CategoryRateLimit
	case status >= 500:
		return llm.CategoryServer
	}
	return llm.CategoryInvalid
}
