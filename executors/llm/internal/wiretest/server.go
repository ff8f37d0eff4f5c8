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

// Dialect is how a vendor is spoken to and answers.
type Dialect struct {
	// Path is what is posted to.
	Path string
	// Check holds a request against the API, besides what Serve looks at.
	Check func(r *http.Request, body map[string]any, e *llmtest.Exchange) error
	// Fault is the vendor's form of an error.
	Fault func(f *llmtest.Fault) string
	// Whole is the answer, and Stream the same as events.
	Whole  func(e *llmtest.Exchange) string
	Stream func(e *llmtest.Exchange) Events
}

// Events are a stream: what comes first, then what brings each chunk, then the end.
type Events struct {
	Before string
	Chunks []string
	After  string
	// Garbled is an event whose data are llmtest.Garbage.
	Garbled string
}

// Serve starts a server that answers a script, and gives its URL.
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
		t.Errorf("the request is none of the API: %v: %s", err, raw)
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

// Event is one event of a stream. The name stands before it where it has one.
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

// JSON is data as the vendors write them: with < and & as they are.
func JSON(data any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		panic(err) // it is made by tests
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Object is a JSON object.
type Object = map[string]any

// Objects are those of a list; none of anything else.
func Objects(v any) (all []Object) {
	items, _ := v.([]any)
	for _, item := range items {
		all = append(all, item.(Object))
	}
	return all
}

// Raw answers one request as it likes, and gives the URL.
func Raw(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

// Pieces answers with a stream that is sent in these pieces, each on its own, whatever they cut.
func Pieces(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			say(w, p)
		}
	}
}

// Collect makes a sink of chunks.
func Collect(all *[]llm.Chunk) func(llm.Chunk) error {
	return func(c llm.Chunk) error {
		*all = append(*all, c)
		return nil
	}
}

// Text puts the texts of chunks together.
func Text(all []llm.Chunk) string {
	var b strings.Builder
	for _, c := range all {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Ways are the ways in which the same stream may come: whole, in bytes, with other ends of lines, and with comments and events that nobody knows between its events.
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
