package rpc_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

// needs is what a route asks of who calls it.
type needs string

const (
	forAll     needs = "nothing"
	forHolders needs = "a token"
	forAdmins  needs = "the scope admin"
)

// otherRoutes lists the routes that belong to no method. served is the status for a caller with the
// rights that the route needs.
var otherRoutes = map[string]struct {
	needs  needs
	served int
}{
	"GET /rpc":           {forAll, http.StatusUpgradeRequired}, // as it is no upgrade here; a socket shows its token later
	"POST /rpc":          {forHolders, http.StatusOK},
	"GET /metrics":       {forAdmins, http.StatusOK},
	"HEAD /metrics":      {forAdmins, http.StatusOK},
	"GET /backup":        {forAdmins, http.StatusOK},
	"GET /openrpc.json":  {forAll, http.StatusOK},
	"HEAD /openrpc.json": {forAll, http.StatusOK},

	"GET /asyncapi.json":  {forAll, http.StatusOK},
	"HEAD /asyncapi.json": {forAll, http.StatusOK},

	"GET /livez":   {forAll, http.StatusOK},
	"HEAD /livez":  {forAll, http.StatusOK},
	"GET /readyz":  {forAll, http.StatusOK},
	"HEAD /readyz": {forAll, http.StatusOK},
}

// TestRoutes: the server serves the routes of methods.Table and those of otherRoutes, and nothing
// else.
func TestRoutes(t *testing.T) {
	want := slices.Collect(maps.Keys(otherRoutes))
	for _, m := range methods.Table {
		if m.Route == "" {
			continue
		}
		want = append(want, m.Route)
		if path, isGet := strings.CutPrefix(m.Route, "GET "); isGet && m.Name != methods.Subscribe {
			want = append(want, "HEAD "+path)
		}
	}
	slices.Sort(want)
	compare(t, "the routes", want, rpc.Routes(newWorld(t, nil).server))
}

// TestRoutesAskForATokenFirst: every route except the open ones refuses a request without a token,
// and routes for admins refuse other callers. The authorization matrix has the further rules of
// each method.
func TestRoutesAskForATokenFirst(t *testing.T) {
	w := newWorld(t, nil)
	participant := bearer(w.as("admin").token(
		`{"agentId":"alice","scopes":["read","write","create","claim","approve","trace"]}`))
	for _, route := range rpc.Routes(w.server) {
		verb, path, _ := strings.Cut(route, " ")
		status := func(header http.Header) int {
			return w.plain(header, verb, path, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).status
		}
		other, known := otherRoutes[route]
		nobody := http.StatusUnauthorized
		if other.needs == forAll && known {
			nobody = other.served
		}
		if got := status(http.Header{}); got != nobody {
			t.Errorf("%s without a token: HTTP %d, want %d", route, got, nobody)
		}
		if !known {
			continue
		}
		of := other.served
		if other.needs == forAdmins {
			of = http.StatusForbidden
		}
		if got := status(participant); got != of {
			t.Errorf("%s with a participant's token: HTTP %d, want %d", route, got, of)
		}
		if got := status(bearer(devToken)); got != other.served {
			t.Errorf("%s with an admin's token: HTTP %d, want %d", route, got, other.served)
		}
	}
}

// TestProblems: every error of the protocol becomes a problem with the status of the table, and is
// the same error when it is read.
func TestProblems(t *testing.T) {
	for _, row := range parley.Errors {
		p := parley.ToProblem(row.Err, row.HTTP)
		if p.Type != "urn:parley:error:"+row.Reason() || p.Status != row.HTTP || p.Code != row.Code ||
			strings.Contains(p.Title, "_") || p.Detail == "" {
			t.Errorf("%s: %+v", row.Reason(), p)
		}
		if back := parley.ErrorRowOf(parley.FromProblem(p)); back != row {
			t.Errorf("%s comes back as %s", row.Reason(), back.Reason())
		}
	}
}
