package hub_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/toolnames"
)

// thinker is a blueprint of an LLM agent that takes a topic.
func thinker(name string) parley.Blueprint {
	return parley.Blueprint{
		Name: name, Type: parley.AgentTypeAgent, Description: "thinks", AgentConfig: json.RawMessage(`{"model":"openai:gpt-4o"}`),
		ParametersSchema: json.RawMessage(`{"type":"object","required":["topic"],"properties":{"topic":{"type":"string"},"a b":{}},"additionalProperties":false}`),
	}
}

// thinks are params of a session of it.
func thinks(agent string) *parley.StartSessionParams {
	return &parley.StartSessionParams{AgentName: agent, Parameters: json.RawMessage(`{"topic":"rain","a b":[1]}`), Mode: parley.ModeAsyncPoll}
}

// lastOffer takes the offers that have arrived, and returns the last one.
func (x *host) lastOffer() parley.RequestTurn {
	x.t.Helper()
	all := x.offered()
	if len(all) == 0 {
		x.t.Fatal("no offer")
	}
	return all[len(all)-1]
}

// thought is the result of an LLM agent.
func thought(text string) string { return `{"result_type":"agent","result_text":"` + text + `"}` }

// TestAgentBlueprintsRefused: the blueprint of an LLM agent is checked against all rules before
// anything is written, and the faults of its config have their paths.
func TestAgentBlueprintsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, thinker("good"))
		before := j.Last()
		bad := thinker("bad")
		bad.AgentConfig = nil
		_, err := x.bring(bad)
		refused(t, err, parley.ErrValidationFailed)
		if j.Last() != before {
			t.Error("something was written")
		}
		agentsAre(t, h, "good of box")
		long := thinker(strings.Repeat("n", toolnames.MaxSpawnerName))
		long.AgentConfig = json.RawMessage(`{"model":"a:b","allow_parallel_subagents":true}`)
		x.says(long)
		typed := counter("typed")
		typed.Type = parley.AgentTypeDeterministic
		before = j.Last()
		x.says(typed)
		x.says(counter("typed"))
		if j.Last() != before+1 {
			t.Error("deterministic and no type are told apart")
		}
	})
}

// configsOf returns the configs in listAgents, by name.
func configsOf(t *testing.T, h *hub.Hub, p *hub.Principal) map[string]string {
	t.Helper()
	r, err := h.ListAgents(t.Context(), p, &parley.ListAgentsParams{IncludeConfig: true})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, a := range r.Agents {
		out[a.Name] = string(a.AgentConfig)
	}
	return out
}

// TestConfigIsKept: a config is stored unchanged except for white space, also over a restart, and
// only its runner and admins read it.
func TestConfigIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		b := thinker("writer")
		b.AgentConfig = json.RawMessage("{ \"temperature\" : 0.10,\n\"model\":\"openai:gpt-4o\", \"instructions\": \"say <hi> & \\u00e9 \u2028\", \"planning_model\": null, \"max_steps\": 12 }")
		want := `{"temperature":0.10,"model":"openai:gpt-4o","instructions":"say <hi> & \u00e9 ` + "\u2028" + `","planning_model":null,"max_steps":12}`
		hosts(t, h, b, counter("count"))
		other := arrive(t, h, "eve", parley.RegisterExecutorParams{ExecutorID: "evil"})
		other.says(thinker("third"))
		for range 2 {
			for name, c := range map[string]struct {
				p     *hub.Principal
				mine  string
				third string
			}{
				"its runner":    {h.LocalPrincipal("ops"), want, ""},
				"an admin":      {h.LocalPrincipal("root", parley.ScopeAdmin), want, `{"model":"openai:gpt-4o"}`},
				"somebody else": {h.LocalPrincipal("ann"), "", ""},
			} {
				if got := configsOf(t, h, c.p); got["writer"] != c.mine || got["third"] != c.third || got["count"] != "" {
					t.Errorf("%s reads %q", name, got)
				}
				r, err := h.ListAgents(t.Context(), c.p, &parley.ListAgentsParams{})
				if err != nil || len(r.Agents) != 3 || r.Agents[2].AgentConfig != nil ||
					r.Agents[2].Type != parley.AgentTypeAgent || r.Agents[0].Type != parley.AgentTypeDeterministic {
					t.Errorf("%s, unasked: %+v, %v", name, r.Agents, err)
				}
			}
			j = crash(t, j)
			h = startOn(t, j, counted("y"))
		}
		if h.Err() != nil {
			t.Error(h.Err())
		}
	})
}

// TestHostedSession: only its runner runs a session of an LLM agent. The session has several turns,
// each attempt is a new offer, and each message is under a claim.
func TestHostedSession(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		long := thinker("writer")
		long.TimeoutMs = 3_600_000
		x := hosts(t, h, long)
		other := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "other", Agents: []string{"ops"}})
		ann := h.LocalPrincipal("ann")
		q := thinks("writer")
		q.Parameters = json.RawMessage(`{"topic":7}`)
		if _, err := h.StartSession(t.Context(), ann, q); !errors.Is(err, parley.ErrParameters) {
			t.Fatal(err)
		}
		id := start(t, h, ann, thinks("writer")).SessionID
		other.noOffer()
		s := stands(t, h, ann, id, parley.SessionPending, "")
		if s.AgentType != parley.AgentTypeAgent || s.RunnerID != "box" {
			t.Fatalf("%+v", s)
		}
		c, _, err := h.GetConversation(t.Context(), ann, &parley.GetConversationParams{ConversationID: id})
		if err != nil || c.Limits.MaxAttempts != 0 || c.Limits.TurnTimeoutMs != 0 || c.Limits.MaxClaimMs != 3_610_000 ||
			c.Session.TimeoutMs != 0 || !c.Session.Hosted {
			t.Fatalf("%+v, %+v, %v", c.Limits, c.Session, err)
		}
		same := h.LocalPrincipal("writer") // has the name of its seat, and is not its runner
		if r := <-post(h, same, message(id, "mine", parley.FinalityTurn, "")); !errors.Is(r.err, parley.ErrClaimRequired) {
			t.Errorf("a namesake speaks: %v", r.err)
		}
		if _, err := claimTurn(h, same, parley.ClaimTurnParams{ConversationID: id, Turn: 2}); !errors.Is(err, parley.ErrForbidden) {
			t.Errorf("a namesake claims: %v", err)
		}

		o := x.oneOffer()
		x.take(id, o.ClaimID)
		if err := release(h, x.p, id, o.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		o = x.lastOffer()
		x.take(id, o.ClaimID)
		say(t, h, x.p, under(message(id, "about rain or snow?", parley.FinalityTurn, ""), o.ClaimID))
		stands(t, h, ann, id, parley.SessionInputRequired, "")

		q = &parley.StartSessionParams{AgentName: "writer", Resume: id, Parameters: json.RawMessage(`{"topic":"snow"}`), TimeoutMs: 1}
		if _, err := h.StartSession(t.Context(), ann, q); err != nil {
			t.Fatal(err)
		}
		o = x.oneOffer()
		x.take(id, o.ClaimID)
		x.ends(id, o.ClaimID, parley.OutcomeCompleted, thought("white"))
		if s := stands(t, h, ann, id, parley.SessionCompleted, ""); *s.Result.ResultText != "white" ||
			s.Result.ResultType != parley.AgentTypeAgent {
			t.Errorf("%+v", s.Result)
		}
		quiet(t, h)
		_ = j
	})
}

// TestHostedEnds: how sessions of an LLM agent end that its runner does not end.
func TestHostedEnds(t *testing.T) {
	for name, c := range map[string]struct {
		after        func(t *testing.T, h *hub.Hub, x *host, id string)
		reason, text string
	}{
		"the runner leaves before": {func(t *testing.T, h *hub.Hub, x *host, id string) {
			x.says()
			x.conn.Close()
			pass(limits.SessionQueueMs * time.Millisecond)
		}, parley.ReasonNoRunner, "No matching runner available within timeout"},
		"the runner goes in the middle": {func(t *testing.T, h *hub.Hub, x *host, id string) {
			x.take(id, x.oneOffer().ClaimID)
			x.conn.Close()
			pass((limits.OfflineMs + limits.SessionQueueMs) * time.Millisecond)
		}, parley.ReasonInterrupted, "The runner has not ended the session in time"},
		"the runner runs it no more": {func(t *testing.T, h *hub.Hub, x *host, id string) {
			x.says(counter("writer"))
		}, parley.ReasonNoRunner, "No matching runner available within timeout"},
		"three attempts": {func(t *testing.T, h *hub.Hub, x *host, id string) {
			for range 3 {
				o := x.lastOffer()
				x.take(id, o.ClaimID)
				if err := release(h, x.p, id, o.ClaimID, parley.ReleaseFailed); err != nil {
					t.Fatal(err)
				}
				pass(time.Minute)
			}
		}, parley.ReasonAttempts, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				x := hosts(t, h, thinker("writer"))
				ann := h.LocalPrincipal("ann")
				id := start(t, h, ann, thinks("writer")).SessionID
				stands(t, h, ann, id, parley.SessionPending, "")
				c.after(t, h, x, id)
				s := stands(t, h, ann, id, parley.SessionFailed, c.reason)
				if s.Result == nil || s.Result.ResultType != parley.AgentTypeAgent || c.text != "" && s.Result.Error != c.text || s.Result.Error == "" {
					t.Errorf("%+v", s.Result)
				}
				quiet(t, h)
			})
		})
	}
}

// TestHostedRunnerComesBack: the work of an LLM agent is in the log, so a runner that reconnects in
// time continues it.
func TestHostedRunnerComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := hosts(t, h, thinker("writer"))
		ann := h.LocalPrincipal("ann")
		id := start(t, h, ann, thinks("writer")).SessionID
		o := x.oneOffer()
		x.take(id, o.ClaimID)
		if err := release(h, x.p, id, o.ClaimID, parley.ReleaseDecline); err != nil {
			t.Fatal(err)
		}
		x.says() // it drains
		x.conn.Close()
		pass(time.Minute)
		stands(t, h, ann, id, parley.SessionPending, "")
		j = crash(t, j)
		h = startOn(t, j, counted("y"))
		ann = h.LocalPrincipal("ann")
		pass(time.Minute)
		x = hosts(t, h, thinker("writer"))
		pass(time.Minute)
		o = x.lastOffer()
		if o.ConversationID != id {
			t.Fatalf("%+v", o)
		}
		x.take(id, o.ClaimID)
		x.ends(id, o.ClaimID, parley.OutcomeCompleted, thought("done"))
		stands(t, h, ann, id, parley.SessionCompleted, "")
	})
}

// TestHostedWaits: a session of an LLM agent whose demands no runner meets waits for one, and is
// offered to no other executor.
func TestHostedWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, thinker("writer"))
		ann := h.LocalPrincipal("ann")
		q := thinks("writer")
		q.Demands = map[string]string{"zone": "eu"}
		id := start(t, h, ann, q).SessionID
		namesake := arrive(t, h, "writer", parley.RegisterExecutorParams{ExecutorID: "n1", Agents: []string{"writer"},
			Labels: map[string]string{"zone": "eu"}})
		command := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "command",
			Labels: map[string]string{"zone": "eu"}})
		wrong := counter("writer")
		wrong.ParametersSchema = json.RawMessage(`{}`)
		command.says(wrong)
		pass(time.Minute)
		x.noOffer()
		namesake.noOffer()
		command.noOffer()
		command.says()
		right := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "right",
			Labels: map[string]string{"zone": "eu"}})
		right.says(thinker("writer"))
		o := right.oneOffer()
		right.take(id, o.ClaimID)
		right.ends(id, o.ClaimID, parley.OutcomeCompleted, thought("here"))
		if s := stands(t, h, ann, id, parley.SessionCompleted, ""); s.RunnerID != "right" {
			t.Errorf("%+v", s)
		}
	})
}

// TestSeatAndBlueprint: an LLM agent whose name executors of the same participant serve takes what its blueprint says, and any of them runs its sessions. A foreign runner says nothing of it.
func TestSeatAndBlueprint(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		foreign := arrive(t, h, "eve", parley.RegisterExecutorParams{ExecutorID: "evil"})
		if names := foreign.says(thinker("writer")); names[0] != "writer" {
			t.Fatal(names)
		}
		ann := h.LocalPrincipal("ann")
		ops := func(id string) *host {
			x := &host{id: id, runner: connect(t, h, h.LocalPrincipal("ops").SpeakingAs("writer"))}
			x.mustRegister(parley.RegisterExecutorParams{ExecutorID: id, Agents: []string{"writer"}, Mode: parley.ModePush,
				GraceMs: limits.OfflineMs})
			return x
		}
		plain := ops("plain")
		agentsAre(t, h, "writer", "writer@evil of evil")
		if _, err := h.StartSession(t.Context(), ann, thinks("writer")); !errors.Is(err, parley.ErrParameters) {
			t.Errorf("the foreign runner says what it takes: %v", err) // it takes {prompt}
		}
		box := ops("box")
		if names := box.says(thinker("writer")); names[0] != "writer" {
			t.Error(names)
		}
		agentsAre(t, h, "writer of box", "writer@evil of evil")
		if _, err := h.StartSession(t.Context(), ann, &parley.StartSessionParams{AgentName: "writer",
			Prompt: "x"}); !errors.Is(err, parley.ErrParameters) {
			t.Errorf("its own blueprint does not: %v", err)
		}
		id := start(t, h, ann, thinks("writer")).SessionID
		if s := stands(t, h, ann, id, parley.SessionPending, ""); s.RunnerID != "" || s.AgentType != parley.AgentTypeAgent {
			t.Errorf("%+v", s)
		}
		box.conn.Close()
		foreign.noOffer()
		synctest.Wait()
		pass(10 * time.Second)
		o := plain.lastOffer()
		plain.take(id, o.ClaimID)
		plain.ends(id, o.ClaimID, parley.OutcomeCompleted, thought("anybody"))
		stands(t, h, ann, id, parley.SessionCompleted, "")
		agentsAre(t, h, "writer of box", "writer@evil of evil") // others of the participant serve it
		bound := start(t, h, ann, thinks("writer@evil"))
		if o := foreign.oneOffer(); o.ConversationID != bound.SessionID {
			t.Errorf("%+v", o)
		}
	})
}

// TestHostedInLog: an import accepts the events of such sessions as the hub wrote them.
func TestHostedInLog(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, thinker("writer"))
		ann := h.LocalPrincipal("ann")
		id := start(t, h, ann, thinks("writer")).SessionID
		o := x.oneOffer()
		x.take(id, o.ClaimID)
		x.ends(id, o.ClaimID, parley.OutcomeCompleted, thought("done"))
		all := events(t, j, id)
		if !bytes.Contains(all[0].Raw(), []byte(`"type":"agent"`)) || !bytes.Contains(all[0].Raw(), []byte(`"hosted":true`)) {
			t.Errorf("%s", all[0].Raw())
		}
		wantTurns(t, j, id, "ann:turn", "claimed(box 1)", "writer:conversation")
	})
}
