package fold_test

import (
	"encoding/json"
	"maps"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
)

func init() { maps.Copy(stories, sessionStories) }

// sessionStories are those of parents that are called back, and of sessions, whose ids are their names.
var sessionStories = map[string]func(s *story){
	"callback": func(s *story) {
		s.create(roundRobin, "", nil, agentsAnd("h", "a", "b")...).starts("a", "ses_1").starts("b", "ses_2").say("a", none).
			ends("ses_1", parley.SessionCompleted).callBack().
			say("a", turn).callBack().say("a", turn).say("b", turn).ends("ses_2", parley.SessionStopped).callBack().
			say("b", turn).say("h", turn)
	},
	"callback_two_starters": func(s *story) {
		s.create(open, "", nil, agentsAnd("h", "a", "b")...).starts("a", "ses_1").starts("b", "ses_2").starts("h", "ses_3").
			starts("a", "ses_4").take("a", "a1").
			ends("ses_3", parley.SessionCompleted).ends("ses_1", parley.SessionFailed).ends("ses_2", parley.SessionCompleted).
			ends("ses_4", parley.SessionCompleted).callBack().
			say("a", turn).callBack().callBack().callBack().accept("a", "a1").say("a", turn).callBack().take("b", "b1").
			release("b", parley.ClaimYielded).say("h", turn)
	},
	"callback_before_anybody": func(s *story) {
		s.begin(parley.Policy{Kind: parley.PolicyModerator, Moderator: "m"}, "h", nil, agentsAnd("h", "a", "m")...).
			starts("a", "ses_1").
			ends("ses_1", parley.SessionCompleted).callBack().tell("a", "it is done").hint("m", "h")
	},
	"callback_after_the_human": func(s *story) {
		s.create(parley.PolicyAddressed, "", &parley.Limits{MaxAutonomousTurns: 1}, agentsAnd("h", "a", "b")...).
			starts("a", "ses_1").tell("a", "@b").
			ends("ses_1", parley.SessionCompleted).callBack().tell("h", "@b please").tell("a", "@b")
	},
	"callback_where_all_passed": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b")...).starts("b", "ses_1").take("a", "a1").
			release("a", parley.ClaimYielded).take("b", "b1").release("b", parley.ClaimYielded).
			ends("ses_1", parley.SessionCompleted).callBack().say("b", turn)
	},
	"callback_closed_before": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxEvents: 3, IdleTimeoutMs: 10_000}, seats("a", "b")...).
			starts("a", "ses_1").say("a", none).tick(5000).
			ends("ses_1", parley.SessionCompleted).tick(8000).starts("a", "ses_2")
	},
	"ses_command": func(s *story) {
		s.session(parley.AgentTypeDeterministic, &parley.Limits{
			OnTurnTimeout: parley.TurnClose, MaxAttempts: 1, TurnTimeoutMs: 40_000, MaxClaimMs: 40_000}).
			bind().claims("box", "ops").trace("agent").result()
	},
	"ses_command_interrupted": func(s *story) {
		s.session(parley.AgentTypeDeterministic, &parley.Limits{
			OnTurnTimeout: parley.TurnClose, MaxAttempts: 2, TurnTimeoutMs: 40_000, MaxClaimMs: 40_000}).
			bind().claims("box", "ops").trace("agent").lapse(parley.ClaimRestarted).claims("box", "ops").
			lapse(parley.ClaimDisconnected)
	},
	"ses_command_nobody": func(s *story) {
		s.session(parley.AgentTypeDeterministic, &parley.Limits{OnTurnTimeout: parley.TurnClose, MaxAttempts: 1}).late()
	},
	"ses_agent": func(s *story) {
		s.session(parley.AgentTypeAgent, &parley.Limits{OnTurnTimeout: parley.TurnClose}).claims("w1", "agent").
			say("agent", turn).
			do(fold.Command{
				Do: &fold.Message{Finality: turn, Payload: json.RawMessage(`{"text":"more","parameters":{"prompt":"more"}}`),
					Speech: check.Speech{Parameters: true}},
				From: "maker",
			}).
			claims("w1", "agent").say("agent", none).release("agent", parley.ClaimFailed).
			do(fold.Command{
				Do: &fold.EndSession{Outcome: parley.Outcome{Status: parley.OutcomeCanceled, Reason: parley.ReasonStopped},
					Detail: "The session was stopped by maker."},
				From: parley.HubID,
			})
	},
}

// starts is a session in mode async_callback that was started out of the conversation.
func (s *story) starts(by, id string) *story {
	return s.do(fold.Command{From: parley.HubID,
		Do: &fold.StartChild{Child: fold.Child{ID: id, By: by, Agent: "count", Mode: parley.ModeAsyncCallback}}})
}

func (s *story) ends(id string, status parley.SessionStatus) *story {
	return s.do(fold.Command{Do: &fold.EndChild{SessionID: id, Status: status}, From: parley.HubID})
}

// callBack sends the next callback, if there is one.
func (s *story) callBack() *story {
	var told []parley.Callback
	for _, c := range s.state.Callbacks {
		told = append(told, parley.Callback{
			CallbackType: parley.CallbackChildCompleted, ChildSessionID: c.ID, AgentName: c.Agent, Status: c.Status,
			Result: &parley.SessionResult{ResultType: parley.AgentTypeDeterministic, ExitCode: new(int(0))},
		})
	}
	return s.do(fold.Command{Do: &fold.Callback{Callbacks: told}, From: parley.HubID})
}

// session begins the conversation of one, of caller and agent.
func (s *story) session(kind parley.AgentType, l *parley.Limits) *story {
	r := &parley.SessionRecord{Agent: "agent", AgentID: "agent", Type: kind, Caller: "maker", Mode: parley.ModeSync,
		Root: s.state.ID, Depth: 1}
	if kind == parley.AgentTypeDeterministic {
		r.TimeoutMs = 30_000
	}
	return s.do(fold.Command{
		Do: &fold.Create{Session: r, Digest: "0123", Payload: json.RawMessage(`{"text":"hi","parameters":{"prompt":"hi"}}`),
			Params: &parley.CreateConversationParams{
				Title: "session of agent", Participants: []parley.Participant{
					{ID: "maker", Kind: parley.KindPeer}, {ID: "agent", Kind: parley.KindAgent}},
				StartsWith: "maker", Limits: l,
			}},
		From: "maker",
	})
}

func (s *story) bind() *story {
	return s.do(fold.Command{From: parley.HubID,
		Do: &fold.Bind{Runner: &parley.RunnerRef{RunnerID: "box", ParticipantID: "ops"}}})
}

// claims takes the turn of the agent for an executor of an owner.
func (s *story) claims(executor, owner string) *story {
	return s.do(fold.Command{From: "agent", Executor: fold.Executor{ID: executor, Owner: owner}, By: owner,
		Do: &fold.Take{Turn: s.state.CurrentTurn(), NewClaim: fold.NewClaim{GraceMs: 180_000}}})
}

func (s *story) result() *story {
	return s.do(fold.Command{
		Do: &fold.Message{Finality: conversation, Outcome: &parley.Outcome{Status: parley.OutcomeFailed},
			Payload: json.RawMessage(
				`{"result":{"result_type":"deterministic","result_text":"","exit_code":1,"error":"exit status 1"}}`),
			Speech: check.Speech{Result: true}},
		From: "agent",
	})
}
