package sdk_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// notOfClients are the methods of the protocol that a Client does not have, and why.
var notOfClients = map[string]string{
	methods.Authenticate: "a client is somebody from the start",
	methods.Ping:         "Now is ping: TestContractNow",
	methods.CreateTicket: "for browsers, which cannot set headers",
	methods.Unsubscribe:  "the end of the loop over Subscribe: TestContractSubscribe",
}

// methodCases call each method once in a valid way and check the result. In the scene, the agent a
// has turn 1, and the human b the next one.
var methodCases = map[string]func(s *scene){
	methods.CreateConversation: func(s *scene) {
		p := ab()
		p.Participants[0].Agent, p.Participants[0].Executor = "asker", parley.ExecutorExternal
		p.Limits = &parley.Limits{
			TurnTimeoutMs:      5000,
			OnTurnTimeout:      parley.TurnSkip,
			MaxAttempts:        2,
			MaxClaimMs:         9000,
			ClaimWindowMs:      100,
			MaxAutonomousTurns: 7,
			StopWhen:           "turns > 8",
		}
		p.Policy = &parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{{When: `last.from == "a"`, Next: "b"}}}
		got, err := s.a.CreateConversation(s.Context(), p)
		if err != nil || got.Limits.MaxClaimMs != 9000 || got.Limits.OnTurnTimeout != parley.TurnSkip ||
			got.Limits.StopWhen != "turns > 8" ||
			got.Policy.Kind != parley.PolicyRules ||
			!slices.Equal(got.Policy.Rules, p.Policy.Rules) ||
			got.Participants[0] != p.Participants[0] ||
			got.LatestSeq != 1 {
			s.Errorf("%+v, %v", got, err)
		}
	},
	methods.GetConversation: func(s *scene) {
		got, err := s.a.GetConversation(s.Context(), &parley.GetConversationParams{ConversationID: s.id})
		if err != nil || got.Title != "two" || got.Status != parley.StatusActive || got.CreatedBy != "a" ||
			len(got.Events) != 1 ||
			got.Guidance.Kind != parley.MaySpeak ||
			got.Turn != 1 ||
			got.OpenTurn != nil {
			s.Fatalf("%+v, %v", got, err)
		}
		s.must(s.say(s.a, parley.FinalityNone, "", "wait"))
		got, err = s.b.GetConversation(
			s.Context(),
			&parley.GetConversationParams{ConversationID: s.id, SinceSeq: 1, Limit: 1},
		)
		if err != nil || len(got.Events) != 1 || got.NextSeq != 2 || got.LatestSeq != 3 || got.OpenTurn == nil ||
			got.OpenTurn.Owner != "a" ||
			got.OpenTurn.Claim == nil ||
			got.OpenTurn.Claim.AgentID != "a" ||
			got.OpenTurn.Claim.Attempt != 1 ||
			got.Guidance.Claim == nil {
			s.Errorf("with an open turn: %+v, %v", got, err)
		}
	},
	methods.ListConversations: func(s *scene) {
		list, err := s.b.ListConversations(s.Context(), &parley.ListConversationsParams{Status: parley.StatusActive})
		if err != nil || len(list.Conversations) != 1 || list.Conversations[0].ConversationID != s.id ||
			!slices.Equal(list.Conversations[0].Participants, []string{"a", "b"}) {
			s.Errorf("%+v, %v", list, err)
		}
	},
	methods.WatchConversations: watchCase,
	methods.AddParticipant: func(s *scene) {
		added, err := s.a.AddParticipant(s.Context(), &parley.AddParticipantParams{
			ConversationID: s.id, Participant: parley.Participant{ID: "c", Kind: parley.KindTool, Agent: "helper"},
		})
		if err != nil || added.Seq != 2 || added.Duplicate {
			s.Errorf("%+v, %v", added, err)
		}
	},
	methods.ForkConversation: forkCase,
	methods.CloseConversation: func(s *scene) {
		want := parley.Outcome{Status: parley.OutcomeFailed, Reason: "enough"}
		closed, err := s.a.CloseConversation(
			s.Context(),
			&parley.CloseConversationParams{ConversationID: s.id, Outcome: &want},
		)
		if err != nil || closed.Seq != 2 {
			s.Errorf("%+v, %v", closed, err)
		}
		got, err := s.b.GetConversation(s.Context(), &parley.GetConversationParams{ConversationID: s.id})
		if err != nil || got.Status != parley.StatusClosed || *got.Outcome != want {
			s.Errorf("closed: %+v, %v", got, err)
		}
	},
	methods.Tail: func(s *scene) {
		s.must(s.say(s.a, parley.FinalityTurn, "", "one"))
		page, err := s.b.Tail(s.Context(), &parley.TailParams{ConversationID: s.id, SinceSeq: 1})
		if err != nil || len(page.Events) != 1 || page.NextSeq != 2 || page.LatestSeq != 2 || page.Events[0].From != "a" ||
			page.Events[0].Turn != 1 {
			s.Errorf("%+v, %v", page, err)
		}
	},
	methods.WaitForChange: func(s *scene) {
		s.must(s.say(s.a, parley.FinalityTurn, "", "one"))
		if w, err := s.a.WaitForChange(s.Context(), &parley.WaitForChangeParams{ConversationID: s.id, SinceSeq: 1}); err != nil ||
			w.LatestSeq != 2 ||
			w.TimedOut {
			s.Errorf("%+v, %v", w, err)
		}
		if w, err := s.a.WaitForChange(s.Context(), &parley.WaitForChangeParams{ConversationID: s.id, SinceSeq: 2, TimeoutMs: 20}); err != nil ||
			w.LatestSeq != 2 ||
			!w.TimedOut {
			s.Errorf("without change: %+v, %v", w, err)
		}
	},
	methods.GetUpdates: func(s *scene) {
		s.must(s.say(s.a, parley.FinalityTurn, "", "one"))
		u, err := s.b.GetUpdates(
			s.Context(),
			&parley.GetUpdatesParams{ConversationID: s.id, Until: parley.UntilMyTurn, TimeoutMs: 5000},
		)
		if err != nil || len(u.Messages) != 1 || u.Guidance.Kind != parley.MaySpeak || u.NextSeq != 2 || u.LatestSeq != 2 ||
			u.TimedOut ||
			u.Withdrawn != nil {
			s.Errorf("%+v, %v", u, err)
		}
	},
	methods.Subscribe: func(s *scene) {
		for n, err := range s.b.Subscribe(s.Context(), &parley.SubscribeParams{ConversationID: s.id}) {
			if err != nil || n.Event == nil || n.Event.Seq != 1 {
				s.Errorf("%+v, %v", n, err)
			}
			break
		}
	},
	methods.GetGuidance: func(s *scene) {
		s.must(s.say(s.a, parley.FinalityNone, "", "wait"))
		g, err := s.b.GetGuidance(s.Context(), &parley.GetGuidanceParams{ConversationID: s.id, Explain: true})
		if err != nil || g.Guidance.Kind != parley.Wait || g.Guidance.Speaker != "a" || g.LatestSeq != 3 ||
			len(g.Guidance.Rules) == 0 {
			s.Errorf("%+v, %v", g, err)
		}
		if c := g.Guidance.Claim; c == nil || c.AgentID != "a" || c.Attempt != 1 || c.ExecutorID != "" || c.DeadlineMs == 0 {
			s.Errorf("the claim is %+v", c)
		}
	},
	methods.Explain: func(s *scene) {
		s.must(s.say(s.a, parley.FinalityTurn, "", "one"))
		x, err := s.a.Explain(s.Context(), &parley.ExplainParams{ConversationID: s.id, Seq: 1})
		if err != nil || x.Seq != 1 || len(x.Guidance) != 2 || x.Guidance[0].Guidance.Kind != parley.MaySpeak ||
			len(x.Guidance[0].Guidance.Rules) == 0 {
			s.Errorf("%+v, %v", x, err)
		}
	},
	methods.SendMessage: func(s *scene) {
		r := s.must(s.say(s.a, parley.FinalityNone, "", "wait"))
		if r.Seq != 3 || r.Turn != 1 || !strings.HasPrefix(r.ClaimID, "clm_") {
			s.Errorf("progress: %+v", r)
		}
		after := int64(3)
		r, err := s.a.SendMessage(s.Context(), &parley.SendMessageParams{
			ConversationID: s.id, Payload: text("hello"), Finality: parley.FinalityTurn, Turn: 1, AfterSeq: &after,
			ClaimID: r.ClaimID,
		})
		if err != nil || r.Seq != 4 || r.Turn != 1 || r.ClaimID != "" {
			s.Errorf("%+v, %v", r, err)
		}
	},
	methods.SendTrace: func(s *scene) {
		p := parley.SendTraceParams{ConversationID: s.id, Payload: json.RawMessage(`{"kind":"thought","n":1}`), Turn: 1}
		r, err := s.a.SendTrace(s.Context(), &p)
		if err != nil || r.Seq != 3 || r.Turn != 1 || r.ClaimID == "" {
			s.Fatalf("%+v, %v", r, err)
		}
		p.ClaimID = r.ClaimID
		if r, err = s.a.SendTrace(s.Context(), &p); err != nil || r.Seq != 4 || r.ClaimID != "" {
			s.Errorf("under the claim: %+v, %v", r, err)
		}
	},
	methods.SendNote: func(s *scene) {
		n, err := s.b.SendNote(s.Context(), &parley.SendNoteParams{
			ConversationID: s.id, Payload: parley.Note{Schema: "x.v1", Data: json.RawMessage(`{"n":1}`)},
		})
		if err != nil || n.Seq != 2 {
			s.Errorf("%+v, %v", n, err)
		}
	},
	methods.SendDelta: func(s *scene) {
		r := s.must(s.say(s.a, parley.FinalityNone, "", "wait"))
		if err := s.a.SendDelta(s.Context(), &parley.SendDeltaParams{ConversationID: s.id, Turn: 1, ClaimID: r.ClaimID, Text: "he"}); err != nil {
			s.Error(err)
		}
	},
	methods.PutAttachment: func(s *scene) {
		r, err := s.b.PutAttachment(s.Context(), &parley.PutAttachmentParams{ConversationID: s.id, Data: []byte("file")})
		if err != nil || r.Size != 4 || r.Seq != 2 {
			s.Errorf("%+v, %v", r, err)
		}
	},
	methods.GetAttachment: func(s *scene) {
		r, err := s.b.PutAttachment(s.Context(), &parley.PutAttachmentParams{ConversationID: s.id, Data: []byte("file")})
		if err != nil {
			s.Fatal(err)
		}
		got, err := s.a.GetAttachment(
			s.Context(),
			&parley.GetAttachmentParams{ConversationID: s.id, SHA256: r.SHA256, Offset: 1},
		)
		if err != nil || !bytes.Equal(got.Data, []byte("ile")) || got.Size != 4 {
			s.Errorf("%+v, %v", got, err)
		}
	},
	methods.RegisterExecutor: func(s *scene) {
		told := s.register(
			s.a,
			&parley.RegisterExecutorParams{ExecutorID: "x", Agents: []string{"a"}, Mode: parley.ModePush},
			nil,
		)
		if r := told.next().Registered; r == nil || !r.OK || len(r.Holding) != 0 || r.Ended != 0 {
			s.Fatalf("%+v", r)
		}
		if q := told.next().RequestTurn; q == nil || q.ConversationID != s.id || q.AgentID != "a" || q.Agent != "a" ||
			q.Turn != 1 ||
			q.Attempt != 1 ||
			q.SinceSeq != 0 ||
			!strings.HasPrefix(q.ClaimID, "clm_1_") ||
			q.ClaimWindowMs != patientMs ||
			q.DeadlineMs == 0 {
			s.Errorf("%+v", q)
		}
	},
	methods.ClaimTurn: func(s *scene) {
		c, err := s.a.ClaimTurn(s.Context(), &parley.ClaimTurnParams{ConversationID: s.id, Turn: 1})
		if err != nil || !strings.HasPrefix(c.ClaimID, "clm_1_") || c.AgentID != "a" || c.Turn != 1 || c.Attempt != 1 ||
			c.SinceSeq != 0 ||
			c.Duplicate ||
			!justGiven(c.DurationMs) ||
			c.MaxClaimMs != 10*limits.DefaultTurnTimeoutMs ||
			time.Until(time.UnixMilli(c.DeadlineMs)) > time.Minute {
			s.Fatalf("%+v, %v", c, err)
		}
		again, err := s.a.ClaimTurn(s.Context(), &parley.ClaimTurnParams{ConversationID: s.id, ClaimID: c.ClaimID})
		if err != nil || again.ClaimID != c.ClaimID || !again.Duplicate {
			s.Errorf("again: %+v, %v", again, err)
		}
	},
	methods.RenewClaim: func(s *scene) {
		c := s.claim(s.a, 1)
		r, err := s.a.RenewClaim(s.Context(), &parley.RenewClaimParams{ConversationID: s.id, ClaimID: c.ClaimID})
		if err != nil || !justGiven(r.DurationMs) || r.DeadlineMs < c.DeadlineMs-1000 {
			s.Errorf("%+v, %v", r, err)
		}
	},
	methods.ReleaseClaim: func(s *scene) {
		c := s.claim(s.a, 1)
		if err := s.a.ReleaseClaim(s.Context(), &parley.ReleaseClaimParams{
			ConversationID: s.id, ClaimID: c.ClaimID, Outcome: parley.ReleaseYield, Reason: "nothing to add",
		}); err != nil {
			s.Fatal(err)
		}
		if g := s.guidance(s.b); g.Kind != parley.MaySpeak || g.Turn != 2 || g.Claim != nil {
			s.Errorf("after a yield: %+v", g)
		}
	},
	methods.CancelTurn: func(s *scene) {
		s.claim(s.a, 1)
		r, err := s.b.CancelTurn(s.Context(), &parley.CancelTurnParams{ConversationID: s.id, Turn: 1, Reason: "too slow"})
		if err != nil || r.Seq != 3 || r.Duplicate {
			s.Errorf("%+v, %v", r, err)
		}
		if g := s.guidance(s.b); g.Kind != parley.MaySpeak || g.Turn != 2 {
			s.Errorf("after a cancel: %+v", g)
		}
	},
	methods.ListAgents: func(s *scene) {
		s.hub.RegisterAgent(s.T, parley.AgentInfo{Name: "fax", Type: parley.AgentTypeFunction})
		got, err := s.a.ListAgents(s.Context(), nil)
		if err != nil || len(got.Agents) != 1 || got.Agents[0].Name != "fax" {
			s.Errorf("%+v, %v", got, err)
		}
	},
	methods.RegisterBlueprints: func(s *scene) {
		told := s.register(s.a, &parley.RegisterExecutorParams{ExecutorID: "x", Agents: []string{}}, nil)
		told.next()
		r, err := s.a.RegisterBlueprints(s.Context(), &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{echo}})
		if err != nil || len(r.Agents) != 1 || r.Agents[0] != (parley.RegisteredBlueprint{Name: "echo", AgentName: "echo"}) {
			s.Errorf("%+v, %v", r, err)
		}
	},
	methods.StartSession: func(s *scene) {
		s.runner(echoed)
		if got := s.start(s.b, parley.StartSessionParams{AgentName: "echo"}); got.Status != parley.SessionCompleted ||
			string(got.Result.ResultData) != `{"n":7}` {
			s.Errorf("%+v", got)
		}
	},
	methods.GetSession: func(s *scene) {
		s.runner(echoed)
		started := s.start(s.b, parley.StartSessionParams{AgentName: "echo", Mode: parley.ModeAsyncPoll})
		got, err := s.b.GetSession(s.Context(), &parley.GetSessionParams{SessionID: started.SessionID, TimeoutMs: 20_000})
		if err != nil || got.Status != parley.SessionCompleted || got.Result == nil {
			s.Errorf("%+v, %v", got, err)
		}
	},
	methods.StopSession: func(s *scene) {
		s.runner(when(s.T, nil, echoed))
		started := s.start(s.b, parley.StartSessionParams{AgentName: "echo", Mode: parley.ModeAsyncPoll})
		got, err := s.b.StopSession(s.Context(), &parley.StopSessionParams{SessionID: started.SessionID})
		if err != nil || got.Status != parley.SessionStopped || got.Reason != parley.ReasonStopped {
			s.Errorf("%+v, %v", got, err)
		}
	},
	methods.RequestApproval: func(s *scene) {
		claim := s.claim(s.a, 1)
		p := &parley.RequestApprovalParams{
			ConversationID: s.id, ClaimID: claim.ClaimID, Key: "k", Title: "May I?", Details: json.RawMessage(`{"n":1}`),
			AnswerSchema: json.RawMessage(`{"type":"integer"}`), ExpiresInMs: 5000,
		}
		got, err := s.a.RequestApproval(s.Context(), p)
		if err != nil || got.ApprovalID != s.id+".3" || got.Status != parley.ApprovalPending || got.AgentID != "a" ||
			got.Turn != 1 ||
			got.Key != "k" ||
			got.Title != "May I?" ||
			string(got.Details) != `{"n":1}` ||
			len(got.AnswerSchema) == 0 ||
			got.ExpiresAt != got.RequestedAt+5000 ||
			got.MayAnswer ||
			got.Duplicate {
			s.Errorf("%+v, %v", got, err)
		}
	},
	methods.GetApproval: func(s *scene) {
		asked := s.ask("k")
		got, err := s.a.GetApproval(s.Context(), &parley.GetApprovalParams{ApprovalID: asked.ApprovalID, TimeoutMs: 20})
		if err != nil || got.Status != parley.ApprovalPending || !got.TimedOut || got.Seq < 4 {
			s.Errorf("%+v, %v", got, err)
		}
	},
	methods.ListApprovals: func(s *scene) {
		asked := s.ask("k")
		got, err := s.a.ListApprovals(s.Context(), nil)
		if err != nil || len(got.Approvals) != 1 || got.Approvals[0].ApprovalID != asked.ApprovalID || got.NextCursor != "" {
			s.Errorf("%+v, %v", got, err)
		}
	},
	methods.ResolveApproval: func(s *scene) {
		asked := s.ask("k")
		b := counting{s.person(), s.calls}
		got, err := b.ResolveApproval(
			s.Context(),
			&parley.ResolveApprovalParams{ApprovalID: asked.ApprovalID, Decision: parley.DecisionApproved, Comment: "go"},
		)
		if err != nil || got.Status != parley.ApprovalApproved || got.By != "b" || got.Comment != "go" ||
			got.ResolvedAt == 0 ||
			got.MayAnswer ||
			got.Duplicate {
			s.Errorf("%+v, %v", got, err)
		}
	},
	methods.GetContext: func(s *scene) {
		s.subscribed()
		noted, err := s.b.SendNote(
			s.Context(),
			&parley.SendNoteParams{
				ConversationID: s.id,
				Payload:        parley.Note{Schema: "page.v1", Data: json.RawMessage(`{"title":"<&>"}`)},
			},
		)
		if err != nil {
			s.Fatal(err)
		}
		got, err := s.a.GetContext(s.Context(), &parley.GetContextParams{ConversationID: s.id})
		const want = `{"trigger":null,"page":{"title":"<&>"}}`
		if err != nil || string(got.Context) != want || got.Bytes != len(want) || len(got.Triggers) != 0 ||
			got.LatestSeq != noted.Seq ||
			len(got.Sources) != 1 ||
			got.Sources[0].Key != "page" ||
			got.Sources[0].Fetch != parley.FetchLatest ||
			!slices.Equal(got.Sources[0].Events, []parley.Cause{{Seq: noted.Seq}}) {
			s.Errorf("%+v, %v: %s", got, err, got.Context)
		}
	},
	methods.ExplainTriggers: func(s *scene) {
		s.subscribed()
		noted, err := s.b.SendNote(
			s.Context(),
			&parley.SendNoteParams{
				ConversationID: s.id,
				Payload:        parley.Note{Schema: "ask.v1", Data: json.RawMessage(`{"input":{"n":7}}`)},
			},
		)
		if err != nil {
			s.Fatal(err)
		}
		got, err := s.a.ExplainTriggers(s.Context(), &parley.ExplainTriggersParams{ConversationID: s.id, Seq: noted.Seq})
		if err != nil || got.Seq != noted.Seq || len(got.Agents) != 1 || got.More != 0 {
			s.Fatalf("%+v, %v", got, err)
		}
		row := got.Agents[0]
		if row.Agent != "a" || row.AgentID != "a" || !row.Woken || row.Workspace ||
			!strings.HasPrefix(row.SessionID, "ses_") ||
			row.State == "" ||
			row.Because == "" ||
			len(row.Selectors) != 2 ||
			!row.Selectors[0].Matched ||
			row.Selectors[0].Role != parley.RoleTrigger ||
			row.Selectors[1].Matched ||
			row.Selectors[1].Role != parley.RoleContext {
			s.Errorf("%+v", row)
		}
	},
	methods.CreateToken: func(s *scene) {
		token, err := s.a.CreateToken(
			s.Context(),
			&parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{parley.ScopeRead}},
		)
		if err != nil || !strings.HasPrefix(token.Token, "plt_") || token.TokenID == "" {
			s.Errorf("%+v, %v", token, err)
		}
	},
	methods.ListTokens: func(s *scene) {
		made, err := s.a.CreateToken(s.Context(), &parley.CreateTokenParams{AgentID: "a"})
		if err != nil {
			s.Fatal(err)
		}
		list, err := s.a.ListTokens(s.Context(), nil)
		if err != nil ||
			!slices.ContainsFunc(list.Tokens, func(i parley.TokenInfo) bool { return i.TokenID == made.TokenID }) {
			s.Errorf("%+v, %v", list, err)
		}
	},
	methods.RevokeToken: func(s *scene) {
		made, err := s.a.CreateToken(s.Context(), &parley.CreateTokenParams{AgentID: "a"})
		if err != nil {
			s.Fatal(err)
		}
		r, err := s.a.RevokeToken(s.Context(), &parley.RevokeTokenParams{TokenID: made.TokenID})
		if err != nil || !slices.Equal(r.Revoked, []string{made.TokenID}) {
			s.Errorf("%+v, %v", r, err)
		}
	},
	methods.Stats: func(s *scene) {
		s.claim(s.a, 1)
		admin := counting{s.door.client(s.T, s.hub, "admin", parley.ScopeAdmin), s.calls}
		n, err := admin.Stats(s.Context(), nil)
		if err != nil || n.Claims != 1 || n.ClaimsTaken != 1 || n.ConversationsOpen < 1 || n.ClaimsEnded == nil {
			s.Errorf("%+v, %v", n, err)
		}
	},
}

// TestContractMethods calls every method of the protocol that a client has, at each door. That a
// case calls its method is counted.
func TestContractMethods(t *testing.T) {
	t.Parallel()
	for _, m := range methods.Table {
		do, here := methodCases[m.Name]
		if _, not := notOfClients[m.Name]; here == not {
			t.Errorf("%s has a case (%v) or is said to be none of a client's (%v): it must be one of them", m.Name, here, not)
		}
		if !here {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			eachDoor(t, func(t *testing.T, s *scene) {
				s.calls = &calls{}
				s.a, s.b = counting{s.a, s.calls}, counting{s.b, s.calls}
				do(s)
				if n := s.calls.counted(); n[m.Name] == 0 {
					t.Errorf("the case of %s made only %v", m.Name, n)
				}
			})
		})
	}
	if n := len(methodCases) + len(notOfClients); n != len(methods.Table) {
		t.Errorf("%d methods have a case or a reason to have none", n)
	}
}

// TestContractNow: a client knows who it is, and what time it is at the hub.
func TestContractNow(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		if s.a.AgentID() != "a" {
			t.Errorf("AgentID is %q", s.a.AgentID())
		}
		if now, err := s.a.Now(t.Context()); err != nil || time.Since(now).Abs() > time.Minute {
			t.Errorf("Now: %v, %v", now, err)
		}
	})
}
