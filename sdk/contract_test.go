package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	name string
	with func(t *testing.T, h *sdktest.Hub, token string) parley.Client
}

var doors = []door{
	{"in process", func(t *testing.T, h *sdktest.Hub, token string) parley.Client { return h.InProcessWith(t, token) }},
	{"websocket", func(t *testing.T, h *sdktest.Hub, token string) parley.Client {
		return h.Dial(t, &sdk.Options{Token: token, MinBackoff: time.Millisecond})
	}},
}

// client returns a client of the kind of the test with its own token.
func (d door) client(t *testing.T, h *sdktest.Hub, agent string, scopes ...parley.Scope) parley.Client {
	t.Helper()
	return d.with(t, h, h.NewToken(t, agent, scopes...))
}

// scene is a hub with two participants, a who created the conversation and b, seen through one
// door.
type scene struct {
	*testing.T
	hub    *sdktest.Hub
	door   door
	a, b   parley.Client
	id     string
	latest int64
	calls  *calls // of a and b, where they are counted
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
	s.begin(ab())
	return s
}

// peers are ab as peers, which take no claims.
func peers() *parley.CreateConversationParams {
	p := ab()
	p.Participants[0].Kind = parley.KindPeer
	return p
}

// begin makes another conversation the one of the scene.
func (s *scene) begin(p *parley.CreateConversationParams) {
	s.Helper()
	snapshot, err := s.a.CreateConversation(s.Context(), p)
	if err != nil {
		s.Fatal(err)
	}
	s.id, s.latest = snapshot.ConversationID, snapshot.LatestSeq
}

// patientMs is how long an offer is held and a connection missed: on a busy machine a test may be
// slow to take one up, and to come back.
const patientMs = 60_000

// ab are the params of a conversation of a, an agent, and b, a human.
func ab() *parley.CreateConversationParams {
	return &parley.CreateConversationParams{
		Title:  "two",
		Limits: &parley.Limits{ClaimWindowMs: patientMs},
		Participants: []parley.Participant{
			{ID: "a", Kind: parley.KindAgent, Role: "asks"}, {ID: "b", Kind: parley.KindHuman},
		},
	}
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

// TestContractErrors provokes every error that a client can meet, and looks whether errors.Is finds
// it.
func TestContractErrors(t *testing.T) {
	t.Parallel()
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
		parley.ErrParameters: func(s *scene) error {
			s.runner(echoed)
			_, err := s.a.StartSession(
				s.Context(),
				&parley.StartSessionParams{AgentName: "echo", Parameters: json.RawMessage(`{"n":"seven"}`)},
			)
			return err
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
		parley.ErrAlreadyResolved: func(s *scene) error {
			asked, person := s.ask("k"), s.person()
			p := &parley.ResolveApprovalParams{ApprovalID: asked.ApprovalID, Decision: parley.DecisionRejected}
			if _, err := person.ResolveApproval(s.Context(), p); err != nil {
				s.Fatal(err)
			}
			_, err := person.ResolveApproval(s.Context(), p)
			return err
		},
		parley.ErrCursorAhead: func(s *scene) error {
			_, err := s.a.Tail(s.Context(), &parley.TailParams{ConversationID: s.id, SinceSeq: 99})
			return err
		},
		parley.ErrTooLarge: func(s *scene) error {
			return send(
				s,
				s.a,
				func(p *parley.SendMessageParams) { p.Payload = text(strings.Repeat("x", parley.MaxEventBytes)) },
			)
		},
		parley.ErrClaimRequired: func(s *scene) error {
			s.claim(s.door.client(s.T, s.hub, "a"), 1)
			return send(s, s.a, func(*parley.SendMessageParams) {})
		},
		parley.ErrClaimLost: func(s *scene) error {
			c := s.claim(s.a, 1)
			s.release(s.a, c.ClaimID, parley.ReleaseDecline)
			return send(s, s.door.client(s.T, s.hub, "a"), func(p *parley.SendMessageParams) { p.ClaimID = c.ClaimID })
		},
		parley.ErrUnauthenticated: func(s *scene) error {
			made, err := s.a.CreateToken(s.Context(), &parley.CreateTokenParams{AgentID: "a"})
			if err != nil {
				s.Fatal(err)
			}
			c := s.door.with(s.T, s.hub, made.Token)
			if _, err := s.a.RevokeToken(s.Context(), &parley.RevokeTokenParams{TokenID: made.TokenID}); err != nil {
				s.Fatal(err)
			}
			for err == nil {
				_, err = c.Now(s.Context()) // which a socket that is not closed yet may answer
				if err == nil {
					_, err = c.Tail(s.Context(), &parley.TailParams{ConversationID: s.id})
				}
			}
			return err
		},
		parley.ErrInternal: func(s *scene) error {
			s.hub.Journal().FailNext(errors.New("a fault"))
			return send(s, s.a, func(*parley.SendMessageParams) {})
		},
		parley.ErrUnavailable: func(s *scene) error {
			if err := s.a.Close(); err != nil {
				s.Fatal(err)
			}
			return send(s, s.a, func(*parley.SendMessageParams) {})
		},
		parley.ErrOutcomeUnknown: func(s *scene) error {
			s.hub.Journal().FailNext(journal.ErrOutcomeUnknown)
			ctx, cancel := context.WithTimeout(s.Context(), time.Second)
			defer cancel()
			_, err := s.a.SendMessage(
				ctx,
				&parley.SendMessageParams{ConversationID: s.id, Payload: text("x"), Finality: parley.FinalityTurn},
			)
			return err
		},
		parley.ErrStorageFull: func(s *scene) error {
			s.hub.Journal().FailNext(journal.ErrStorageFull)
			return send(s, s.a, func(*parley.SendMessageParams) {})
		},
	}
	elsewhere := map[error]string{
		parley.ErrInvalidRequest: "a Client makes no such request",
		parley.ErrMethodNotFound: "a Client has no such method",
		parley.ErrRateLimited:    "the sdk waits as long as it is told to: TestRatesAreKept; in the hub's process there are no rates",
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
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		_, err := s.say(s.b, parley.FinalityTurn, "", "me first")
		var e *parley.Error
		if !errors.As(err, &e) || e.Guidance == nil || e.Guidance.Speaker != "a" || e.Guidance.Kind != parley.Wait ||
			e.Message == "" {
			t.Errorf("the refusal is %+v", e)
		}
	})
}

// TestContractEmptyLists: an empty list is not an absent one. A token that should reach nothing
// must not reach everything.
func TestContractEmptyLists(t *testing.T) {
	t.Parallel()
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

// TestContractIdempotency: a repeated key returns the first result, also after the end of the
// conversation, and also for conversations.
func TestContractIdempotency(t *testing.T) {
	t.Parallel()
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
		dup, err := s.a.AddParticipant(
			t.Context(),
			&parley.AddParticipantParams{ConversationID: one.ConversationID, Participant: p.Participants[1]},
		)
		if err != nil || !dup.Duplicate {
			t.Errorf("a participant who is there: %+v, %v", dup, err)
		}
	})
}

// TestContractBytes: a payload is kept as its author wrote it, and an event is read as it is
// stored, at every door.
func TestContractBytes(t *testing.T) {
	t.Parallel()
	payloads := []string{
		`{"text":"<b> & </b>","z":1,"a":{"y":1.0,"x":1e2}}`,
		"{\"text\":\"line\u2028separator\"}",
		`{"text":"\u003cescaped\u003e","data":12345678901234567890}`,
	}
	eachDoor(t, func(t *testing.T, s *scene) {
		s.begin(peers())
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

// TestContractVisibility: traces and private texts are for whom they are for, in replay and live
// alike.
func TestContractVisibility(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		p := peers()
		p.Participants[1].Private = "for b alone"
		s.begin(p)
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
