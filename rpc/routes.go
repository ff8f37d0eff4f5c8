package rpc

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/schema"
)

// verbs are the handlers of one path.
type verbs map[string]http.HandlerFunc

// get serves GET, and HEAD, which is GET without the body. What becomes a socket or a stream takes no HEAD.
func get(serve http.HandlerFunc) verbs {
	return verbs{http.MethodGet: serve, http.MethodHead: serve}
}

// paths is everything that the server serves, by pattern of http.ServeMux: what is no method, and each method that has a route.
func (s *Server) paths() map[string]verbs {
	paths := map[string]verbs{
		"/rpc":     {http.MethodGet: s.serveSocket, http.MethodPost: s.servePost},
		"/livez":   get(func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }),
		"/readyz":  get(s.serveReady),
		"/metrics": get(s.serveMetrics),
		"/backup":  {http.MethodGet: s.serveBackup},

		"/openrpc.json":  get(s.document(schema.OpenRPC)),
		"/asyncapi.json": get(s.document(schema.AsyncAPI)),
	}
	for _, rt := range routes {
		if paths[rt.path] == nil {
			paths[rt.path] = verbs{}
		}
		maps.Copy(paths[rt.path], rt.verbs(s))
	}
	for path, g := range s.opts.Guests {
		paths[path] = g.verbs(s)
	}
	for path, page := range s.opts.Pages {
		paths[path] = get(page.ServeHTTP)
	}
	return paths
}

// newMux makes the one table of what is served where. Its patterns have no verbs, so that it is here that a verb is refused.
func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, v := range s.paths() {
		allow := strings.Join(slices.Sorted(maps.Keys(v)), ", ")
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			serve, ok := v[r.Method]
			switch {
			case ok:
				serve(w, r)
			case r.Method == http.MethodOptions && s.guard.otherOrigin(r):
				preflight(w, allow)
			default:
				w.Header().Set("Allow", allow)
				s.writeProblem(w, &statusError{http.StatusMethodNotAllowed, parley.Refuse(parley.ErrMethodNotFound, "this path does not take "+r.Method, allow)})
			}
		})
	}
	mux.HandleFunc("/", s.serveNothing)
	return mux
}

func (s *Server) serveNothing(w http.ResponseWriter, _ *http.Request) {
	s.writeProblem(w, parley.Refuse(parley.ErrMethodNotFound, "there is no such path", "a path of protocol.md, sections 1 and 12"))
}

// ServeHTTP serves what paths names: the methods by JSON-RPC at /rpc and by plain HTTP at their routes, and what watches the hub.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.setDeadlines(w, r)
	if err := s.guard.check(r); err != nil {
		s.audit.refused(refusal{event: "host_refused", from: s.address(r), err: err, what: "Host " + r.Host + ", Origin " + r.Header.Get("Origin")})
		s.turnAway(w, r, err)
		return
	}
	s.guard.grant(w.Header(), r)
	if p := r.URL.EscapedPath(); s.opts.Pages[p] == nil && path.Clean(p) != p || p[0] != '/' { // the mux would answer in its own way, as with a redirect
		s.serveNothing(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// setDeadlines gives a request the time of a short one: for its body, also where it is refused at once, as what is left of the body is read before
// the answer goes out, and for that answer. What takes longer sets deadlines of its own.
func (s *Server) setDeadlines(w http.ResponseWriter, r *http.Request) {
	now, c := time.Now(), http.NewResponseController(w)
	if r.Body != http.NoBody {
		_ = c.SetReadDeadline(now.Add(s.opts.BodyTimeout)) // fails where there are no deadlines, as below
	}
	_ = c.SetWriteDeadline(now.Add(s.opts.BodyTimeout + s.opts.WriteTimeout))
}

// turnAway refuses a request that is not looked at, in words of the door at which it stands.
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	if r.URL.Path == "/rpc" {
		s.writeRefusal(w, err)
		return
	}
	s.writeProblem(w, err)
}

// special are the methods that over plain HTTP are not an object of JSON for another.
var special = map[string]func(*Server, http.ResponseWriter, *http.Request, *route){
	parley.MethodSubscribe:     (*Server).serveEvents,
	parley.MethodPutAttachment: (*Server).serveUpload,
	parley.MethodGetAttachment: (*Server).serveDownload,
}

// wider are the methods that do more over plain HTTP than by JSON-RPC.
var wider = map[string]handler{
	parley.MethodWaitForChange: read(reader[waitParams, parley.WaitForChangeResult](waitAndTail)),
}

// made are the methods that make something: HTTP 201, unless it was there already.
var made = map[string]bool{
	parley.MethodCreateConversation: true, parley.MethodAddParticipant: true, parley.MethodSendMessage: true, parley.MethodSendTrace: true,
	parley.MethodSendNote: true, parley.MethodClaimTurn: true, parley.MethodPutAttachment: true, parley.MethodCreateToken: true, parley.MethodCreateTicket: true,
	parley.MethodStartSession: true, parley.MethodRequestApproval: true, parley.MethodForkConversation: true,
}

// route is a method over plain HTTP.
type route struct {
	method     parley.Method
	verb, path string
	inPath     []string                // the params that the path names
	kinds      map[string]reflect.Kind // of all params
}

// routes has one for each method of parley.Methods with a route.
var routes = makeRoutes(parley.Methods)

func makeRoutes(methods []parley.Method) []*route {
	var out []*route
	for _, m := range methods {
		if m.Route != "" {
			out = append(out, newRoute(m))
		}
	}
	return out
}

// newRoute panics where a method's Route is one that the door cannot serve.
func newRoute(m parley.Method) *route {
	rt := &route{method: m, kinds: map[string]reflect.Kind{}}
	rt.verb, rt.path, _ = strings.Cut(m.Route, " ")
	known := rt.handler().params != nil
	if !known || rt.verb != http.MethodGet && rt.verb != http.MethodPost && rt.verb != http.MethodDelete || path.Clean(rt.path) != rt.path {
		panic(fmt.Sprintf("rpc: %s cannot be served at %q", m.Name, m.Route))
	}
	for field := range rt.handler().params.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		t := field.Type
		if t.Kind() == reflect.Pointer { // 0 is not the same as none
			t = t.Elem()
		}
		rt.kinds[name] = t.Kind()
		if rt.verb != http.MethodPost && !inQuery(t) {
			panic(fmt.Sprintf("rpc: %s of %s cannot stand in a query", name, m.Name))
		}
	}
	for segment := range strings.SplitSeq(rt.path, "/") {
		name, isParam := strings.CutPrefix(segment, "{")
		if !isParam {
			continue
		}
		name = strings.TrimSuffix(name, "}")
		if k := rt.kinds[name]; k != reflect.String && k != reflect.Int64 {
			panic(fmt.Sprintf("rpc: %s has no text or integer %s to stand in its path", m.Name, name))
		}
		rt.inPath = append(rt.inPath, name)
	}
	return rt
}

// inQuery reports whether a param of a type can be given as text.
func inQuery(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int64, reflect.Bool:
		return true
	}
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
}

// handler is how the method is served; it is looked up with each request, as tests replace some.
func (rt *route) handler() handler {
	if h, ok := wider[rt.method.Name]; ok {
		h.name, h.scope = rt.method.Name, rt.method.Scope
		return h
	}
	return handlers[rt.method.Name]
}

func (rt *route) verbs(s *Server) verbs {
	how, ok := special[rt.method.Name]
	if !ok {
		how = (*Server).serveRoute
	}
	serve := func(w http.ResponseWriter, r *http.Request) { how(s, w, r, rt) }
	if rt.verb == http.MethodGet && rt.method.Name != parley.MethodSubscribe {
		return get(serve)
	}
	return verbs{rt.verb: serve}
}
