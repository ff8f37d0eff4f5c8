package rpc_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/rpc"
)

// TestRoutes: the server serves the routes of parley.Methods and no others.
func TestRoutes(t *testing.T) {
	var want []string
	for _, m := range parley.Methods {
		if m.Route != "" {
			want = append(want, m.Name+" "+m.Route)
		}
	}
	compare(t, "the routes", want, rpc.Routes())
}

// TestRoutesThatCannotBeServed are found when the program starts.
func TestRoutesThatCannotBeServed(t *testing.T) {
	for _, m := range []parley.Method{
		{Name: parley.MethodTail, Route: "PUT /tail"},
		{Name: parley.MethodTail, Route: "GET /tail/"},
		{Name: parley.MethodTail, Route: "/tail"},
		{Name: parley.MethodTail, Route: "GET /tail/{conversation}"},
		{Name: parley.MethodTail, Route: "GET /tail/{sinceSeq}"},
		{Name: parley.MethodSendMessage, Route: "DELETE /conversations/{conversationId}"},
		{Name: "noSuchMethod", Route: "GET /tail"},
	} {
		if !panics(func() { rpc.NewRoute(m) }) {
			t.Errorf("%s at %s is taken", m.Name, m.Route)
		}
	}
	if panics(func() {
		rpc.NewRoute(parley.Method{Name: parley.MethodTail, Route: "GET /conversations/{conversationId}/tail"})
	}) {
		t.Error("a route that can be served is not taken")
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// TestProblems: every error of the protocol is a problem with the status of the table, and comes back as itself.
func TestProblems(t *testing.T) {
	for _, row := range parley.Errors {
		p := parley.ToProblem(row.Err, row.HTTP)
		if p.Type != "urn:parley:error:"+row.Reason() || p.Status != row.HTTP || p.Code != row.Code || strings.Contains(p.Title, "_") || p.Detail == "" {
			t.Errorf("%s: %+v", row.Reason(), p)
		}
		if back := parley.ErrorRowOf(parley.FromProblem(p)); back != row {
			t.Errorf("%s comes back as %s", row.Reason(), back.Reason())
		}
	}
}
