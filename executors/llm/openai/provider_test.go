package openai_test

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
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/openai"
)

func TestNew(t *testing.T) {
	for name, o := range map[string]*openai.Options{
		"name": {Name: "a:b"}, "base": {BaseURL: "localhost:11434"}, "key in base": {BaseURL: "https://" + key + "@host"}, "key": {APIKey: key + "\nX-Evil: 1"}, "API": {API: "telepathy"},
	} {
		if _, err := openai.New(o); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := openai.New(nil)
	if err != nil || p.Name() != "openai" {
		t.Errorf("%v, %v", p, err)
	}
}

func TestFromEnv(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	if p, err := openai.FromEnv(env("OPENAI_API_KEY", "  ")); p != nil || err != nil {
		t.Errorf("without a key: %v, %v", p, err)
	}
	if p, err := openai.FromEnv(env("OPENAI_BASE_URL", "no url", "OPENAI_API_KEY", key)); p != nil || err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("with a base that is none: %v, %v", p, err)
	}
	var header http.Header
	base := wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) { header = r.Header })
	p, err := openai.FromEnv(env("OPENAI_API_KEY", key+"\n", "OPENAI_BASE_URL", base))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
	if header.Get("Authorization") != "Bearer "+key {
		t.Errorf("the headers are %v", header)
	}
}

// TestTheEnvironmentIsNotRead by the SDK behind our back.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-somebody-else")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_ORG_ID", "org-of-somebody-else")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: of-somebody-else")
	var header http.Header
	p, err := openai.New(&openai.Options{BaseURL: wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) { header = r.Header })})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, api := range []llm.API{llm.APIResponses, llm.APIChat} {
		header = nil
		p.Call(t.Context(), &llm.Request{Model: "m", API: api}, nil)
		if header == nil || header.Get("Authorization") != "" || header.Get("Openai-Organization") != "" || header.Get("X-Custom") != "" {
			t.Errorf("the headers are %v", header)
		}
	}
}

// both runs a test on both APIs, whole and streamed.
func both(t *testing.T, answer http.HandlerFunc, hold func(t *testing.T, err error)) {
	t.Helper()
	for _, api := range []llm.API{llm.APIResponses, llm.APIChat} {
		for _, emit := range []func(llm.Chunk) error{nil, func(llm.Chunk) error { return nil }} {
			p := provider(t, openai.Options{BaseURL: wiretest.Raw(t, answer), API: api})
			_, err := p.Call(t.Context(), &llm.Request{Model: "m"}, emit)
			hold(t, err)
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body string
	}{
		"HTML": {"text/html", "<html>Welcome to the hotel's network</html>"}, "nothing": {"application/json", ""}, "null": {"application/json", "null"},
		"another object": {"application/json", `{"status":"ok"}`}, "a list": {"application/json", `[]`}, "cut": {"application/json", `{"object":"response","output":[`},
		"two": {"application/json", `{"object":"response","output":[]} {}`},
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
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   llm.ProviderError
	}{
		"the vendor's form": {429, map[string]string{"Retry-After-Ms": "1500", "X-Request-Id": "req_7"}, `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`,
			llm.ProviderError{Category: llm.CategoryRateLimit, Code: "rate_limit_exceeded", RequestID: "req_7", Retryable: true, RetryAfter: 1500 * time.Millisecond, Message: "slow down"}},
		"no credit":       {429, nil, `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.ProviderError{Category: llm.CategoryRateLimit, Code: "insufficient_quota", Message: "pay"}},
		"HTML":            {502, nil, `<html>Bad Gateway</html>`, llm.ProviderError{Category: llm.CategoryServer, Retryable: true, Message: "Bad Gateway"}},
		"nothing":         {500, nil, ``, llm.ProviderError{Category: llm.CategoryServer, Retryable: true, Message: "Internal Server Error"}},
		"words":           {404, nil, `{"error":"model \"x\" not found"}`, llm.ProviderError{Category: llm.CategoryNotFound, Message: `model "x" not found`}},
		"a list":          {400, nil, `[{"error":{"code":400,"message":"no"}}]`, llm.ProviderError{Category: llm.CategoryInvalid, Message: "Bad Request"}},
		"the key":         {401, nil, `{"error":{"message":"Incorrect API key provided: ` + key + `","code":"invalid_api_key"}}`, llm.ProviderError{Category: llm.CategoryAuthentication, Code: "invalid_api_key", Message: "Incorrect API key provided: [key]"}},
		"not worth while": {503, map[string]string{"X-Should-Retry": "false"}, `{}`, llm.ProviderError{Category: llm.CategoryServer, Message: "Service Unavailable"}},
		"worth while":     {400, map[string]string{"X-Should-Retry": "true"}, `{}`, llm.ProviderError{Category: llm.CategoryInvalid, Retryable: true, Message: "Bad Request"}},
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
				want.Provider, want.Status = "openai", c.status
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
			if !errors.As(err, &pe) || pe.Category != llm.CategoryMalformed || pe.Retryable || pe.Status != status || strings.Contains(pe.Message, other.URL) {
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
	p := provider(t, openai.Options{BaseURL: "http://" + l.Addr().String()})
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

// TestNoAnswerInTime is a client of the caller's that does not wait for ever.
func TestNoAnswerInTime(t *testing.T) {
	p := provider(t, openai.Options{HTTPClient: &http.Client{Timeout: 20 * time.Millisecond}, BaseURL: wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})})
	_, err := p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
	var pe *llm.ProviderError
	if !errors.As(err, &pe) || pe.Category != llm.CategoryTimeout || !pe.Retryable {
		t.Errorf("got %#v", err)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	asked := make(chan struct{}, 1)
	p := provider(t, openai.Options{BaseURL: wiretest.Raw(t, func(w http.ResponseWriter, r *http.Request) {
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
