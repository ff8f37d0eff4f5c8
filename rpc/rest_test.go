package rpc_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// httpAnswer is an answer over plain HTTP.
type httpAnswer struct {
	status int
	header http.Header
	body   string
}

func (a httpAnswer) String() string { return fmt.Sprintf("HTTP %d %s", a.status, a.body) }

// reason returns the reason of a problem; empty for any other answer.
func (a httpAnswer) reason() string {
	var p parley.Problem
	if a.header.Get("Content-Type") != parley.ProblemType || json.Unmarshal([]byte(a.body), &p) != nil {
		return ""
	}
	return p.Reason
}

// plain makes a request over plain HTTP. A body is JSON unless header says otherwise.
func (w *world) plain(header http.Header, verb, target, body string) httpAnswer {
	w.t.Helper()
	resp := w.do(header, verb, target, body)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", verb, target, err)
	}
	return httpAnswer{resp.StatusCode, resp.Header, string(b)}
}

func (w *world) do(header http.Header, verb, target, body string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), verb, "http://"+w.addr+target, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = header.Clone()
	if r.Header.Get("Content-Type") == "" && verb == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := w.client().Transport.RoundTrip(r) // no redirects, no cookies
	if err != nil {
		w.t.Fatalf("%s %s: %v", verb, target, err)
	}
	return resp
}

// speaks are the headers of one who speaks as id, and more pairs of names and values.
func speaks(id string, more ...string) http.Header {
	h := bearer(devToken)
	h.Set("Parley-Agent", id)
	for i := 0; i < len(more); i += 2 {
		h.Add(more[i], more[i+1])
	}
	return h
}

const messages = "/conversations/case/messages"

func TestPlainHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		deep := strings.Repeat(`{"a":`, limits.MaxDepth) + "1" + strings.Repeat("}", limits.MaxDepth)
		hello := `{"payload":{"text":"hello"},"finality":"none"}`
		for _, c := range []struct {
			name   string
			header http.Header
			verb   string
			target string
			body   string
			status int
			want   string // in the body
		}{
			{"list", speaks("alice"), "GET", "/conversations?status=active&limit=1", "", 200,
				`{"conversations":[{"conversationId":"case"`},
			{"snapshot", speaks("alice"), "GET", "/conversations/case?sinceSeq=1&limit=2", "", 200, `"events":[],"nextSeq":1}`},
			{"head", speaks("alice"), "HEAD", "/conversations/case", "", 200, ``},
			{"guidance", speaks("alice"), "GET", "/conversations/case/guidance?explain=true", "", 200, `"rules":[`},
			{"guidance without", speaks("alice"), "GET", "/conversations/case/guidance?explain=false", "", 200,
				`"latestSeq":1}`},
			{"updates", speaks("alice"), "GET", "/conversations/case/updates?until=my_turn", "", 200,
				`{"messages":[],"guidance":{"kind":"may_speak"`},
			{"wait", speaks("alice"), "GET", "/conversations/case/wait?sinceSeq=0", "", 200, `{"latestSeq":1,"timedOut":false}`},
			{"agents", speaks("alice"), "GET", "/agents", "", 200, `{"agents":[`},
			{"send", speaks("alice"), "POST", messages, hello, 201, `{"seq":2,"turn":1}`},
			{"send, escaped path", speaks("alice"), "POST", "/%63onversations/c%61se/messages", hello, 201,
				`{"seq":3,"turn":1}`},
			{"trace", speaks("alice"), "POST", "/conversations/case/traces", `{"payload":{"kind":"thought"}}`, 201,
				`{"seq":4,"turn":1}`},
			{"note", speaks("bob"), "POST", "/conversations/case/notes", `{"payload":{"schema":"s","data":1}}`, 201,
				`{"seq":5}`},
			{"add", speaks("alice"), "POST", "/conversations/case/participants", `{"participant":{"id":"carol","kind":"human"}}`,
				201, `{"seq":6}`},
			{"add again", speaks("alice"), "POST", "/conversations/case/participants",
				`{"participant":{"id":"carol","kind":"human"}}`, 200, `{"seq":6,"duplicate":true}`},
			{"not the turn", speaks("bob"), "POST", messages, hello, 409,
				`"code":4090,"reason":"not_your_turn","retryable":false,"guidance":{"kind":"wait"`},
			{"token", speaks("admin"), "POST", "/tokens", `{"agentId":"alice"}`, 201, `"token":"plt_`},
			{"tokens", speaks("admin"), "GET", "/tokens?limit=1", "", 200, `{"tokens":[`},
			{"ticket", speaks("alice"), "POST", "/tickets", ``, 201, `"expiresInMs":30000}`},
			{"revoke", speaks("admin"), "DELETE", "/tokens/t7", "", 404, `"reason":"not_found"`},
			{"stats", speaks("alice"), "GET", "/stats", "", 200, `"eventsAppended":{`},

			{"unknown path", speaks("alice"), "GET", "/conversation", "", 404, `"reason":"method_not_found"`},
			{"the root", speaks("alice"), "GET", "/", "", 404, `"reason":"method_not_found"`},
			{"wrong verb", speaks("alice"), "PUT", "/conversations/case", "", 405, `"expected":"GET, HEAD"`},
			{"a verb of nobody's", speaks("alice"), "BREW", messages, "", 405, `"expected":"POST"`},
			{"conversation absent", speaks("alice"), "GET", "/conversations/none", "", 404, `"reason":"not_found"`},
			{"cursor ahead", speaks("alice"), "GET", "/conversations/case/wait?sinceSeq=99", "", 410, `"cursor_ahead"`},

			{"unknown query", speaks("alice"), "GET", "/conversations/case?since=1", "", 400,
				`since is not a param of this method`},
			{"wrongly cased query", speaks("alice"), "GET", "/conversations/case?sinceseq=1", "", 400, `"expected":"sinceSeq"`},
			{"twice in the query", speaks("alice"), "GET", "/conversations/case?limit=1&limit=1", "", 400,
				`limit is there twice`},
			{"in path and query", speaks("alice"), "GET", "/conversations/case?conversationId=case", "", 400,
				`conversationId is there twice`},
			{"missing", speaks("alice"), "GET", "/conversations/case/wait", "", 400, `sinceSeq is missing`},
			{"no integer", speaks("alice"), "GET", "/conversations/case?limit=ten", "", 400, `"expected":"an integer"`},
			{"hexadecimal", speaks("alice"), "GET", "/conversations/case?limit=0x10", "", 400, `"expected":"an integer"`},
			{"exponent", speaks("alice"), "GET", "/conversations/case?limit=1e2", "", 400, `"expected":"an integer"`},
			{"plus sign", speaks("alice"), "GET", "/conversations/case?limit=%2B1", "", 400, `"expected":"an integer"`},
			{"leading zero", speaks("alice"), "GET", "/conversations/case?limit=010", "", 400, `"expected":"an integer"`},
			{"over 2^53", speaks("alice"), "GET", "/conversations/case?sinceSeq=9007199254740992", "", 400, `2^53-1`},
			{"over 2^64", speaks("alice"), "GET", "/conversations/case?sinceSeq=99999999999999999999", "", 400, `2^53-1`},
			{"negative", speaks("alice"), "GET", "/conversations/case/wait?sinceSeq=-1", "", 400, `"validation_failed"`},
			{"huge limit", speaks("alice"), "GET", "/conversations/case?limit=1000000000", "", 400, `"validation_failed"`},
			{"limit 0", speaks("alice"), "GET", "/conversations/case?limit=0", "", 400, `limit is 0`},
			{"no boolean", speaks("alice"), "GET", "/conversations/case/guidance?explain=1", "", 400,
				`"expected":"true or false"`},
			{"empty", speaks("alice"), "GET", "/conversations/case/updates?until=", "", 400, `until is an empty string`},
			{"semicolons", speaks("alice"), "GET", "/conversations/case?limit=1;sinceSeq=1", "", 400, `cannot be read`},
			{"no UTF-8 in the query", speaks("alice"), "GET", "/conversations?cursor=%ff", "", 400, `cursor is not valid UTF-8`},
			{"no UTF-8 in the path", speaks("alice"), "GET", "/conversations/%ff", "", 400, `conversationId is not valid UTF-8`},
			{"token in the query", http.Header{}, "GET", "/conversations?token=dev", "", 401, `"unauthenticated"`},
			{"query with a POST", speaks("alice"), "POST", messages + "?finality=turn", hello, 400, `the request has a query`},
			{"include what", speaks("alice"), "GET", "/conversations/case/wait?sinceSeq=0&include=all", "", 400,
				`"expected":"events"`},
			{"limit of no events", speaks("alice"), "GET", "/conversations/case/wait?sinceSeq=0&limit=1", "", 400,
				`include=events`},
			{"limit of events", speaks("alice"), "GET",
				"/conversations/case/wait?sinceSeq=6&timeoutMs=60000&include=events&limit=1001", "", 400, `"expected":"1 to 1000"`},

			{"unknown member", speaks("alice"), "POST", messages, `{"payload":{"text":"a"},"finality":"none","from":"bob"}`, 400,
				`from is not a param`},
			{"in path and body", speaks("alice"), "POST", messages,
				`{"conversationId":"case","payload":{"text":"a"},"finality":"none"}`, 400, `conversationId is there twice`},
			{"twice in the body", speaks("alice"), "POST", messages, `{"finality":"none","payload":{"text":"a","text":"b"}}`,
				400, `payload.text is there twice`},
			{"no claim", speaks("alice"), "POST", messages, `{"payload":{"text":"a"},"finality":"none","claimId":"c"}`, 400,
				`claimId is not acceptable`},
			{"half a pair", speaks("alice"), "POST", messages, `{"payload":{"text":"\ud800"},"finality":"none"}`, 400,
				`"invalid_params"`},
			{"not JSON", speaks("alice"), "POST", messages, `{`, 400, `"parse_error"`},
			{"two values", speaks("alice"), "POST", messages, hello + hello, 400, `"parse_error"`},
			{"a list", speaks("alice"), "POST", messages, `[` + hello + `]`, 400, `"invalid_request"`},
			{"too deep", speaks("alice"), "POST", messages, deep, 400, `deeper than 63 levels`},
			{"nothing", speaks("alice"), "POST", messages, ``, 400, `payload is missing`},
			{"a body with GET", speaks("alice"), "GET", "/conversations", `{}`, 400, `the request has a body`},
			{"a body with DELETE", speaks("alice"), "DELETE", "/tokens/x", `{}`, 400, `the request has a body`},
			{"too large", speaks("alice"), "POST", messages, `{` + strings.Repeat(" ", parley.MaxFrameBytes), 413,
				`"too_large"`},
			{"compressed", speaks("alice", "Content-Encoding", "gzip"), "POST", messages, hello, 415, `"invalid_request"`},
			{"compressed, after nothing", speaks("alice", "Content-Encoding", "", "Content-Encoding", "gzip"), "POST", messages,
				hello, 415, `"invalid_request"`},
			{"two types", speaks("alice", "Content-Type", "application/json", "Content-Type", "text/plain"), "POST", messages,
				hello, 415, `"invalid_request"`},
			{"form", speaks("alice", "Content-Type", "application/x-www-form-urlencoded"), "POST", messages, `payload=x`, 415,
				`"invalid_request"`},
			{"plain text", speaks("alice", "Content-Type", "text/plain"), "POST", messages, hello, 415, `"invalid_request"`},
			{"multipart", speaks("alice", "Content-Type", "multipart/form-data; boundary=x"), "POST", messages, hello, 415,
				`"invalid_request"`},

			{"no token", http.Header{}, "GET", "/conversations", "", 401, `"unauthenticated"`},
			{"bad token", bearer("plt_x_y"), "GET", "/conversations", "", 401, `"unauthenticated"`},
			{"two tokens", http.Header{"Authorization": {"Bearer dev", "Bearer dev"}}, "GET", "/conversations", "", 401,
				`"unauthenticated"`},
			{"two agents", speaks("alice", "Parley-Agent", "bob"), "GET", "/conversations", "", 403, `"forbidden"`},
		} {
			a := w.plain(c.header, c.verb, c.target, c.body)
			if a.status != c.status || !strings.Contains(a.body, c.want) {
				t.Errorf("%s: %v", c.name, a)
			}
			if problem := a.header.Get("Content-Type") == parley.ProblemType; problem != (a.status >= 400) {
				t.Errorf("%s: HTTP %d as %s", c.name, a.status, a.header.Get("Content-Type"))
			}
			if (a.status == 401) != (a.header.Get("WWW-Authenticate") != "") ||
				(a.status == 405) != (a.header.Get("Allow") != "") {
				t.Errorf("%s: HTTP %d with %v", c.name, a.status, a.header)
			}
			if a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %v", c.name, a.header)
			}
			for _, never := range []string{"Set-Cookie", "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials"} {
				if a.header.Get(never) != "" {
					t.Errorf("%s: %s: %s", c.name, never, a.header.Get(never))
				}
			}
		}
	})
}

// TestPathsThatAreNone: no path avoids the check of the origin or redirects, and an invalid id
// finds nothing.
func TestPathsThatAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		for _, id := range []string{
			"%2e%2e", "..%2f..%2fetc%2fpasswd", "case%2f", "%2fcase", "case%00", "%00", "case%0a", "case%20", "~tokens", "CASE",
			"case%5c..", strings.Repeat("a", 300), "%F0%9F%98%80",
		} {
			for _, tail := range []string{"", "/wait?sinceSeq=0", "/events", "/guidance"} {
				if a := w.plain(speaks("alice"), "GET", "/conversations/"+id+tail, ""); a.reason() != "not_found" &&
					!(id == "~tokens" && a.status == 200) {
					t.Errorf("%s%s: %v", id, tail, a)
				}
			}
		}
		for _, target := range []string{
			"//conversations", "/conversations//", "/conversations/", "/conversations/case/", "/conversations//wait",
			"/conversations/./case", "/conversations/../livez",
			"/conversations/case/../../livez", "/livez/", "//livez", "/./livez", "/conversations/case/events/",
			"//evil.com/conversations", "/rpc/", "/%2e/livez", "/conversations%2fcase",
		} {
			if a := w.plain(speaks("alice"), "GET", target, ""); a.status != 404 || a.header.Get("Location") != "" {
				t.Errorf("%s: %v %v", target, a, a.header)
			}
		}
		if status, reason := answered(t, w.begin("GET * HTTP/1.1\nHost: localhost\n\n")); status != 404 ||
			reason != "method_not_found" {
			t.Errorf("*: HTTP %d, %s", status, reason)
		}
		evil := speaks("alice")
		evil.Set("Origin", "https://evil.com")
		for _, target := range []string{"/conversations", "/conversations/case/events", "/conversations//", "/nothing",
			"/stats", "/agents", "/%2e%2e"} {
			if a := w.plain(evil, "GET", target, ""); a.status != 403 || a.reason() != "forbidden" {
				t.Errorf("%s for a page of another's: %v", target, a)
			}
		}
	})
}

// TestIdempotencyKey: the header sets clientRequestId.
func TestIdempotencyKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		create := `{"participants":[{"id":"alice","kind":"peer"},{"id":"bob","kind":"peer"}]}`
		first := w.plain(speaks("alice", "Idempotency-Key", "k"), "POST", "/conversations", create)
		if first.status != 201 || first.header.Get("Location") != "/conversations/"+idOf(first.body) {
			t.Fatalf("%v, Location %s", first, first.header.Get("Location"))
		}
		again := w.plain(speaks("alice", "Idempotency-Key", "k"), "POST", "/conversations", create)
		if again.status != 200 || idOf(again.body) != idOf(first.body) || again.header.Get("Location") != "" {
			t.Errorf("the same again: %v %v", again, again.header)
		}
		target := first.header.Get("Location") + "/messages"
		body := func(text, key string) string {
			return fmt.Sprintf(`{"payload":{"text":%q},"finality":"none"%s}`, text, key)
		}
		for _, c := range []struct {
			name   string
			keys   []string
			body   string
			status int
			want   string
		}{
			{"by header", []string{"k-1"}, body("a", ""), 201, `{"seq":2,"turn":1}`},
			{"again", []string{"k-1"}, body("a", ""), 200, `"duplicate":true`},
			{"again, as a param", nil, body("a", `,"clientRequestId":"k-1"`), 200, `"duplicate":true`},
			{"both the same", []string{"k-1"}, body("a", `,"clientRequestId":"k-1"`), 200, `"duplicate":true`},
			{"both, different", []string{"k-1"}, body("a", `,"clientRequestId":"k-2"`), 400, `"invalid_params"`},
			{"another text", []string{"k-1"}, body("b", ""), 409, `"idempotency_conflict"`},
			{"twice", []string{"k-3", "k-3"}, body("a", ""), 400, `is there twice`},
			{"empty", []string{""}, body("a", ""), 400, `"invalid_params"`},
			{"too long", []string{strings.Repeat("k", 129)}, body("a", ""), 400, `"validation_failed"`},
			{"no UTF-8", []string{"\xff"}, body("a", ""), 400, `"invalid_params"`},
		} {
			h := speaks("alice")
			h["Idempotency-Key"] = c.keys
			if a := w.plain(h, "POST", target, c.body); a.status != c.status || !strings.Contains(a.body, c.want) {
				t.Errorf("%s: %v", c.name, a)
			}
		}
		for _, c := range [][2]string{{"GET", "/conversations"}, {"POST", "/tokens"}, {"DELETE", "/tokens/t1"}} {
			if a := w.plain(speaks("admin", "Idempotency-Key", "k"), c[0], c[1],
				map[string]string{"POST": `{"agentId":"x"}`}[c[0]]); a.reason() != "invalid_params" {
				t.Errorf("a key for what takes none, %v: %v", c, a)
			}
		}
	})
}

func idOf(snapshot string) string {
	var s parley.Snapshot
	_ = json.Unmarshal([]byte(snapshot), &s) // no id then
	return s.ConversationID
}

// TestWaitWithEvents: one request is waitForChange and tail.
func TestWaitWithEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		begin := time.Now()
		a := w.plain(speaks("bob"), "GET", "/conversations/case/wait?sinceSeq=1&timeoutMs=2000&include=events", "")
		if a.body != `{"events":[],"nextSeq":1,"latestSeq":1,"timedOut":true}` || time.Since(begin) != 2*time.Second {
			t.Errorf("nothing came: %v after %v", a, time.Since(begin))
		}
		answered := make(chan httpAnswer)
		go func() {
			answered <- w.plain(speaks("bob"), "GET",
				"/conversations/case/wait?sinceSeq=1&timeoutMs=60000&include=events&limit=5", "")
		}()
		synctest.Wait()
		alice.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"a"},"finality":"none"}`)
		if a := <-answered; a.status != 200 || !strings.HasPrefix(a.body, `{"events":[{"seq":2,`) ||
			!strings.HasSuffix(a.body, `"nextSeq":2,"latestSeq":2,"timedOut":false}`) {
			t.Errorf("a message came: %v", a)
		}
		// bob may not see the next event, but his cursor moves past it.
		alice.must(methods.SendTrace, `{"conversationId":"case","payload":{"kind":"thought"}}`)
		bob := bearer(w.as("admin").token(`{"agentId":"bob"}`))
		if a := w.plain(bob, "GET", "/conversations/case/wait?sinceSeq=2&include=events",
			""); a.body != `{"events":[],"nextSeq":3,"latestSeq":3,"timedOut":false}` {
			t.Errorf("a trace of alice's: %v", a)
		}
	})
}

// TestPlainWaitEnds: a wait ends with its token, its caller, and the hub.
func TestPlainWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		admin.create(twoAgents)
		const target = "/conversations/case/wait?sinceSeq=1&timeoutMs=60000&include=events"
		begin := time.Now()
		token := admin.token(`{"agentId":"alice","expiresInMs":20000}`)
		if a := w.plain(bearer(token), "GET", target, ""); a.status != 401 || a.reason() != "unauthenticated" ||
			time.Since(begin) != 20*time.Second {
			t.Errorf("a token that ends: %v after %v", a, time.Since(begin))
		}
		answered := make(chan httpAnswer)
		go func() { answered <- w.plain(speaks("alice"), "GET", target, "") }()
		synctest.Wait()
		w.hub.Drain()
		if a := <-answered; a.status != 503 || a.reason() != "unavailable" ||
			a.header.Get("Content-Type") != parley.ProblemType {
			t.Errorf("a hub that drains: %v", a)
		}
	})
}

// TestRetryAfter is in whole seconds, rounded up.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{MaxPosts: 1})
		w.as("alice").create(twoAgents)
		resp := make(chan httpAnswer)
		go func() {
			resp <- w.plain(speaks("alice"), "GET", "/conversations/case/wait?sinceSeq=1&timeoutMs=1000", "")
		}()
		synctest.Wait()
		if a := w.plain(speaks("alice"), "GET", "/conversations/case", ""); a.status != 503 || a.reason() != "unavailable" ||
			a.header.Get("Retry-After") != "1" {
			t.Errorf("one request too many: %v %v", a, a.header)
		}
		if a := w.plain(speaks("alice"), "POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.status != 503 ||
			a.header.Get("Retry-After") != "1" {
			t.Errorf("one request too many at /rpc: %v %v", a, a.header)
		}
		if a := <-resp; a.status != 200 {
			t.Error(a)
		}
	})
	err := &parley.Error{Err: parley.ErrRateLimited, RetryAfterMs: 1001}
	if got := calls.Problem(err).Header.Get("Retry-After"); got != "2" {
		t.Errorf("1001 ms are %s s", got)
	}
}

// TestPlainPanic: a call whose handler panics is answered.
func TestPlainPanic(t *testing.T) {
	defer rpc.ReplaceMethod(methods.GetGuidance, func() { panic("a bug") })()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		if a := w.plain(speaks("alice"), "GET", "/conversations/case/guidance", ""); a.status != 500 ||
			a.reason() != "internal" || strings.Contains(a.body, "bug") {
			t.Errorf("the answer is %v", a)
		}
	})
}
