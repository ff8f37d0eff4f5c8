package fold_test

import "github.com/parleyhub/parley"

// stories are the golden files. In those without a claim who speaks is a person or a peer, or says only final messages.
var stories = map[string]func(s *story){
	"round_robin_2": func(s *story) {
		s.create(roundRobin, "", nil, seats("clinic", "payer")...).say("clinic", none).say("clinic", turn).say("payer", turn).
			say("clinic", turn).say("payer", conversation)
	},
	"round_robin_3": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b", "c")...).say("a", turn).say("b", turn).say("c", none).say("c", turn).
			say("a", turn)
	},
	"starts_with": func(s *story) {
		s.create(roundRobin, "b", nil, seats("a", "b", "c")...).say("b", turn).say("c", turn).say("a", turn).say("b", turn)
	},
	"open": func(s *story) {
		s.create(open, "", nil, seats("a", "b")...).say("b", turn).say("b", turn).say("a", none).say("a", turn).
			say("b", conversation)
	},
	"open_starts_with": func(s *story) {
		s.create(open, "b", nil, seats("a", "b")...).note("a").say("b", none).say("b", turn).say("a", turn).say("a", turn)
	},
	"max_turns": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxTurns: 2}, seats("a", "b")...).say("a", none).say("a", turn).say("b", turn)
	},
	"max_events_open_turn": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxEvents: 3}, seats("a", "b")...).note("b").say("a", none).trace("a")
	},
	"max_bytes": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxBytes: 1024}, seats("a", "b")...)
		for i := range 12 {
			if s.state.Closed() {
				return
			}
			s.say([]string{"a", "b"}[i%2], turn)
		}
	},
	"idle_timeout": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{IdleTimeoutMs: 10_000}, seats("a", "b")...).say("a", none).note("b").
			add("c", "").tick(5000).tick(5000)
	},
	"deadline_open_turn": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{DeadlineMs: 10_000, IdleTimeoutMs: 9000}, seats("a", "b")...).
			say("a", turn).say("b", none).tick(7000)
	},
	"add_participant": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b")...).say("a", turn).add("c", "for c alone").say("b", none).
			add("d", "").say("b", turn).
			say("c", turn).say("d", turn).say("a", turn)
	},
	"notes_and_private": func(s *story) {
		one, two := seats("a")[0], seats("b")[0]
		one.Private, two.Private = "for a alone", "for b alone"
		s.create(roundRobin, "", nil, one, two).note("b").say("a", none).note("b").note("a").say("a", turn).note("a")
	},
	"trace_only_turn": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b")...).trace("a").trace("a").say("a", turn).trace("b").close(nil)
	},
	"attachments": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{IdleTimeoutMs: 10_000}, seats("a", "b")...).
			attach("b", fileB, 16<<20, "before.txt").say("a", none).
			attach("b", fileA, 3, "<naïve>.txt").refer("a", fileA).refer("b", fileB).attach("a", fileC, 1, "").tick(9000)
	},
	"attachment_max_bytes": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxBytes: 4096}, seats("a", "b")...).say("a", none).
			attach("b", fileA, 2000, "half").attach("b", fileB, 2000, "rest")
	},
	"closed_by_creator": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b")...).say("a", turn).
			close(&parley.Outcome{Status: parley.OutcomeFailed, Reason: "nobody came"})
	},
	"agent_claims": func(s *story) {
		s.create(roundRobin, "", nil, agentsAnd("h", "a", "b")...).say("a", none).trace("a").renew("a", 30_000, 20_000).
			renew("a", 31_000, 59_000).say("a", turn).
			accept("b", "b1").note("a").say("b", none).say("b", turn).say("h", turn)
	},
	"claim_lost_and_taken_over": func(s *story) {
		s.create(roundRobin, "", nil, agentsAnd("h", "a", "b")...).accept("a", "a1").say("a", none).
			lapse(parley.ClaimExpired).accept("a", "a2").
			say("a", none).release("a", parley.ClaimFailed).accept("a", "a1").say("a", none).say("a", turn).take("b", "").
			lapse(parley.ClaimDisconnected).say("b", turn)
	},
	"approvals": func(s *story) {
		s.create(roundRobin, "", nil, agentsAnd("h", "a", "b")...).take("a", "a1").say("a", none).ask("one").ask("two").
			resolve(4, parley.ApprovalApproved, "h", "h-1").lapse(parley.ClaimDisconnected).
			resolve(6, parley.ApprovalRejected, "h", "").
			take("a", "a2").ask("three").tick(60_000).ask("four").say("a", turn).say("b", turn)
	},
	"claim_restarted": func(s *story) {
		s.create(roundRobin, "", nil, agentsAnd("h", "a", "b")...).take("a", "a1").say("a", none).
			lapse(parley.ClaimRestarted).take("a", "a1").say("a", turn)
	},
	"yields": func(s *story) {
		s.create(roundRobin, "", nil, agentsAnd("h", "a", "b")...).take("a", "a1").say("a", none).
			release("a", parley.ClaimYielded).
			take("b", "b1").release("b", parley.ClaimYielded).say("h", turn).say("a", turn)
	},
	"all_passed": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b", "c")...).say("a", turn)
		for _, id := range []string{"b", "c", "a"} {
			s.take(id, id+"1").release(id, parley.ClaimYielded)
		}
		s.say("c", turn).say("a", turn)
	},
	"skip": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxAttempts: 2, OnTurnTimeout: parley.TurnSkip}, agentsAnd("h", "a", "b")...).
			take("a", "a1").lapse(parley.ClaimExpired).take("a", "a2").say("a", none).lapse(parley.ClaimExpired).late().
			say("h", turn).say("a", turn)
	},
	"skip_reaches_max_turns": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxTurns: 2, OnTurnTimeout: parley.TurnSkip}, seats("a", "b", "c")...).
			say("a", turn).late()
	},
	"close_at_attempts": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxAttempts: 1, OnTurnTimeout: parley.TurnClose},
			agentsAnd("h", "a", "b")...).
			take("a", "a1").say("a", none).release("a", parley.ClaimDeclined)
	},
	"close_at_turn_timeout": func(s *story) {
		s.create(roundRobin, "h", &parley.Limits{TurnTimeoutMs: 5000, OnTurnTimeout: parley.TurnClose},
			agentsAnd("h", "a", "b")...).late()
	},
	"reoffer": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxAttempts: 1}, agentsAnd("h", "a", "b")...).take("a", "a1").
			release("a", parley.ClaimSilent).late().late().
			take("a", "a1").say("a", turn)
	},
	"cancel": func(s *story) {
		s.create(roundRobin, "", nil, agentsAnd("h", "a", "b")...).take("a", "a1").say("a", none).cancel("h").cancel("h").
			say("h", none).cancel("h").say("a", turn)
	},
	"open_claims": func(s *story) {
		s.create(open, "", &parley.Limits{MaxAttempts: 1}, agentsAnd("h", "a", "b")...).take("b", "b1").say("b", none).
			say("b", turn).
			take("a", "a1").lapse(parley.ClaimExpired).take("b", "b1").release("b", parley.ClaimYielded).say("a", turn).
			say("h", turn)
	},
	"open_starts_with_3": func(s *story) {
		s.create(open, "b", nil, agentsAnd("h", "a", "b")...).take("b", "b1").release("b", parley.ClaimYielded).
			say("h", turn).say("a", turn)
	},
	"addressed": func(s *story) {
		s.create(parley.PolicyAddressed, "", nil, agentsAnd("h", "a", "b", "c")...).tell("a", "@c please").
			tell("c", "thanks, @a and @b").
			hint("h", "b").tell("b", "@nobody there").tell("c", "@a").take("a", "a1").release("a", parley.ClaimYielded).
			tell("b", "@h")
	},
	"addressed_starts_with": func(s *story) {
		s.create(parley.PolicyAddressed, "h", nil, agentsAnd("h", "a", "b", "c")...).tell("h", "who is there").
			tell("a", "I am, @h")
	},
	"rules": func(s *story) {
		s.begin(parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{
			{When: `last.from == "h"`, Next: "b"}, {When: `last.text.contains("help")`, Next: "h"},
			{When: `last.data.cost > 10`, Next: "h"},
		}}, "", nil, agentsAnd("h", "a", "b", "c")...).tell("a", "help").tell("h", "yes").tell("b", "nothing of note")
	},
	"rules_starts_with": func(s *story) {
		s.begin(parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{
			{When: `turns == 1`, Next: "a"}, {When: `autonomous > 1`, Next: "h"}}}, "c", nil,
			agentsAnd("h", "a", "b", "c")...).tell("c", "x").tell("a", "x").tell("h", "x").take("a", "a1").
			release("a", parley.ClaimYielded)
	},
	"moderator": func(s *story) {
		s.begin(parley.Policy{Kind: parley.PolicyModerator, Moderator: "m"}, "", nil, agentsAnd("h", "a", "m", "b")...).
			tell("m", "@b begins").
			take("b", "b1").say("b", none).say("b", turn).hint("m", "h").tell("h", "@a what of it").tell("m", "I name nobody").
			tell("b", "so be it").
			take("m", "m1").release("m", parley.ClaimYielded)
	},
	"moderator_starts_with": func(s *story) {
		s.begin(parley.Policy{Kind: parley.PolicyModerator, Moderator: "m"}, "h", nil, agentsAnd("h", "a", "m", "b")...).
			tell("h", "good morning").
			hint("m", "a").take("a", "a1").release("a", parley.ClaimYielded)
	},
	"max_autonomous_turns": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxAutonomousTurns: 2}, agentsAnd("h", "a", "b", "c")...).say("a", turn).
			take("b", "b1").release("b", parley.ClaimYielded).
			say("h", turn).say("a", turn)
	},
	"max_autonomous_turns_open": func(s *story) {
		s.create(open, "", &parley.Limits{MaxAutonomousTurns: 2}, agentsAnd("h", "a", "b")...).say("a", turn).
			say("b", turn).say("h", turn).say("b", turn)
	},
	"max_autonomous_turns_moderator": func(s *story) {
		s.begin(parley.Policy{Kind: parley.PolicyModerator, Moderator: "a"}, "", &parley.Limits{MaxAutonomousTurns: 2},
			agentsAnd("h", "a", "b")...).tell("a", "@b").
			tell("b", "done").tell("h", "go on").tell("a", "@b")
	},
	"max_autonomous_turns_without_human": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxAutonomousTurns: 3}, seats("a", "b", "c")...).say("a", turn).
			say("b", turn).say("c", turn)
	},
	"stop_when": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{StopWhen: `last.text.contains("agreed") && counts["a"] == 1`},
			agentsAnd("h", "a", "b")...).tell("a", "no").
			tell("b", "well").tell("h", "agreed")
	},
}

// agentsAnd returns a human and some agents.
func agentsAnd(person string, agents ...string) []parley.Participant {
	return append(seats(agents...), parley.Participant{ID: person, Kind: parley.KindHuman})
}
