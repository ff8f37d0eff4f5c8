package fold_test

import (
	"maps"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

func init() { maps.Copy(stories, triggerStories) }

// triggerStories are those of conversations whose events wake agents.
var triggerStories = map[string]func(s *story){
	"triggers": func(s *story) {
		s.create(triggers, "", nil, agentsAnd("h", "assistant", "search")...).rouse("h", "assistant").
			take("assistant", "x").trace("assistant").rouse("assistant", "search").
			say("search", turn).rouse("h", "search", "assistant").take("search", "y").release("search", parley.ClaimYielded).
			rouse("assistant", "assistant", "search").
			say("assistant", none).say("assistant", turn).say("search", turn).say("h", conversation)
	},
	"triggers_sessions": func(s *story) {
		seats := agentsAnd("h", "assistant", "search")
		s.do(fold.Command{
			Do: &fold.Create{Params: &parley.CreateConversationParams{
				Participants: seats, Policy: &parley.Policy{Kind: triggers}, Workspace: "lab"}},
			From: "maker",
		}).
			post("h", parley.Wake{Agent: "search", AgentID: "search", SessionID: "ses_1",
				AnswerSchema: parley.ToolResponseSchema}, parley.Wake{
				Agent: "archivist", AgentID: "archivist", Selector: 2, SessionID: "ses_2", Workspace: true,
				AnswerSchema: parley.AgentResponseSchema,
			}).
			began("ses_1").answers("ses_1", bySession("assistant", "ses_3")...).do(s.unstarted("ses_2")).began("ses_3").
			rouse("h", "assistant").
			answers("ses_3").say("assistant", turn).close(nil)
	},
	"triggers_limits": func(s *story) {
		s.create(triggers, "", &parley.Limits{MaxHops: 2, MaxWakesPerMinute: 2, MaxAutonomousTurns: 4},
			agentsAnd("h", "a", "b")...).rouse("h", "a").rouse("a", "b").rouse("b", "a").
			post("a", bySession("b", "ses_1")...).post("a", bySession("b", "ses_2")...).tick(59_000).
			post("a", bySession("b", "ses_3")...).
			rouse("h", "a").rouse("a", "b", "a").say("b", turn).say("a", turn).say("h", turn)
	},
	"triggers_persons": func(s *story) {
		s.begin(parley.Policy{Kind: triggers}, "b", nil, append(
			agentsAnd("h", "a", "b"), parley.Participant{ID: "p", Kind: parley.KindPeer})...).rouse("b", "b").
			take("b", "x").lapse(parley.ClaimExpired).say("b", turn).say("h", turn).cancel("h").cancel("h").rouse("p", "a").
			cancel("p").say("h", turn)
	},
	"triggers_without_persons": func(s *story) {
		s.create(triggers, "", &parley.Limits{OnTurnTimeout: parley.TurnSkip}, seats("a", "b")...).rouse("a", "b").late().
			say("b", turn)
	},
	"triggers_callback": func(s *story) {
		s.create(triggers, "", nil, agentsAnd("h", "a", "b")...).rouse("h", "a", "b").
			do(fold.Command{
				Do: &fold.StartChild{Child: fold.Child{ID: "ses_1", By: "b", Agent: "count", Mode: parley.ModeAsyncCallback,
					Hops: 1}},
				From: parley.HubID,
			}).
			ends("ses_1", parley.SessionCompleted).say("a", turn).callBack().rouse("b", "a").say("a", turn)
	},
}

// began adds the start of the session of a match to its parent.
func (s *story) began(id string) *story {
	m := s.state.Matches[s.state.MatchIndex(id)]
	return s.do(fold.Command{
		Do: &fold.StartChild{Child: fold.Child{ID: id, By: m.By, Agent: m.Agent, Mode: parley.ModeAsyncPoll,
			Hops: m.Hops + 1}},
		From: parley.HubID,
	})
}
