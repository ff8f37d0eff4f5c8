package a2a

import (
	"net/http"
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	lenient, strict := newFrontWorld(t, nil), newFrontWorld(t, func(o *Options) { o.Strict = true })
	const refused = -32009
	for _, c := range []struct {
		method, header, query string
		code, strict          int
	}{
		{"GetTask", "1.0", "", 0, 0},
		{"GetTask", "1.0.1", "", 0, 0},
		{"GetTask", " 1.0 ", "", 0, 0},
		{"GetTask", "", "1.0", 0, 0},
		{"GetTask", "1.0", "99.0", 0, 0},
		{"GetTask", "", "", 0, refused},
		{"GetTask", "0.3", "", -32601, -32601},
		{"GetTask", "99.0", "", refused, refused},
		{"GetTask", "", "99.0", refused, refused},
		{"GetTask", "1", "", refused, refused},
		{"GetTask", "1.1", "", refused, refused},
		{"GetTask", "1.0.x", "", refused, refused},
		{"GetTask", "1.0.1.1", "", refused, refused},
		{"GetTask", "v1.0", "", refused, refused},
		{"tasks/get", "0.3", "", 0, 0},
		{"tasks/get", "0.3.0", "", 0, 0},
		{"tasks/get", "", "", 0, 0},
		{"tasks/get", "1.0", "", -32601, -32601},
		{"tasks/get", "0.2", "", refused, refused},
	} {
		for name, w := range map[string]*frontWorld{"lenient": lenient, "strict": strict} {
			want := c.code
			if name == "strict" {
				want = c.strict
			}
			r := w.do(http.MethodPost, w.url+"?A2A-Version="+c.query,
				`{"jsonrpc":"2.0","id":1,"method":"`+c.method+`","params":{"id":"t"}}`, versionHeader, c.header)
			if r.code(t) != want || r.status != http.StatusOK {
				t.Errorf("%s, %s, header %q, query %q: %s", name, c.method, c.header, c.query, r.body)
			}
			if want == refused && (!strings.Contains(r.body, "1.0") || !strings.Contains(r.body, "0.3")) {
				t.Errorf("the refusal does not say what is supported: %s", r.body)
			}
		}
	}
	for _, c := range []struct {
		path, header   string
		status, strict int
	}{
		{"/tasks/t", "1.0", 200, 200}, {"/tasks/t", "1.0.9", 200, 200}, {"/tasks/t", "", 200, 400}, {"/tasks/t", "0.3", 400,
			400}, {"/tasks/t", "99.0", 400, 400},
		{"/v1/tasks/t", "0.3", 200, 200}, {"/v1/tasks/t", "", 200, 200}, {"/v1/tasks/t", "1.0", 400, 400},
		{"/v1/tasks/t", "99.0", 400, 400},
	} {
		for name, w := range map[string]*frontWorld{"lenient": lenient, "strict": strict} {
			want := c.status
			if name == "strict" {
				want = c.strict
			}
			r := w.do(http.MethodGet, w.url+c.path, "", versionHeader, c.header)
			if r.status != want || want == 400 && !strings.Contains(r.body, "VERSION_NOT_SUPPORTED") {
				t.Errorf("%s, %s, header %q: HTTP %d %s", name, c.path, c.header, r.status, r.body)
			}
		}
	}
}

// Supported extensions that a request names are activated and returned. Only callers that ask for
// traces receive them.
func TestExtensions(t *testing.T) {
	w := newFrontWorld(t, nil)
	for _, c := range []struct {
		method, header, asked, told, says string
		traces                            bool
	}{
		{"GetTask", "A2A-Extensions", TraceExtension, "A2A-Extensions", TraceExtension, true},
		{"GetTask", "A2A-Extensions", "https://example.com/x, " + TraceExtension + "," + CursorExtension, "A2A-Extensions",
			TraceExtension + ", " + CursorExtension, true},
		{"GetTask", "A2A-Extensions", CursorExtension, "A2A-Extensions", CursorExtension, false},
		{"GetTask", "A2A-Extensions", "https://example.com/x", "A2A-Extensions", "", false},
		{"GetTask", "X-A2A-Extensions", TraceExtension, "A2A-Extensions", TraceExtension, true},
		{"tasks/get", "X-A2A-Extensions", TraceExtension, "X-A2A-Extensions", TraceExtension, true},
		{"tasks/get", "X-None", "", "X-A2A-Extensions", "", false},
	} {
		r := w.rpc(c.method, `{"id":"t"}`, c.header, c.asked)
		if _, from, _ := w.methods.take(); from.traces != c.traces || r.header.Get(c.told) != c.says {
			t.Errorf("%s %s: %s: traces %v, told %q", c.method, c.header, c.asked, from.traces, r.header.Get(c.told))
		}
	}
}
