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

// Conformance tests a provider against the rules of llm.Provider: text, streams, tools and their
// results, refusals, JSON, usage, failures of the vendor, broken and canceled calls, and opaque
// data. Each case is a subtest with its own provider.
func Conformance(t *testing.T, setup func(t *testing.T) Setup) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			s := setup(t)
			if why, ok := s.Skip[c.name]; ok {
				t.Skip(why)
			}
			if c.needs != nil && !c.needs(&s) {
				t.Skip("not supported by the vendor")
			}
			for _, stream := range c.streams() {
				t.Run(map[bool]string{false: "whole", true: "stream"}[stream], func(t *testing.T) { c.run(t, &s, stream) })
			}
		})
	}
	t.Run("a sink that fails ends the call", func(t *testing.T) { sinkFails(t, setup(t)) })
	t.Run("a canceled call", func(t *testing.T) { canceledCall(t, setup(t)) })
	t.Run("concurrent calls", func(t *testing.T) { concurrentCalls(t, setup(t)) })
}

// testCase is one script with additional checks.
type testCase struct {
	name      string
	exchanges []Exchange
	// needs reports whether the setup supports the case. If only is not nil, it selects with or
	// without a stream.
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
		script.Exchanges[i].check(t, s, p.Name(), &all[i])
	}
	taken, problems := script.Taken()
	for _, problem := range problems {
		t.Error(problem)
	}
	if taken != len(script.Exchanges) && taken != 0 { // 0 means that it was replayed
		t.Errorf("the vendor was called %d times: expected %d. A provider does not retry", taken, len(script.Exchanges))
	}
	if c.check != nil && !t.Failed() {
		c.check(t, s, all)
	}
}

// script adapts a case to the vendor.
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

// check compares the outcome of a call with the answer of the vendor.
func (e *Exchange) check(t *testing.T, s *Setup, provider string, o *Outcome) {
	t.Helper()
	if e.Fault != nil {
		e.checkFault(t, provider, o)
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
		t.Error("expected the name of the model that answered")
	}
	if len(got.Metadata) == 0 && !s.NoMetadata {
		t.Error("expected ids of the vendor in the metadata")
	}
	checkUsage(t, got.Usage, want.Usage)
	checkCalls(t, got.ToolCalls, want.ToolCalls)
	if e.Opaque != "" && (got.Opaque == nil || got.Opaque.Provider != provider) {
		t.Errorf("opaque %+v: expected one of the provider %q", got.Opaque, provider)
	}
	e.checkChunks(t, s, o)
}

func checkUsage(t *testing.T, got, want *llm.Usage) {
	t.Helper()
	switch {
	case (got == nil) != (want == nil):
		t.Errorf("usage %+v: expected %+v", got, want)
	case got != nil && *got != *want:
		t.Errorf("usage %+v: expected %+v", *got, *want)
	}
}

func checkCalls(t *testing.T, got, want []llm.ToolCall) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d tool calls: expected %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		same := got[i].Arguments == want[i].Arguments || want[i].Arguments == "" && got[i].Arguments == "{}"
		if got[i].Name != want[i].Name || !same {
			t.Errorf("call %d is %s(%s): expected %s(%s)", i, got[i].Name, got[i].Arguments, want[i].Name, want[i].Arguments)
		}
	}
}

// checkChunks checks that the chunks add up to the response.
func (e *Exchange) checkChunks(t *testing.T, s *Setup, o *Outcome) {
	t.Helper()
	if !e.Stream {
		return
	}
	text, refusal, reasoning, calls := assemble(t, o.Chunks)
	if text != o.Response.Text {
		t.Errorf("the chunks are %q, but the response is %q", text, o.Response.Text)
	}
	if refusal != o.Response.Refusal && !s.NoRefusalText {
		t.Errorf("the chunks have the refusal %q, but the response %q", refusal, o.Response.Refusal)
	}
	if reasoning != o.Response.Reasoning {
		t.Errorf("the chunks have the reasoning %q, but the response %q", reasoning, o.Response.Reasoning)
	}
	if len(calls) != len(o.Response.ToolCalls) {
		t.Fatalf("the chunks have %d tool calls, but the response %d", len(calls), len(o.Response.ToolCalls))
	}
	for i, c := range calls {
		r := o.Response.ToolCalls[i]
		if c.ID != r.ID || c.Name != r.Name || c.Arguments != r.Arguments && !(c.Arguments == "" && r.Arguments == "{}") {
			t.Errorf("the chunks have the call %+v, but the response %+v", c, r)
		}
	}
}

// assemble joins chunks, and reports invalid ones.
func assemble(t *testing.T, chunks []llm.Chunk) (text, refusal, reasoning string, calls []llm.ToolCall) {
	t.Helper()
	for i, c := range chunks {
		set := 0
		for _, is := range []bool{c.Text != "", c.Refusal != "", c.Reasoning != "", c.ToolCall != nil} {
			if is {
				set++
			}
		}
		if set != 1 {
			t.Errorf("chunk %d sets %d fields: expected 1", i, set)
		}
		text, refusal, reasoning = text+c.Text, refusal+c.Refusal, reasoning+c.Reasoning
		piece := c.ToolCall
		if piece == nil {
			continue
		}
		switch {
		case piece.Index == len(calls):
			if piece.Name == "" {
				t.Errorf("chunk %d starts call %d without a name", i, piece.Index)
			}
			calls = append(calls, llm.ToolCall{ID: piece.ID, Name: piece.Name, Arguments: piece.Arguments})
		case piece.Index < 0 || piece.Index > len(calls):
			t.Fatalf("chunk %d belongs to call %d, but only %d calls started", i, piece.Index, len(calls))
		default:
			calls[piece.Index].Arguments += piece.Arguments
		}
	}
	return text, refusal, reasoning, calls
}

func (e *Exchange) checkFault(t *testing.T, provider string, o *Outcome) {
	t.Helper()
	f := e.Fault
	if o.Err == nil {
		t.Fatalf("the call returned %+v: expected an error", o.Response)
	}
	if e.Stream && (f.Break || f.Hang || f.Malformed) {
		if got, want := textOf(o.Chunks), textOf(e.Chunks[:f.AfterChunks]); got != want {
			t.Errorf("the chunks before the fault are %q: expected %q", got, want)
		}
	}
	if f.Hang {
		if !errors.Is(o.Err, context.Canceled) {
			t.Errorf("a canceled call failed with %v: expected the error of its context", o.Err)
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
			t.Errorf("a broken connection is %s, retryable %t: expected %s, true", pe.Category, pe.Retryable,
				llm.CategoryNetwork)
		}
	case f.Malformed:
		if pe.Category != llm.CategoryMalformed {
			t.Errorf("a malformed answer is %s: expected %s", pe.Category, llm.CategoryMalformed)
		}
	case describe(pe) != describe(want):
		t.Errorf("the error is %s: expected %s", describe(pe), describe(want))
	}
}

func describe(e *llm.ProviderError) string {
	return fmt.Sprintf("%s, status %d, retryable %t, retry after %s", e.Category, e.Status, e.Retryable, e.RetryAfter)
}
