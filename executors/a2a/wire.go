package a2a

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
)

const eventStream = "text/event-stream"

// httpClient returns the client of the options with w as transport.
func httpClient(o *Options, w *wire) *http.Client {
	c := *o.HTTP
	w.next = http.DefaultTransport
	if c.Transport != nil {
		w.next = c.Transport
	}
	if o.Token != "" {
		w.header, w.value = "Authorization", "Bearer "+o.Token
		if o.Header != "" {
			w.header, w.value = o.Header, o.Token
		}
	}
	for _, s := range append([]string{o.CardURL}, o.Origins...) {
		if s != "" {
			w.origins = append(w.origins, originOf(s))
		}
	}
	if o.CardURL == "" { // the caller trusts the addresses of a card in the options
		for _, i := range o.Card.SupportedInterfaces {
			w.origins = append(w.origins, originOf(i.URL))
		}
	}
	c.Transport, c.Timeout, c.Jar = w, 0, nil
	if c.CheckRedirect == nil {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("redirects are not followed") }
	}
	return &c
}

// wire is the transport between the library and the network. It adds credentials and the
// traceparent, limits responses, classifies errors, and converts responses to a form that the
// library understands. If a stream was requested, the response becomes one. Only complete events
// are passed on, so a broken stream ends between two events.
type wire struct {
	next          http.RoundTripper
	header, value string // the credentials
	origins       []string
	max           int64 // limit of a response that is not streamed
	rpc           bool  // JSON-RPC
	old           bool  // HTTP+JSON of 0.3
	plain         bool  // not A2A, for example a card
}

// RoundTrip makes one request.
func (w *wire) RoundTrip(q *http.Request) (*http.Response, error) {
	sent := q.Clone(q.Context())
	withheld := w.header != "" && !slices.Contains(w.origins, originOf(q.URL.Scheme+"://"+q.URL.Host))
	if w.header != "" && !withheld {
		sent.Header.Set(w.header, w.value)
	}
	if t := parley.TraceparentOf(q.Context()); t != "" {
		sent.Header.Set("traceparent", t)
	}
	streams := q.Header.Get("Accept") == eventStream
	pos := position(q.Context())
	if streams && pos.resumable() {
		sent.Header.Set("Last-Event-ID", pos.id)
	}
	r, err := w.next.RoundTrip(sent)
	if err != nil {
		return nil, networkError{err}
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if streams && r.StatusCode == http.StatusOK && kind == eventStream {
		r.Body = &events{from: bufio.NewReaderSize(&bounded{r.Body, MaxStreamBytes}, 32<<10), body: r.Body, rpc: w.rpc,
			old: w.old, pos: pos}
		return r, nil
	}
	r.Body = &bounded{r.Body, w.max}
	if w.plain || r.StatusCode == http.StatusNoContent {
		return r, nil
	}
	return w.settle(q, r, kind, streams, withheld)
}

// settle reads a response that is not streamed, and converts it for the library.
func (w *wire) settle(q *http.Request, r *http.Response, kind string, streams, withheld bool) (*http.Response, error) {
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	isJSON := (kind == "application/json" || strings.HasSuffix(kind, "+json")) && json.Valid(body)
	switch r.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		isJSON = false
	}
	if r.StatusCode != http.StatusOK && (!isJSON || w.rpc && !hasError(body)) {
		return nil, &StatusError{Code: r.StatusCode, Host: q.URL.Host, Withheld: withheld}
	}
	if !isJSON {
		return nil, fmt.Errorf("%w: response of type %s", ErrGarbage, cmp.Or(kind, "no type"))
	}
	if w.rpc {
		r.StatusCode, r.Status, body = http.StatusOK, "200 OK", plainError(body)
	}
	if w.old {
		body = doubleFiles(body)
	}
	r.Header.Set("Content-Type", "application/json")
	if streams && r.StatusCode == http.StatusOK {
		var line bytes.Buffer
		line.WriteString("data: ")
		if err := json.Compact(&line, body); err != nil {
			return nil, err
		}
		line.WriteString("\n\n")
		body = line.Bytes()
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r, nil
}

func hasError(body []byte) bool {
	if !bytes.Contains(body, []byte(`"error"`)) { // the common case
		return false
	}
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(body, &e) == nil && len(e.Error) > 0 && string(e.Error) != "null"
}

// plainError removes error.data from a JSON-RPC response if it is not a list, as in 0.3, because
// the library would not decode the error.
func plainError(body []byte) []byte {
	if !hasError(body) {
		return body
	}
	var members, e map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || json.Unmarshal(members["error"], &e) != nil {
		return body
	}
	var list []map[string]any
	if json.Unmarshal(e["data"], &list) == nil {
		return body
	}
	delete(e, "data")
	members["error"], _ = json.Marshal(e)
	plain, err := json.Marshal(members)
	if err != nil {
		return body
	}
	return plain
}

var oldFile = regexp.MustCompile(`"(?:fileWithBytes|file_with_bytes)"\s*:\s*"([^"\\]*)"`)

// doubleFiles encodes files of 0.3 over HTTP+JSON twice. Some servers send base64, but the library
// expects base64 of base64, which other servers send.
func doubleFiles(body []byte) []byte {
	var out []byte
	done := 0
	for _, at := range oldFile.FindAllSubmatchIndex(body, -1) {
		text := body[at[2]:at[3]]
		inner, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			continue
		}
		if _, err := base64.StdEncoding.DecodeString(string(inner)); err == nil {
			continue
		}
		out = append(out, body[done:at[2]]...)
		out = base64.StdEncoding.AppendEncode(out, text)
		done = at[3]
	}
	return append(out, body[done:]...)
}

// bounded is a body that fails with ErrTooLarge after left bytes, and with a networkError for other
// failures.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if err != nil && err != io.EOF {
		err = networkError{err}
	}
	return n, err
}

// place is the position of a reader in a stream: the id of the last event.
type place struct{ id string }

type placeKey struct{}

// withPlace makes streams with the context record their position in p, and resume after it.
func withPlace(ctx context.Context, p *place) context.Context {
	return context.WithValue(ctx, placeKey{}, p)
}

func position(ctx context.Context) *place {
	if p, ok := ctx.Value(placeKey{}).(*place); ok {
		return p
	}
	return &place{}
}

var cursor = regexp.MustCompile(`^[0-9]{1,19}(\.[0-9]{1,9})?$`)

// resumable reports whether the id looks like a cursor. Many servers send random ids that they
// cannot resume from.
func (p *place) resumable() bool { return cursor.MatchString(p.id) }

// events passes on one complete event at a time, and records its id. It drops an incomplete event
// at the end.
type events struct {
	from  *bufio.Reader
	body  io.Closer
	rpc   bool
	old   bool
	pos   *place
	ready []byte // of the current event
	count int
}

func (s *events) Close() error { return s.body.Close() }

func (s *events) Read(p []byte) (int, error) {
	for len(s.ready) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// next reads an event.
func (s *events) next() error {
	var data []byte
	var id *string
	has, size := false, 0
	for {
		line, err := s.line(&size)
		if err != nil {
			return err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			return s.pass(data, has, id)
		case string(name) == "data":
			if has {
				data = append(data, '\n')
			}
			data, has = append(data, value...), true
		case string(name) == "id":
			text := string(value)
			id = &text
		}
	}
}

// line reads a line of an event. size is the number of bytes of the event so far.
func (s *events) line(size *int) ([]byte, error) {
	var line []byte
	for {
		part, err := s.from.ReadSlice('\n')
		line = append(line, part...)
		if *size += len(part); *size > MaxEventBytes {
			return nil, fmt.Errorf("%w: event of more than %d bytes", ErrTooLarge, MaxEventBytes)
		}
		if err == nil {
			return bytes.TrimRight(line, "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// pass prepares an event for the reader.
func (s *events) pass(data []byte, has bool, id *string) error {
	if id != nil {
		s.pos.id = *id
	}
	if !has {
		return nil
	}
	if s.count++; s.count > MaxUpdates {
		return fmt.Errorf("%w: more than %d events", ErrTooLarge, MaxUpdates)
	}
	var compact bytes.Buffer // one line, because the library joins lines with line breaks
	if json.Compact(&compact, data) != nil {
		return fmt.Errorf("%w: event is not JSON", ErrGarbage)
	}
	data = compact.Bytes()
	if s.rpc {
		data = plainError(data)
	}
	if s.old {
		data = doubleFiles(data)
	}
	s.ready = slices.Concat([]byte("data: "), data, []byte("\n\n"))
	return nil
}
