package rpc_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/schema"
	"github.com/parleyhub/parley/rpc/internal/httpapi"
)

// TestSchemasSayWhichRoutesDiffer: OpenRPC describes the difference of each route that differs from
// its method, and of no other.
func TestSchemasSayWhichRoutesDiffer(t *testing.T) {
	var doc struct {
		Methods []struct {
			Name    string
			HTTP    string `json:"x-http"`
			Differs string `json:"x-http-differs"`
		}
	}
	if err := json.Unmarshal(schema.OpenRPC, &doc); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range doc.Methods {
		if m.Differs != "" {
			said = append(said, m.Name)
		}
		if m.Differs != "" && m.HTTP == "" {
			t.Errorf("%s has no route that could differ", m.Name)
		}
	}
	slices.Sort(said)
	if want := httpapi.DifferentMethods(); !slices.Equal(said, want) || len(said) < 4 {
		t.Errorf("x-http-differs stands with %v, and the door treats as special %v", said, want)
	}
}

// routed finds which method a request over plain HTTP is, and what its path names.
type routed struct {
	mux    *http.ServeMux
	method methods.Method
	path   map[string]any
}

func newRouted() *routed {
	r := &routed{mux: http.NewServeMux()}
	for _, m := range methods.Table {
		if m.Route == "" {
			continue
		}
		r.mux.HandleFunc(m.Route, func(_ http.ResponseWriter, req *http.Request) {
			r.method, r.path = m, map[string]any{}
			for _, name := range []string{"conversationId", "sha256", "sessionId", "approvalId", "tokenId"} {
				if value := req.PathValue(name); value != "" {
					r.path[name] = value
				}
			}
			if turn := req.PathValue("turn"); turn != "" {
				r.path["turn"] = json.Number(turn)
			}
		})
	}
	return r
}

// httpWitness holds the examples of plain HTTP against the schemas.
type httpWitness struct {
	t    *testing.T
	sent published
	got  published // closed
	seen map[string]int
}

// TestSchemasOfHTTPAreTrue: the schemas accept every JSON body of the examples of plain HTTP, and
// every message of their streams.
func TestSchemasOfHTTPAreTrue(t *testing.T) {
	w := &httpWitness{t: t, sent: published{t: t}, got: published{t: t, change: closed}, seen: map[string]int{}}
	for _, s := range readScripts(t, httpExamples) {
		for _, exchange := range strings.Split("\n"+s.text, "\n$ ")[1:] {
			command, answer, _ := strings.Cut(exchange, "\nHTTP/1.1 ")
			w.exchange(words(t, command+"\n"), answer)
		}
	}
	for _, name := range []string{
		"createConversation.params", "createConversation.result", "sendMessage.params", "sendMessage.result",
		"sendNote.params", "getUpdates.result",
		"listConversations.result", "waitForChange.events", "problem", "event", "caught_up.stream", "guidance.stream",
	} {
		if w.seen[name] == 0 {
			t.Errorf("no example shows %s; they show %v", name, w.seen)
		}
	}
}

func (w *httpWitness) holds(name, instance string) {
	w.t.Helper()
	w.seen[name]++
	if err := w.got.check(name, []byte(instance)); err != nil {
		w.t.Errorf("%s: %#v\n%s", name, err, instance)
	}
}

// exchange is a command, in words, with its answer from the status on.
func (w *httpWitness) exchange(args []string, answer string) {
	w.t.Helper()
	verb, target, body := http.MethodGet, "", ""
	for i, arg := range args {
		switch {
		case arg == "-d":
			verb, body = http.MethodPost, args[i+1]
		case arg == "-X":
			verb = args[i+1]
		case strings.HasPrefix(arg, string(variable)+"HUB"):
			target = strings.TrimPrefix(arg, string(variable)+"HUB")
		}
	}
	r := newRouted()
	r.mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(verb, target, nil))
	if r.method.Name == "" {
		w.t.Errorf("%s %s is no method", verb, target)
		return
	}
	if body != "" && strings.HasPrefix(answer, "2") {
		w.params(r, body)
	}
	result := r.method.Name + ".result"
	switch {
	case strings.Contains(answer, "\nContent-Type: application/problem+json\n"):
		result = "problem"
	case strings.Contains(target, "include=events"):
		result = "waitForChange.events"
	}
	w.answer(result, answer)
}

func (w *httpWitness) params(r *routed, body string) {
	w.t.Helper()
	params, ok := decodeJSON(w.t, []byte(body)).(map[string]any)
	if !ok {
		w.t.Fatalf("the body is no object: %s", body)
	}
	maps.Copy(params, r.path)
	text, err := json.Marshal(params)
	if err != nil {
		w.t.Fatal(err)
	}
	w.seen[r.method.Name+".params"]++
	if err := w.sent.check(r.method.Name+".params", text); err != nil {
		w.t.Errorf("the hub takes what the schema of %s refuses: %#v\n%s", r.method.Name, err, text)
	}
}

// answer holds the body, or each message of a stream.
func (w *httpWitness) answer(result, answer string) {
	w.t.Helper()
	event := "event"
	for line := range strings.Lines(answer) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
			event = "event"
		case strings.HasPrefix(line, "{"):
			w.holds(result, line)
		case strings.HasPrefix(line, "event: "):
			event = strings.TrimPrefix(line, "event: ") + ".stream"
		case strings.HasPrefix(line, "data: "):
			w.holds(event, strings.TrimPrefix(line, "data: "))
		}
	}
}

// TestSchemasOfStreamsAreTrue: the messages of a stream besides events follow the schemas of
// streams, and are no notifications of a socket.
func TestSchemasOfStreamsAreTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		f := w.follow(speaks("bob"), events)
		synctest.Wait()
		alice.must(methods.SendDelta, `{"conversationId":"case","turn":1,"index":0,"text":"Let me"}`)
		alice.say("Let me see.")
		synctest.Wait()
		w.restart()
		<-f.done
		got, seen := published{t: t, change: closed}, map[string]bool{}
		for _, m := range f.all { // the methods no longer change
			name := "event"
			if m.Name != "" {
				name = m.Name + ".stream"
			}
			seen[name] = true
			if err := got.check(name, m.Data); err != nil {
				t.Errorf("%s: %#v\n%s", name, err, m.Data)
			}
			onSocket := m.Name != "" && m.Name != methods.NotifyClosing
			if onSocket && got.check(m.Name+".notification", m.Data) == nil {
				t.Errorf("the schema of a socket takes %s without a subscription: %s", m.Name, m.Data)
			}
		}
		if len(seen) != 5 {
			t.Errorf("the stream had only %v", seen)
		}
	})
}
