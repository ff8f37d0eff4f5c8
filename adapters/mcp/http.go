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

// Sessions are of clients that speak a revision before 2026-07-28; later ones have none.
const (
	// maxSessions bounds the sessions that are open, and maxSessionsOfOne those of one caller. One more is refused with HTTP 503.
	maxSessions, maxSessionsOfOne = 2000, 64
	// sessionTimeout is how long a session may be without a request.
	sessionTimeout = 30 * time.Minute
	// MaxBodyBytes bounds the body of a request: so large that a text which is too long is refused in words of its tool.
	MaxBodyBytes = 4 << 20
)

// statelessSince is the first revision of the protocol without sessions.
const statelessSince = "2026-07-28"

// Verbs are the methods of HTTP that the handler takes: GET and DELETE are for sessions.
var Verbs = []string{http.MethodPost, http.MethodGet, http.MethodDelete}

// AllowHeaders are the headers of requests that web pages must be allowed to send, and ExposeHeaders those of answers that they must be able to read.
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

// Streams reports by the head of a request whether it is for a stream that stays open. One whose body says otherwise is refused.
func Streams(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get(versionHeader) >= statelessSince && r.Header.Get(methodHeader) == "subscriptions/listen"
}

// handler serves both eras of the protocol at one URL.
type handler struct {
	server             *Server
	who                func(*http.Request) string
	stateless, session http.Handler

	mu        sync.Mutex // guards the fields below
	owner     map[string]string
	beginning map[string]int // sessions that are about to begin, by who begins them
	pending   int            // all of these
	streams   map[*sessionStream]struct{}
}

// sessionStream is a stream of a session under way.
type sessionStream struct {
	session string
	end     context.CancelFunc
}

// NewHandler serves s over streamable HTTP, for every revision of the protocol at one URL. Who calls has been authenticated; who gives the name that all requests
// of one caller have and no others: a session is of who has begun it.
func NewHandler(s *Server, who func(*http.Request) string) http.Handler {
	h := &handler{server: s, who: who, owner: map[string]string{}, beginning: map[string]int{}, streams: map[*sessionStream]struct{}{}}
	s.subs.lost = h.end
	give := func(*http.Request) *protocol.Server { return s.Server }
	common := protocol.StreamableHTTPOptions{
		Logger: quiet(s.opts.Logger), MaxRequestBodyBytes: MaxBodyBytes,
		DisableLocalhostProtection: true, // the door looks at Host and Origin, and knows more names
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

// requestContext is where the context of an HTTP request is in what the library hands on of it.
const requestContext = "parley request"

// RequestContext gives the context of the HTTP request by which a request of the protocol has come; nil where it has not come so.
func RequestContext(from *protocol.RequestExtra) context.Context {
	if from == nil || from.TokenInfo == nil {
		return nil
	}
	ctx, _ := from.TokenInfo.Extra[requestContext].(context.Context)
	return ctx
}

// ServeHTTP finds the era of a request. One without a version is of the earlier.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get(sessionHeader)
	if r.Method == http.MethodPost {
		raw, ok := peekBody(w, r)
		if !ok {
			return
		}
		if refusal := RefuseID(raw); refusal != nil {
			writeError(w, http.StatusBadRequest, refusal)
			return
		}
		if r.Header.Get(versionHeader) < statelessSince {
			w = answerUnknownMethods(w, raw)
		}
	}
	switch {
	case r.Header.Get(versionHeader) >= statelessSince:
		if sameTask(w, r) {
			h.stateless.ServeHTTP(w, r)
		}
	case !single(w, r, session == ""):
	case session != "" && r.Method == http.MethodGet:
		h.serveStream(w, r, session)
	case session != "":
		h.session.ServeHTTP(w, r)
	default:
		h.serveFirst(w, r)
	}
}

// serveFirst serves a request that may begin a session.
func (h *handler) serveFirst(w http.ResponseWriter, r *http.Request) {
	who := h.who(r)
	if !h.begin(who) {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many sessions", http.StatusServiceUnavailable)
		return
	}
	defer func() { h.began(w.Header().Get(sessionHeader), who) }()
	h.session.ServeHTTP(w, r)
}

// serveStream serves a stream of a session until one of them ends.
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

// end ends a session, if it is one of this handler, and its streams at once: so its client sees that what it has subscribed to is told no more.
func (h *handler) end(session *protocol.ServerSession) {
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
		_ = session.Close() // when its calls have ended
	}
}

// peekBody gives the body of a request, which can still be read. It answers when there is none.
func peekBody(w http.ResponseWriter, r *http.Request) (raw []byte, ok bool) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	if err != nil {
		http.Error(w, "the body did not come, or is too large", http.StatusBadRequest)
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return raw, true
}

// maxInitializeBytes bounds the request that begins a session, which keeps what it says.
const maxInitializeBytes = 64 << 10

// single reports whether a request of the earlier era is one that is taken: no batch, which only one old revision has and which would be any number of calls at once,
// and, where it begins a session, a small one. It answers when it is not.
func single(w http.ResponseWriter, r *http.Request, begins bool) bool {
	if r.Method != http.MethodPost {
		return true
	}
	raw, ok := peekBody(w, r)
	if !ok {
		return false
	}
	switch {
	case bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")):
		http.Error(w, "batches are not taken: one request in a body", http.StatusBadRequest)
		return false
	case begins && len(raw) > maxInitializeBytes:
		http.Error(w, "a request without a session has at most 64 KiB", http.StatusRequestEntityTooLarge)
		return false
	}
	return true
}

// begin reports whether a caller may begin a session. If so, one is counted until began.
func (h *handler) begin(who string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	live := map[string]bool{}
	for s := range h.server.Sessions() {
		live[s.ID()] = true
	}
	mine := h.beginning[who]
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
	h.beginning[who]++
	h.pending++
	return true
}

// began notes whose a session is; without an id none has begun.
func (h *handler) began(id, who string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pending--
	if h.beginning[who]--; h.beginning[who] == 0 {
		delete(h.beginning, who)
	}
	if id != "" {
		h.owner[id] = who
	}
}

// taskMethods are those of the Tasks extension, each of which names a task.
var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

// sameTask reports whether a request for a task names it in its header as in its body, by which it may have been routed. Of another method it is always true:
// the library compares the name of the method, and the names of what is its own. It answers when it is false.
func sameTask(w http.ResponseWriter, r *http.Request) bool {
	if !slices.Contains(taskMethods, r.Header.Get(methodHeader)) || r.Method != http.MethodPost {
		return true
	}
	raw, ok := peekBody(w, r)
	if !ok {
		return false
	}
	var body struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			TaskID string `json:"taskId"`
		} `json:"params"`
	}
	if json.Unmarshal(raw, &body) != nil || r.Header.Get(nameHeader) == body.Params.TaskID {
		return true // the library says what is wrong with one that is no request
	}
	writeError(w, http.StatusBadRequest, encodeError(body.ID, protocol.CodeHeaderMismatch, "Mcp-Name is not the taskId of the body"))
	return false
}
