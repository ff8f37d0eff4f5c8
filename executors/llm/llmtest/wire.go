package llmtest

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
)

// Wire is a chat API as its server sees it: the form of answers, and the rules for requests.
type Wire struct {
	// Name is the name of the API.
	Name string
	// Path is the path of the API. Other paths are answered 404.
	Path string

	whole  func(e *Exchange) Object
	stream func(e *Exchange) events
	fault  func(f *Fault) Object
	check  func(c *checker)
}

// Object is a JSON object.
type Object = map[string]any

// Event is one event of a stream. Data is an Object, or a text such as [DONE].
type Event struct {
	Name string
	Data any
}

// String returns the event in the format of event streams.
func (e Event) String() string {
	data, ok := e.Data.(string)
	if !ok {
		data = JSON(e.Data)
	}
	if e.Name != "" {
		return "event: " + e.Name + "\ndata: " + data + "\n\n"
	}
	return "data: " + data + "\n\n"
}

// events is the stream of an Exchange: its start, the events of each chunk, and its end. garbled is
// an event with Garbage.
type events struct {
	before []Event
	chunks [][]Event
	after  []Event

	garbled Event
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

// Serve starts a vendor that answers a script, and returns its URL. The test fails if a request
// breaks a rule of Check. The function check checks it further, and may be nil.
func (w *Wire) Serve(t *testing.T, s *Script, check func(r *http.Request, body Object, e *Exchange) error) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("the request: %v", err)
		}
		e, err := s.Take(string(raw))
		if err != nil {
			http.Error(out, err.Error(), http.StatusTeapot)
			return
		}
		if err := w.checkExchange(r, raw, e, check); err != nil {
			t.Errorf("invalid request: %v: %s", err, raw)
		}
		w.answer(out, r, e)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (w *Wire) checkExchange(r *http.Request, raw []byte, e *Exchange,
	check func(r *http.Request, body Object, e *Exchange) error) error {
	body, err := w.Check(r, raw, Rules{})
	switch {
	case err != nil:
		return err
	case body["model"] != e.Request.Model:
		return fmt.Errorf("the model is %v: expected %q", body["model"], e.Request.Model)
	case (body["stream"] == true) != e.Stream:
		return fmt.Errorf("stream is %v: expected %t", body["stream"], e.Stream)
	case check == nil:
		return nil
	}
	return check(r, body, e)
}

func (w *Wire) answer(out http.ResponseWriter, r *http.Request, e *Exchange) {
	f := e.Fault
	if f == nil {
		f = &Fault{}
	}
	out.Header().Set("Request-Id", "req_1")
	out.Header().Set("X-Request-Id", "req_1")
	switch {
	case f.Status != 0:
		if f.RetryAfter > 0 {
			out.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
		}
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(f.Status)
		io.WriteString(out, JSON(w.fault(f)))
	case e.Stream:
		w.answerStream(out, r, e, f)
	case f.Break:
		panic(http.ErrAbortHandler)
	case f.Hang:
		<-r.Context().Done()
	case f.Malformed:
		out.Header().Set("Content-Type", "application/json")
		io.WriteString(out, Garbage)
	default:
		out.Header().Set("Content-Type", "application/json")
		io.WriteString(out, JSON(w.whole(e)))
	}
}

func (w *Wire) answerStream(out http.ResponseWriter, r *http.Request, e *Exchange, f *Fault) {
	out.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	all := w.stream(e)
	faulty := f.Break || f.Hang || f.Malformed
	send(out, all.before...)
	for i, c := range all.chunks {
		if faulty && i == f.AfterChunks {
			break
		}
		send(out, c...)
	}
	switch {
	case f.Break:
		panic(http.ErrAbortHandler)
	case f.Hang:
		<-r.Context().Done()
		return
	case f.Malformed:
		send(out, all.garbled)
	}
	send(out, all.after...)
}

func send(out http.ResponseWriter, all ...Event) {
	for _, e := range all {
		io.WriteString(out, e.String())
	}
	http.NewResponseController(out).Flush()
}

// list returns objects as a list of values, the type that decoded JSON has.
func list(all []Object) []any {
	items := make([]any, len(all))
	for i := range all {
		items[i] = all[i]
	}
	return items
}
