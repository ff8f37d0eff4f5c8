package parley_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// Every sentinel has one code, and the codes of this protocol are the HTTP status times ten plus a
// digit.
func TestErrorTable(t *testing.T) {
	codes, reasons := map[int]bool{}, map[string]bool{}
	for _, r := range parley.Errors {
		if codes[r.Code] || reasons[r.Reason()] {
			t.Errorf("%s (%d) stands in the table twice", r.Reason(), r.Code)
		}
		codes[r.Code], reasons[r.Reason()] = true, true
		if r.Code > 0 && r.Code/10 != r.HTTP {
			t.Errorf("%s: code %d and HTTP %d do not go together", r.Reason(), r.Code, r.HTTP)
		}
	}
}

// A refusal keeps its sentinel, its expected value and its guidance over the wire.
func TestErrorsCrossTheWire(t *testing.T) {
	for _, r := range parley.Errors {
		sent := fmt.Errorf("append to c1: %w", &parley.Error{
			Err: r.Err, Message: "a sentence", Expected: "turn 3", RetryAfterMs: 7,
			Guidance: &parley.Guidance{Kind: parley.Wait, Turn: 3, Reason: "r"},
		})
		b, err := json.Marshal(parley.ToWire(sent))
		if err != nil {
			t.Fatal(err)
		}
		var w parley.WireError
		if err := json.Unmarshal(b, &w); err != nil {
			t.Fatal(err)
		}
		got := parley.FromWire(w)
		var e *parley.Error
		if !errors.Is(got, r.Err) || !errors.As(got, &e) || e.Expected != "turn 3" || e.RetryAfterMs != 7 ||
			e.Guidance == nil ||
			e.Guidance.Turn != 3 {
			t.Errorf("%s came back as %#v", r.Reason(), got)
		}
		if w.Data.Retryable != r.Retryable {
			t.Errorf("%s: retryable %v", r.Reason(), w.Data.Retryable)
		}
	}
}

// An error without a sentinel reveals nothing over the wire.
func TestForeignErrorsAreInternal(t *testing.T) {
	w := parley.ToWire(errors.New("open /secret/path: permission denied"))
	if w.Code != -32603 || w.Data.Reason != "internal" {
		t.Fatalf("%+v", w)
	}
	if b, _ := json.Marshal(w); string(b) == "" || strings.Contains(string(b), "secret") {
		t.Fatalf("the inside shows: %s", b)
	}
}

// An event from a newer hub comes through unchanged.
func TestEventKeepsUnknownFields(t *testing.T) {
	const stored = `{"seq":7,"turn":3,"type":"hologram","from":"clinic","at":"2026-11-20T09:00:00.000Z","shine":"<b>","payload":{"text":"a & b","new":[1]}}`
	var e parley.Event
	if err := json.Unmarshal([]byte(stored), &e); err != nil {
		t.Fatal(err)
	}
	if string(e.Raw()) != stored {
		t.Errorf("raw is %s", e.Raw())
	}
	if e.Seq != 7 || e.Turn != 3 || e.Type != "hologram" || string(e.Payload) != `{"text":"a & b","new":[1]}` {
		t.Errorf("decoded as %+v", e)
	}
}

func TestEventEncoding(t *testing.T) {
	e := parley.Event{
		Seq: 1, Turn: 1, Type: parley.TypeMessage, From: "a", At: 946684800000, Finality: parley.FinalityConversation,
		Outcome: &parley.Outcome{
			Status: parley.OutcomeFailed,
			Reason: "<why>",
		}, Payload: json.RawMessage(`{"text":"<hi>"}`), ClientRequestID: "k",
	}
	b, err := e.Encode()
	const want = `{"seq":1,"turn":1,"type":"message","from":"a","at":"2000-01-01T00:00:00.000Z","finality":"conversation",` +
		`"outcome":{"status":"failed","reason":"<why>"},"payload":{"text":"<hi>"},"clientRequestId":"k"}`
	if err != nil || string(b) != want {
		t.Fatalf("got  %s\nwant %s (%v)", b, want, err)
	}
	if !e.Closes() {
		t.Error("a message with finality conversation closes")
	}
}

// A member whose name differs in case only is not accepted for another member.
func TestMessageMembersAreExact(t *testing.T) {
	e := parley.Event{Payload: json.RawMessage(`{"data":1,"Text":5,"SCHEMA":[],"tags":["x"]}`)}
	m, err := e.Message()
	if err != nil || m.Text != "" || m.Schema != "" || string(m.Data) != "1" || len(m.Tags) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
}

func TestIDs(t *testing.T) {
	for id, ok := range map[string]bool{"a": true, "a.b-c_d": true, "": false, "hub": false, "-a": false, "a b": false,
		"ä": false, "a\n": false} {
		if parley.ValidParticipantID(id) != ok {
			t.Errorf("participant id %q: %v", id, !ok)
		}
	}
	for id, ok := range map[string]bool{"a": true, "-a_": true, "": false, "~tokens": false, "a.b": false, "../x": false} {
		if parley.ValidConversationID(id) != ok {
			t.Errorf("conversation id %q: %v", id, !ok)
		}
	}
}

func TestTimestamp(t *testing.T) {
	var ts parley.Timestamp
	if err := json.Unmarshal([]byte(`"2026-11-20T10:00:00.1239+01:00"`), &ts); err != nil {
		t.Fatal(err)
	}
	if b, _ := json.Marshal(ts); string(b) != `"2026-11-20T09:00:00.123Z"` {
		t.Fatalf("%s", b)
	}
	if err := json.Unmarshal([]byte(`"yesterday"`), &ts); err == nil {
		t.Fatal("yesterday was taken for a time")
	}
}

// The method table has no name twice, and only known scopes.
func TestMethodTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range methods.Table {
		if seen[m.Name] {
			t.Errorf("%s stands in the table twice", m.Name)
		}
		seen[m.Name] = true
		known := m.Scope == methods.ScopeNone || m.Scope == methods.ScopeSelf
		for _, s := range parley.Scopes {
			known = known || m.Scope == s
		}
		if !known {
			t.Errorf("%s has the unknown scope %q", m.Name, m.Scope)
		}
	}
}
