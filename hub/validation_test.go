package hub_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

func long(n int) string { return strings.Repeat("x", n) }

// TestCreateIsChecked: each param that is not acceptable is refused by its name, and what lies just inside is taken.
func TestCreateIsChecked(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	for _, c := range []struct {
		field string // that the message names; empty: it is taken
		set   func(q *parley.CreateConversationParams)
	}{
		{"", func(*parley.CreateConversationParams) {}},
		{"conversationId", func(q *parley.CreateConversationParams) { q.ConversationID = "a b" }},
		{"conversationId", func(q *parley.CreateConversationParams) { q.ConversationID = "~x" }},
		{"conversationId", func(q *parley.CreateConversationParams) { q.ConversationID = long(65) }},
		{"", func(q *parley.CreateConversationParams) { q.ConversationID = long(64) }},
		{"participants", func(q *parley.CreateConversationParams) { q.Participants = nil }},
		{"participants", func(q *parley.CreateConversationParams) { q.Participants = manySeats(65) }},
		{"", func(q *parley.CreateConversationParams) { q.Participants = manySeats(64) }},
		{"participants", func(q *parley.CreateConversationParams) { q.Participants = seats("b", "b") }},
		{"participants[1].id", func(q *parley.CreateConversationParams) { q.Participants[1].ID = "hub" }},
		{"participants[1].id", func(q *parley.CreateConversationParams) { q.Participants[1].ID = "" }},
		{"participants[1].id", func(q *parley.CreateConversationParams) { q.Participants[1].ID = ".b" }},
		{"participants[1].id", func(q *parley.CreateConversationParams) { q.Participants[1].ID = long(65) }},
		{"participants[1].id", func(q *parley.CreateConversationParams) { q.Participants[1].ID = "b\"" }},
		{"participants[0].kind", func(q *parley.CreateConversationParams) { q.Participants[0].Kind = "robot" }},
		{"participants[0].kind", func(q *parley.CreateConversationParams) { q.Participants[0].Kind = "" }},
		{"participants[0].role", func(q *parley.CreateConversationParams) { q.Participants[0].Role = long(65) }},
		{"participants[0].role", func(q *parley.CreateConversationParams) { q.Participants[0].Role = "a\nb" }},
		{"participants[0].private",
			func(q *parley.CreateConversationParams) { q.Participants[0].Private = long(16<<10 + 1) }},
		{"", func(q *parley.CreateConversationParams) {
			q.Participants[0].Private, q.Participants[0].Role = long(16<<10), long(64)
		}},
		{"startsWith", func(q *parley.CreateConversationParams) { q.StartsWith = "c" }},
		{"", func(q *parley.CreateConversationParams) { q.StartsWith = "b" }},
		{"policy", func(q *parley.CreateConversationParams) { q.Policy = &parley.Policy{Kind: "moderator"} }},
		{"policy", func(q *parley.CreateConversationParams) { q.Policy = &parley.Policy{Kind: "chaos"} }},
		{"policy", func(q *parley.CreateConversationParams) { q.Policy = &parley.Policy{} }},
		{"limits.maxTurns", func(q *parley.CreateConversationParams) { q.Limits = &parley.Limits{MaxTurns: -1} }},
		{"limits.maxTurns", func(q *parley.CreateConversationParams) { q.Limits = &parley.Limits{MaxTurns: 1_000_001} }},
		{"limits.maxEvents", func(q *parley.CreateConversationParams) { q.Limits = &parley.Limits{MaxEvents: 1_000_001} }},
		{"limits.maxBytes", func(q *parley.CreateConversationParams) { q.Limits = &parley.Limits{MaxBytes: 1023} }},
		{"limits.maxBytes", func(q *parley.CreateConversationParams) { q.Limits = &parley.Limits{MaxBytes: 1<<30 + 1} }},
		{"limits.idleTimeoutMs", func(q *parley.CreateConversationParams) { q.Limits = &parley.Limits{IdleTimeoutMs: 99} }},
		{"limits.deadlineMs",
			func(q *parley.CreateConversationParams) { q.Limits = &parley.Limits{DeadlineMs: 31_622_400_001} }},
		{"", func(q *parley.CreateConversationParams) {
			q.Limits = &parley.Limits{MaxTurns: 1_000_000, MaxEvents: 1, MaxBytes: 1024, IdleTimeoutMs: 31_622_400_000,
				DeadlineMs: 31_622_400_000}
		}},
		{"title", func(q *parley.CreateConversationParams) { q.Title = long(257) }},
		{"title", func(q *parley.CreateConversationParams) { q.Title = "a\x00" }},
		{"title", func(q *parley.CreateConversationParams) { q.Title = "\ufffd" }},
		{"", func(q *parley.CreateConversationParams) { q.Title = strings.Repeat("é", 128) }},
		{"metadata", func(q *parley.CreateConversationParams) { q.Metadata = json.RawMessage(`[1]`) }},
		{"metadata", func(q *parley.CreateConversationParams) { q.Metadata = json.RawMessage(`null`) }},
		{"metadata", func(q *parley.CreateConversationParams) {
			q.Metadata = json.RawMessage(`{"a":"` + long(16<<10-7) + `"}`)
		}},
		{"", func(q *parley.CreateConversationParams) {
			q.Metadata = json.RawMessage("{ \"a\" : \"" + long(16<<10-8) + "\" }")
		}},
		{"", func(q *parley.CreateConversationParams) { q.Metadata = json.RawMessage("\n {\"a\": 1}") }},
		{"clientRequestId", func(q *parley.CreateConversationParams) { q.ClientRequestID = long(129) }},
		{"clientRequestId", func(q *parley.CreateConversationParams) { q.ClientRequestID = "a\tb" }},
		{"", func(q *parley.CreateConversationParams) { q.ClientRequestID = long(128) }},
	} {
		q := &parley.CreateConversationParams{Participants: seats("a", "b")}
		c.set(q)
		_, err := h.Client(a).CreateConversation(t.Context(), q)
		checkNamed(t, err, c.field)
	}
}

func manySeats(n int) []parley.Participant {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint("p", i))
	}
	return seats(ids...)
}

func checkNamed(t *testing.T, err error, field string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	var e *parley.Error
	if !errors.As(err, &e) || !errors.Is(err, parley.ErrValidationFailed) || !strings.Contains(e.Message, field) || e.Expected == "" {
		t.Errorf("error %v, want validation_failed that names %s and what was expected", err, field)
	}
}

// TestWritesAreChecked is the same for what is written to a conversation.
func TestWritesAreChecked(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	minus := int64(-1)
	send := func(payload string, f parley.Finality, set func(*parley.SendMessageParams)) error {
		q := &parley.SendMessageParams{ConversationID: id, Payload: json.RawMessage(payload), Finality: f}
		if set != nil {
			set(q)
		}
		return (<-post(h, a, q)).err
	}
	tags := `["` + strings.TrimSuffix(strings.Repeat(`t","`, 33), `","`) + `"]`
	const none = parley.FinalityNone
	for _, c := range []struct {
		field   string
		payload string
		f       parley.Finality
		set     func(*parley.SendMessageParams)
	}{
		{"", `{"text":"x","more":{"kept":true},"data":null,"schema":"s.v1","tags":["a"]}`, none, nil},
		{"", `{"text":""}`, none, nil},
		{"", `{"data":null}`, none, nil},
		{"finality", `{"text":"x"}`, "", nil},
		{"finality", `{"text":"x"}`, "Turn", nil},
		{"outcome", `{"text":"x"}`, parley.FinalityTurn, func(q *parley.SendMessageParams) { q.Outcome = &parley.Outcome{Status: "failed"} }},
		{"outcome.status", `{"text":"x"}`, parley.FinalityConversation, func(q *parley.SendMessageParams) { q.Outcome = &parley.Outcome{Status: "lost"} }},
		{"outcome.reason", `{"text":"x"}`, parley.FinalityConversation, func(q *parley.SendMessageParams) {
			q.Outcome = &parley.Outcome{Status: "failed", Reason: long(1025)}
		}},
		{"turn", `{"text":"x"}`, none, func(q *parley.SendMessageParams) { q.Turn = -1 }},
		{"afterSeq", `{"text":"x"}`, none, func(q *parley.SendMessageParams) { q.AfterSeq = &minus }},
		{"clientRequestId", `{"text":"x"}`, none, func(q *parley.SendMessageParams) { q.ClientRequestID = long(129) }},
		{"clientRequestId", `{"text":"x"}`, none, func(q *parley.SendMessageParams) { q.ClientRequestID = "\u0085" }},
		{"payload", `"x"`, none, nil},
		{"payload", `[]`, none, nil},
		{"payload", `null`, none, nil},
		{"payload", `{}`, none, nil},
		{"payload", `{"Text":"x"}`, none, nil},
		{"payload.text", `{"text":1}`, none, nil},
		{"payload.text", `{"text":null}`, none, nil},
		{"payload.text", `{"te\u0078t":{}}`, none, nil},
		{"payload.schema", `{"text":"x","schema":1}`, none, nil},
		{"payload.schema", `{"text":"x","schema":""}`, none, nil},
		{"payload.schema", `{"text":"x","schema":null}`, none, nil},
		{"payload.schema", `{"text":"x","schema":"` + long(129) + `"}`, none, nil},
		{"payload.schema", `{"text":"x","schema":"a\u0000"}`, none, nil},
		{"payload.tags", `{"text":"x","tags":"a"}`, none, nil},
		{"payload.tags", `{"text":"x","tags":null}`, none, nil},
		{"payload.tags", `{"text":"x","tags":[1]}`, none, nil},
		{"payload.tags", `{"text":"x","tags":[null]}`, none, nil},
		{"payload.tags", `{"text":"x","tags":[""]}`, none, nil},
		{"payload.tags", `{"text":"x","tags":` + tags + `}`, none, nil},
		{"payload.tags", `{"text":"x","tags":["` + long(129) + `"]}`, none, nil},
		{"payload.attachments", `{"text":"x","attachments":[]}`, none, nil},
		{"payload.parameters", `{"text":"x","parameters":{}}`, none, nil},
		{"payload.result", `{"text":"x","result":{}}`, none, nil},
		{"", `{"text":"x","tags":[],"Result":{}}`, none, nil},
	} {
		checkNamed(t, send(c.payload, c.f, c.set), c.field)
	}
	for field, payload := range map[string]string{"": `{"kind":"k","any":[]}`, "kind": `{}`, "payload.kind": `{"kind":7}`, "payload": `[]`} {
		_, err := one(func(done func(parley.SendResult, error)) {
			h.SendTrace(a, &parley.SendTraceParams{ConversationID: id, Payload: json.RawMessage(payload)}, done)
		})
		checkNamed(t, err, field)
	}
	_, err := one(func(done func(parley.SendResult, error)) {
		h.SendTrace(a, &parley.SendTraceParams{ConversationID: id, Payload: json.RawMessage(`{"kind":"k"}`), Turn: -1}, done)
	})
	checkNamed(t, err, "turn")
	for _, n := range []struct {
		field string
		note  parley.Note
	}{
		{"", parley.Note{Schema: "s", Data: json.RawMessage("null")}},
		{"payload.schema", parley.Note{Data: json.RawMessage("1")}},
		{"payload.schema", parley.Note{Schema: long(129), Data: json.RawMessage("1")}},
		{"payload.schema", parley.Note{Schema: "a\n", Data: json.RawMessage("1")}},
		{"payload.data", parley.Note{Schema: "s"}},
		{"payload.tags", parley.Note{Schema: "s", Data: json.RawMessage("1"), Tags: slices.Repeat([]string{"t"}, 33)}},
		{"payload.tags", parley.Note{Schema: "s", Data: json.RawMessage("1"), Tags: []string{""}}},
	} {
		_, err := one(func(done func(parley.SeqResult, error)) {
			h.SendNote(a, &parley.SendNoteParams{ConversationID: id, Payload: n.note}, done)
		})
		checkNamed(t, err, n.field)
	}
	for field, q := range map[string]parley.SendDeltaParams{"turn": {Turn: 0}, "index": {Turn: 2, Index: -1}} {
		q.ConversationID = id
		_, err := one(func(done func(int, error)) { h.SendDelta(a, &q, func(err error) { done(0, err) }) })
		checkNamed(t, err, field)
	}
	_, err = one(func(done func(int, error)) {
		h.SendDelta(a, &parley.SendDeltaParams{ConversationID: id, Turn: 1, Text: long(16<<10 + 1)},
			func(err error) { done(0, err) })
	})
	refused(t, err, parley.ErrTooLarge)
	_, err = one(func(done func(parley.SeqResult, error)) {
		h.AddParticipant(a, &parley.AddParticipantParams{ConversationID: id,
			Participant: parley.Participant{ID: "b", Kind: "x"}}, done)
	})
	checkNamed(t, err, "participant.kind")
	_, err = one(func(done func(parley.SeqResult, error)) {
		h.CloseConversation(a, &parley.CloseConversationParams{ConversationID: id, Outcome: &parley.Outcome{Status: "x"}}, done)
	})
	checkNamed(t, err, "outcome.status")
}

// TestReadsAreChecked is the same for reads.
func TestReadsAreChecked(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	ctx := t.Context()
	for _, c := range []struct {
		field string
		err   func() error
	}{
		{"limit", func() error {
			_, err := h.Tail(ctx, a, &parley.TailParams{ConversationID: id, Limit: 1001})
			return err
		}},
		{"limit", func() error {
			_, _, err := h.GetConversation(ctx, a, &parley.GetConversationParams{ConversationID: id, Limit: -1})
			return err
		}},
		{"sinceSeq", func() error {
			_, err := h.Tail(ctx, a, &parley.TailParams{ConversationID: id, SinceSeq: -1})
			return err
		}},
		{"timeoutMs", func() error {
			_, err := h.WaitForChange(ctx, a, &parley.WaitForChangeParams{ConversationID: id, TimeoutMs: -1})
			return err
		}},
		{"timeoutMs", func() error {
			_, _, err := h.GetUpdates(ctx, a, &parley.GetUpdatesParams{ConversationID: id, TimeoutMs: -1})
			return err
		}},
		{"until", func() error {
			_, _, err := h.GetUpdates(ctx, a, &parley.GetUpdatesParams{ConversationID: id, Until: "never"})
			return err
		}},
		{"types", func() error {
			_, err := h.Subscribe(ctx, a, &parley.SubscribeParams{ConversationID: id, Types: []parley.EventType{"note"}})
			return err
		}},
		{"seq", func() error {
			_, err := h.Explain(ctx, a, &parley.ExplainParams{ConversationID: id, Seq: 2})
			return err
		}},
		{"limit", func() error {
			_, err := h.ListConversations(ctx, a, &parley.ListConversationsParams{Limit: 101})
			return err
		}},
		{"status", func() error {
			_, err := h.ListConversations(ctx, a, &parley.ListConversationsParams{Status: "open"})
			return err
		}},
		{"cursor", func() error {
			_, err := h.ListConversations(ctx, a, &parley.ListConversationsParams{Cursor: "x"})
			return err
		}},
		{"agentId", func() error { _, err := createToken(h, a, parley.CreateTokenParams{}); return err }},
		{"scopes", func() error {
			_, err := createToken(h, a, parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{}})
			return err
		}},
		{"conversations", func() error {
			_, err := createToken(h, a, parley.CreateTokenParams{AgentID: "a", Conversations: []string{"~"}})
			return err
		}},
		{"expiresInMs", func() error {
			_, err := createToken(h, a, parley.CreateTokenParams{AgentID: "a", ExpiresInMs: 1})
			return err
		}},
	} {
		checkNamed(t, c.err(), c.field)
	}
}

// TestWhoMay: closeConversation and addParticipant are for some.
func TestWhoMay(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	maker := h.LocalPrincipal("maker")
	admin := h.LocalPrincipal("root", parley.ScopeAdmin)
	seat := func(id, role string) parley.Participant {
		return parley.Participant{ID: id, Kind: parley.KindAgent, Role: role}
	}
	add := func(p *hub.Principal, id string, s parley.Participant) (parley.SeqResult, error) {
		return one(func(done func(parley.SeqResult, error)) {
			h.AddParticipant(p, &parley.AddParticipantParams{ConversationID: id, Participant: s}, done)
		})
	}
	end := func(p *hub.Principal, id string) (parley.SeqResult, error) {
		return one(func(done func(parley.SeqResult, error)) {
			h.CloseConversation(p, &parley.CloseConversationParams{ConversationID: id}, done)
		})
	}
	for _, c := range []struct {
		p          *hub.Principal
		adds, ends bool
	}{
		{maker, true, true}, {admin, true, true}, {h.LocalPrincipal("human"), false, true}, {h.LocalPrincipal("agent"), false, false},
	} {
		q := &parley.CreateConversationParams{Participants: seats("agent", "human")}
		q.Participants[1].Kind = parley.KindHuman
		id := create(t, h, maker, q)
		r, err := add(c.p, id, seat("new", "r"))
		if c.adds {
			if err != nil || r.Seq != 2 {
				t.Fatalf("%s adds: %+v, %v", c.p.AgentID, r, err)
			}
			if r, err = add(c.p, id, seat("new", "r")); err != nil || r.Seq != 2 || !r.Duplicate {
				t.Fatalf("again: %+v, %v", r, err)
			}
			_, err = add(c.p, id, seat("new", "other"))
			refused(t, err, parley.ErrAlreadyExists)
		} else {
			refused(t, err, parley.ErrForbidden)
		}
		if _, err = end(c.p, id); c.ends {
			if err != nil {
				t.Fatalf("%s closes: %v", c.p.AgentID, err)
			}
			_, err = end(c.p, id)
			refused(t, err, parley.ErrConversationClosed)
		} else {
			refused(t, err, parley.ErrForbidden)
		}
		_, err = one(func(done func(parley.SeqResult, error)) { h.SendNote(maker, note(id, "x", ""), done) })
		if c.ends {
			refused(t, err, parley.ErrConversationClosed)
		} else {
			refused(t, err, parley.ErrForbidden) // the creator does not take part
		}
	}
	id := create(t, h, maker, &parley.CreateConversationParams{Participants: manySeats(64)})
	_, err := add(maker, id, seat("new", ""))
	refused(t, err, parley.ErrTooLarge)
}
