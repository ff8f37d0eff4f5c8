package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// door is a way to a hub. The contract of parley.Client is the same at each.
type door struct {
	name   string
	client func(t *testing.T, h *sdktest.Hub, agent string, scopes ...parley.Scope) parley.Client
}

var doors = []door{
	{"in process", func(t *testing.T, h *sdktest.Hub, agent string, scopes ...parley.Scope) parley.Client {
		return h.InProcess(t, agent, scopes...)
	}},
	{"websocket", func(t *testing.T, h *sdktest.Hub, agent string, scopes ...parley.Scope) parley.Client {
		return h.Dial(t, &sdk.Options{Token: h.NewToken(t, agent, scopes...), MinBackoff: time.Millisecond})
	}},
}

// scene is a hub with two participants, a who created the conversation and b, seen through one door.
type scene struct {
	*testing.T
	hub    *sdktest.Hub
	door   door
	a, b   parley.Client
	id     string
	latest int64
}

func eachDoor(t *testing.T, test func(t *testing.T, s *scene)) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, newScene(t, d))
		})
	}
}

func newScene(t *testing.T, d door) *scene {
	h := sdktest.NewHub(t)
	s := &scene{T: t, hub: h, door: d, a: d.client(t, h, "a"), b: d.client(t, h, "b")}
	snapshot, err := s.a.CreateConversation(t.Context(), ab())
	if err != nil {
		t.Fatal(err)
	}
	s.id, s.latest = snapshot.ConversationID, snapshot.LatestSeq
	return s
}

// ab are the params of a conversation of a and b.
func ab() *parley.CreateConversationParams {
	return &parley.CreateConversationParams{Title: "two", Participants: []parley.Participant{
		{ID: "a", Kind: parley.KindAgent, Role: "asks"}, {ID: "b", Kind: parley.KindHuman},
	}}
}

func text(s string) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"text":%q}`, s)) }

func (s *scene) say(c parley.Client, f parley.Finality, key, words string) (*parley.SendResult, error) {
	return c.SendMessage(s.Context(), &parley.SendMessageParams{
		ConversationID: s.id, Payload: text(words), Finality: f, ClientRequestID: key,
	})
}

func (s *scene) must(r *parley.SendResult, err error) *parley.SendResult {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// TestContractMethods calls every method, and looks at what it gives.
func TestContractMethods(t *testing.T) {
	eachDoor(t, func(t *testing.T, s *scene) {
		ctx := t.Context()
		if s.a.AgentID() != "a" {
			t.Errorf("AgentID is %q", s.a.AgentID())
		}
		if now, err := s.a.Now(ctx); err != nil || time.Since(now).Abs() > time.Minute {
			t.Errorf("Now: %v, %v", now, err)
		}
		got, err := s.a.GetConversation(ctx, &parley.GetConversationParams{ConversationID: s.id})
		if err != nil || got.Title != "two" || got.Status != parley.StatusActive || got.CreatedBy != "a" || len(got.Events) != 1 ||
			got.Guidance.Kind != parley.MaySpeak || got.Turn != 1 {
			t.Fatalf("GetConversation: %+v, %v", got, err)
		}
		if list, err := s.b.ListConversations(ctx, &parley.ListConversationsParams{}); err != nil || len(list.Conversations) != 1 ||
			list.Conversations[0].ConversationID != s.id || !slices.Equal(list.Conversations[0].Participants, []string{"a", "b"}) {
			t.Errorf("ListConversations: %+v, %v", list, err)
		}
		added, err := s.a.AddParticipant(ctx, &parley.AddParticipantParams{
			ConversationID: s.id, Participant: parley.Participant{ID: "c", Kind: parley.KindTool},
		})
		if err != nil || added.Seq != 2 || added.Duplicate {
			t.Errorf("AddParticipant: %+v, %v", added, err)
		}
		if tr, err := s.a.SendTrace(ctx, &parley.SendTraceParams{
			ConversationID: s.id, Payload: json.RawMessage(`{"kind":"thought","n":1}`), Turn: 1,
		}); err != nil || tr.Seq != 3 || tr.Turn != 1 {
			t.Errorf("SendTrace: %+v, %v", tr, err)
		}
		if r := s.must(s.say(s.a, parley.FinalityNone, "", "wait")); r.Seq != 4 || r.Turn != 1 {
			t.Errorf("SendMessage: %+v", r)
		}
		if err := s.a.SendDelta(ctx, &parley.SendDeltaParams{ConversationID: s.id, Turn: 1, Text: "he"}); err != nil {
			t.Errorf("SendDelta: %v", err)
		}
		if g, err := s.b.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: s.id, Explain: true}); err != nil ||
			g.Guidance.Kind != parley.Wait || g.Guidance.Speaker != "a" || g.LatestSeq != 4 || len(g.Guidance.Rules) == 0 {
			t.Errorf("GetGuidance: %+v, %v", g, err)
		}
		if r := s.must(s.say(s.a, parley.FinalityTurn, "", "hello")); r.Seq != 5 || r.Turn != 1 {
			t.Errorf("SendMessage: %+v", r)
		}
		if n, err := s.a.SendNote(ctx, &parley.SendNoteParams{
			ConversationID: s.id, Payload: parley.Note{Schema: "x.v1", Data: json.RawMessage(`{"n":1}`)},
		}); err != nil || n.Seq != 6 {
			t.Errorf("SendNote: %+v, %v", n, err)
		}
		if x, err := s.a.Explain(ctx, &parley.ExplainParams{ConversationID: s.id, Seq: 4}); err != nil || x.Seq != 4 || len(x.Guidance) != 3 {
			t.Errorf("Explain: %+v, %v", x, err)
		}
		if w, err := s.a.WaitForChange(ctx, &parley.WaitForChangeParams{ConversationID: s.id, SinceSeq: 5}); err != nil || w.LatestSeq != 6 || w.TimedOut {
			t.Errorf("WaitForChange: %+v, %v", w, err)
		}
		if w, err := s.a.WaitForChange(ctx, &parley.WaitForChangeParams{ConversationID: s.id, SinceSeq: 6, TimeoutMs: 20}); err != nil ||
			w.LatestSeq != 6 || !w.TimedOut {
			t.Errorf("WaitForChange without change: %+v, %v", w, err)
		}
		if u, err := s.b.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: s.id, Until: parley.UntilMyTurn, TimeoutMs: 5000}); err != nil ||
			len(u.Messages) != 2 || u.Guidance.Kind != parley.MaySpeak || u.NextSeq != 6 || u.LatestSeq != 6 || u.TimedOut {
			t.Errorf("GetUpdates: %+v, %v", u, err)
		}
		token, err := s.a.CreateToken(ctx, &parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{parley.ScopeRead}})
		if err != nil || !strings.HasPrefix(token.Token, "plt_") || token.TokenID == "" {
			t.Errorf("CreateToken: %+v, %v", token, err)
		}
		closed, err := s.a.CloseConversation(ctx, &parley.CloseConversationParams{
			ConversationID: s.id, Outcome: &parley.Outcome{Status: parley.OutcomeFailed, Reason: "enough"},
		})
		if err != nil || closed.Seq != 7 {
			t.Errorf("CloseConversation: %+v, %v", closed, err)
		}
		page, err := s.a.Tail(ctx, &parley.TailParams{ConversationID: s.id, SinceSeq: 1})
		if err != nil || len(page.Events) != 6 || page.NextSeq != 7 || page.LatestSeq != 7 || !page.Events[5].Closes() {
			t.Errorf("Tail: %+v, %v", page, err)
		}
	})
}

// TestContractErrors provokes every error that a client can meet, and looks whether errors.Is finds it.
func TestContractErrors(t *testing.T) {
	send := func(s *scene, c parley.Client, change func(*parley.SendMessageParams)) error {
		p := &parley.SendMessageParams{ConversationID: s.id, Payload: text("x"), Finality: parley.FinalityTurn}
		change(p)
		_, err := c.SendMessage(s.Context(), p)
		return err
	}
	provoke := map[error]func(s *scene) error{
		parley.ErrParse: func(s *scene) error {
			return send(s, s.a, func(p *parley.SendMessageParams) {
				p.Payload = json.RawMessage(`{"data":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}`)
			})
		},
		parley.ErrInvalidParams: func(s *scene) error {
			return send(s, s.a, func(p *parley.SendMessageParams) { p.Payload = json.RawMessage(`{"text":"a","text":"b"}`) })
		},
		parley.ErrValidationFailed: func(s *scene) error {
			return send(s, s.a, func(p *parley.SendMessageParams) { p.Finality = "maybe" })
		},
		parley.ErrForbidden: func(s *scene) error {
			_, err := s.door.client(s.T, s.hub, "a", parley.ScopeRead).CreateConversation(s.Context(), ab())
			return err
		},
		parley.ErrNotFound: func(s *scene) error {
			_, err := s.door.client(s.T, s.hub, "stranger").Tail(s.Context(), &parley.TailParams{ConversationID: s.id})
			return err
		},
		parley.ErrNotYourTurn: func(s *scene) error {
			return send(s, s.b, func(*parley.SendMessageParams) {})
		},
		parley.ErrTurnClosed: func(s *scene) error {
			s.must(s.say(s.a, parley.FinalityTurn, "", "x"))
			return send(s, s.a, func(p *parley.SendMessageParams) { p.Turn = 1 })
		},
		parley.ErrTurnConflict: func(s *scene) error {
			return send(s, s.a, func(p *parley.SendMessageParams) { p.Turn = 5 })
		},
		parley.ErrConversationClosed: func(s *scene) error {
			s.must(s.say(s.a, parley.FinalityConversation, "", "bye"))
			return send(s, s.a, func(*parley.SendMessageParams) {})
		},
		parley.ErrIdempotencyConflict: func(s *scene) error {
			s.must(s.say(s.a, parley.FinalityTurn, "k", "x"))
			return send(s, s.a, func(p *parley.SendMessageParams) { p.Payload, p.ClientRequestID = text("y"), "k" })
		},
		parley.ErrAlreadyExists: func(s *scene) error {
			p := ab()
			p.ConversationID = "taken"
			if _, err := s.a.CreateConversation(s.Context(), p); err != nil {
				s.Fatal(err)
			}
			_, err := s.b.CreateConversation(s.Context(), p)
			return err
		},
		parley.ErrCursorAhead: func(s *scene) error {
			_, err := s.a.Tail(s.Context(), &parley.TailParams{ConversationID: s.id, SinceSeq: 99})
			return err
		},
		parley.ErrTooLarge: func(s *scene) error {
			return send(s, s.a, func(p *parley.SendMessageParams) { p.Payload = text(strings.Repeat("x", parley.MaxEventBytes)) })
		},
		parley.ErrUnavailable: func(s *scene) error {
			if err := s.a.Close(); err != nil {
				s.Fatal(err)
			}
			return send(s, s.a, func(*parley.SendMessageParams) {})
		},
		parley.ErrOutcomeUnknown: func(s *scene) error {
			s.hub.Journal().FailNext(journal.ErrOutcomeUnknown)
			ctx, cancel := context.WithTimeout(s.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := s.a.SendMessage(ctx, &parley.SendMessageParams{ConversationID: s.id, Payload: text("x"), Finality: parley.FinalityTurn})
			return err
		},
		parley.ErrStorageFull: func(s *scene) error {
			s.hub.Journal().FailNext(journal.ErrStorageFull)
			return send(s, s.a, func(*parley.SendMessageParams) {})
		},
	}
	elsewhere := map[error]string{
		parley.ErrUnauthenticated: "TestRefusedToken: a client that exists is authenticated",
		parley.ErrInvalidRequest:  "a Client makes no such request",
		parley.ErrMethodNotFound:  "a Client has no such method",
		parley.ErrInternal:        "a fault of the hub",
		parley.ErrRateLimited:     "the sdk stays below the limits of a socket",
	}
	for _, row := range parley.Errors {
		f, here := provoke[row.Err]
		if _, there := elsewhere[row.Err]; here == there {
			t.Errorf("%v is provoked here (%v) or said to be met elsewhere (%v): it must be one of them", row.Err, here, there)
		}
		if !here {
			continue
		}
		t.Run(row.Reason(), func(t *testing.T) {
			eachDoor(t, func(t *testing.T, s *scene) {
				if err := f(s); !errors.Is(err, row.Err) {
					t.Errorf("got %v, expected %v", err, row.Err)
				}
			})
		})
	}
}

// TestContractRefusalHelps: what mends an error comes over the wire too.
func TestContractRefusalHelps(t *testing.T) {
	eachDoor(t, func(t *testing.T, s *scene) {
		_, err := s.say(s.b, parley.FinalityTurn, "", "me first")
		var e *parley.Error
		if !errors.As(err, &e) || e.Guidance == nil || e.Guidance.Speaker != "a" || e.Guidance.Kind != parley.Wait || e.Message == "" {
			t.Errorf("the refusal is %+v", e)
		}
	})
}

// TestContractEmptyLists: an empty list is not an absent one. A token that should reach nothing must not reach everything.
func TestContractEmptyLists(t *testing.T) {
	eachDoor(t, func(t *testing.T, s *scene) {
		for name, p := range map[string]*parley.CreateTokenParams{
			"scopes":        {AgentID: "a", Scopes: []parley.Scope{}},
			"conversations": {AgentID: "a", Conversations: []string{}},
		} {
			if r, err := s.a.CreateToken(t.Context(), p); !errors.Is(err, parley.ErrValidationFailed) {
				t.Errorf("a token with no %s: %+v, %v", name, r, err)
			}
		}
		if _, err := s.a.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "a", Agents: []string{}}); err != nil {
			t.Errorf("a token with no further agents: %v", err)
		}
		p := &parley.SubscribeParams{ConversationID: s.id, Types: []parley.EventType{}}
		n := 0
		for _, err := range s.a.Subscribe(t.Context(), p) {
			if n++; !errors.Is(err, parley.ErrValidationFailed) {
				t.Errorf("a subscription to no types: %v", err)
				break
			}
		}
		if n != 1 {
			t.Errorf("a subscription to no types told %d things", n)
		}
	})
}

// TestContractIdempotency: a key gives the first result again, also behind the end, and for conversations too.
func TestContractIdempotency(t *testing.T) {
	eachDoor(t, func(t *testing.T, s *scene) {
		first := s.must(s.say(s.a, parley.FinalityTurn, "k1", "<b>&"))
		again := s.must(s.say(s.a, parley.FinalityTurn, "k1", "<b>&"))
		if again.Seq != first.Seq || again.Turn != first.Turn || !again.Duplicate || first.Duplicate {
			t.Errorf("first %+v, again %+v", first, again)
		}
		last := s.must(s.say(s.b, parley.FinalityConversation, "k2", "bye"))
		again = s.must(s.say(s.b, parley.FinalityConversation, "k2", "bye"))
		if again.Seq != last.Seq || !again.Duplicate {
			t.Errorf("last %+v, again %+v", last, again)
		}
		p := ab()
		p.ClientRequestID = "create"
		one, err := s.a.CreateConversation(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		two, err := s.a.CreateConversation(t.Context(), p)
		if err != nil || two.ConversationID != one.ConversationID {
			t.Errorf("created %s, then %+v, %v", one.ConversationID, two, err)
		}
		dup, err := s.a.AddParticipant(t.Context(), &parley.AddParticipantParams{ConversationID: one.ConversationID, Participant: p.Participants[1]})
		if err != nil || !dup.Duplicate {
			t.Errorf("a participant who is there: %+v, %v", dup, err)
		}
	})
}

// TestContractBytes: a payload is kept as its author wrote it, and an event is read as it is stored, at every door.
func TestContractBytes(t *testing.T) {
	payloads := []string{
		`{"text":"<b> & </b>","z":1,"a":{"y":1.0,"x":1e2}}`,
		"{\"text\":\"line\u2028separator\"}",
		`{"text":"\u003cescaped\u003e","data":12345678901234567890}`,
	}
	eachDoor(t, func(t *testing.T, s *scene) {
		for _, p := range payloads {
			_, err := s.a.SendMessage(t.Context(), &parley.SendMessageParams{
				ConversationID: s.id, Payload: json.RawMessage(p), Finality: parley.FinalityNone,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		s.must(s.say(s.a, parley.FinalityConversation, "", "bye"))
		records, err := s.hub.Journal().Read(s.id, 0, 100, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for e, err := range s.b.Events(t.Context(), s.id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if string(e.Raw()) != string(records[i].Data) {
				t.Errorf("event %d was read as\n%s\nand is stored as\n%s", e.Seq, e.Raw(), records[i].Data)
			}
			if n := i - 1; n >= 0 && n < len(payloads) && string(e.Payload) != payloads[n] {
				t.Errorf("payload\n%s\nbecame\n%s", payloads[n], e.Payload)
			}
			i++
		}
		if i != len(records) {
			t.Errorf("%d events were read, %d are stored", i, len(records))
		}
		page, err := s.b.Tail(t.Context(), &parley.TailParams{ConversationID: s.id})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range page.Events {
			if string(e.Raw()) != string(records[i].Data) {
				t.Errorf("tail gives event %d as\n%s\nand it is stored as\n%s", e.Seq, e.Raw(), records[i].Data)
			}
		}
	})
}

// TestContractVisibility: traces and private texts are for whom they are for, in replay and live alike.
func TestContractVisibility(t *testing.T) {
	eachDoor(t, func(t *testing.T, s *scene) {
		p := ab()
		p.Participants[1].Private = "for b alone"
		snapshot, err := s.a.CreateConversation(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		s.id = snapshot.ConversationID
		if _, err := s.a.SendTrace(t.Context(), &parley.SendTraceParams{ConversationID: s.id, Payload: json.RawMessage(`{"kind":"secret"}`)}); err != nil {
			t.Fatal(err)
		}
		s.must(s.say(s.a, parley.FinalityConversation, "", "bye"))
		admin := s.hub.Admin(t)
		for _, c := range []struct {
			client parley.Client
			want   []string
		}{
			{s.a, []string{"conversation_created", "trace", "message"}},
			{s.b, []string{"conversation_created", "participant_private", "message"}},
			{admin, []string{"conversation_created", "participant_private", "trace", "message"}},
		} {
			var got []string
			for e, err := range c.client.Events(t.Context(), s.id, 0) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, kindOf(t, e))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("what %s sees (-want +got):\n%s", c.client.AgentID(), d)
			}
		}
	})
}

func kindOf(t *testing.T, e parley.Event) string {
	if e.Type != parley.TypeSystem {
		return string(e.Type)
	}
	s, err := e.System()
	if err != nil {
		t.Fatal(err)
	}
	return s.Kind
}
