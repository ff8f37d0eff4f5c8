package openai_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/openai"
)

// TestAnErrorThatBreaksOff keeps its status, and what its headers say.
func TestAnErrorThatBreaksOff(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "500")
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, "{")
	}))
	defer s.Close()
	_, err := provider(t, openai.Options{BaseURL: s.URL}).Call(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}, nil)
	var e *llm.ProviderError
	if !errors.As(err, &e) || e.Category != llm.CategoryRateLimit || e.Status != http.StatusTooManyRequests || e.RetryAfter != time.Minute || !e.Retryable {
		t.Errorf("%#v", err)
	}
}
