package rpc

// White-box: what stands between a URL and the decoder is not seen from outside.

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

func routeOf(t testing.TB, method string) *route {
	for _, rt := range routes {
		if rt.method.Name == method {
			return rt
		}
	}
	t.Fatalf("%s has no route", method)
	return nil
}

// FuzzQuery: whatever stands in a URL becomes one JSON object, and what is taken of it is what the URL says, each name once.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"sinceSeq=1&limit=2&timeoutMs=3&until=any", "sinceSeq=01", "limit=1&limit=1", "until=%22%7d", "until=a%00b", "sinceSeq=9007199254740992", "a=b;c=d", "%zz", "=", "&&", "limit=-0",
	} {
		f.Add("case", q)
	}
	rt := routeOf(f, parley.MethodGetUpdates)
	f.Fuzz(func(t *testing.T, id, rawQuery string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/", RawQuery: rawQuery}}
		r.SetPathValue("conversationId", id)
		params, err := rt.params(r, nil)
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

// FuzzBody: a body is taken in one way only, with what the path says and nothing else in its place.
func FuzzBody(f *testing.F) {
	for _, b := range []string{`{}`, ` { "finality":"turn" } `, `{"conversationId":"x"}`, `{"a":{}}{}`, `}`, `{"conversationid":"x"}`, `{"\u0063onversationId":"x"}`, ``, `[]`, "{\"a\":\"\xff\"}"} {
		f.Add("case", []byte(b))
	}
	rt := routeOf(f, parley.MethodCloseConversation)
	f.Fuzz(func(t *testing.T, id string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.SetPathValue("conversationId", id)
		params, err := rt.params(r, body)
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
