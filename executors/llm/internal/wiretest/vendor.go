package wiretest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

// Vendor is a provider under test. All vendors have the same tests.
type Vendor struct {
	Name, Key string
	// Model is a model of the vendor.
	Model string
	// Streams are the APIs of the vendor, each with a stream that has the texts "Ça " and "va 🙂"
	// and a call of look with {"a":1}.
	Streams map[llm.API]string
	New     func(base, key string, api llm.API, c *http.Client) (llm.Provider, error)
}

// Provider returns a provider with the key. It is closed at the end of the test.
func (v *Vendor) Provider(t *testing.T, base string, api llm.API, c *http.Client) llm.Provider {
	t.Helper()
	p, err := v.New(base, v.Key, api, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// each makes the same call in each API, with and without a stream, and checks its error.
func (v *Vendor) each(t *testing.T, answer http.HandlerFunc, check func(*llm.ProviderError) bool) {
	t.Helper()
	for api := range v.Streams {
		for _, emit := range []func(llm.Chunk) error{nil, func(llm.Chunk) error { return nil }} {
			_, err := v.Provider(t, Raw(t, answer), api, nil).Call(t.Context(), &llm.Request{Model: "m"}, emit)
			var pe *llm.ProviderError
			if !errors.As(err, &pe) || !check(pe) {
				t.Errorf("%s, streamed %t: got %#v", api, emit != nil, err)
			}
		}
	}
}

// TestProvider tests where a provider sends its key, and how its calls end.
func (v *Vendor) TestProvider(t *testing.T) {
	t.Run("the key goes nowhere else", func(t *testing.T) {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			t.Errorf("another server was called, with %v", r.Header)
		}))
		defer other.Close()
		for _, status := range []int{301, 302, 307, 308} {
			v.each(t, http.RedirectHandler(other.URL, status).ServeHTTP, func(e *llm.ProviderError) bool {
				return e.Category == llm.CategoryMalformed && !e.Retryable && e.Status == status &&
					!strings.Contains(e.Message, other.URL)
			})
		}
	})
	t.Run("no server", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		p := v.Provider(t, "http://"+l.Addr().String(), "", nil)
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
	})
	t.Run("no answer in time", func(t *testing.T) {
		base := Raw(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		p := v.Provider(t, base, "", &http.Client{Timeout: 20 * time.Millisecond})
		_, err := p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
		var pe *llm.ProviderError
		if !errors.As(err, &pe) || pe.Category != llm.CategoryTimeout || !pe.Retryable {
			t.Errorf("got %#v", err)
		}
	})
	t.Run("Close ends calls", func(t *testing.T) {
		asked := make(chan struct{}, 1)
		p := v.Provider(t, Raw(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			asked <- struct{}{}
			<-r.Context().Done()
		}), "", nil)
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
	})
	// The error has the status and the values of the headers.
	t.Run("an error that breaks off", func(t *testing.T) {
		v.each(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "{")
		}, func(e *llm.ProviderError) bool {
			return e.Category == llm.CategoryRateLimit && e.Status == http.StatusTooManyRequests &&
				e.RetryAfter == time.Minute && e.Retryable
		})
	})
}

// TestEnvironment tests FromEnv of a vendor, and that New reads no variable. foreign has other
// variables of the vendor's SDK.
func TestEnvironment[P interface {
	comparable
	llm.Provider
}](t *testing.T, v *Vendor, prefix, keyHeader, keyPrefix string,
	fromEnv func(func(string) string) (P, error), foreign ...string,
) {
	var none P
	var header http.Header
	base := Raw(t, func(w http.ResponseWriter, r *http.Request) { header = r.Header })
	env := map[string]string{prefix + "_API_KEY": "  "}
	getenv := func(name string) string { return env[name] }
	if p, err := fromEnv(getenv); p != none || err != nil {
		t.Errorf("without a key: %v, %v", p, err)
	}
	env[prefix+"_API_KEY"], env[prefix+"_BASE_URL"] = v.Key+"\n", base
	p, err := fromEnv(getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
	if header.Get(keyHeader) != keyPrefix+v.Key {
		t.Errorf("the headers are %v", header)
	}
	env[prefix+"_BASE_URL"] = "no url"
	if p, err := fromEnv(getenv); p != none || err == nil || strings.Contains(err.Error(), v.Key) {
		t.Errorf("with a base that is not a URL: %v, %v", p, err)
	}
	t.Setenv(prefix+"_BASE_URL", "http://127.0.0.1:1")
	t.Setenv(prefix+"_CUSTOM_HEADERS", "X-Custom: of-another-user")
	for _, name := range append(foreign, prefix+"_API_KEY") {
		t.Setenv(name, "of-another-user")
	}
	for api := range v.Streams {
		p, err := v.New(base, "", api, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		header = nil
		p.Call(t.Context(), &llm.Request{Model: "m"}, nil)
		if header == nil || header.Get("Authorization") != "" || header.Get(keyHeader) != "" ||
			strings.Contains(llmtest.JSON(header), "of-another-user") {
			t.Errorf("the headers are %v", header)
		}
	}
}

// TestMalformed answers with bodies that are not answers of the API.
func (v *Vendor) TestMalformed(t *testing.T, bodies map[string]string) {
	answer := func(name, kind, body string) {
		t.Run(name, func(t *testing.T) {
			v.each(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", kind)
				io.WriteString(w, body)
			}, func(e *llm.ProviderError) bool { return e.Category == llm.CategoryMalformed && !e.Retryable })
		})
	}
	answer("HTML", "text/html", "<html>Welcome to the hotel's network</html>")
	for name, body := range map[string]string{
		"nothing": "", "null": "null", "another object": `{"status":"ok"}`, "a list": `[]`,
	} {
		answer(name, "application/json", body)
	}
	for name, body := range bodies {
		answer(name, "application/json", body)
	}
}

// Status is an error response and the expected error, without provider and status.
type Status = struct {
	Status int
	Header map[string]string
	Body   string
	Want   llm.ProviderError
}

// TestStatuses answers with error statuses.
func (v *Vendor) TestStatuses(t *testing.T, all map[string]Status) {
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			c.Want.Provider, c.Want.Status = v.Name, c.Status
			v.each(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for k, v := range c.Header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.Status)
				io.WriteString(w, c.Body)
			}, func(e *llm.ProviderError) bool { return *e == c.Want })
		})
	}
}

// Sent returns the HTTP request for a request. The server returns an error.
func (v *Vendor) Sent(t *testing.T, api llm.API, req *llm.Request) (header http.Header, body string, err error) {
	t.Helper()
	base := Raw(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		header, body = r.Header, string(raw)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTeapot)
	})
	_, err = v.Provider(t, base, api, nil).Call(t.Context(), req, nil)
	return header, body, err
}

// SameJSON compares two JSON texts.
func SameJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := errors.Join(json.Unmarshal([]byte(got), &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got\n%s\nexpected\n%s", got, want)
	}
}

// Opaque is the opaque part of an answer with the remaining calls. Want and Not are texts that the
// next request must and must not have.
type Opaque = struct {
	Provider  string // empty for the vendor's own
	Data      string
	Calls     []llm.ToolCall
	Want, Not []string
}

// TestOpaque sends the opaque part of an answer back: all of it that matches the calls, or the
// plain text if it does not match.
func (v *Vendor) TestOpaque(t *testing.T, api llm.API, all map[string]Opaque) {
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			opaque := &llm.Opaque{Provider: c.Provider, Data: json.RawMessage(c.Data)}
			if c.Provider == "" {
				opaque.Provider = v.Name
			}
			m := llm.Message{Role: llm.RoleAssistant, Text: "said", ToolCalls: c.Calls, Opaque: opaque}
			_, body, _ := v.Sent(t, api, &llm.Request{Model: v.Model, Messages: []llm.Message{m}})
			for _, w := range c.Want {
				if !strings.Contains(body, w) {
					t.Errorf("expected %s in %s", w, body)
				}
			}
			for _, n := range c.Not {
				if strings.Contains(body, n) {
					t.Errorf("expected no %s in %s", n, body)
				}
			}
		})
	}
}

// TestUnsendable makes requests that the provider cannot send.
func (v *Vendor) TestUnsendable(t *testing.T, more ...*llm.Request) {
	for _, req := range append([]*llm.Request{
		{IdempotencyKey: "a\nb"},
		{TraceID: "é"},
		{MaxTokens: 1, MaxTokensParam: "a.b"},
		{Tools: []llm.ToolSpec{{Name: "t", Parameters: json.RawMessage(`[]`)}}},
		{Output: &llm.OutputSchema{Name: "o", Schema: json.RawMessage(`true`)}},
	}, more...) {
		req.Model = "m"
		for api := range v.Streams {
			header, _, err := v.Sent(t, api, req)
			var pe *llm.ProviderError
			if !errors.As(err, &pe) || pe.Category != llm.CategoryInvalid || pe.Retryable || header != nil {
				t.Errorf("%s: %+v: %v", api, req, err)
			}
		}
	}
}

// Stream calls a server that answers with the pieces of a stream.
func (v *Vendor) Stream(t *testing.T, api llm.API, pieces ...string) (*llm.Response, []llm.Chunk, error) {
	t.Helper()
	var all []llm.Chunk
	p := v.Provider(t, Raw(t, Pieces(pieces...)), api, nil)
	question := []llm.Message{{Role: llm.RoleUser, Text: "Ça va ?"}}
	r, err := p.Call(t.Context(), &llm.Request{Model: v.Model, Messages: question}, Collect(&all))
	return r, all, err
}

// TestStreams reads the streams of the vendor in all ways, truncated, with a huge chunk, and one
// chunk at a time. The expected response is want with the given opaque part, which may be empty.
func (v *Vendor) TestStreams(t *testing.T, want llm.Response, opaque string) {
	id := want.ToolCalls[0].ID
	chunks := []llm.Chunk{
		{Text: "Ça "}, {Text: "va 🙂"},
		{ToolCall: &llm.ToolCallChunk{ID: id, Name: "look"}},
		{ToolCall: &llm.ToolCallChunk{Arguments: `{"a":`}}, {ToolCall: &llm.ToolCallChunk{Arguments: `1}`}},
	}
	for api, text := range v.Streams {
		for way, pieces := range Ways(text) {
			t.Run(string(api)+" "+way, func(t *testing.T) {
				r, all, err := v.Stream(t, api, pieces...)
				if err != nil {
					t.Fatal(err)
				}
				if o := r.Opaque; opaque != "" && o != nil && o.Provider == v.Name {
					SameJSON(t, string(o.Data), opaque)
					want.Opaque = o
				}
				if !reflect.DeepEqual(*r, want) || (r.Opaque == nil) != (opaque == "") {
					t.Errorf("got %+v: expected %+v", r, want)
				}
				thoughts := 0
				for _, c := range all {
					if c.Reasoning == "" {
						break
					}
					thoughts++
				}
				if !reflect.DeepEqual(all[thoughts:], chunks) {
					t.Errorf("got %+v: expected %+v", all, chunks)
				}
			})
		}
		events := strings.SplitAfter(text, "\n\n")
		t.Run(string(api)+" cut after each event", func(t *testing.T) {
			for i := range len(events) - 2 {
				_, _, err := v.Stream(t, api, strings.Join(events[:i], ""))
				var pe *llm.ProviderError
				switch {
				case api == llm.APIChat && i >= len(events)-3: // the stream already has the finish reason
					if err != nil {
						t.Errorf("%d events: %v", i, err)
					}
				case !errors.As(err, &pe) || pe.Category != llm.CategoryNetwork || !pe.Retryable:
					t.Errorf("%d events: got %v", i, err)
				}
			}
		})
		t.Run(string(api)+" with a huge chunk", func(t *testing.T) {
			huge := strings.Repeat("0123456789", 500_000)
			r, all, err := v.Stream(t, api, strings.ReplaceAll(text, "va 🙂", huge))
			if err != nil || r.Text != "Ça "+huge || Text(all) != r.Text {
				t.Error(err)
			}
		})
		t.Run(string(api)+" held back", func(t *testing.T) { v.oneAtATime(t, api, events) })
	}
}

// oneAtATime has a server that waits until the first chunk is emitted before it writes the next
// event.
func (v *Vendor) oneAtATime(t *testing.T, api llm.API, events []string) {
	heard := make(chan struct{})
	p := v.Provider(t, Raw(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		waited := false
		for _, e := range events {
			say(w, e)
			if waited || !strings.Contains(e, `"Ça `) {
				continue
			}
			waited = true
			select {
			case <-heard:
			case <-r.Context().Done():
				return
			}
		}
	}), api, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	first := true
	if _, err := p.Call(ctx, &llm.Request{Model: v.Model}, func(llm.Chunk) error {
		if first {
			first = false
			close(heard)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// StreamFault is a stream that ends in an error, and the expected error.
type StreamFault = struct {
	API       llm.API
	Stream    string
	Category  llm.Category
	Retryable bool
	Code      string
}

// TestStreamFaults reads streams that end in errors.
func (v *Vendor) TestStreamFaults(t *testing.T, all map[string]StreamFault) {
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			_, _, err := v.Stream(t, c.API, c.Stream)
			var pe *llm.ProviderError
			if !errors.As(err, &pe) || pe.Category != c.Category || pe.Retryable != c.Retryable || pe.Code != c.Code ||
				strings.Contains(pe.Message, v.Key) {
				t.Errorf("got %#v", err)
			}
		})
	}
}

// Seeds returns the streams in stream_test.go: the constants whose name ends in Stream. Each comes
// with variants that lack one event or have it twice.
func Seeds(f *testing.F) (all [][]string) {
	source, err := os.ReadFile("stream_test.go")
	if err != nil {
		f.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?s)Stream = `(.*?)`").FindAllSubmatch(source, -1) {
		whole := string(found[1])
		seeds := []string{whole}
		for e := range strings.SplitAfterSeq(whole, "\n\n") {
			seeds = append(seeds, strings.Replace(whole, e, "", 1), strings.Replace(whole, e, e+e, 1))
		}
		all = append(all, seeds)
	}
	return all
}

// CheckStream reads a stream without a server. The answer must equal the sum of its chunks, or the
// error must be an llm.ProviderError.
func CheckStream(t *testing.T, stream string,
	read func(*http.Response, func(llm.Chunk) error) (*llm.Response, error),
) {
	res := &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(stream)),
	}
	var said, refused string
	var calls []llm.ToolCall
	r, err := read(res, func(c llm.Chunk) error {
		said, refused = said+c.Text, refused+c.Refusal
		switch d := c.ToolCall; {
		case d == nil:
		case d.Index == len(calls):
			calls = append(calls, llm.ToolCall{ID: d.ID, Name: d.Name, Arguments: d.Arguments})
		default:
			calls[d.Index].Arguments += d.Arguments
		}
		return nil
	})
	var pe *llm.ProviderError
	if err != nil && !errors.As(err, &pe) {
		t.Fatalf("got %v", err)
	}
	if err == nil && (said != r.Text || refused != r.Refusal || len(calls) != len(r.ToolCalls)) {
		t.Fatalf("the chunks are %q %q %v, but the response is %+v", said, refused, calls, r)
	}
	for i := range calls {
		if err == nil && calls[i] != r.ToolCalls[i] {
			t.Fatalf("the chunks have the call %+v, but the response %+v", calls[i], r.ToolCalls[i])
		}
	}
}

// TestErrorBodies answers with errors that have the status 200.
func (v *Vendor) TestErrorBodies(t *testing.T) {
	for body, want := range map[string]llm.ProviderError{
		`{"error":{"message":"slow","code":"rate_limit_exceeded"}}`: {Category: llm.CategoryRateLimit, Retryable: true,
			Code: "rate_limit_exceeded", Message: "slow"},
		`{"error":{"message":"pay","code":"insufficient_quota"}}`: {Category: llm.CategoryQuota, Code: "insufficient_quota",
			Message: "pay"},
		`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`: {Category: llm.CategoryServer,
			Retryable: true, Code: "overloaded_error", Message: "busy"},
		`[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]`: {Category: llm.CategoryInvalid,
			Code: "INVALID_ARGUMENT", Message: "no"},
		`{"error":"the model is gone"}`: {Category: llm.CategoryServer, Retryable: true, Message: "the model is gone"},
	} {
		t.Run(body, func(t *testing.T) {
			v.each(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, body)
			}, func(e *llm.ProviderError) bool {
				want.Provider = v.Name
				return *e == want
			})
		})
	}
}
