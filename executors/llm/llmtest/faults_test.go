package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

// faultVariable selects the faulty provider that TestVendorConforms tests.
const faultVariable = "PARLEY_LLMTEST_FAULT"

type wrap func(p llmtest.Func) llmtest.Func

// changed is a provider with a changed response.
func changed(change func(r *llm.Response)) wrap {
	return func(p llmtest.Func) llmtest.Func {
		return func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
			r, err := p(ctx, req, emit)
			if err == nil {
				change(r)
			}
			return r, err
		}
	}
}

// asks is a provider that sends a changed request.
func asks(change func(r *llm.Request)) wrap {
	return func(p llmtest.Func) llmtest.Func {
		return func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
			r := *req
			r.Messages = append([]llm.Message(nil), req.Messages...)
			change(&r)
			return p(ctx, &r, emit)
		}
	}
}

// failed is a provider with changed errors.
func failed(change func(err *llm.ProviderError) error) wrap {
	return func(p llmtest.Func) llmtest.Func {
		return func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
			r, err := p(ctx, req, emit)
			var pe *llm.ProviderError
			if errors.As(err, &pe) {
				err = change(pe)
			}
			return r, err
		}
	}
}

// emits is a provider with changed chunks.
func emits(change func(emit func(llm.Chunk) error) func(llm.Chunk) error) wrap {
	return func(p llmtest.Func) llmtest.Func {
		return func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
			if emit != nil {
				emit = change(emit)
			}
			return p(ctx, req, emit)
		}
	}
}

// faults are providers that break one rule each.
var faults = map[string]wrap{
	"loses text":             changed(func(r *llm.Response) { r.Text = strings.TrimSuffix(r.Text, "ld") }),
	"trims text":             changed(func(r *llm.Response) { r.Text = strings.TrimSpace(r.Text) }),
	"loses a call":           changed(func(r *llm.Response) { r.ToolCalls = r.ToolCalls[:min(1, len(r.ToolCalls))] }),
	"loses the finish":       changed(func(r *llm.Response) { r.Finish = llm.FinishStop }),
	"loses usage":            changed(func(r *llm.Response) { r.Usage = nil }),
	"makes up usage":         changed(func(r *llm.Response) { r.Usage = &llm.Usage{} }),
	"forgets the cache":      changed(func(r *llm.Response) { *r = withoutCache(*r) }),
	"loses the refusal":      changed(func(r *llm.Response) { r.Refusal = "" }),
	"loses what is opaque":   changed(func(r *llm.Response) { r.Opaque = nil }),
	"has no model":           changed(func(r *llm.Response) { r.Model = "" }),
	"has no ids":             changed(func(r *llm.Response) { r.Metadata = nil }),
	"sends no tools":         asks(func(r *llm.Request) { r.Tools = nil }),
	"sends no instructions":  asks(func(r *llm.Request) { r.Instructions = "" }),
	"sends no temperature":   asks(func(r *llm.Request) { r.Temperature = nil }),
	"sends no bound":         asks(func(r *llm.Request) { r.MaxTokens = 0 }),
	"sends no schema":        asks(func(r *llm.Request) { r.Output = nil }),
	"sends the last message": asks(func(r *llm.Request) { r.Messages = r.Messages[len(r.Messages)-1:] }),
	"sends no results": asks(func(r *llm.Request) {
		for i := range r.Messages {
			r.Messages[i].Results = nil
		}
	}),
	"sends foreign thoughts": asks(func(r *llm.Request) {
		for i := range r.Messages {
			if o := r.Messages[i].Opaque; o != nil {
				r.Messages[i].Opaque = &llm.Opaque{Provider: "fake", Data: o.Data}
			}
		}
	}),
	"sends no thoughts": asks(func(r *llm.Request) {
		for i := range r.Messages {
			r.Messages[i].Opaque = nil
		}
	}),
	"has no status":      failed(func(err *llm.ProviderError) error { err.Status = 0; return err }),
	"retries nothing":    failed(func(err *llm.ProviderError) error { err.Retryable = false; return err }),
	"retries all":        failed(func(err *llm.ProviderError) error { err.Retryable = true; return err }),
	"knows no pause":     failed(func(err *llm.ProviderError) error { err.RetryAfter = 0; return err }),
	"has one category":   failed(func(err *llm.ProviderError) error { err.Category = llm.CategoryServer; return err }),
	"has another name":   failed(func(err *llm.ProviderError) error { err.Provider = "other"; return err }),
	"has its own errors": failed(func(err *llm.ProviderError) error { return errors.New(err.Message) }),
	"emits twice": emits(func(emit func(llm.Chunk) error) func(llm.Chunk) error {
		return func(c llm.Chunk) error { return errors.Join(emit(c), emit(c)) }
	}),
	"emits nothing": emits(func(func(llm.Chunk) error) func(llm.Chunk) error {
		return func(llm.Chunk) error { return nil }
	}),
	"emits empty chunks": emits(func(emit func(llm.Chunk) error) func(llm.Chunk) error {
		return func(c llm.Chunk) error { return errors.Join(emit(llm.Chunk{}), emit(c)) }
	}),
	"emits on and on": emits(func(emit func(llm.Chunk) error) func(llm.Chunk) error {
		return func(c llm.Chunk) error { _ = emit(c); return nil }
	}),
	"hides the error of the sink": emits(func(emit func(llm.Chunk) error) func(llm.Chunk) error {
		return func(c llm.Chunk) error {
			if err := emit(c); err != nil {
				return fmt.Errorf("sink: %s", err)
			}
			return nil
		}
	}),
	"goes on without its caller": func(p llmtest.Func) llmtest.Func {
		return func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
			r, err := p(ctx, req, emit)
			if ctx.Err() != nil {
				return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryTimeout, Retryable: true}
			}
			return r, err
		}
	},
	"calls twice": func(p llmtest.Func) llmtest.Func {
		return func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
			r, err := p(ctx, req, emit)
			var pe *llm.ProviderError
			if errors.As(err, &pe) && pe.Retryable {
				_, _ = p(ctx, req, nil)
			}
			return r, err
		}
	},
}

func withoutCache(r llm.Response) llm.Response {
	if r.Usage != nil {
		u := *r.Usage
		u.CacheReadTokens = 0
		r.Usage = &u
	}
	return r
}

// TestConformanceFindsFaults tests each faulty provider in a separate process, which must fail.
func TestConformanceFindsFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVendorConforms$")
			cmd.Env = append(os.Environ(), faultVariable+"="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: TestVendorConforms") ||
				strings.Contains(string(out), "panic:") {
				t.Errorf("the faulty provider %q passes: %v\n%s", name, err, out)
			}
		})
	}
}
