package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		ms, after, date string
		want            time.Duration
	}{
		"nothing":                 {},
		"milliseconds":            {ms: "250", want: 250 * time.Millisecond},
		"milliseconds come first": {ms: "250", after: "9", want: 250 * time.Millisecond},
		"odd milliseconds":        {ms: "soon", after: "9", want: 9 * time.Second},
		"seconds":                 {after: "3", want: 3 * time.Second},
		"half seconds":            {after: " 0.5 ", want: 500 * time.Millisecond},
		"less than nothing":       {after: "-3"},
		"not a number":            {after: "NaN"},
		"for ever":                {after: "1e300", want: time.Hour},
		"infinite":                {after: "Inf", want: time.Hour},
		"a date":                  {after: date(90 * time.Second), want: 90 * time.Second},
		"a date that has passed":  {after: date(-time.Minute)},
		"a date far away":         {after: date(1000 * time.Hour), want: time.Hour},
		"by the vendor's clock":   {after: date(-time.Hour + 10*time.Second), date: date(-time.Hour), want: 10 * time.Second},
		"words":                   {after: "tomorrow"},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			h.Set("Retry-After-Ms", c.ms)
			h.Set("Retry-After", c.after)
			h.Set("Date", c.date)
			if got := wire.RetryAfter(h, now); got != c.want {
				t.Errorf("%s: expected %s", got, c.want)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		status    int
		should    string
		code      string
		category  llm.Category
		retryable bool
	}{
		{400, "", "", llm.CategoryInvalid, false},
		{401, "", "", llm.CategoryAuthentication, false},
		{403, "", "", llm.CategoryAuthentication, false},
		{404, "", "", llm.CategoryNotFound, false},
		{408, "", "", llm.CategoryTimeout, true},
		{409, "", "", llm.CategoryInvalid, true},
		{413, "", "", llm.CategoryInvalid, false},
		{422, "", "", llm.CategoryInvalid, false},
		{429, "", "", llm.CategoryRateLimit, true},
		{402, "", "", llm.CategoryQuota, false},
		{413, "", "rate_limit_exceeded", llm.CategoryRateLimit, false},
		{500, "", "rate_limit_exceeded", llm.CategoryRateLimit, true},
		{504, "", "", llm.CategoryTimeout, true},
		{429, "", "insufficient_quota", llm.CategoryQuota, false},
		{429, "true", "insufficient_quota", llm.CategoryQuota, false},
		{429, "false", "", llm.CategoryRateLimit, false},
		{500, "", "", llm.CategoryServer, true},
		{500, "false", "", llm.CategoryServer, false},
		{501, "", "", llm.CategoryServer, false},
		{503, "", "", llm.CategoryServer, true},
		{529, "", "", llm.CategoryServer, true},
		{400, "true", "", llm.CategoryInvalid, true},
		{302, "", "", llm.CategoryMalformed, false},
	} {
		res := &http.Response{StatusCode: c.status, Header: http.Header{}}
		res.Header.Set("X-Should-Retry", c.should)
		res.Header.Set("X-Id", "req")
		e := wire.Faults{Provider: "p", IDHeaders: []string{"X-None", "X-Id"}}.Status(
			res, wire.VendorError{Code: c.code, RequestID: "other"})
		if e.Category != c.category || e.Retryable != c.retryable || e.Status != c.status || e.Provider != "p" ||
			e.RequestID != "req" {
			t.Errorf("%+v: got %+v", c, e)
		}
	}
}

// TestKeyIsHidden has vendors that repeat the key wherever they can.
func TestKeyIsHidden(t *testing.T) {
	const key = "sk-secret-key"
	const header = "the value of a header"
	f := wire.Faults{Provider: "p", Key: key, Secrets: []string{header}, IDHeaders: []string{"X-Id"}}
	told := wire.VendorError{Code: "bad " + key, Message: header + strings.Repeat("x", 5000) + key}
	res := &http.Response{StatusCode: 401, Header: http.Header{"X-Id": {key}}}
	for _, e := range []*llm.ProviderError{
		f.Status(res, told), f.Coded(res, told), f.Malformed(res, "is "+key, errors.New("byte of "+key)),
		f.Invalid(key), f.Broken(res, errors.New("dial "+key)), f.Unsent(errors.New(key)),
	} {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Error()+string(raw), key) || strings.Contains(string(raw), header) ||
			e.Err != nil && strings.Contains(e.Err.Error(), key) {
			t.Errorf("the key is in %s", raw)
		}
		if len(e.Message) > 2100 {
			t.Errorf("the message has %d bytes", len(e.Message))
		}
	}
}

// A vendor may repeat the token of a header without its scheme.
func TestTokenOfHeaderIsHidden(t *testing.T) {
	const token = "plain-token-of-a-gateway"
	s, err := wire.NewServer(wire.Options{BaseURL: "https://a.example", Extras: wire.Extras{
		Headers: map[string]string{"Authorization": "Bearer " + token}}}, "v", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if e := s.Invalid("unknown user " + token); e.Message != "unknown user [key]" {
		t.Error(e.Message)
	}
}

// TestReadError has the errors of vendors and servers, each with its HTTP status.
func TestReadError(t *testing.T) {
	for name, c := range map[string]struct {
		status    int
		body      string
		category  llm.Category
		retryable bool
		code      string
		message   string
		after     time.Duration
	}{
		"OpenAI, no credit": {429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota",` +
			`"param":null,"code":"insufficient_quota"}}`, llm.CategoryQuota, false, "insufficient_quota",
			"You exceeded your current quota", 0},
		"OpenAI, no credit by type": {429, `{"error":{"message":"pay","type":"insufficient_quota","code":null}}`,
			llm.CategoryQuota, false, "insufficient_quota", "pay", 0},
		"a limit of a minute that has the words of a quota": {429,
			`{"error":{"message":"insufficient quota: 3 requests per minute","type":"requests","code":"rate_limit_exceeded"}}`,
			llm.CategoryRateLimit, true, "rate_limit_exceeded", "insufficient quota: 3 requests per minute", 0},
		"a limit without a code": {429, `{"error":{"message":"You have insufficient quota for this minute"}}`,
			llm.CategoryRateLimit, true, "", "You have insufficient quota for this minute", 0},
		"OpenAI, a key": {401, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error",` +
			`"code":"invalid_api_key"}}`, llm.CategoryAuthentication, false, "invalid_api_key", "Incorrect API key provided", 0},
		"a key by status": {401, `{"error":{"message":"no","type":"invalid_request_error","code":null}}`,
			llm.CategoryAuthentication, false, "invalid_request_error", "no", 0},
		"OpenAI, context": {400, `{"error":{"message":"maximum is 8192","type":"invalid_request_error",` +
			`"code":"context_length_exceeded"}}`, llm.CategoryContext, false, "context_length_exceeded", "maximum is 8192", 0},
		"Anthropic, context": {400, `{"type":"error","error":{"type":"invalid_request_error",` +
			`"message":"prompt is too long: 208310 tokens > 200000 maximum"},"request_id":"r"}`,
			llm.CategoryContext, false, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum", 0},
		"the words of a long prompt in a failure of the server": {503,
			`{"error":{"message":"the context window cache restarts"}}`, llm.CategoryServer, true, "",
			"the context window cache restarts", 0},
		"llama.cpp": {400, `{"error":{"code":400,"message":"too big","type":"exceed_context_size_error"}}`,
			llm.CategoryContext, false, "exceed_context_size_error", "too big", 0},
		"Azure, filter": {400, `{"error":{"message":"filtered","type":null,"param":"prompt","code":"content_filter",` +
			`"status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.CategoryFilter, false,
			"content_filter", "filtered", 0},
		"Azure, deployment": {404, `{"error":{"code":"DeploymentNotFound","message":"none"}}`, llm.CategoryNotFound, false,
			"DeploymentNotFound", "none", 0},
		"Azure, number in a text": {429, `{"error":{"code":"429","message":"slow"}}`, llm.CategoryRateLimit, true, "",
			"slow", 0},
		"Anthropic, no credit": {400, `{"type":"error","error":{"type":"billing_error","message":"pay"}}`,
			llm.CategoryQuota, false, "billing_error", "pay", 0},
		"Gemini, a list": {429, `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[` +
			`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"RequestsPerMinute"}]},` +
			`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37.5s"}]}}]`,
			llm.CategoryRateLimit, true, "RESOURCE_EXHAUSTED", "slow", 37500 * time.Millisecond},
		"Gemini, a quota of a day": {429, `{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[` +
			`{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"retryDelay":"3s"}]}}`,
			llm.CategoryQuota, false, "insufficient_quota", "slow", 3 * time.Second},
		"Gemini, a key": {400, `[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[` +
			`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]`,
			llm.CategoryAuthentication, false, "API_KEY_INVALID", "no", 0},
		"OpenRouter, no credit": {402, `{"error":{"code":402,"message":"Insufficient credits"},"user_id":"u"}`,
			llm.CategoryQuota, false, "", "Insufficient credits", 0},
		"OpenRouter, pause": {429, `{"error":{"code":429,"message":"slow","metadata":{"headers":{"Retry-After":"7"}}}}`,
			llm.CategoryRateLimit, true, "", "slow", 7 * time.Second},
		"a pause beside the message": {503, `{"error":"loading","retry_after":20}`, llm.CategoryServer, true, "", "loading",
			20 * time.Second},
		"Bedrock": {400, `{"__type":"ThrottlingException","code":"ThrottlingException","message":"slow"}`,
			llm.CategoryRateLimit, true, "ThrottlingException", "slow", 0},
		"vLLM": {400, `{"object":"error","message":"This model's maximum context length is 10","type":"BadRequestError",` +
			`"param":null,"code":400}`, llm.CategoryContext, false, "BadRequestError",
			"This model's maximum context length is 10", 0},
		"DashScope": {400, `{"code":"Arrearage","message":"pay","request_id":"r"}`, llm.CategoryQuota, false, "Arrearage",
			"pay", 0},
		"Moonshot": {429, `{"error":{"message":"pay","type":"exceeded_current_quota_error"}}`, llm.CategoryQuota, false,
			"exceeded_current_quota_error", "pay", 0},
		"Ollama":  {404, `{"error":"model \"x\" not found"}`, llm.CategoryNotFound, false, "", `model "x" not found`, 0},
		"FastAPI": {422, `{"detail":"no tools"}`, llm.CategoryInvalid, false, "", "no tools", 0},
		"FastAPI, a list": {422, `{"detail":[{"loc":["body","model"],"msg":"field required","type":"missing"}]}`,
			llm.CategoryInvalid, false, "missing", "field required", 0},
		"Spring": {500, `{"status":500,"error":"Internal Server Error","message":"boom","path":"/v1"}`,
			llm.CategoryServer, true, "Internal Server Error", "boom", 0},
		"a gateway": {401, `{"message":"No API key found in request"}`, llm.CategoryAuthentication, false, "",
			"No API key found in request", 0},
		"errors": {400, `{"errors":[{"message":"one"},{"message":"two"}]}`, llm.CategoryInvalid, false, "", "one", 0},
		"within": {500, `{"error":{"error":{"message":"deep","code":"overloaded"}}}`,
			llm.CategoryServer, true, "overloaded", "deep", 0},
		"HTML": {502, "<html><head><title>502 Bad Gateway</title></head>\n<body>x</body></html>",
			llm.CategoryServer, true, "", "502 Bad Gateway", 0},
		"HTML parts": {403, "<h1>Access &amp; denied</h1><p>Ray ID: 7</p>",
			llm.CategoryAuthentication, false, "", "Access & denied Ray ID: 7", 0},
		"a text": {503, "upstream connect error", llm.CategoryServer, true, "", "upstream connect error", 0},
		"deep": {400, strings.Repeat(`{"error":`, 50) + `"x"` + strings.Repeat(`}`, 50),
			llm.CategoryInvalid, false, "", "Bad Request", 0},
	} {
		t.Run(name, func(t *testing.T) {
			res := &http.Response{StatusCode: c.status, Header: http.Header{}}
			e := wire.Faults{Provider: "p"}.Status(res, wire.ReadError([]byte(c.body)))
			if e.Category != c.category || e.Retryable != c.retryable || e.Code != c.code || e.Message != c.message ||
				e.RetryAfter != c.after {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// TestErrorIn has bodies and events with a success status.
func TestErrorIn(t *testing.T) {
	for body, category := range map[string]llm.Category{
		`{"error":{"code":429,"message":"slow"}}`:                                     llm.CategoryRateLimit,
		`{"error":{"code":400,"message":"no"}}`:                                       llm.CategoryInvalid,
		`{"id":"1","error":{"code":"502","message":"x"},"choices":[{"index":0}]}`:     llm.CategoryServer,
		`{"choices":[{"index":0,"error":{"code":402,"message":"pay"}}]}`:              llm.CategoryQuota,
		`{"error":"model runner has stopped"}`:                                        llm.CategoryServer,
		`[{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}]`:          llm.CategoryAuthentication,
		`{"object":"error","message":"x","type":"NotFoundError","code":404}`:          llm.CategoryNotFound,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`: llm.CategoryServer,
		`{"type":"error","code":"insufficient_quota","message":"pay"}`:                llm.CategoryQuota,
		`{"errors":["no such model"]}`:                                                llm.CategoryServer,
		`{"error":null,"choices":[]}`:                                                 "",
		`{"error":{},"choices":[]}`:                                                   "",
		`{"error":"","choices":[]}`:                                                   "",
		`{"choices":[{"index":0,"delta":{"content":"an \"error\" in a text"}}]}`:      "",
		`{"type":"response.output_text.delta","delta":"\"error\""}`:                   "",
		`"error"`: "",
		`{"error`: "",
	} {
		got := wire.ErrorIn([]byte(body))
		if (got != nil) != (category != "") {
			t.Errorf("%s: got %+v", body, got)
		} else if got != nil {
			if e := (wire.Faults{}).Coded(nil, *got); e.Category != category || e.Message == "" {
				t.Errorf("%s: got %+v", body, e)
			}
		}
	}
}

// TestPauses has the headers with which vendors ask for a pause.
func TestPauses(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"OpenAI": {map[string]string{"X-RateLimit-Remaining-Requests": "0", "X-RateLimit-Reset-Requests": "1m2s",
			"X-RateLimit-Remaining-Tokens": "9", "X-RateLimit-Reset-Tokens": "6m0s"}, 62 * time.Second},
		"milliseconds": {map[string]string{"X-RateLimit-Reset-Tokens": "20ms"}, 20 * time.Millisecond},
		"Anthropic": {map[string]string{"Anthropic-RateLimit-Input-Tokens-Remaining": "0",
			"Anthropic-RateLimit-Input-Tokens-Reset": now.Add(30 * time.Second).Format(time.RFC3339Nano)}, 30 * time.Second},
		"a draft of the IETF": {map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": "45"}, 45 * time.Second},
		"Unix time": {map[string]string{"X-RateLimit-Reset": strconv.FormatInt(now.Unix()+50, 10)},
			50 * time.Second},
		"Unix time in milliseconds": {map[string]string{"X-RateLimit-Reset": strconv.FormatInt(now.UnixMilli()+50_000, 10)},
			50 * time.Second},
		"Retry-After comes first": {map[string]string{"Retry-After": "3", "X-RateLimit-Reset": "45"}, 3 * time.Second},
		"words":                   {map[string]string{"X-RateLimit-Reset": "soon"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			res := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}}
			res.Header.Set("Date", now.Format(http.TimeFormat))
			for k, v := range c.header {
				res.Header.Set(k, v)
			}
			if e := (wire.Faults{}).Status(res, wire.VendorError{}); (e.RetryAfter - c.want).Abs() > time.Second {
				t.Errorf("%s: expected %s", e.RetryAfter, c.want)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server was reached, with %v", r.Header)
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(other.URL, status))
		mine := &http.Client{}
		res, err := wire.Client(mine).Post(server.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		server.Close()
		if res.StatusCode != status {
			t.Errorf("status %d: expected %d", res.StatusCode, status)
		}
		if mine.CheckRedirect != nil || mine.Transport != nil {
			t.Error("the caller's client was changed")
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	for _, c := range []struct {
		size int64
		fits bool
	}{{wire.MaxBody, true}, {wire.MaxBody + 1, false}, {1 << 40, false}} {
		transport := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{},
				Body: io.NopCloser(io.LimitReader(zeros{}, c.size))}, nil
		})
		res, err := wire.Client(&http.Client{Transport: transport}).Get("http://vendor.invalid")
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		if n > wire.MaxBody || c.fits != (err == nil) || err != nil && !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("of %d bytes, %d were read, then %v", c.size, n, err)
		}
	}
	if e := (wire.Faults{}).Broken(nil, wire.ErrTooLarge); e.Category != llm.CategoryMalformed || e.Retryable {
		t.Errorf("got %+v", e)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestChecks(t *testing.T) {
	for base, ok := range map[string]bool{
		"https://api.openai.com/v1": true, "http://[::1]:11434/v1/": true, "": false, "api.openai.com": false,
		"ftp://host": false, "https://": false,
		"https://user:sk-secret@host/v1": false, "https://host/v1?key=sk-secret": false, "https://host/#a": false,
		"http://host\x7f": false,
	} {
		err := wire.CheckBase(base)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%q: %v", base, err)
		}
	}
	for name, ok := range map[string]bool{"openai": true, "my-vllm.2_b": true, "": false, "a:b": false, "OpenAI": false,
		"a b": false, strings.Repeat("a", 65): false} {
		if err := wire.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := wire.CheckKey("sk-secret\nx"); err == nil || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("a key with a line break: %v", err)
	}
}

func TestCall(t *testing.T) {
	full := errors.New("the sink is full")
	say := func(ctx context.Context, emit func(llm.Chunk) error) (*llm.Response, error) {
		if err := emit(llm.Chunk{Text: "a"}); err != nil {
			return nil, errors.New("something else")
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	t.Run("an error of the sink", func(t *testing.T) {
		life := wire.NewLifetime(wire.Faults{})
		if _, err := life.Call(t.Context(), 0, func(llm.Chunk) error { return full }, say); err != full {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the caller has gone", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		life := wire.NewLifetime(wire.Faults{})
		if _, err := life.Call(ctx, 0, func(llm.Chunk) error { return nil }, say); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the provider is closed", func(t *testing.T) {
		life := wire.NewLifetime(wire.Faults{Provider: "p"})
		_, err := life.Call(t.Context(), 0, func(llm.Chunk) error { life.End(); return nil }, say)
		var pe *llm.ProviderError
		if !errors.As(err, &pe) || pe.Provider != "p" || pe.Retryable {
			t.Errorf("got %v", err)
		}
	})
}

// TestSilentServer has servers that send nothing for longer than the bound: before the headers, or
// after a part of the body. A server that sends comments is not silent, and a slow reader is not a
// silent server.
func TestSilentServer(t *testing.T) {
	const idle = 5 * time.Second
	for name, silent := range map[string]bool{"headers": true, "body": true, "pings": false, "reader": false} {
		synctest.Test(t, func(t *testing.T) {
			answer := func(ctx context.Context, w io.Writer) {
				io.WriteString(w, "data: one\n\n")
				for range map[string]int{"pings": 6}[name] {
					time.Sleep(idle - 1)
					io.WriteString(w, ": ping\n\n")
				}
				if silent {
					<-ctx.Done()
				}
			}
			transport := roundTripper(func(r *http.Request) (*http.Response, error) {
				if name == "headers" {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				body, w := io.Pipe()
				context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
				go func() {
					answer(r.Context(), w)
					w.CloseWithError(r.Context().Err()) // without an error, the body ends
				}()
				return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
			})
			life := wire.NewLifetime(wire.Faults{Provider: "p"})
			_, err := life.Call(t.Context(), idle, nil,
				func(ctx context.Context, _ func(llm.Chunk) error) (*llm.Response, error) {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://vendor.invalid", nil)
					if err != nil {
						return nil, err
					}
					res, err := wire.Client(&http.Client{Transport: transport}).Do(req)
					if err != nil {
						return nil, err
					}
					defer res.Body.Close()
					if name == "reader" {
						time.Sleep(2 * idle)
					}
					_, err = io.ReadAll(res.Body)
					return &llm.Response{}, err
				})
			var e *llm.ProviderError
			switch {
			case !silent && err != nil:
				t.Errorf("%s: got %v", name, err)
			case silent && (!errors.As(err, &e) || e.Category != llm.CategoryTimeout || !e.Retryable || e.Provider != "p"):
				t.Errorf("%s: got %#v", name, err)
			}
		})
	}
}

func TestObject(t *testing.T) {
	o, err := wire.Object(json.RawMessage(`{"type":"object","maximum":12345678901234567890,"properties":{"b":1,"a":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(o)
	if want := `{"maximum":12345678901234567890,"properties":{"b":1,"a":2},"type":"object"}`; err != nil ||
		string(raw) != want {
		t.Errorf("%s, %v: expected %s", raw, err, want)
	}
	for _, bad := range []string{"null", "[]", "true", "{"} {
		if _, err := wire.Object(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was accepted as an object", bad)
		}
	}
}

func TestParameters(t *testing.T) {
	for given, want := range map[string]string{
		``:                  `{"properties":{},"type":"object"}`,
		`{}`:                `{"properties":{},"type":"object"}`,
		`{"type":"object"}`: `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":{"a":{"maximum":9007199254740993}}}`: `{"properties":{"a":{"maximum":9007199254740993}},"type":"object"}`,
	} {
		o, err := wire.Parameters(json.RawMessage(given))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(o); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v", given, got, err)
		}
	}
	if _, err := wire.Parameters(json.RawMessage(`[]`)); err == nil {
		t.Error("a list was accepted")
	}
}
