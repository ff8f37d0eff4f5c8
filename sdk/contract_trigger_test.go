package sdk_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
)

// subscribed registers the agent a, which notes ask.v1 wake, and whose context is the last note
// page.v1.
func (s *scene) subscribed() *registration {
	s.Helper()
	told := s.register(s.a, &parley.RegisterExecutorParams{ExecutorID: "x", Agents: []string{}}, nil)
	told.next()
	agent := echo
	agent.Name = "a"
	agent.Subscriptions = json.RawMessage(
		`{"selectors":[{"schema_name":"ask.v1"},{"schema_name":"page.v1","role":"context","fetch":"latest"}]}`,
	)
	if _, err := s.a.RegisterBlueprints(s.Context(), &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{agent}}); err != nil {
		s.Fatal(err)
	}
	return told
}

// granted is a client of this door whose token grants workspaces.
func (s *scene) granted(agent string, workspaces ...string) parley.Client {
	s.Helper()
	admin := s.door.client(s.T, s.hub, "admin", parley.ScopeAdmin)
	made, err := admin.CreateToken(s.Context(), &parley.CreateTokenParams{AgentID: agent, Workspaces: workspaces})
	if err != nil {
		s.Fatal(err)
	}
	return s.door.with(s.T, s.hub, made.Token)
}

// TestContractWorkspaces: a token grants workspaces, and with them that conversations are created
// in these, listed and read.
func TestContractWorkspaces(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		a, reader, stranger := s.granted("a", "w", "v", "w"), s.granted("zed", "w"), s.granted("zed", "v")
		list, err := a.ListTokens(t.Context(), nil)
		if err != nil || len(list.Tokens) != 1 || !slices.Equal(list.Tokens[0].Workspaces, []string{"v", "w"}) {
			t.Errorf("tokens: %+v, %v", list, err)
		}
		q := ab()
		q.Workspace, q.Limits = "w", &parley.Limits{MaxHops: 3, MaxWakesPerMinute: 5}
		made, err := a.CreateConversation(t.Context(), q)
		if err != nil || made.Workspace != "w" || made.Limits.MaxHops != 3 || made.Limits.MaxWakesPerMinute != 5 {
			t.Fatalf("%+v, %v", made, err)
		}
		if sys, err := made.Events[0].System(); err != nil || sys.Workspace != "w" {
			t.Errorf("logged: %+v, %v", sys, err)
		}
		if _, err := s.a.CreateConversation(t.Context(), q); !errors.Is(err, parley.ErrForbidden) {
			t.Errorf("without the workspace: %v", err)
		}
		for _, c := range []parley.Client{a, reader} {
			list, err := c.ListConversations(t.Context(), &parley.ListConversationsParams{Workspace: "w"})
			if err != nil || len(list.Conversations) != 1 || list.Conversations[0].ConversationID != made.ConversationID ||
				list.Conversations[0].Workspace != "w" {
				t.Errorf("%s lists %+v, %v", c.AgentID(), list, err)
			}
		}
		if _, err := reader.ListConversations(t.Context(), &parley.ListConversationsParams{Workspace: "v"}); !errors.Is(
			err,
			parley.ErrForbidden,
		) {
			t.Errorf("another workspace: %v", err)
		}
		got, err := reader.GetConversation(t.Context(), &parley.GetConversationParams{ConversationID: made.ConversationID})
		if err != nil || got.Workspace != "w" || len(got.Events) != 1 || got.Guidance.Kind == parley.MaySpeak {
			t.Errorf("%+v, %v", got, err)
		}
		for n, err := range reader.Subscribe(t.Context(), &parley.SubscribeParams{ConversationID: made.ConversationID}) {
			if err != nil || n.Event == nil || n.Event.Seq != 1 {
				t.Errorf("%+v, %v", n, err)
			}
			break
		}
		note := &parley.SendNoteParams{
			ConversationID: made.ConversationID,
			Payload:        parley.Note{Schema: "x.v1", Data: json.RawMessage(`1`)},
		}
		if _, err := reader.SendNote(t.Context(), note); !errors.Is(err, parley.ErrForbidden) {
			t.Errorf("a reader writes: %v", err)
		}
		for _, c := range []parley.Client{stranger, s.door.client(t, s.hub, "zed")} {
			if _, err := c.Tail(t.Context(), &parley.TailParams{ConversationID: made.ConversationID}); !errors.Is(
				err,
				parley.ErrNotFound,
			) {
				t.Errorf("without the workspace it is read: %v", err)
			}
		}
	})
}

// TestContractGetContext: a caller that may not speak as a seat does not get its context. An agent
// without subscriptions has no context.
func TestContractGetContext(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		none, err := s.a.GetContext(t.Context(), &parley.GetContextParams{ConversationID: s.id})
		if err != nil || none.Context != nil || len(none.Triggers) != 0 || none.Sources == nil || len(none.Sources) != 0 ||
			none.Bytes != 0 ||
			none.LatestSeq != 1 {
			t.Errorf("without subscriptions: %+v, %v", none, err)
		}
		s.subscribed()
		for _, c := range []struct {
			by   parley.Client
			q    parley.GetContextParams
			want error
		}{
			{s.b, parley.GetContextParams{ConversationID: s.id, AgentID: "a"}, parley.ErrForbidden},
			{s.door.client(t, s.hub, "zed"), parley.GetContextParams{ConversationID: s.id, AgentID: "a"}, parley.ErrNotFound},
			{s.a, parley.GetContextParams{ConversationID: "absent"}, parley.ErrNotFound},
			{s.door.client(t, s.hub, "a", parley.ScopeWrite), parley.GetContextParams{ConversationID: s.id},
				parley.ErrForbidden},
		} {
			if _, err := c.by.GetContext(t.Context(), &c.q); !errors.Is(err, c.want) {
				t.Errorf("%s, %+v: %v, want %v", c.by.AgentID(), c.q, err, c.want)
			}
		}
		admin := s.door.client(t, s.hub, "admin", parley.ScopeAdmin)
		got, err := admin.GetContext(t.Context(), &parley.GetContextParams{ConversationID: s.id, AgentID: "a"})
		if err != nil || string(got.Context) != `{"trigger":null,"page":null}` {
			t.Errorf("an admin: %+v, %v", got, err)
		}
	})
}

// TestContractTriggers: a note wakes an agent by a session, the answer is a note that names it, and
// both say so.
func TestContractTriggers(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		agent := echo
		agent.Name, agent.Subscriptions = "a", json.RawMessage(
			`{"selectors":[{"schema_name":"ask.v1"}],"answer_schema":"told.v1"}`,
		)
		startRunner(t, s.door.client(t, s.hub, "a"), echoed, agent)
		asked, err := s.b.SendNote(
			t.Context(),
			&parley.SendNoteParams{
				ConversationID: s.id,
				Payload:        parley.Note{Schema: "ask.v1", Data: json.RawMessage(`{"input":{"n":7,"x":"<&>"}}`)},
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		var answered *parley.Event
		for n, err := range s.b.Subscribe(t.Context(), &parley.SubscribeParams{ConversationID: s.id, SinceSeq: asked.Seq}) {
			if err != nil {
				t.Fatal(err)
			}
			if n.Event == nil || n.Event.Type != parley.TypeSystem {
				continue
			}
			sys, err := n.Event.System()
			if err != nil {
				t.Fatal(err)
			}
			switch sys.Kind {
			case parley.KindTriggerMatched:
				if w := sys.Trigger.Wakes; sys.Trigger.Seq != asked.Seq || n.Event.Seq != asked.Seq+1 || len(w) != 1 ||
					w[0].Agent != "a" ||
					w[0].AnswerSchema != "told.v1" ||
					!strings.HasPrefix(w[0].SessionID, "ses_") {
					t.Errorf("%s", n.Event.Payload)
				}
			case parley.KindNote:
				answered = n.Event
			}
			if answered != nil {
				break
			}
		}
		var note struct {
			Schema string        `json:"schema"`
			Data   parley.Answer `json:"data"`
		}
		if err := json.Unmarshal(answered.Payload, &note); err != nil {
			t.Fatal(err)
		}
		if note.Schema != "told.v1" || answered.From != "a" || answered.Hops != 1 || answered.Cause == nil ||
			answered.Cause.Seq != asked.Seq ||
			note.Data.TriggerSeq != asked.Seq ||
			note.Data.Status != parley.SessionCompleted ||
			string(note.Data.Output) != `{"n":7,"x":"<&>"}` {
			t.Errorf("the answer: %s", answered.Payload)
		}
		got, err := s.b.GetSession(t.Context(), &parley.GetSessionParams{SessionID: note.Data.SessionID})
		if err != nil || got.Status != parley.SessionCompleted {
			t.Errorf("its author sees %+v, %v", got, err)
		}
		explained, err := s.b.ExplainTriggers(
			t.Context(),
			&parley.ExplainTriggersParams{ConversationID: s.id, Seq: asked.Seq},
		)
		if err != nil || len(explained.Agents) != 1 || explained.Agents[0].State != parley.TriggerFinished {
			t.Errorf("%+v, %v", explained, err)
		}
		for _, seq := range []int64{0, 1, answered.Seq + 100} {
			if _, err := s.b.ExplainTriggers(t.Context(), &parley.ExplainTriggersParams{ConversationID: s.id, Seq: seq}); !errors.Is(
				err,
				parley.ErrValidationFailed,
			) {
				t.Errorf("seq %d: %v", seq, err)
			}
		}
		if _, err := s.door.client(t, s.hub, "zed").ExplainTriggers(t.Context(),
			&parley.ExplainTriggersParams{ConversationID: s.id, Seq: asked.Seq}); !errors.Is(
			err,
			parley.ErrNotFound,
		) {
			t.Errorf("a foreigner: %v", err)
		}
	})
}
