package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Clients have sessions only in revisions before 2026-07-28.
const (
	// maxSessions limits the open sessions, and maxSessionsOfOne those of one caller. Further requests
	// for a session receive HTTP 503.
	maxSessions, maxSessionsOfOne = 2000, 64
	// sessionTimeout ends a session without requests.
	sessionTimeout = 30 * time.Minute
	// MaxBodyBytes limits the body of a request. It is large enough for a tool to refuse a text that
	// is too long.
	MaxBodyBytes = 4 << 20
)

// statelessSince is the first protocol revision without sessions.
const statelessSince = "2026-07-28"

// Verbs are the HTTP methods of the handler. GET and DELETE are for sessions.
var Verbs = []string{http.MethodPost, http.MethodGet, http.MethodDelete}

// AllowHeaders are the request headers that web pages must be allowed to send. ExposeHeaders are
// the response headers that they must be able to read.
var (
	AllowHeaders  = []string{versionHeader, sessionHeader, methodHeader, nameHeader}
	ExposeHeaders = []string{sessionHeader, "WWW-Authenticate"}
)

// The headers of the protocol.
const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// Streams reports by the head of a request whether it opens a stream. The handler refuses a request
// whose body disagrees with the head.
func Streams(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get(versionHeader) >= statelessSince &&
		r.Header.Get(methodHeader) == "subscriptions/listen"
}

// handler serves all protocol revisions at one URL.
type handler struct {
	server             *Server
	callerOf           func(*http.Request) string
	stateless, session http.Handler

	mu       sync.Mutex // guards the fields below
	owner    map[string]string
	starting map[string]int // sessions that are about to start, by caller
	pending  int            // sum of the sessions that are about to start
	streams  map[*sessionStream]struct{}
}

// sessionStream is an open stream of a session.
type sessionStream struct {
	session string
	end     context.CancelFunc
}

// NewHandler serves s over streamable HTTP, for every protocol revision at one URL. Requests must
// be authenticated. callerOf returns the same name for all requests of one caller, and a different
// name for each caller. Only the caller that started a session can use it.
func NewHandler(s *Server, who func(*http.Request) string) http.Handler {
	h := &handler{server: s, callerOf: who, owner: map[string]string{}, starting: map[string]int{},
		streams: map[*sessionStream]struct{}{}}
	s.subs.onLost = h.endSession
	give := func(*http.Request) *protocol.Server { return s.Server }
	common := protocol.StreamableHTTPOptions{
		Logger: debugLogger(s.opts.Logger), MaxRequestBodyBytes: MaxBodyBytes,
		DisableLocalhostProtection: true, // the hub checks Host and Origin, and knows more names
	}
	later, earlier := common, common
	later.Stateless, later.PropagateRequestCancellation = true, true
	earlier.SessionTimeout = sessionTimeout
	named := auth.RequireBearerToken(func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: who(r), Extra: map[string]any{requestContext: r.Context()}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	h.stateless = named(protocol.NewStreamableHTTPHandler(give, &later))
	h.session = named(protocol.NewStreamableHTTPHandler(give, &earlier))
	return h
}

// requestContext is the key of the context of the HTTP request in the token info of the library.
const requestContext = "parley request"

// RequestContext returns the context of the HTTP request that carried a protocol request. It
// returns nil for other transports.
func RequestContext(from *protocol.RequestExtra) context.Context {
	if from == nil || from.TokenInfo == nil {
		return nil
	}
	ctx, _ := from.TokenInfo.Extra[requestContext].(context.Context)
	return ctx
}

// ServeHTTP selects the handler by protocol revision. A request without a version is of a revision
// with sessions.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get(sessionHeader)
	stateless := r.Header.Get(versionHeader) >= statelessSince
	if r.Method == http.MethodPost {
		raw, ok := readBody(w, r)
		if !ok {
			return
		}
		members := membersOf(raw)
		if refusal := refuseID(members); refusal != nil {
			writeError(w, http.StatusBadRequest, refusal)
			return
		}
		if stateless && !checkTaskHeader(w, r, members) || !stateless && !acceptSessionRequest(w, raw, session == "") {
			return
		}
		if !stateless {
			w = answerUnknownMethods(w, members["id"])
		}
	}
	switch {
	case stateless:
		h.stateless.ServeHTTP(w, r)
	case session != "" && r.Method == http.MethodGet:
		h.serveStream(w, r, session)
	case session != "":
		h.session.ServeHTTP(w, r)
	default:
		h.serveFirst(w, r)
	}
}

// serveFirst serves a request that may start a session.
func (h *handler) serveFirst(w http.ResponseWriter, r *http.Request) {
	who := h.callerOf(r)
	if !h.reserveSession(who) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many sessions", http.StatusServiceUnavailable)
		return
	}
	defer func() { h.recordSession(w.Header().Get(sessionHeader), who) }()
	h.session.ServeHTTP(w, r)
}

// serveStream serves a stream of a session until the request, the stream or the session ends.
func (h *handler) serveStream(w http.ResponseWriter, r *http.Request, session string) {
	ctx, end := context.WithCancel(r.Context())
	defer end()
	s := &sessionStream{session, end}
	h.mu.Lock()
	h.streams[s] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.streams, s)
	}()
	h.session.ServeHTTP(w, r.WithContext(ctx))
}

// endSession ends a session of this handler and its streams at once, so that its client notices
// that the subscriptions ended.
func (h *handler) endSession(session *protocol.ServerSession) {
	id := session.ID()
	h.mu.Lock()
	_, mine := h.owner[id]
	for s := range h.streams {
		if s.session == id {
			s.end()
		}
	}
	h.mu.Unlock()
	if mine {
		_ = session.Close() // the session ends after its calls
	}
}

// readBody returns the body of a request and lets it be read again. It answers the request and
// returns false if the body cannot be read.
func readBody(w http.ResponseWriter, r *http.Request) (raw []byte, ok bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	if err != nil {
		http.Error(w, "the body is incomplete or larger than 4 MiB", http.StatusBadRequest)
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return raw, true
}

// maxInitializeBytes limits the request that starts a session, because the session keeps its
// content.
const maxInitializeBytes = 64 << 10

// acceptSessionRequest reports whether a request with sessions is acceptable. Batches are refused:
// only one old revision has them, and they would run any number of calls at once. A request that
// starts a session must be small. It answers the request if it returns false.
func acceptSessionRequest(w http.ResponseWriter, raw []byte, begins bool) bool {
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")):
		http.Error(w, "batches are not supported (expected: one request in the body)", http.StatusBadRequest)
		return false
	case begins && len(raw) > maxInitializeBytes:
		http.Error(w, "the request that starts a session is larger than 64 KiB", http.StatusRequestEntityTooLarge)
		return false
	}
	return true
}

// reserveSession reports whether a caller may start a session. If so, the session counts until
// recordSession is called.
func (h *handler) reserveSession(who string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	live := map[string]bool{}
	for s := range h.server.Sessions() {
		live[s.ID()] = true
	}
	mine := h.starting[who]
	for id, owner := range h.owner {
		switch {
		case !live[id]:
			delete(h.owner, id)
		case owner == who:
			mine++
		}
	}
	if len(h.owner)+h.pending >= maxSessions || mine >= maxSessionsOfOne {
		return false
	}
	h.starting[who]++
	h.pending++
	return true
}

// recordSession releases a reservation and records the owner of the session. An empty id means that
// no session started.
func (h *handler) recordSession(id, who string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending--
	if h.starting[who]--; h.starting[who] == 0 {
		delete(h.starting, who)
	}
	if id != "" {
		h.owner[id] = who
	}
}

// taskMethods are the methods of the Tasks extension. Each names a task.
var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

// checkTaskHeader reports whether a request for a task names it in the header as in the body: a
// proxy may have routed it by the header. It returns true for other methods, whose headers the
// library checks. It answers the request if it returns false.
func checkTaskHeader(w http.ResponseWriter, r *http.Request, members map[string]json.RawMessage) bool {
	var params struct {
		TaskID string `json:"taskId"`
	}
	if !slices.Contains(taskMethods, r.Header.Get(methodHeader)) || json.Unmarshal(members["params"], &params) != nil ||
		r.Header.Get(nameHeader) == params.TaskID {
		return true // the library refuses an invalid request
	}
	writeError(w, http.StatusBadRequest, encodeError(members["id"], protocol.CodeHeaderMismatch,
		"the header Mcp-Name differs from the taskId of the body"))
	return false
}
