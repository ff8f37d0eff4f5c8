package anthropic_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/anthropic"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
)

func TestNew(t *testing.T) {
	for name, o := range map[string]*anthropic.Options{
		"name": {Name: "a:b"}, "base": {BaseURL: "localhost"}, "key in base": {BaseURL: "https://" + key + "@host"}, "key": {APIKey: key + "\nX-Evil: 1"},
	} {
		if _, err := anthropic.New(o); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := anthropic.New(nil)
	if err != nil || p.Name() != "anthropic" {
		t.Errorf("%v, %v", p, err)
	}
}

func TestFromEnv(t *testing.T) {
	var header http.Header
	base := wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) { header = r.Header })
	env := map[string]string{"ANTHROPIC_API_KEY": " "}
	getenv := func(name string) string { return env[name] }
	if p, err := anthropic.FromEnv(getenv); p != nil || err != nil {
		t.Errorf("without a key: %v, %v", p, err)
	}
	env["ANTHROPIC_API_KEY"], env["ANTHROPIC_BASE_URL"] = key+"\n", base
	p, err := anthropic.FromEnv(getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
	if header.Get("X-Api-Key") != key {
		t.Errorf("the headers are %v", header)
	}
	env["ANTHROPIC_BASE_URL"] = "no url"
	if p, err := anthropic.FromEnv(getenv); p != nil || err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("with a base that is none: %v, %v", p, err)
	}
}

// TestTheEnvironmentIsNotRead by the SDK behind our back.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-somebody-else")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-of-somebody-else")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: of-somebody-else")
	var header http.Header
	p, err := anthropic.New(&anthropic.Options{BaseURL: wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) { header = r.Header })})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
	if header == nil || header.Get("Authorization") != "" || header.Get("X-Api-Key") != "" || header.Get("X-Custom") != "" {
		t.Errorf("the headers are %v", header)
	}
}

// both runs a test whole and streamed.
func both(t *testing.T, answer http.HandlerFunc, hold func(t *testing.T, err error)) {
	t.Helper()
	for _, emit := range []func(llm.Chunk) error{nil, func(llm.Chunk) error { return nil }} {
		p := provider(t, anthropic.Options{BaseURL: wiretest.Raw(t, answer)})
		_, err := p.Call(t.Context(), &llm.Request{Model: "m"}, emit)
		hold(t, err)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body string
	}{
		"HTML": {"text/html", "<html>Welcome to the hotel's network</html>"}, "nothing": {"application/json", ""}, "null": {"application/json", "null"},
		"another object": {"application/json", `{"status":"ok"}`}, "a list": {"application/json", `[]`}, "cut": {"application/json", `{"type":"message","content":[`},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				io.WriteString(w, c.body)
			}, func(t *testing.T, err error) {
				t.Helper()
				var pe *llm.ProviderError
				if !errors.As(err, &pe) || pe.Category != llm.CategoryMalformed || pe.Retryable {
					t.Errorf("got %#v", err)
				}
			})
		})
	}
}

func TestFaultsByTheirStatus(t *testing.T) {
	in := func(kind, message string) string {
		return wiretest.JSON(object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_body"})
	}
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   llm.ProviderError
	}{
		"the vendor's form": {429, map[string]string{"Retry-After": "30", "Request-Id": "req_7"}, in("rate_limit_error", "slow down"),
			llm.ProviderError{Category: llm.CategoryRateLimit, Code: "rate_limit_error", RequestID: "req_7", Retryable: true, RetryAfter: 30 * time.Second, Message: "slow down"}},
		"overloaded":      {529, nil, in("overloaded_error", "Overloaded"), llm.ProviderError{Category: llm.CategoryServer, Code: "overloaded_error", RequestID: "req_body", Retryable: true, Message: "Overloaded"}},
		"too large":       {413, nil, in("request_too_large", "too large"), llm.ProviderError{Category: llm.CategoryInvalid, Code: "request_too_large", RequestID: "req_body", Message: "too large"}},
		"HTML":            {502, nil, `<html>Bad Gateway</html>`, llm.ProviderError{Category: llm.CategoryServer, Retryable: true, Message: "Bad Gateway"}},
		"odd JSON":        {400, nil, `{"type":"error","error":"no"}`, llm.ProviderError{Category: llm.CategoryInvalid, Message: "Bad Request"}},
		"the key":         {401, nil, in("authentication_error", "invalid x-api-key "+key), llm.ProviderError{Category: llm.CategoryAuthentication, Code: "authentication_error", RequestID: "req_body", Message: "invalid x-api-key [key]"}},
		"not worth while": {529, map[string]string{"X-Should-Retry": "false"}, `{}`, llm.ProviderError{Category: llm.CategoryServer, Message: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}, func(t *testing.T, err error) {
				t.Helper()
				want := c.want
				want.Provider, want.Status = "anthropic", c.status
				var pe *llm.ProviderError
				if !errors.As(err, &pe) || *pe != want {
					t.Errorf("got %#v\nexpected %#v", err, want)
				}
			})
		})
	}
}

// TestTheKeyGoesNowhereElse sends the caller away.
func TestTheKeyGoesNowhereElse(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("another server was called, with %v", r.Header)
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 307, 308} {
		both(t, http.RedirectHandler(other.URL, status).ServeHTTP, func(t *testing.T, err error) {
			t.Helper()
			var pe *llm.ProviderError
			if !errors.As(err, &pe) || pe.Category != llm.CategoryMalformed || pe.Retryable || pe.Status != status {
				t.Errorf("got %#v", err)
			}
		})
	}
}

func TestNobodyIsThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	p := provider(t, anthropic.Options{BaseURL: "http://" + l.Addr().String()})
	_, err = p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
	var pe *llm.ProviderError
	if !errors.As(err, &pe) || pe.Category != llm.CategoryNetwork || !pe.Retryable || pe.Status != 0 {
		t.Errorf("got %#v", err)
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if _, err := p.Call(ctx, &llm.Request{Model: "m"}, nil); err != context.DeadlineExceeded {
		t.Errorf("got %v: expected the error of the context", err)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	asked := make(chan struct{}, 1)
	p := provider(t, anthropic.Options{BaseURL: wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
	})})
	ended := make(chan error)
	go func() {
		_, err := p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
		ended <- err
	}()
	<-asked
	p.Close()
	var pe *llm.ProviderError
	if err := <-ended; !errors.As(err, &pe) || pe.Retryable {
		t.Errorf("got %#v", err)
	}
}
