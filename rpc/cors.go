package rpc

import (
	"net/http"
	"strings"
)

// What a page of another origin may do is what newGuard was told; it is never given credentials, as there are none that a browser adds by
// itself.

// otherOrigin reports whether a request that check has let pass is of a page of another origin than the hub's own.
func (g guard) otherOrigin(r *http.Request) bool {
	return g.origins[strings.ToLower(r.Header.Get("Origin"))]
}

// grant lets a page of an allowed origin read the answer.
func (g guard) grant(h http.Header, r *http.Request) {
	if len(g.origins) == 0 {
		return
	}
	h.Add("Vary", "Origin")
	if g.otherOrigin(r) {
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set("Access-Control-Expose-Headers", "Retry-After, Location, ETag, Content-Range")
	}
}

// preflight answers a browser that asks before it sends what a form could not.
func preflight(w http.ResponseWriter, allow string) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", allow)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Parley-Agent, Last-Event-ID, Idempotency-Key, Range, If-None-Match, Traceparent, Tracestate")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
