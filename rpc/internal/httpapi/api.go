// Package httpapi serves a hub over HTTP: the methods as JSON-RPC in POST /rpc and as plain HTTP at
// their routes, streams of server-sent events, files, backups, metrics and documents, and handlers of
// other protocols behind the login of the hub. It owns the requests under way and their deadlines.
//
//	request -> API.ServeHTTP -> mux -> route.readParams -> calls.Call -> hub -> result or problem
//	                               \-> eventStream: Subscription.Wait, Poll -> id and data -> flush
//
// It does not serve WebSockets: Options.ServeSocket gets the requests for one. An API is created with
// New, is an http.Handler, and ends with Stop, Cut and Wait:
//
//	api := httpapi.New(httpapi.Options{Hub: h, Admission: c, Calls: dispatcher, Methods: table})
//
// Every request runs on the goroutine of net/http. The only other goroutines are those that stop a
// Protocol, one each, and one for each backup under way; Wait and the request wait for them.
package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/schema"
	"github.com/parleyhub/parley/rpc/internal/admission"
	"github.com/parleyhub/parley/rpc/internal/calls"
	"github.com/prometheus/client_golang/prometheus"
)

// Options of an API. All fields except Protocols, Pages and Tracer must be set. rpc.Options describes
// those that it has too.
type Options struct {
	Hub         *hub.Hub
	Admission   *admission.Controller
	Calls       *calls.Dispatcher
	Methods     calls.Table
	Log         *slog.Logger
	ServeSocket http.HandlerFunc    // GET /rpc
	Metrics     prometheus.Gatherer // of /metrics

	KeepAlive, WriteTimeout, BodyTimeout time.Duration
	MaxRequests                          int // rpc.Options.MaxPosts

	Protocols map[string]*Protocol
	Pages     map[string]http.Handler
	Tracer    parley.Tracer
}

// API serves a hub over HTTP.
type API struct {
	Options
	*requests
	responder
	routes  []*route
	mux     *http.ServeMux
	metrics http.Handler
}

// New returns the API of a hub.
func New(o Options) *API {
	a := &API{Options: o, requests: newRequests(o.MaxRequests), responder: responder{o.Calls, o.Log}}
	a.routes = newRoutes(o.Methods)
	a.metrics = newMetricsHandler(o.Metrics, o.Log)
	a.mux = a.newMux()
	return a
}

// verbs are the handlers of one path by their verb.
type verbs map[string]http.HandlerFunc

// get returns a handler for GET, and for HEAD, which is GET without the body.
func get(serve http.HandlerFunc) verbs {
	return verbs{http.MethodGet: serve, http.MethodHead: serve}
}

// paths returns the handlers of all paths, by the pattern of http.ServeMux.
func (a *API) paths() map[string]verbs {
	paths := map[string]verbs{
		"/rpc":     {http.MethodGet: a.ServeSocket, http.MethodPost: a.servePost},
		"/livez":   get(func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }),
		"/readyz":  get(a.serveReady),
		"/metrics": get(a.serveMetrics),
		"/backup":  {http.MethodGet: a.serveBackup},

		"/openrpc.json":  get(a.newDocumentHandler(schema.OpenRPC)),
		"/asyncapi.json": get(a.newDocumentHandler(schema.AsyncAPI)),
	}
	for _, rt := range a.routes {
		if paths[rt.path] == nil {
			paths[rt.path] = verbs{}
		}
		maps.Copy(paths[rt.path], rt.verbs(a))
	}
	for path, p := range a.Protocols {
		paths[path] = newProtocolServer(p, a).verbs()
	}
	for path, page := range a.Pages {
		paths[path] = get(page.ServeHTTP)
	}
	return paths
}

// Routes returns everything that is served as "VERB /path", in order.
func (a *API) Routes() []string {
	var all []string
	for path, served := range a.paths() {
		for verb := range served {
			all = append(all, verb+" "+path)
		}
	}
	slices.Sort(all)
	return all
}

// newMux returns the table of all paths. Its patterns have no verbs, because the handlers here refuse
// wrong verbs themselves.
func (a *API) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, v := range a.paths() {
		allow := strings.Join(slices.Sorted(maps.Keys(v)), ", ")
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			serve, ok := v[r.Method]
			switch {
			case ok:
				serve(w, r)
			case r.Method == http.MethodOptions && a.Admission.Origins.IsCross(r):
				writePreflight(w, allow)
			default:
				a.refuseVerb(w, r, allow)
			}
		})
	}
	mux.HandleFunc("/", a.serveUnknownPath)
	return mux
}

func (a *API) serveUnknownPath(w http.ResponseWriter, _ *http.Request) {
	a.writeProblem(w, parley.Refuse(parley.ErrMethodNotFound,
		"there is no such path", "a path of protocol.md, sections 1 and 12"))
}

// ServeHTTP serves one request. It checks Host and Origin before anything else.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.setDeadlines(w, r)
	if err := a.Admission.CheckOrigin(r); err != nil {
		if r.URL.Path == "/rpc" {
			a.WriteFailure(w, err)
		} else {
			a.writeProblem(w, err)
		}
		return
	}
	a.grantOrigin(w.Header(), r)
	r = a.trimSlash(r)
	p := r.URL.EscapedPath()
	if a.Pages[p] == nil && path.Clean(p) != p || p[0] != '/' { // the mux would redirect
		a.serveUnknownPath(w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// trimSlash returns the request without a slash at the end of its path, if the path is of another
// protocol. Clients append a slash to the address of an endpoint.
func (a *API) trimSlash(r *http.Request) *http.Request {
	p := r.URL.EscapedPath()
	trimmed := strings.TrimSuffix(p, "/")
	if p == trimmed || !a.isOfProtocol(trimmed) {
		return r
	}
	short, address := *r, *r.URL
	address.Path, address.RawPath = strings.TrimSuffix(address.Path, "/"), strings.TrimSuffix(address.RawPath, "/")
	short.URL = &address
	return &short
}

// isOfProtocol reports whether a path is that of a protocol, or below it.
func (a *API) isOfProtocol(p string) bool {
	for served := range a.Protocols {
		if p == served || strings.HasSuffix(served, "/") && strings.HasPrefix(p, served) {
			return true
		}
	}
	return false
}

// setDeadlines sets the deadlines of a short request. They also apply to a request that is refused,
// because net/http reads the rest of the body before the answer. Longer requests set their own.
func (a *API) setDeadlines(w http.ResponseWriter, r *http.Request) {
	now, c := time.Now(), http.NewResponseController(w)
	if r.Body != http.NoBody {
		_ = c.SetReadDeadline(now.Add(a.BodyTimeout)) // fails without deadlines, as below
	}
	_ = c.SetWriteDeadline(now.Add(a.BodyTimeout + a.WriteTimeout))
}

// Pages of other origins get no credentials: a browser adds none by itself.

const (
	allowHeaders  = "Access-Control-Allow-Headers"
	exposeHeaders = "Access-Control-Expose-Headers"
)

// grantOrigin lets a page of an allowed origin read the answer.
func (a *API) grantOrigin(h http.Header, r *http.Request) {
	if !a.Admission.Origins.Any() {
		return
	}
	h.Add("Vary", "Origin")
	if a.Admission.Origins.IsCross(r) {
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set(exposeHeaders, "Retry-After, Location, ETag, Content-Range")
	}
}

// writePreflight answers the request that a browser sends before one that no form could send. more
// are further headers that the page may send.
func writePreflight(w http.ResponseWriter, allow string, more ...string) {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", allow)
	h.Set(allowHeaders, appendNames("Authorization, Content-Type, Parley-Agent, Last-Event-ID, Idempotency-Key, "+
		"Range, If-None-Match, Traceparent, Tracestate", more))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// appendNames appends names to a list of headers.
func appendNames(list string, names []string) string {
	return strings.Join(append([]string{list}, names...), ", ")
}

func (a *API) serveReady(w http.ResponseWriter, _ *http.Request) {
	if err := a.Hub.Ready(); err != nil {
		writeText(w, http.StatusServiceUnavailable, parley.ToWire(err).Message+"\n")
		return
	}
	writeText(w, http.StatusOK, "ok\n")
}

// newDocumentHandler serves a document of the protocol to anyone. It does not change while the
// program runs. A cache asks again after an hour.
func (a *API) newDocumentHandler(text []byte) http.HandlerFunc {
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("ETag", tag)
		a.extendWrite(w)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
	}
}

// extendWrite lets the next write of an answer take WriteTimeout.
func (a *API) extendWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(a.WriteTimeout)) // fails without deadlines
}
