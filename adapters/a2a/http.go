package a2a

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// MaxBodyBytes bounds the body of a request: as much as a file of 5 MiB takes in base64, and more. A larger one is refused with HTTP 413.
const MaxBodyBytes = 8 << 20

// Verbs are the methods of HTTP that the handler takes.
var Verbs = []string{http.MethodGet, http.MethodPost, http.MethodDelete}

// AllowHeaders are the headers of requests that pages of other origins may send, and ExposeHeaders those of answers that they may read.
var (
	AllowHeaders  = []string{"A2A-Version", "A2A-Extensions", "X-A2A-Extensions", "Last-Event-ID", "Parley-Agent"}
	ExposeHeaders = []string{"A2A-Extensions", "X-A2A-Extensions", "ETag", "Retry-After"}
)

// Streams reports by its head whether a request is for a stream that stays open.
func Streams(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream") || strings.HasSuffix(r.URL.Path, ":stream") || strings.HasSuffix(r.URL.Path, ":subscribe")
}

// Where an agent is: its JSON-RPC, and below it HTTP+JSON and its card.
const (
	basePath = "/a2a/"
	cardPath = "/.well-known/agent-card.json"
)

// The media types of answers.
const (
	mediaJSON = "application/json"
	mediaA2A  = "application/a2a+json"
)

// front is HTTP before the methods: bindings, versions and errors.
type front struct {
	server  *Server
	methods methods
	strict  bool
	log     *slog.Logger
}

// Handler serves all agents: JSON-RPC at /a2a/{name}, HTTP+JSON below it, and their cards.
func (s *Server) Handler() http.Handler { return s.front(s) }

func (s *Server) front(m methods) *front {
	return &front{server: s, methods: m, strict: s.opts.Strict, log: s.log}
}

// visit is one request and its answer.
type visit struct {
	*front
	w      http.ResponseWriter
	r      *http.Request
	caller *caller
	dialect
	version version
	media   string // of the answer
	// id is that of a request of JSON-RPC, as it came; nil in HTTP+JSON.
	id json.RawMessage
	// span is that of the operation; nil where it has none.
	span parley.Span
}

// ServeHTTP finds the agent and the binding.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &visit{front: f, w: w, r: r, media: mediaJSON, version: version10}
	path, is := strings.CutPrefix(r.URL.EscapedPath(), basePath)
	name, rest, _ := strings.Cut(path, "/")
	agent := f.server.agent(name)
	if !is || agent == nil {
		x.noRoute()
		return
	}
	x.caller = &caller{agent: agent}
	switch rest {
	case "":
		x.serveRPC()
	case cardPath[1:]:
		f.server.serveCard(agent, w, r)
	default:
		x.serveREST(rest)
	}
}

// connect makes the caller who has made the request. It answers when it cannot.
func (x *visit) connect() (release func(), ok bool) {
	client, release, err := x.server.opts.Connect(x.r)
	if err != nil {
		x.refuse(err)
		return nil, false
	}
	if release == nil {
		release = func() {}
	}
	x.caller.client = client
	return release, true
}

// speak settles the version of a request, once it is known.
func (x *visit) speak(v version, d dialect) {
	x.version, x.dialect = v, d
	x.caller.legacy = v == version03
	on := activated(x.r)
	for _, uri := range on {
		x.caller.traces = x.caller.traces || uri == TraceExtension
	}
	if len(on) > 0 {
		x.w.Header().Set(extensionsHeader(v), strings.Join(on, ", "))
	}
}

// serve does an operation and answers.
func (x *visit) serve(o operation, req any, err error) {
	if err == nil {
		err = check(req)
	}
	if err == nil {
		defer x.traced(o, req)()
	}
	switch {
	case err != nil:
		x.refuse(err)
	case o.streams():
		x.serveStream(req)
	default:
		x.serveOne(o, req)
	}
}

func (x *visit) serveOne(o operation, req any) {
	var result json.RawMessage
	v, err := x.unary(x.r.Context(), x.caller, req)
	if err == nil {
		result, err = x.result(o, v)
	}
	if err != nil {
		x.refuse(err)
		return
	}
	x.write(http.StatusOK, x.wrapped(result))
}

// refuse answers with an error.
func (x *visit) refuse(err error) {
	f := x.faultOf(err)
	x.failed(f)
	f.headers(x.w.Header())
	status := f.http
	if x.isRPC() {
		status = f.rpcStatus()
	}
	x.write(status, x.wrappedFault(f))
}

func (x *visit) isRPC() bool { return x.id != nil }

// rpcAnswer is an answer of JSON-RPC; one of Result and Error is there.
type rpcAnswer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// wrapped is what is sent of a result.
func (x *visit) wrapped(result json.RawMessage) any {
	if !x.isRPC() {
		return result
	}
	return &rpcAnswer{JSONRPC: "2.0", ID: x.id, Result: result}
}

// wrappedFault is what is sent of an error, as an answer or in a stream.
func (x *visit) wrappedFault(f *fault) any {
	if !x.isRPC() {
		return f.restError(x.version)
	}
	return &rpcAnswer{JSONRPC: "2.0", ID: x.id, Error: f.rpcError(x.version)}
}

// writeTimeout is how long a peer may take to read what is written at once.
const writeTimeout = 30 * time.Second

func (x *visit) write(status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		x.log.Error("an answer cannot be encoded", "error", err)
		status, raw = http.StatusInternalServerError, []byte("{}")
	}
	h := x.w.Header()
	h.Set("Content-Type", x.media)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	x.w.WriteHeader(status)
	_, _ = x.w.Write(raw) // a peer that is gone needs no answer
}

// body reads the body of a request. One that is empty needs no Content-Type.
func (x *visit) body() ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, MaxBodyBytes))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, bodyTooLarge()
	case err != nil:
		return nil, newFault(a2a.ErrInvalidRequest, "the body did not come")
	case len(raw) == 0:
		return nil, nil
	}
	said := x.r.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(said)
	if err != nil || media != mediaJSON && media != mediaA2A {
		return nil, notJSON(said)
	}
	return raw, checkJSON(raw)
}

// mirror gives answers of HTTP+JSON the media type that the client sends or, where it sends nothing, asks for.
func (x *visit) mirror() {
	said := cmp.Or(x.r.Header.Get("Content-Type"), x.r.Header.Get("Accept"))
	for part := range strings.SplitSeq(said, ",") {
		if media, _, err := mime.ParseMediaType(part); err == nil && media == mediaA2A {
			x.media = mediaA2A
		}
	}
}

// noRoute answers that nothing is at this address.
func (x *visit) noRoute() {
	f := newFault(a2a.ErrMethodNotFound, "nothing is at this address")
	f.http, f.status = http.StatusNotFound, "NOT_FOUND"
	x.write(f.http, f.restError(x.version))
}

// notAllowed answers that an address takes other methods of HTTP.
func (x *visit) notAllowed(methods ...string) {
	allowed := strings.Join(methods, ", ")
	x.w.Header().Set("Allow", allowed)
	f := newFault(a2a.ErrMethodNotFound, "this address takes "+allowed)
	f.http = http.StatusMethodNotAllowed
	x.write(f.http, f.restError(x.version))
}

// baseURL is where the world finds the hub.
func (s *Server) baseURL(r *http.Request) string {
	if s.opts.URL != "" {
		return s.opts.URL
	}
	u := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}
