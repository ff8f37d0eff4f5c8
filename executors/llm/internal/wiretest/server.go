// Package wiretest is a server that answers scripts of llmtest in the wire format of a vendor.
package wiretest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

// Dialect is the wire format of a vendor.
type Dialect struct {
	// Path is the path of the API.
	Path string
	// Check checks a request, in addition to the checks of Serve.
	Check func(r *http.Request, body map[string]any, e *llmtest.Exchange) error
	// Fault returns an error in the form of the vendor.
	Fault func(f *llmtest.Fault) string
	// Whole returns the answer, and Stream the same answer as events.
	Whole  func(e *llmtest.Exchange) string
	Stream func(e *llmtest.Exchange) Events
}

// Events is a stream: the start, one event per chunk, and the end.
type Events struct {
	Before string
	Chunks []string
	After  string
	// Garbled is an event with llmtest.Garbage as data.
	Garbled string
}

// Serve starts a server that answers a script, and returns its URL.
func Serve(t *testing.T, d *Dialect, s *llmtest.Script) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve(t, w, r, s) }))
	t.Cleanup(server.Close)
	return server.URL
}

func (d *Dialect) serve(t *testing.T, w http.ResponseWriter, r *http.Request, s *llmtest.Script) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("the request: %v", err)
	}
	e, err := s.Take(string(raw))
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	if err := d.check(r, raw, e); err != nil {
		t.Errorf("invalid request: %v: %s", err, raw)
	}
	d.answer(w, r, e)
}

func (d *Dialect) check(r *http.Request, raw []byte, e *llmtest.Exchange) error {
	var body map[string]any
	switch err := json.Unmarshal(raw, &body); {
	case err != nil:
		return err
	case r.Method != http.MethodPost || r.URL.Path != d.Path:
		return fmt.Errorf("%s %s: expected POST %s", r.Method, r.URL.Path, d.Path)
	case body["model"] != e.Request.Model:
		return fmt.Errorf("the model is %v: expected %q", body["model"], e.Request.Model)
	case (body["stream"] == true) != e.Stream:
		return fmt.Errorf("stream is %v: expected %t", body["stream"], e.Stream)
	case r.Header.Get("X-Stainless-Retry-Count") != "0":
		return fmt.Errorf("this is retry %s", r.Header.Get("X-Stainless-Retry-Count"))
	}
	return d.Check(r, body, e)
}

func (d *Dialect) answer(w http.ResponseWriter, r *http.Request, e *llmtest.Exchange) {
	f := e.Fault
	if f == nil {
		f = &llmtest.Fault{}
	}
	w.Header().Set("Request-Id", "req_1")
	w.Header().Set("X-Request-Id", "req_1")
	switch {
	case f.Status != 0:
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.Status)
		io.WriteString(w, d.Fault(f))
	case e.Stream:
		d.stream(w, r, e, f)
	case f.Break:
		panic(http.ErrAbortHandler)
	case f.Hang:
		<-r.Context().Done()
	case f.Malformed:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, llmtest.Garbage)
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, d.Whole(e))
	}
}

func (d *Dialect) stream(w http.ResponseWriter, r *http.Request, e *llmtest.Exchange, f *llmtest.Fault) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	all := d.Stream(e)
	faulty := f.Break || f.Hang || f.Malformed
	say(w, all.Before)
	for i, c := range all.Chunks {
		if faulty && i == f.AfterChunks {
			break
		}
		say(w, c)
	}
	switch {
	case f.Break:
		panic(http.ErrAbortHandler)
	case f.Hang:
		<-r.Context().Done()
		return
	case f.Malformed:
		say(w, all.Garbled)
	}
	say(w, all.After)
}

func say(w http.ResponseWriter, text string) {
	io.WriteString(w, text)
	http.NewResponseController(w).Flush()
}

// Event returns one event of a stream. The name may be empty.
func Event(name string, data any) string {
	raw, ok := data.(string)
	if !ok {
		raw = JSON(data)
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	return name + "data: " + raw + "\n\n"
}

// JSON returns data as JSON without escaping of < and &, as the vendors do.
func JSON(data any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		panic(err) // data of tests can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Object is a JSON object.
type Object = map[string]any

// Objects returns the objects of a list. It returns nil for any other value.
func Objects(v any) (all []Object) {
	items, _ := v.([]any)
	for _, item := range items {
		all = append(all, item.(Object))
	}
	return all
}

// Raw starts a server with a handler, and returns its URL.
func Raw(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

// Pieces returns a handler that sends a stream in the given pieces, one at a time.
func Pieces(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			say(w, p)
		}
	}
}

// Collect returns a sink that appends to a list.
func Collect(all *[]llm.Chunk) func(llm.Chunk) error {
	return func(c llm.Chunk) error {
		*all = append(*all, c)
		return nil
	}
}

// Text returns the joined texts of chunks.
func Text(all []llm.Chunk) string {
	var b strings.Builder
	for _, c := range all {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Ways returns different splits of the same stream: whole, in bytes, with other line ends, and with
// comments and unknown events in between.
func Ways(stream string) map[string][]string {
	bytes := make([]string, 0, len(stream))
	for i := range len(stream) {
		bytes = append(bytes, stream[i:i+1])
	}
	lines := strings.SplitAfter(stream, "\n")
	crlf := strings.ReplaceAll(stream, "\n", "\r\n")
	noise := ": keep-alive\n\nretry: 3000\nid: 7\n\nevent: vendor.news\ndata: " +
		"{\"type\":\"vendor.news\",\"delta\":{\"deep\":[1]}}\n\n"
	return map[string][]string{
		"whole": {stream}, "byte by byte": bytes, "line by line": lines, "CRLF": {crlf},
		"CRLF, cut within":         {crlf[:len(crlf)/2], crlf[len(crlf)/2:]},
		"noise between":            {noise + strings.ReplaceAll(stream, "\n\n", "\n\n"+noise)},
		"no space after the colon": {strings.ReplaceAll(stream, "data: ", "data:")},
	}
}
