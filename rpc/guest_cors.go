package rpc

import (
	"net/http"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
)

const (
	allowHeaders  = "Access-Control-Allow-Headers"
	exposeHeaders = "Access-Control-Expose-Headers"
)

// expose lets pages that were granted to read the answer read the guest's headers too.
func (g *Guest) expose(h http.Header) {
	if granted := h.Get(exposeHeaders); granted != "" {
		h.Set(exposeHeaders, listed(granted, g.ExposeHeaders))
	}
}

// preflight answers a browser that asks before it sends a request of these verbs to the guest.
func (g *Guest) preflight(s *Server, verbs []string) http.HandlerFunc {
	allow := strings.Join(slices.Sorted(slices.Values(verbs)), ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		if s.guard.otherOrigin(r) {
			preflight(allowingWriter{w, g.AllowHeaders}, allow)
			return
		}
		w.Header().Set("Allow", allow)
		s.writeProblem(w, &statusError{http.StatusMethodNotAllowed, parley.Refuse(parley.ErrMethodNotFound, "this path does not take "+r.Method, allow)})
	}
}

// allowingWriter adds to the headers that are allowed.
type allowingWriter struct {
	http.ResponseWriter
	names []string
}

// WriteHeader writes the head.
func (w allowingWriter) WriteHeader(status int) {
	w.Header().Set(allowHeaders, listed(w.Header().Get(allowHeaders), w.names))
	w.ResponseWriter.WriteHeader(status)
}

// listed adds names to a list.
func listed(list string, names []string) string {
	return strings.Join(append([]string{list}, names...), ", ")
}
