package openai_test

import (
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wiretest"
	"github.com/parleyhub/parley/executors/llm/openai"
)

func TestNew(t *testing.T) {
	for name, o := range map[string]*openai.Options{
		"name": {Name: "a:b"}, "base": {BaseURL: "localhost:11434"}, "key in base": {BaseURL: "https://" + key + "@host"},
		"key": {APIKey: key + "\nX-Evil: 1"}, "API": {API: "telepathy"},
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

func TestEnvironment(t *testing.T) {
	wiretest.TestEnvironment(t, &vendor, "OPENAI", "Authorization", "Bearer ", openai.FromEnv, "OPENAI_ORG_ID")
}

func TestProvider(t *testing.T) { vendor.TestProvider(t) }

func TestMalformed(t *testing.T) {
	vendor.TestMalformed(
		t, map[string]string{"cut": `{"object":"response","output":[`, "two": `{"object":"response","output":[]} {}`})
}

func TestErrorBodies(t *testing.T) { vendor.TestErrorBodies(t) }

func TestStatuses(t *testing.T) {
	vendor.TestStatuses(t, map[string]wiretest.Status{
		"the vendor's form": {429, map[string]string{"Retry-After-Ms": "1500", "X-Request-Id": "req_7"},
			`{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`,
			llm.ProviderError{Category: llm.CategoryRateLimit, Code: "rate_limit_exceeded", RequestID: "req_7", Retryable: true,
				RetryAfter: 1500 * time.Millisecond, Message: "slow down"}},
		"no credit": {429, nil, `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`,
			llm.ProviderError{Category: llm.CategoryQuota, Code: "insufficient_quota", Message: "pay"}},
		"HTML": {502, nil, `<html>Bad Gateway</html>`,
			llm.ProviderError{Category: llm.CategoryServer, Retryable: true, Message: "Bad Gateway"}},
		"nothing": {500, nil, ``,
			llm.ProviderError{Category: llm.CategoryServer, Retryable: true, Message: "Internal Server Error"}},
		"words": {404, nil, `{"error":"model \"x\" not found"}`,
			llm.ProviderError{Category: llm.CategoryNotFound, Message: `model "x" not found`}},
		"a list": {400, nil, `[{"error":{"code":400,"message":"no"}}]`,
			llm.ProviderError{Category: llm.CategoryInvalid, Message: "no"}},
		"the key": {401, nil, `{"error":{"message":"Incorrect API key provided: ` + key +
			`","code":"invalid_api_key"}}`,
			llm.ProviderError{Category: llm.CategoryAuthentication, Code: "invalid_api_key",
				Message: "Incorrect API key provided: [key]"}},
		"not worth while": {503, map[string]string{"X-Should-Retry": "false"}, `{}`,
			llm.ProviderError{Category: llm.CategoryServer, Message: "Service Unavailable"}},
		"worth while": {400, map[string]string{"X-Should-Retry": "true"}, `{}`,
			llm.ProviderError{Category: llm.CategoryInvalid, Retryable: true, Message: "Bad Request"}},
	})
}
