package rpc_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/schema"
	"github.com/parleyhub/parley/rpc"
)

// schemaWitness is what is known of a transcript while its lines are read.
type schemaWitness struct {
	t      *testing.T
	sent   published // as they are
	got    published // closed
	async  map[string]*jsonschema.Schema
	calls  map[string]string // peer and id -> the request
	seen   map[string]bool   // names of schemas
	unsaid int               // requests that were refused and that the schema takes
	said   int               // those that it refuses too
}

// TestSchemasAreTrue: the schemas accept every frame of the transcripts, and every problem of the
// examples.
func TestSchemasAreTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes one call after another: the race detector, which is slow, learns nothing from so many")
	}
	w := &schemaWitness{t: t, sent: published{t: t}, got: published{t: t, change: closed}, async: asyncMessages(t),
		seen: map[string]bool{}}
	for _, s := range readScripts(t, transcripts) {
		w.calls = map[string]string{}
		for line := range strings.Lines(s.text) {
			w.line(strings.TrimSuffix(line, "\n"))
		}
	}
	for _, s := range readScripts(t, httpExamples) {
		for line := range strings.Lines(s.text) {
			if strings.HasPrefix(line, `{"type":"urn:parley:error:`) {
				w.holds("problem", strings.TrimSpace(line))
			}
		}
	}
	for _, m := range rpc.ServedMethods() {
		if !w.seen[m.Name+".params"] || !w.seen[m.Name+".result"] {
			t.Errorf("no transcript shows the params or the result of %s", m.Name)
		}
	}
	if w.said < 40 {
		t.Errorf("of the refused requests the schemas refuse only %d, and take %d", w.said, w.unsaid)
	}
}

var sixtyFour = regexp.MustCompile(`^! 64 calls (\w+) (\w+) (.*)$`)

func (w *schemaWitness) line(line string) {
	w.t.Helper()
	if m := sixtyFour.FindStringSubmatch(line); m != nil {
		for id := range 64 {
			w.request(m[1], fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id+1, m[2], m[3]))
		}
		return
	}
	if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "!") {
		return
	}
	if name, frame, ok := strings.Cut(line, " --> "); ok {
		w.request(name, expand(frame))
		return
	}
	name, frame, ok := strings.Cut(line, " <-- ")
	if ok && strings.HasPrefix(frame, "{") {
		w.answer(name, frame)
	}
}

func (w *schemaWitness) request(name, frame string) {
	var r struct{ ID json.RawMessage }
	_ = json.Unmarshal([]byte(frame), &r) // other text has no id
	w.calls[name+" "+string(r.ID)] = frame
	w.calls[name+" null"] = frame
}

// holds fails when a frame, or a part of one, is not as the schema of that name says.
func (w *schemaWitness) holds(name, instance string) {
	w.t.Helper()
	w.seen[name] = true
	if err := w.got.check(name, []byte(instance)); err != nil {
		w.t.Errorf("%s: %#v\n%s", name, err, instance)
	}
}

func (w *schemaWitness) answer(name, frame string) {
	w.t.Helper()
	var a struct {
		ID, Result, Params json.RawMessage
		Method             string
		Error              *parley.WireError
	}
	if err := json.Unmarshal([]byte(frame), &a); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range eventsIn(w.t, frame) {
		w.kindOf(e)
	}
	if a.Method != "" {
		w.holds("notification", frame)
		w.holds(a.Method+".notification", string(a.Params))
		w.inAsync(a.Method+".notification", frame)
		return
	}
	w.holds("reply", frame)
	request, ok := w.calls[name+" "+string(a.ID)]
	if !ok {
		w.t.Errorf("nothing was asked: %s", frame)
		return
	}
	var r struct {
		Method string
		Params json.RawMessage
	}
	_ = json.Unmarshal([]byte(request), &r) // it may have been refused for that
	if a.Error != nil {
		w.inAsync("error", frame)
		w.refused(r.Method, request, *a.Error)
		return
	}
	w.holds(r.Method+".result", string(a.Result))
	w.inAsync(r.Method+".result", frame)
	w.seen[r.Method+".params"] = true
	if r.Params == nil {
		r.Params = []byte("{}")
	}
	if err := w.sent.check(r.Method+".params", r.Params); err != nil {
		w.t.Errorf("the hub takes what the schema of %s refuses: %#v\n%s", r.Method, err, r.Params)
	}
	if err := w.sent.check("request", []byte(request)); err != nil {
		w.t.Errorf("the hub takes what the schema of requests refuses: %#v\n%s", err, request)
	}
	w.inAsync(r.Method+".request", request)
}

// unsayable are refusals for what no schema sees: it is lost when JSON is read into values.
var unsayable = regexp.MustCompile(`is there twice|kept exactly`)

// refused holds a request that was refused for its form against the schemas, which must refuse it
// too.
func (w *schemaWitness) refused(method, request string, e parley.WireError) {
	w.t.Helper()
	if _, ok := methods.ByName(method); ok {
		w.errorIsListed(method, e)
	}
	if !json.Valid([]byte(request)) || unsayable.MatchString(e.Message) {
		return
	}
	err := w.sent.check("request", []byte(request))
	form := slices.Contains([]string{"invalid_request", "invalid_params"}, e.Data.Reason) &&
		!strings.Contains(e.Message, "under way")
	switch {
	case err != nil && !slices.Contains([]string{"invalid_request", "invalid_params", "validation_failed",
		"method_not_found", "unauthenticated", "parse_error", "not_found", "too_large"}, e.Data.Reason):
		w.t.Errorf("the schema refuses what is refused as %s: %#v\n%s", e.Data.Reason, err, request)
	case err != nil:
		w.said++
	case form:
		w.t.Errorf("the schema takes what is refused: %s\n%s", e.Message, request)
	default:
		w.unsaid++
	}
}

// errorIsListed: OpenRPC lists the error with the method.
func (w *schemaWitness) errorIsListed(method string, e parley.WireError) {
	w.t.Helper()
	if !slices.Contains(openRPCErrors(w.t)[method], e.Data.Reason) {
		w.t.Errorf("OpenRPC does not list %s with %s", e.Data.Reason, method)
	}
}

func (w *schemaWitness) inAsync(message, frame string) {
	w.t.Helper()
	s, ok := w.async[message]
	if !ok {
		w.t.Errorf("AsyncAPI has no message %s", message)
		return
	}
	if err := s.Validate(decodeJSON(w.t, []byte(frame))); err != nil {
		w.t.Errorf("AsyncAPI, %s: %#v\n%s", message, err, frame)
	}
}

// eventsIn finds the system events anywhere in a frame.
func eventsIn(t *testing.T, frame string) []map[string]any {
	t.Helper()
	var found []map[string]any
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if payload, ok := v["payload"].(map[string]any); ok && v["type"] == "system" {
				found = append(found, payload)
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(decodeJSON(t, []byte(frame)))
	return found
}

// kindOf checks that a system event has only the members of its kind in the schema; the
// descriptions of the members name the kinds.
func (w *schemaWitness) kindOf(payload map[string]any) {
	w.t.Helper()
	document, _ := schema.Lookup("system")
	properties := decodeJSON(w.t, document).(map[string]any)["properties"].(map[string]any)
	kind, _ := payload["kind"].(string)
	for name := range payload {
		property, _ := properties[name].(map[string]any)
		if kinds, _ := property["description"].(string); name != "kind" && !strings.Contains(kinds, kind) {
			w.t.Errorf("a system event %s has %q, and the schema does not know that: %v", kind, name, property)
		}
	}
}
