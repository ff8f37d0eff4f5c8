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

// MaxBodyBytes limits the body of a request. A file of 5 MiB in base64 fits. A larger body is
// refused with HTTP 413.
const MaxBodyBytes = 8 << 20

// Verbs are the HTTP methods of the handler.
var Verbs = []string{http.MethodGet, http.MethodPost, http.MethodDelete}

// AllowHeaders are the request headers that pages of other origins may send. ExposeHeaders are the
// response headers that they may read.
var (
	AllowHeaders  = []string{"A2A-Version", "A2A-Extensions", "X-A2A-Extensions", "Last-Event-ID", "Parley-Agent"}
	ExposeHeaders = []string{"A2A-Extensions", "X-A2A-Extensions", "ETag", "Retry-After"}
)

// Streams reports by the head of a request whether it opens a stream.
func Streams(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream") || strings.HasSuffix(r.URL.Path, ":stream") ||
		strings.HasSuffix(r.URL.Path, ":subscribe")
}

// The paths of an agent: JSON-RPC, and below it HTTP+JSON and its card.
const (
	basePath = "/a2a/"
	cardPath = "/.well-known/agent-card.json"
)

// The media types of responses.
const (
	mediaJSON = "application/json"
	mediaA2A  = "application/a2a+json"
)

// httpServer is the HTTP part of the server: bindings, versions and errors.
type httpServer struct {
	server  *Server
	methods methods
	strict  bool
	log     *slog.Logger
}

// Handler serves all agents: JSON-RPC at /a2a/{name}, and below it HTTP+JSON and the card.
func (s *Server) Handler() http.Handler { return s.front(s) }

func (s *Server) front(m methods) *httpServer {
	return &httpServer{server: s, methods: m, strict: s.opts.Strict, log: s.log}
}

// httpCall is one request and its response.
type httpCall struct {
	*httpServer
	w      http.ResponseWriter
	r      *http.Request
	caller *caller
	dialect
	version version
	media   string // of the response
	// id is the encoded id of a JSON-RPC request; nil for HTTP+JSON.
	id json.RawMessage
	// span is the span of the operation; nil if it has none.
	span parley.Span
}

// ServeHTTP selects the agent and the binding.
func (f *httpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &httpCall{httpServer: f, w: w, r: r, media: mediaJSON, version: version10}
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

// connect sets the client of the caller. It answers the request if it returns false.
func (x *httpCall) connect() (release func(), ok bool) {
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

// setVersion sets the version of the request and activates extensions.
func (x *httpCall) setVersion(v version, d dialect) {
	x.version, x.dialect = v, d
	x.caller.legacy = v == version03
	on := activatedExtensions(x.r)
	for _, uri := range on {
		x.caller.traces = x.caller.traces || uri == TraceExtension
	}
	if len(on) > 0 {
		x.w.Header().Set(extensionsHeader(v), strings.Join(on, ", "))
	}
}

// serve runs an operation and answers the request.
func (x *httpCall) serve(o operation, req any, err error) {
	if err == nil {
		err = checkRequired(req)
	}
	if err == nil {
		defer x.startSpan(o, req)()
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

func (x *httpCall) serveOne(o operation, req any) {
	var result json.RawMessage
	v, err := x.call(x.r.Context(), x.caller, req)
	if err == nil {
		result, err = x.result(o, v)
	}
	if err != nil {
		x.refuse(err)
		return
	}
	x.write(http.StatusOK, x.wrapResult(result))
}

// refuse answers with an error.
func (x *httpCall) refuse(err error) {
	f := x.toProtocolError(err)
	x.failSpan(f)
	f.setHeaders(x.w.Header())
	status := f.http
	if x.isRPC() {
		status = f.rpcStatus()
	}
	x.write(status, x.wrapError(f))
}

func (x *httpCall) isRPC() bool { return x.id != nil }

// rpcResponse is a JSON-RPC response with either Result or Error.
type rpcResponse struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// wrapResult returns the response for a result.
func (x *httpCall) wrapResult(result json.RawMessage) any {
	if !x.isRPC() {
		return result
	}
	return &rpcResponse{JSONRPC: "2.0", ID: x.id, Result: result}
}

// wrapError returns the response for an error, also within a stream.
func (x *httpCall) wrapError(f *protocolError) any {
	if !x.isRPC() {
		return f.restError(x.version)
	}
	return &rpcResponse{JSONRPC: "2.0", ID: x.id, Error: f.rpcError(x.version)}
}

// writeTimeout limits the time for the client to read one write.
const writeTimeout = 30 * time.Second

func (x *httpCall) write(status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		x.log.Error("cannot encode a response", "error", err)
		status, raw = http.StatusInternalServerError, []byte("{}")
	}
	h := x.w.Header()
	h.Set("Content-Type", x.media)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	x.w.WriteHeader(status)
	_, _ = x.w.Write(raw) // the client may be gone
}

// body reads the body of a request. An empty body needs no Content-Type.
func (x *httpCall) body() ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, MaxBodyBytes))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, bodyTooLarge()
	case err != nil:
		return nil, newProtocolError(a2a.ErrInvalidRequest, "the body is incomplete")
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

// chooseMediaType sets the media type of HTTP+JSON responses to that of the request body, or,
// without a body, of the Accept header.
func (x *httpCall) chooseMediaType() {
	said := cmp.Or(x.r.Header.Get("Content-Type"), x.r.Header.Get("Accept"))
	for part := range strings.SplitSeq(said, ",") {
		if media, _, err := mime.ParseMediaType(part); err == nil && media == mediaA2A {
			x.media = mediaA2A
		}
	}
}

// noRoute answers that the address does not exist.
func (x *httpCall) noRoute() {
	f := newProtocolError(a2a.ErrMethodNotFound, "no such address")
	f.http, f.status = http.StatusNotFound, "NOT_FOUND"
	x.write(f.http, f.restError(x.version))
}

// notAllowed answers that the address has other HTTP methods.
func (x *httpCall) notAllowed(methods ...string) {
	allowed := strings.Join(methods, ", ")
	x.w.Header().Set("Allow", allowed)
	f := newProtocolError(a2a.ErrMethodNotFound, "method not allowed (expected: "+allowed+")")
	f.http = http.StatusMethodNotAllowed
	x.write(f.http, f.restError(x.version))
}

// baseURL returns the public URL of the hub.
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
