package anthropic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/anthropic"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

func TestNew(t *testing.T) {
	for name, o := range map[string]*anthropic.Options{
		"name": {Name: "a:b"}, "base": {BaseURL: "localhost"}, "key in base": {BaseURL: "https://" + key + "@host"},
		"key": {APIKey: key + "\nX-Evil: 1"},
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

func TestEnvironment(t *testing.T) {
	wiretest.TestEnvironment(t, &vendor, "ANTHROPIC", "X-Api-Key", "", anthropic.FromEnv, "ANTHROPIC_AUTH_TOKEN")
}

func TestProvider(t *testing.T) { vendor.TestProvider(t) }

func TestMalformed(t *testing.T) {
	vendor.TestMalformed(t, map[string]string{"cut": `{"type":"message","content":[`})
}

func TestErrorBodies(t *testing.T) { vendor.TestErrorBodies(t) }

func TestStatuses(t *testing.T) {
	in := func(kind, message string) string {
		return llmtest.JSON(
			object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_body"})
	}
	vendor.TestStatuses(t, map[string]wiretest.Status{
		"the vendor's form": {429, map[string]string{"Retry-After": "30", "Request-Id": "req_7"},
			in("rate_limit_error", "slow down"),
			llm.ProviderError{Category: llm.CategoryRateLimit, Code: "rate_limit_error", RequestID: "req_7", Retryable: true,
				RetryAfter: 30 * time.Second, Message: "slow down"}},
		"overloaded": {529, nil, in("overloaded_error", "Overloaded"),
			llm.ProviderError{Category: llm.CategoryServer, Code: "overloaded_error", RequestID: "req_body", Retryable: true,
				Message: "Overloaded"}},
		"too large": {413, nil, in("request_too_large", "too large"),
			llm.ProviderError{Category: llm.CategoryInvalid, Code: "request_too_large", RequestID: "req_body",
				Message: "too large"}},
		"HTML": {502, nil, `<html>Bad Gateway</html>`,
			llm.ProviderError{Category: llm.CategoryServer, Retryable: true, Message: "Bad Gateway"}},
		"odd JSON": {400, nil, `{"type":"error","error":"no"}`,
			llm.ProviderError{Category: llm.CategoryInvalid, Message: "no"}},
		"too long": {400, nil, in("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"),
			llm.ProviderError{Category: llm.CategoryContext, Code: "invalid_request_error", RequestID: "req_body",
				Message: "prompt is too long: 2 tokens > 1 maximum"}},
		"the key": {401, nil, in("authentication_error", "invalid x-api-key "+key),
			llm.ProviderError{Category: llm.CategoryAuthentication, Code: "authentication_error", RequestID: "req_body",
				Message: "invalid x-api-key [key]"}},
		"not worth while": {529, map[string]string{"X-Should-Retry": "false"}, `{}`,
			llm.ProviderError{Category: llm.CategoryServer, Message: ""}},
	})
}
