package llmtest

import (
	"net/http"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// finishScenarios end an answer in all ways except errors.
func finishScenarios() []scenario {
	ended := func(finish llm.FinishReason, refusal string) []llm.Response {
		return []llm.Response{{Text: "fine", Finish: finish, Refusal: refusal, Usage: usage(11, 7)}}
	}
	long := says("fi", "ne")
	long.Response.Finish = llm.FinishLength
	refusal := answer{Exchange: Exchange{
		Response: llm.Response{Refusal: "I cannot do that.", Finish: llm.FinishRefusal, Usage: usage(9, 6)},
		Chunks:   []llm.Chunk{{Refusal: "I cannot "}, {Refusal: "do that."}}}}
	return []scenario{
		{name: "a refusal", answers: []answer{refusal}},
		{name: "the end by length", answers: []answer{long}},
		{name: "the end by the context window", skip: only(Messages, "the API has no such reason"),
			answers: []answer{says("fi", "ne").finished("", "", "model_context_window_exceeded")},
			want:    ended(llm.FinishLength, "")},
		{name: "the end by a stop sequence", skip: map[string]string{Responses.Name: "the API has no stop sequences"},
			answers: []answer{says("fi", "ne").finished("stop", "", "stop_sequence")}, want: ended(llm.FinishStop, "")},
		{name: "the end by a content filter", skip: only(Chat, "the API has no such reason"),
			answers: []answer{says("fi", "ne").finished("content_filter", "", "")},
			want:    ended(llm.FinishRefusal, "A filter of the vendor withheld the answer.")},
		{name: "the end by an unknown reason",
			skip:    map[string]string{Responses.Name: "an unknown status is an answer in progress"},
			answers: []answer{says("fi", "ne").finished("sunspots", "", "sunspots")}, want: ended(llm.FinishOther, "")},
		{name: "an incomplete answer for an unknown reason", skip: only(Responses, "the API has no such status"),
			answers: []answer{says("fi", "ne").finished("", "incomplete", "")}, want: ended(llm.FinishOther, "")},
		{name: "a paused turn", skip: only(Messages, "the API has no pauses"),
			answers: []answer{says("one, ").finished("", "", "pause_turn"), says("two")}, sent: []string{`"one,"`},
			want: []llm.Response{{Text: "one, two", Finish: llm.FinishStop, Usage: usage(22, 14)}}},
	}
}

// faultScenarios are errors in all places.
func faultScenarios() []scenario {
	failed := func(status int, f *llm.ProviderError, body string, header ...string) []answer {
		a := answer{status: status, header: map[string]string{}, body: func(w *Wire) string {
			if body == "" {
				return JSON(w.fault(&Fault{Message: f.Message}))
			}
			return body
		}}
		for i := 0; i < len(header); i += 2 {
			a.header[header[i]] = header[i+1]
		}
		return []answer{a}
	}
	coded := func(kind, code, message string) string {
		return JSON(Object{"type": "error", "error": Object{"type": kind, "code": code, "message": message}})
	}
	var all []scenario
	add := func(name string, f llm.ProviderError, body string, header ...string) {
		all = append(all, scenario{name: name, fault: &f, answers: failed(f.Status, &f, body, header...)})
	}
	for _, s := range []struct {
		status    int
		category  llm.Category
		retryable bool
	}{
		{400, llm.CategoryInvalid, false}, {401, llm.CategoryAuthentication, false},
		{403, llm.CategoryAuthentication, false}, {404, llm.CategoryNotFound, false},
		{408, llm.CategoryTimeout, true}, {413, llm.CategoryInvalid, false},
		{422, llm.CategoryInvalid, false}, {429, llm.CategoryRateLimit, true}, {500, llm.CategoryServer, true},
		{502, llm.CategoryServer, true}, {503, llm.CategoryServer, true}, {520, llm.CategoryServer, true},
		{529, llm.CategoryServer, true},
	} {
		add("status "+http.StatusText(s.status)+" "+JSON(s.status), llm.ProviderError{Category: s.category,
			Status: s.status, Retryable: s.retryable, Message: "the vendor says no"}, "")
	}
	add("an error that is HTML", llm.ProviderError{Category: llm.CategoryServer, Status: 502, Retryable: true,
		Message: "Bad Gateway"}, "<html><head><title>502 Bad Gateway</title></head></html>", "Content-Type", "text/html")
	add("an error without a body", llm.ProviderError{Category: llm.CategoryServer, Status: 503, Retryable: true}, " ")
	add("an error that is a text", llm.ProviderError{Category: llm.CategoryNotFound, Status: 404,
		Message: "no such model"}, `{"error":"no such model"}`)
	add("an error with a number as code", llm.ProviderError{Category: llm.CategoryInvalid, Status: 400,
		Message: "no such parameter"}, `{"error":{"message":"no such parameter","type":"invalid_request_error","code":400}}`)
	add("an error with an unknown code", llm.ProviderError{Category: llm.CategoryInvalid, Status: 400,
		Code: "sunspots", Message: "it is hot"}, coded("sunspots", "sunspots", "it is hot"))
	add("no credit", llm.ProviderError{Category: llm.CategoryQuota, Status: 429, Code: "insufficient_quota",
		Message: "You exceeded your current quota"},
		coded("insufficient_quota", "insufficient_quota", "You exceeded your current quota"))
	add("a prompt that is too long", llm.ProviderError{Category: llm.CategoryContext, Status: 400,
		Code: "context_length_exceeded", Message: "maximum context length"},
		coded("invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens"))
	add("a prompt that a filter refuses", llm.ProviderError{Category: llm.CategoryFilter, Status: 400,
		Code: "content_filter", Message: "filtered"}, coded("invalid_request_error", "content_filter", "it is filtered"))
	add("an error in a list", llm.ProviderError{Category: llm.CategoryInvalid, Status: 400, Message: "bad schema"},
		`[{"error":{"code":400,"message":"bad schema","status":"INVALID_ARGUMENT"}}]`)
	add("an error with a member detail", llm.ProviderError{Category: llm.CategoryInvalid, Status: 422,
		Message: "bad field"}, `{"detail":"bad field"}`)
	add("an error with a member message", llm.ProviderError{Category: llm.CategoryInvalid, Status: 400,
		Message: "bad field"}, `{"object":"error","message":"bad field","type":"BadRequestError"}`)
	add("an error of type text/plain", llm.ProviderError{Category: llm.CategoryServer, Status: 503, Retryable: true,
		Message: "no server is available"}, "no server is available", "Content-Type", "text/plain")
	add("a rate limit with a pause", llm.ProviderError{Category: llm.CategoryRateLimit, Status: 429, Retryable: true,
		RetryAfter: 3 * time.Second, Message: "slow down"}, "", "Retry-After", "3")
	add("a rate limit with a pause in milliseconds", llm.ProviderError{Category: llm.CategoryRateLimit, Status: 429,
		Retryable: true, RetryAfter: 1500 * time.Millisecond, Message: "slow down"}, "", "Retry-After-Ms", "1500")
	add("an error that is not worth a retry", llm.ProviderError{Category: llm.CategoryServer, Status: 503,
		Message: "no"}, "", "X-Should-Retry", "false")
	add("a redirect", llm.ProviderError{Category: llm.CategoryMalformed, Status: 307, Message: "redirects"}, "",
		"Location", "http://127.0.0.1:1/")
	reported := llm.ProviderError{Category: llm.CategoryServer, Retryable: true, Message: "at once"}
	limited := llm.ProviderError{Category: llm.CategoryRateLimit, Retryable: true, Code: "rate_limit_error",
		Message: "slow"}
	all = append(all,
		scenario{name: "an error with status 200", fault: &limited,
			answers: []answer{{body: func(*Wire) string { return coded("rate_limit_error", "rate_limit_error", "slow") }}}},
		scenario{name: "an error as the first event", skip: streamedOnly, fault: &limited,
			answers: []answer{{kind: "text/event-stream", body: func(*Wire) string {
				return Event{Name: "error", Data: coded("rate_limit_error", "rate_limit_error", "slow")}.String()
			}}}},
		scenario{name: "an error within a stream", skip: streamedOnly, fault: &limited,
			answers: []answer{says("Hel", "lo").changed(func(_ *Wire, all []Event) []Event {
				return append(all[:len(all)-3], Event{Name: "error", Data: coded("rate_limit_error", "rate_limit_error", "slow")})
			})}},
		scenario{name: "an error within a stream with an unknown code", skip: streamedOnly, fault: &reported,
			answers: []answer{says("Hel", "lo").changed(func(_ *Wire, all []Event) []Event {
				return append(all[:len(all)-3], Event{Name: "error", Data: coded("sunspots", "sunspots", "at once")})
			})}},
		scenario{name: "a failed response", skip: only(Responses, "the API has no such status"),
			fault: &llm.ProviderError{Category: llm.CategoryServer, Retryable: true, Code: "server_error", Message: "oh"},
			answers: []answer{says("fine").edited(func(_ *Wire, o Object) {
				walk(o, func(o Object) {
					if o["object"] == "response" && o["status"] == "completed" {
						o["status"], o["error"] = "failed", Object{"code": "server_error", "message": "oh"}
					}
				})
			})}},
	)
	return all
}
