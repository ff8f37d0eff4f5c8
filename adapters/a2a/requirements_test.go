package a2a

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// requirement is a requirement of specification 1.0, with the id of its conformance kit (branch
// 1.0-dev) or, if the kit has none, the section.
type requirement struct {
	id    string
	level string // MUST, SHOULD or MAY
	what  string
	test  func(t *testing.T)
}

// frontRequirements are the requirements outside of operations: cards, versions, bindings, errors
// and the form of streams. Those on signatures, clients and gRPC are left out, because this package
// has none of them.
var frontRequirements = []requirement{
	{"CARD-DISC-001", "MUST", "a card is there, without a token", func(t *testing.T) {
		w := newFrontWorld(t, func(o *Options) {
			o.Connect = func(*http.Request) (parley.Client, func(), error) { return nil, nil, parley.ErrUnauthenticated }
		})
		holds(t, w.do("GET", w.url+cardPath, ""), 200, "name", "echo")
	}},
	{"CARD-PROTO-001", "MUST", "the card declares each binding and version that is served", func(t *testing.T) {
		w := newFrontWorld(t, nil)
		r := w.do("GET", w.url+cardPath, "", versionHeader, "1.0")
		for i, want := range []string{"JSONRPC 1.0", "HTTP+JSON 1.0", "JSONRPC 0.3", "HTTP+JSON 0.3"} {
			at := "supportedInterfaces." + string(rune('0'+i)) + "."
			binding, _ := r.json(t, at+"protocolBinding").(string)
			v, _ := r.json(t, at+"protocolVersion").(string)
			if binding+" "+v != want {
				t.Errorf("interface %d is %s %s and not %s", i, binding, v, want)
			}
		}
	}},
	{"CARD-PROTO-002", "MUST", "at each address of the card its binding and version are spoken", func(t *testing.T) {
		w := newFrontWorld(t, nil)
		for name, client := range libraryClients(t, w.do("GET", w.url+cardPath, "").json(t,
			"supportedInterfaces.0.url").(string)) {
			if _, err := client.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t"}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}},
	{"CARD-STRUCT-001", "MUST", "the card has all that is required, and nothing that is not of 1.0 for who says 1.0",
		func(t *testing.T) {
			w := newFrontWorld(t, nil)
			r := w.do("GET", w.url+cardPath, "", versionHeader, "1.0")
			for _, name := range []string{"name", "description", "supportedInterfaces.0", "version", "capabilities",
				"defaultInputModes.0", "defaultOutputModes.0", "skills.0.id", "skills.0.name", "skills.0.description",
				"skills.0.tags.0"} {
				if r.json(t, name) == nil {
					t.Errorf("%s is missing", name)
				}
			}
			for _, name := range []string{"url", "preferredTransport", "additionalInterfaces", "protocolVersion",
				"supportsAuthenticatedExtendedCard", "security"} {
				if r.json(t, name) != nil {
					t.Errorf("%s is of 0.3", name)
				}
			}
		}},
	{"CARD-EXT-001", "MUST", "the extended card is for who is authenticated", func(t *testing.T) {
		w := newFrontWorld(t, func(o *Options) {
			o.Bearer = true
			o.Connect = func(*http.Request) (parley.Client, func(), error) { return nil, nil, parley.ErrUnauthenticated }
		})
		holds(t, w.do("GET", w.url+"/extendedAgentCard", ""), 401, "error.status", "UNAUTHENTICATED")
		holds(t, w.rpc("GetExtendedAgentCard", `{}`), 401, "error.code", -31401.0)
	}},
	{"CARD-CACHE-001", "SHOULD", "the card has Cache-Control with max-age",
		func(t *testing.T) { hasHeader(t, "Cache-Control", "max-age=") }},
	{"CARD-CACHE-002", "SHOULD", "the card has an ETag", func(t *testing.T) { hasHeader(t, "ETag", `"`) }},
	{"CARD-CACHE-003", "MAY", "the card has Last-Modified", func(t *testing.T) { hasHeader(t, "Last-Modified", "GMT") }},
	{"VER-SERVER-001", "MUST", "a request is served as the version that it names", func(t *testing.T) {
		w := newFrontWorld(t, nil)
		holds(t, w.rpc("GetTask", `{"id":"t"}`, versionHeader, "1.0"), 200, "result.status.state", "TASK_STATE_COMPLETED")
		holds(t, w.rpc("tasks/get", `{"id":"t"}`, versionHeader, "0.3"), 200, "result.status.state", "completed")
	}},
	{"VER-SERVER-002", "MUST", "a version that is not supported is refused as such", func(t *testing.T) {
		w := newFrontWorld(t, nil)
		holds(t, w.rpc("GetTask", `{"id":"t"}`, versionHeader, "99.0"), 200, "error.code", -32009.0)
		holds(t, w.do("GET", w.url+"/tasks/t", "", versionHeader, "99.0"), 400, "error.details.0.reason",
			"VERSION_NOT_SUPPORTED")
	}},
	{"VER-SERVER-003", "MUST", "no version is 0.3; by the letter with Options.Strict, and else for all that is not " +
		"clearly 1.0", func(t *testing.T) {
		w := newFrontWorld(t, func(o *Options) { o.Strict = true })
		holds(t, w.rpc("tasks/get", `{"id":"t"}`), 200, "result.kind", "task")
		holds(t, w.rpc("GetTask", `{"id":"t"}`), 200, "error.code", -32009.0)
		lenient := newFrontWorld(t, nil)
		holds(t, lenient.rpc("tasks/get", `{"id":"t"}`, versionHeader, ""), 200, "result.kind", "task")
	}},
	{"VER-CLIENT-002", "MUST", "patch numbers do not count", func(t *testing.T) {
		w := newFrontWorld(t, nil)
		holds(t, w.rpc("GetTask", `{"id":"t"}`, versionHeader, "1.0.7"), 200, "error", nil)
	}},
	{"JSONRPC-SVC-002", "MUST", "service parameters come as headers in both bindings, whatever the case of their names",
		func(t *testing.T) {
			w := newFrontWorld(t, nil)
			for _, path := range []string{"", "/tasks/t"} {
				verb, body := "GET", ""
				if path == "" {
					verb, body = "POST", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}`
				}
				r := w.do(verb, w.url+path, body, "a2a-version", "1.0", "a2a-extensions", TraceExtension)
				if _, from, _ := w.methods.take(); !from.traces || r.header.Get("A2A-Extensions") != TraceExtension {
					t.Errorf("%q: traces %v", path, from.traces)
				}
			}
		}},
	{"JSONRPC-FMT-002", "MUST", "JSON-RPC 2.0 over HTTP POST, as application/json", func(t *testing.T) {
		w := newFrontWorld(t, nil)
		r := w.rpc("GetTask", `{"id":"t"}`)
		holds(t, r, 200, "jsonrpc", "2.0")
		if r.header.Get("Content-Type") != "application/json" {
			t.Errorf("the answer is %s", r.header.Get("Content-Type"))
		}
		holds(t, w.do("GET", w.url, ""), 405, "error.code", 405.0)
	}},
	{"JSONRPC-SVC-001", "MUST", "the methods have the names of the specification", TestRPCMethods},
	{"JSONRPC-SSE-002", "MUST", "errors have the codes of JSON-RPC and of A2A, and an ErrorInfo in a list of details",
		TestErrors},
	{"JSONRPC-ERR-001", "MUST", "errors are objects of JSON-RPC: a code, a message and data", func(t *testing.T) {
		w := newFrontWorld(t, nil)
		w.methods.answer = func(context.Context, any) (any, error) { return nil, a2a.ErrTaskNotFound }
		r := w.rpc("GetTask", `{"id":"t"}`)
		holds(t, r, 200, "error.code", -32001.0)
		holds(t, r, 200, "error.message", "task not found")
		holds(t, r, 200, "result", nil)
	}},
	{"JSONRPC-ERR-002", "MUST", "errors of A2A have codes from -32001 to -32099", func(t *testing.T) {
		w := newFrontWorld(t, nil)
		for _, err := range []error{a2a.ErrTaskNotFound, a2a.ErrTaskNotCancelable, a2a.ErrPushNotificationNotSupported,
			a2a.ErrUnsupportedOperation, a2a.ErrUnsupportedContentType,
			a2a.ErrInvalidAgentResponse, a2a.ErrExtendedCardNotConfigured, a2a.ErrExtensionSupportRequired,
			a2a.ErrVersionNotSupported} {
			w.methods.answer = func(context.Context, any) (any, error) { return nil, err }
			if code := w.rpc("GetTask", `{"id":"t"}`).code(t); code > -32001 || code < -32099 {
				t.Errorf("%v has code %d", err, code)
			}
		}
	}},
	{"JSONRPC-FMT-001", "MUST", "what is no request is refused with the codes of JSON-RPC, under the id where there is " +
		"one", TestRPCEnvelope},
	{"JSONRPC-SSE-001", "MUST", "a stream over JSON-RPC is of Server-Sent Events, each with an answer of the request's id",
		func(t *testing.T) {
			w := newFrontWorld(t, nil)
			eachEvent(t, w.rpc("SendStreamingMessage", `{"message":`+message10+`}`),
				func(r *reply) { holds(t, r, 200, "id", 1.0) })
		}},
	{"HTTP_JSON-URL-001", "MUST", "the addresses of HTTP+JSON are those of the specification", TestRESTRoutes},
	{"HTTP_JSON-URL-002", "MUST", "their methods of HTTP are", TestRESTRefused},
	{"HTTP_JSON-SVC-001", "SHOULD", "application/a2a+json is spoken to who speaks it", TestRESTMedia},
	{"HTTP_JSON-SVC-002", "MUST", "service parameters come as headers", TestExtensions},
	{"HTTP_JSON-QP-001", "MUST", "parameters in a query have names in camelCase", func(t *testing.T) {
		w := newFrontWorld(t, nil)
		w.do("GET", w.url+"/tasks?contextId=x&pageSize=5&pageToken=p", "")
		if got, _, _ := w.methods.take(); got == nil || *got.(*a2a.ListTasksRequest) != (a2a.ListTasksRequest{ContextID: "x",
			PageSize: 5, PageToken: "p"}) {
			t.Errorf("asked %+v", got)
		}
	}},
	{"HTTP_JSON-ERR-001", "MUST", "errors are as AIP-193 says", func(t *testing.T) {
		r := notFound(t)
		holds(t, r, 404, "error.code", 404.0)
		holds(t, r, 404, "error.status", "NOT_FOUND")
		holds(t, r, 404, "error.message", "task not found")
	}},
	{"HTTP_JSON-ERR-002", "MUST", "and have an ErrorInfo", func(t *testing.T) {
		r := notFound(t)
		holds(t, r, 404, "error.details.0.@type", "type.googleapis.com/google.rpc.ErrorInfo")
		holds(t, r, 404, "error.details.0.reason", "TASK_NOT_FOUND")
		holds(t, r, 404, "error.details.0.domain", "a2a-protocol.org")
	}},
	{"HTTP_JSON-STATUS-001", "MUST", "each error has its HTTP status", TestErrors},
	{"HTTP_JSON-SSE-001", "MUST", "a stream over HTTP+JSON is of Server-Sent Events with a StreamResponse each",
		func(t *testing.T) {
			w := newFrontWorld(t, nil)
			eachEvent(t, w.do("POST", w.url+"/message:stream", `{"message":`+message10+`}`), func(r *reply) {
				if r.json(t, "task") == nil && r.json(t, "statusUpdate") == nil {
					t.Errorf("an event is %s", r.body)
				}
			})
		}},
	{"STREAM-ORDER-001", "MUST", "events come in the order in which they were made", TestStreamFlushes},
	{"STREAM-SUB-003", "MUST", "an error before a stream begins is an answer, not an event", TestStreamRefused},
	{"3.3.2", "MUST", "a body that is not JSON by its Content-Type is refused as such", TestRESTMedia},
}

func TestFrontRequirements(t *testing.T) {
	for _, r := range frontRequirements {
		t.Run(r.level+" "+r.id, r.test)
	}
}

// holds compares the status of a response and a value in it.
func holds(t *testing.T, r *reply, status int, path string, want any) {
	t.Helper()
	if got := r.json(t, path); r.status != status || got != want {
		t.Errorf("HTTP %d and not %d, %s is %v and not %v: %s", r.status, status, path, got, want, r.body)
	}
}

func hasHeader(t *testing.T, name, part string) {
	t.Helper()
	w := newFrontWorld(t, nil)
	if got := w.do("GET", w.url+cardPath, "").header.Get(name); !strings.Contains(got, part) {
		t.Errorf("%s is %q", name, got)
	}
}

// notFound requests a missing task.
func notFound(t *testing.T) *reply {
	t.Helper()
	w := newFrontWorld(t, nil)
	w.methods.answer = func(context.Context, any) (any, error) { return nil, a2a.ErrTaskNotFound }
	return w.do("GET", w.url+"/tasks/t", "")
}

// eachEvent calls visit with the data of each event of a stream.
func eachEvent(t *testing.T, r *reply, visit func(*reply)) {
	t.Helper()
	n := 0
	for line := range strings.SplitSeq(r.body, "\n") {
		if data, is := strings.CutPrefix(line, "data: "); is {
			n++
			visit(&reply{r.status, r.header, data})
		}
	}
	if n == 0 || r.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%d events in %s: %s", n, r.header.Get("Content-Type"), r.body)
	}
}
