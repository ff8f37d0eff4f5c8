package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
		final     bool
		category  llm.Category
		retryable bool
	}{
		{400, "", false, llm.CategoryInvalid, false},
		{401, "", false, llm.CategoryAuthentication, false},
		{403, "", false, llm.CategoryAuthentication, false},
		{404, "", false, llm.CategoryNotFound, false},
		{408, "", false, llm.CategoryTimeout, true},
		{409, "", false, llm.CategoryInvalid, true},
		{413, "", false, llm.CategoryInvalid, false},
		{422, "", false, llm.CategoryInvalid, false},
		{429, "", false, llm.CategoryRateLimit, true},
		{429, "", true, llm.CategoryRateLimit, false},
		{429, "false", false, llm.CategoryRateLimit, false},
		{500, "", false, llm.CategoryServer, true},
		{500, "false", false, llm.CategoryServer, false},
		{501, "", false, llm.CategoryServer, false},
		{503, "", false, llm.CategoryServer, true},
		{529, "", false, llm.CategoryServer, true},
		{400, "true", false, llm.CategoryInvalid, true},
		{302, "", false, llm.CategoryMalformed, false},
	} {
		res := &http.Response{StatusCode: c.status, Header: http.Header{}}
		res.Header.Set("X-Should-Retry", c.should)
		res.Header.Set("X-Id", "req")
		e := wire.Faults{Provider: "p", IDHeaders: []string{"X-None", "X-Id"}}.Status(
			res, wire.VendorError{Final: c.final, RequestID: "other"})
		if e.Category != c.category || e.Retryable != c.retryable || e.Status != c.status || e.Provider != "p" ||
			e.RequestID != "req" {
			t.Errorf("%+v: got %+v", c, e)
		}
	}
}

// TestKeyIsHidden has vendors that repeat the key wherever they can.
func TestKeyIsHidden(t *testing.T) {
	const key = "sk-secret-key"
	f := wire.Faults{Provider: "p", Key: key, IDHeaders: []string{"X-Id"}}
	told := wire.VendorError{Code: "bad " + key, Message: strings.Repeat("x", 5000) + key}
	res := &http.Response{StatusCode: 401, Header: http.Header{"X-Id": {key}}}
	for _, e := range []*llm.ProviderError{
		f.Status(res, told), f.Coded(res, llm.CategoryServer, told), f.Malformed(res, "is "+key, errors.New("byte of "+key)),
		f.Invalid(key), f.Broken(res, errors.New("dial "+key)), f.Unsent(errors.New(key)),
	} {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Error()+string(raw), key) || e.Err != nil && strings.Contains(e.Err.Error(), key) {
			t.Errorf("the key is in %s", raw)
		}
		if len(e.Message) > 2100 {
			t.Errorf("the message has %d bytes", len(e.Message))
		}
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
		if _, err := life.Call(t.Context(), func(llm.Chunk) error { return full }, say); err != full {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the caller has gone", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		life := wire.NewLifetime(wire.Faults{})
		if _, err := life.Call(ctx, func(llm.Chunk) error { return nil }, say); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the provider is closed", func(t *testing.T) {
		life := wire.NewLifetime(wire.Faults{Provider: "p"})
		_, err := life.Call(t.Context(), func(llm.Chunk) error { life.End(); return nil }, say)
		var pe *llm.ProviderError
		if !errors.As(err, &pe) || pe.Provider != "p" || pe.Retryable {
			t.Errorf("got %v", err)
		}
	})
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
