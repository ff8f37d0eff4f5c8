package llmtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// Conformance holds a provider against llm.Provider: text, the same streamed, tools and their results, refusals, JSON, usage, faults of the vendor, streams that break off or are
// cancelled, and what goes back unread. Each case is a sub test of its own, with a provider of its own.
func Conformance(t *testing.T, setup func(t *testing.T) Setup) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			s := setup(t)
			if why, ok := s.Skip[c.name]; ok {
				t.Skip(why)
			}
			if c.needs != nil && !c.needs(&s) {
				t.Skip("the vendor has no such thing")
			}
			for _, stream := range c.streams() {
				t.Run(map[bool]string{false: "whole", true: "stream"}[stream], func(t *testing.T) { c.run(t, &s, stream) })
			}
		})
	}
	t.Run("a sink that fails ends the call", func(t *testing.T) { sinkFails(t, setup(t)) })
	t.Run("a caller that has gone", func(t *testing.T) { gone(t, setup(t)) })
	t.Run("calls at once", func(t *testing.T) { atOnce(t, setup(t)) })
}

// testCase is one script, and what must come of it besides what holds for all.
type testCase struct {
	name      string
	exchanges []Exchange
	// needs says whether it can be tried, and only, where it is not nil, whether it is streamed.
	needs func(s *Setup) bool
	only  *bool
	check func(t *testing.T, s *Setup, all []Outcome)
}

func (c *testCase) streams() []bool {
	if c.only != nil {
		return []bool{*c.only}
	}
	return []bool{false, true}
}

func (c *testCase) run(t *testing.T, s *Setup, stream bool) {
	script := s.script(c, stream)
	p := s.Provider(t, script)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	all := script.Run(ctx, p)
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	for i := range all {
		script.Exchanges[i].hold(t, s, p.Name(), &all[i])
	}
	taken, problems := script.Taken()
	for _, problem := range problems {
		t.Error(problem)
	}
	if taken != len(script.Exchanges) && taken != 0 { // 0: it was played back
		t.Errorf("the vendor was called %d times: expected %d. A provider does not retry", taken, len(script.Exchanges))
	}
	if c.check != nil && !t.Failed() {
		c.check(t, s, all)
	}
}

// script makes a case fit what the vendor can express.
func (s *Setup) script(c *testCase, stream bool) *Script {
	script := &Script{Name: c.name, Exchanges: slices.Clone(c.exchanges)}
	for i := range script.Exchanges {
		e := &script.Exchanges[i]
		e.Stream = stream
		e.Request.Model, e.Request.API = s.Model, s.API
		if s.NoOpaque {
			e.Opaque = ""
		}
		if u := e.Response.Usage; u != nil {
			fits := s.usage(*u)
			e.Response.Usage = &fits
		}
	}
	return script
}

func (s *Setup) usage(u llm.Usage) llm.Usage {
	if s.NoCacheRead {
		u.CacheReadTokens = 0
	}
	if s.NoCacheWrite {
		u.CacheWriteTokens = 0
	}
	if s.NoReasoning {
		u.ReasoningTokens = 0
	}
	return u
}

// hold compares what came of a call with what the vendor has answered.
func (e *Exchange) hold(t *testing.T, s *Setup, provider string, o *Outcome) {
	t.Helper()
	if e.Fault != nil {
		e.holdFault(t, provider, o)
		return
	}
	if o.Err != nil {
		t.Fatalf("the call failed: %v", o.Err)
	}
	got, want := o.Response, &e.Response
	if got == nil {
		t.Fatal("a call without an error has a Response")
	}
	if got.Text != want.Text {
		t.Errorf("text %q: expected %q", got.Text, want.Text)
	}
	if got.Finish != want.Finish {
		t.Errorf("finish %q: expected %q", got.Finish, want.Finish)
	}
	if got.Refusal != want.Refusal && !(s.NoRefusalText && want.Refusal != "" && got.Refusal != "") {
		t.Errorf("refusal %q: expected %q", got.Refusal, want.Refusal)
	}
	if got.Model == "" {
		t.Error("expected the name of the model that has answered")
	}
	if len(got.Metadata) == 0 && !s.NoMetadata {
		t.Error("expected ids of the vendor in the metadata")
	}
	holdUsage(t, got.Usage, want.Usage)
	holdCalls(t, got.ToolCalls, want.ToolCalls)
	if e.Opaque != "" && (got.Opaque == nil || got.Opaque.Provider != provider) {
		t.Errorf("opaque %+v: expected one of the provider %q", got.Opaque, provider)
	}
	e.holdChunks(t, s, o)
}

func holdUsage(t *testing.T, got, want *llm.Usage) {
	t.Helper()
	switch {
	case (got == nil) != (want == nil):
		t.Errorf("usage %+v: expected %+v", got, want)
	case got != nil && *got != *want:
		t.Errorf("usage %+v: expected %+v", *got, *want)
	}
}

func holdCalls(t *testing.T, got, want []llm.ToolCall) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d calls of tools: expected %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		same := got[i].Arguments == want[i].Arguments || want[i].Arguments == "" && got[i].Arguments == "{}"
		if got[i].Name != want[i].Name || !same {
			t.Errorf("call %d is %s(%s): expected %s(%s)", i, got[i].Name, got[i].Arguments, want[i].Name, want[i].Arguments)
		}
	}
}

// holdChunks puts the chunks together: they are the response, in pieces.
func (e *Exchange) holdChunks(t *testing.T, s *Setup, o *Outcome) {
	t.Helper()
	if !e.Stream {
		return
	}
	text, refusal, calls := assemble(t, o.Chunks)
	if text != o.Response.Text {
		t.Errorf("the chunks say %q, and the response %q", text, o.Response.Text)
	}
	if refusal != o.Response.Refusal && !s.NoRefusalText {
		t.Errorf("the chunks refuse with %q, and the response with %q", refusal, o.Response.Refusal)
	}
	if len(calls) != len(o.Response.ToolCalls) {
		t.Fatalf("the chunks have %d calls of tools, and the response %d", len(calls), len(o.Response.ToolCalls))
	}
	for i, c := range calls {
		r := o.Response.ToolCalls[i]
		if c.ID != r.ID || c.Name != r.Name || c.Arguments != r.Arguments && !(c.Arguments == "" && r.Arguments == "{}") {
			t.Errorf("the chunks make the call %+v, and the response %+v", c, r)
		}
	}
}

// assemble makes of chunks what they bring, and faults what is none.
func assemble(t *testing.T, chunks []llm.Chunk) (text, refusal string, calls []llm.ToolCall) {
	t.Helper()
	for i, c := range chunks {
		set := 0
		for _, is := range []bool{c.Text != "", c.Refusal != "", c.ToolCall != nil} {
			if is {
				set++
			}
		}
		if set != 1 {
			t.Errorf("chunk %d has %d fields that are set: expected 1", i, set)
		}
		text, refusal = text+c.Text, refusal+c.Refusal
		piece := c.ToolCall
		if piece == nil {
			continue
		}
		switch {
		case piece.Index == len(calls):
			if piece.Name == "" {
				t.Errorf("chunk %d begins call %d without a name", i, piece.Index)
			}
			calls = append(calls, llm.ToolCall{ID: piece.ID, Name: piece.Name, Arguments: piece.Arguments})
		case piece.Index < 0 || piece.Index > len(calls):
			t.Fatalf("chunk %d is of call %d, and only %d have begun", i, piece.Index, len(calls))
		default:
			calls[piece.Index].Arguments += piece.Arguments
		}
	}
	return text, refusal, calls
}

func (e *Exchange) holdFault(t *testing.T, provider string, o *Outcome) {
	t.Helper()
	f := e.Fault
	if o.Err == nil {
		t.Fatalf("the call gave %+v: expected an error", o.Response)
	}
	if e.Stream && (f.Break || f.Hang || f.Malformed) {
		if got, want := textOf(o.Chunks), textOf(e.Chunks[:f.AfterChunks]); got != want {
			t.Errorf("the chunks before the fault say %q: expected %q", got, want)
		}
	}
	if f.Hang {
		if !errors.Is(o.Err, context.Canceled) {
			t.Errorf("a cancelled call failed with %v: expected the error of its context", o.Err)
		}
		return
	}
	var pe *llm.ProviderError
	if !errors.As(o.Err, &pe) || !errors.Is(o.Err, llm.ErrProvider) {
		t.Fatalf("the call failed with %T %v: expected a *llm.ProviderError", o.Err, o.Err)
	}
	if pe.Provider != provider {
		t.Errorf("the error is of the provider %q: expected %q", pe.Provider, provider)
	}
	switch want := StatusError(provider, f); {
	case f.Break:
		if pe.Category != llm.CategoryNetwork || !pe.Retryable {
			t.Errorf("a connection that broke off is %s, retryable %t: expected %s, true", pe.Category, pe.Retryable,
				llm.CategoryNetwork)
		}
	case f.Malformed:
		if pe.Category != llm.CategoryMalformed {
			t.Errorf("an answer that is none of the API is %s: expected %s", pe.Category, llm.CategoryMalformed)
		}
	case describe(pe) != describe(want):
		t.Errorf("the error is %s: expected %s", describe(pe), describe(want))
	}
}

func describe(e *llm.ProviderError) string {
	return fmt.Sprintf("%s, status %d, retryable %t, retry after %s", e.Category, e.Status, e.Retryable, e.RetryAfter)
}
