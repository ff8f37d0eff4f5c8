package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// special are the methods whose params or result are not a JSON object over plain HTTP.
var special = map[string]func(*API, http.ResponseWriter, *http.Request, *route){
	methods.Subscribe:     (*API).serveEvents,
	methods.PutAttachment: (*API).serveUpload,
	methods.GetAttachment: (*API).serveDownload,
}

// extended are the methods that have more params over plain HTTP.
var extended = calls.Table{
	methods.WaitForChange: calls.NewRead(calls.Reader[waitParams, parley.WaitForChangeResult](waitAndTail)),
}

// DifferentMethods returns the methods that differ between plain HTTP and JSON-RPC, in order.
func DifferentMethods() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(special)), maps.Keys(extended))
	slices.Sort(names)
	return slices.Compact(names)
}

// creating are the methods that create something: HTTP 201, unless it existed already.
var creating = map[string]bool{
	methods.CreateConversation: true, methods.ForkConversation: true, methods.AddParticipant: true,
	methods.SendMessage: true, methods.SendTrace: true, methods.SendNote: true,
	methods.ClaimTurn: true, methods.PutAttachment: true, methods.CreateToken: true,
	methods.CreateTicket: true, methods.StartSession: true, methods.RequestApproval: true,
}

// route is a method over plain HTTP.
type route struct {
	method     methods.Method
	methods    calls.Table
	verb, path string
	inPath     []string                // the params in the path
	kinds      map[string]reflect.Kind // of all params
}

// newRoutes returns the routes of all methods that have one.
func newRoutes(handlers calls.Table) []*route {
	var all []*route
	for _, m := range methods.Table {
		if m.Route != "" {
			all = append(all, newRoute(handlers, m))
		}
	}
	return all
}

// newRoute panics if the Route of the method cannot be served.
func newRoute(handlers calls.Table, m methods.Method) *route {
	rt := &route{method: m, methods: handlers, kinds: map[string]reflect.Kind{}}
	rt.verb, rt.path, _ = strings.Cut(m.Route, " ")
	known := rt.handler().Params != nil
	verbs := []string{http.MethodGet, http.MethodPost, http.MethodDelete}
	if !known || !slices.Contains(verbs, rt.verb) || path.Clean(rt.path) != rt.path {
		panic(fmt.Sprintf("httpapi: %s cannot be served at %q", m.Name, m.Route))
	}
	for field := range rt.handler().Params.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		t := field.Type
		if t.Kind() == reflect.Pointer { // 0 differs from a missing value
			t = t.Elem()
		}
		rt.kinds[name] = t.Kind()
		if rt.verb != http.MethodPost && !fitsQuery(t) {
			panic(fmt.Sprintf("httpapi: %s of %s cannot be in a query", name, m.Name))
		}
	}
	for segment := range strings.SplitSeq(rt.path, "/") {
		name, isParam := strings.CutPrefix(segment, "{")
		if !isParam {
			continue
		}
		name = strings.TrimSuffix(name, "}")
		if k := rt.kinds[name]; k != reflect.String && k != reflect.Int64 {
			panic(fmt.Sprintf("httpapi: %s has no text or integer %s for its path", m.Name, name))
		}
		rt.inPath = append(rt.inPath, name)
	}
	return rt
}

// fitsQuery reports whether a param of a type can be written as text.
func fitsQuery(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int64, reflect.Bool:
		return true
	}
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
}

// handler returns the handler of the method.
func (rt *route) handler() calls.Handler {
	if h, ok := extended[rt.method.Name]; ok {
		h.Name, h.Scope = rt.method.Name, rt.method.Scope
		return h
	}
	return rt.methods[rt.method.Name]
}

// newCall returns a call for a request, without its caller and params.
func (rt *route) newCall(a *API, r *http.Request) *calls.Call {
	return a.Calls.NewCall(calls.Request{Handler: rt.handler(), Plain: true, From: a.Admission.Address(r)})
}

func (rt *route) verbs(a *API) verbs {
	how, ok := special[rt.method.Name]
	if !ok {
		how = (*API).serveRoute
	}
	serve := func(w http.ResponseWriter, r *http.Request) { how(a, w, r, rt) }
	if rt.verb == http.MethodGet && rt.method.Name != methods.Subscribe {
		return get(serve)
	}
	return verbs{rt.verb: serve}
}
