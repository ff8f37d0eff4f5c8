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

// handler serves both eras of the protocol at one URL.
type handler struct {
	server             *Server
	who                func(*http.Request) string
	stateless, session http.Handler

	mu    sync.Mutex // guards the field below
	owner map[string]string
}

// NewHandler serves s over streamable HTTP, for every revision of the protocol at one URL. Who calls has been authenticated; who gives the name that all requests
// of one caller have and no others: a session is of who has begun it.
func NewHandler(s *Server, who func(*http.Request) string) http.Handler {
	h := &handler{server: s, who: who, owner: map[string]string{}}
	give := func(*http.Request) *protocol.Server { return s.Server }
	common := protocol.StreamableHTTPOptions{
		Logger: quiet(s.opts.Logger), MaxRequestBodyBytes: MaxBodyBytes,
		DisableLocalhostProtection: true, // the door looks at Host and Origin, and knows more names
	}
	later, earlier := common, common
	later.Stateless, later.PropagateRequestCancellation = true, true
	earlier.SessionTimeout = sessionTimeout
	named := auth.RequireBearerToken(func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: who(r)}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})
	h.stateless = named(protocol.NewStreamableHTTPHandler(give, &later))
	h.session = named(protocol.NewStreamableHTTPHandler(give, &earlier))
	return h
}

const sessionHeader = "Mcp-Session-Id"

// ServeHTTP finds the era of a request. One without a version is of the earlier.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Mcp-Protocol-Version") >= statelessSince:
		if sameTask(w, r) {
			h.stateless.ServeHTTP(w, r)
		}
	case !single(w, r, r.Header.Get(sessionHeader) == ""):
	case r.Header.Get(sessionHeader) != "":
		h.session.ServeHTTP(w, r)
	case !h.room(h.who(r)):
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many sessions", http.StatusServiceUnavailable)
	default:
		h.session.ServeHTTP(w, r)
		h.began(w.Header().Get(sessionHeader), h.who(r))
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

// room reports whether a caller may begin a session.
func (h *handler) room(who string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	live := map[string]bool{}
	for s := range h.server.Sessions() {
		live[s.ID()] = true
	}
	mine := 0
	for id, owner := range h.owner {
		switch {
		case !live[id]:
			delete(h.owner, id)
		case owner == who:
			mine++
		}
	}
	return len(h.owner) < maxSessions && mine < maxSessionsOfOne
}

// began notes whose a session is.
func (h *handler) began(id, who string) {
	if id == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owner[id] = who
}

// taskMethods are those of the Tasks extension, each of which names a task.
var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

// sameTask reports whether a request for a task names it in its header as in its body, by which it may have been routed. Of another method it is always true:
// the library compares the name of the method, and the names of what is its own. It answers when it is false.
func sameTask(w http.ResponseWriter, r *http.Request) bool {
	if !slices.Contains(taskMethods, r.Header.Get("Mcp-Method")) || r.Method != http.MethodPost {
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
	if json.Unmarshal(raw, &body) != nil || r.Header.Get("Mcp-Name") == body.Params.TaskID {
		return true // the library says what is wrong with one that is no request
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, encoded(map[string]any{"jsonrpc": "2.0", "id": body.ID, "error": map[string]any{
		"code": protocol.CodeHeaderMismatch, "message": "Mcp-Name is not the taskId of the body",
	}})) // a peer that is gone needs no answer
	return false
}
