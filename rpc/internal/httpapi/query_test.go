package httpapi

// White-box: the params between a URL and the decoder are not visible from outside.

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// testMethods is the table of all methods, without the handlers of package rpc.
var testMethods = calls.NewTable(calls.Table{
	methods.Authenticate: calls.NewHandler[parley.AuthenticateParams, parley.AuthenticateResult](false, nil),
	methods.Subscribe:    calls.NewHandler[parley.SubscribeParams, parley.SubscribeResult](true, nil),
	methods.Unsubscribe:  calls.NewHandler[parley.UnsubscribeParams, parley.EmptyResult](true, nil),
})

func routeOf(t testing.TB, method string) *route {
	for _, rt := range newRoutes(testMethods) {
		if rt.method.Name == method {
			return rt
		}
	}
	t.Fatalf("%s has no route", method)
	return nil
}

// FuzzQuery: any query becomes one JSON object or is refused, and the params have the values of the
// query, each name once.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"sinceSeq=1&limit=2&timeoutMs=3&until=any", "sinceSeq=01", "limit=1&limit=1", "until=%22%7d",
		"until=a%00b", "sinceSeq=9007199254740992", "a=b;c=d", "%zz", "=", "&&", "limit=-0",
	} {
		f.Add("case", q)
	}
	rt := routeOf(f, methods.GetUpdates)
	f.Fuzz(func(t *testing.T, id, rawQuery string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/", RawQuery: rawQuery}}
		r.SetPathValue("conversationId", id)
		params, err := rt.readParams(r, nil)
		if err != nil {
			return
		}
		if !json.Valid(params) {
			t.Fatalf("%q is made %q, which is not JSON", rawQuery, params)
		}
		var q parley.GetUpdatesParams
		if wire.Decode(params, &q) != nil {
			return
		}
		query, err := url.ParseQuery(rawQuery)
		if err != nil || q.ConversationID != id || q.Until != parley.Until(query.Get("until")) {
			t.Errorf("%q for %q is taken as %+v", rawQuery, id, q)
		}
		for name, n := range map[string]int64{"sinceSeq": q.SinceSeq, "limit": int64(q.Limit), "timeoutMs": q.TimeoutMs} {
			said, _ := strconv.ParseInt(query.Get(name), 10, 64) // nothing is 0
			if said != n || len(query[name]) > 1 {
				t.Errorf("%s is taken as %d of %q", name, n, query[name])
			}
		}
	})
}

// FuzzBody: a body has one meaning only, and the params in the path have the values of the path.
func FuzzBody(f *testing.F) {
	for _, b := range []string{
		`{}`, ` { "finality":"turn" } `, `{"conversationId":"x"}`, `{"a":{}}{}`, `}`, `{"conversationid":"x"}`,
		`{"\u0063onversationId":"x"}`, ``, `[]`, "{\"a\":\"\xff\"}",
	} {
		f.Add("case", []byte(b))
	}
	rt := routeOf(f, methods.CloseConversation)
	f.Fuzz(func(t *testing.T, id string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.SetPathValue("conversationId", id)
		params, err := rt.readParams(r, body)
		if err != nil {
			return
		}
		if !json.Valid(params) {
			t.Fatalf("%q is made %q, which is not JSON", body, params)
		}
		var q parley.CloseConversationParams
		if wire.Decode(params, &q) == nil && q.ConversationID != id {
			t.Errorf("%q for %q is taken as %+v", body, id, q)
		}
	})
}

// TestRoutesThatCannotBeServed: the start of the program fails.
func TestRoutesThatCannotBeServed(t *testing.T) {
	for _, m := range []methods.Method{
		{Name: methods.Tail, Route: "PUT /tail"},
		{Name: methods.Tail, Route: "GET /tail/"},
		{Name: methods.Tail, Route: "/tail"},
		{Name: methods.Tail, Route: "GET /tail/{conversation}"},
		{Name: methods.GetGuidance, Route: "GET /guidance/{explain}"},
		{Name: methods.SendMessage, Route: "DELETE /conversations/{conversationId}"},
		{Name: "noSuchMethod", Route: "GET /tail"},
	} {
		if !panics(func() { newRoute(testMethods, m) }) {
			t.Errorf("%s at %s is taken", m.Name, m.Route)
		}
	}
	for _, m := range []methods.Method{
		{Name: methods.Tail, Route: "GET /conversations/{conversationId}/tail"},
		{Name: methods.Tail, Route: "GET /conversations/{conversationId}/tail/{sinceSeq}"},
	} {
		if panics(func() { newRoute(testMethods, m) }) {
			t.Errorf("%s at %s is not taken", m.Name, m.Route)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
