package hub_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// TestParametersOfAnEvent: the parameters are data.input, an object or a text, or else a prompt if
// the agent takes one. Other data starts nothing, and the answer describes the fault.
func TestParametersOfAnEvent(t *testing.T) {
	prompt := `{"type":"object","required":["prompt"],"properties":{"prompt":{"type":"string","minLength":1}},"additionalProperties":false}`
	free := `{"type":"object"}`
	numbers := string(counter("x").ParametersSchema)
	for name, c := range map[string]struct{ schema, data, want, fault string }{
		"an object":          {numbers, `{"input":{"n":2}}`, `{"n":2,"depth":2}`, ""},
		"a text":             {prompt, `{"input":"go <on>"}`, `{"prompt":"go <on>"}`, ""},
		"none, a prompt":     {prompt, `{"q":"a<b"}`, `{"prompt":"{\"q\":\"a<b\"}"}`, ""},
		"none, no object":    {prompt, `[1]`, `{"prompt":"[1]"}`, ""},
		"none, no prompt":    {free, `{"q":1}`, `{}`, ""},
		"no data":            {free, `null`, `{}`, ""},
		"a number":           {free, `{"input":3}`, "", "$.input"},
		"null":               {free, `{"input":null}`, "", "$.input"},
		"a list":             {prompt, `{"input":[]}`, "", "$.input"},
		"another type":       {numbers, `{"input":{"n":"2"}}`, "", "$.n"},
		"what is missing":    {numbers, `{}`, "", "$"},
		"a text for numbers": {numbers, `{"input":"2"}`, "", "$"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t)
				h := startOn(t, j, counted("x"))
				b := listens("calc", onSchema("s.v1"))
				b.ParametersSchema = json.RawMessage(c.schema)
				x := listeners(t, h, b)
				ann := h.LocalPrincipal("ann")
				id := create(t, h, ann, hall("calc"))
				seq := noting(t, h, ann, id, "s.v1", c.data)
				if c.fault == "" {
					if got := parameters(t, j, x.oneOffer().ConversationID); got != c.want {
						t.Fatalf("parameters %s, want %s", got, c.want)
					}
					return
				}
				x.noOffer()
				logIs(t, j, id, seq, "note ann s.v1", "woken calc", "not calc not_started", "note calc tool.response.v1")
				all, notes := answered(t, j, id)
				if a := all[0]; a.Status != parley.SessionFailed || a.Error == "" || a.TriggerSeq != seq ||
					len(a.ValidationErrors) == 0 || a.ValidationErrors[0].Path != c.fault {
					t.Fatalf("the answer is %+v", a)
				}
				if notes[0].Cause == nil || notes[0].Cause.Seq != seq || notes[0].Hops != 1 {
					t.Fatalf("its cause is %+v", notes[0].Cause)
				}
				if row := explained(t, h, ann, id, seq, "calc"); row.State != parley.TriggerEnded ||
					!strings.Contains(row.Because, "could not be started") {
					t.Errorf("row %+v", row)
				}
			})
		})
	}
}

// TestForeignRunner: a runner of the same name whose token may not speak as the agent, and which came first, is given nothing of what wakes it.
func TestForeignRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		eve := arrive(t, h, "eve", parley.RegisterExecutorParams{ExecutorID: "evil", Capacity: 4})
		eve.says(counter("calc"))
		_, err := eve.bring(listens("calc", `[{}]`))
		refused(t, err, parley.ErrForbidden)
		if !strings.Contains(err.Error(), "subscriptions of calc need a token that may speak as calc") {
			t.Errorf("%v", err)
		}
		x := listeners(t, h, listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		eve.noOffer()
		x.works("done")
		if synctest.Wait(); len(storyOf(t, j, id, 1)) != 6 {
			t.Fatalf("the log: %v", storyOf(t, j, id, 1))
		}
	})
}

// TestRoomInATree: no more sessions run at once than a tree has room for, and of one agent half as many; the others wait and go on as these end, of each agent in turn.
func TestRoomInATree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := listeners(t, h, listens("a", onSchema("a.v1")), listens("b", onSchema("b.v1")), listens("c", onSchema("c.v1")))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("a", "b", "c"))
		post := func(agent string, n int) {
			for range n {
				noting(t, h, ann, id, agent+".v1", `{"input":{"n":1}}`)
			}
		}
		post("a", 40)
		half := limits.MaxLiveSessions / 2
		offers := x.offered()
		if len(offers) != half {
			t.Fatalf("%d sessions of one agent, want %d", len(offers), half)
		}
		post("b", 40)
		if more := x.offered(); len(more) != half {
			t.Fatalf("%d sessions of the other, want %d", len(more), half)
		} else {
			offers = append(offers, more...)
		}
		post("c", 2)
		x.noOffer()
		done := 0
		for len(offers) > 0 {
			o := offers[0]
			x.take(o.ConversationID, o.ClaimID)
			x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("done"))
			done++
			next := x.offered()
			if len(next) > 1 {
				t.Fatalf("%d began as one ended", len(next))
			}
			if done == 3 && !slices.ContainsFunc(storyOf(t, j, id, 1), func(s string) bool { return s == "begun c" }) {
				t.Fatal("those of a and b keep c waiting")
			}
			offers = append(offers[1:], next...)
		}
		if done != 82 {
			t.Fatalf("%d sessions have ended, want 82", done)
		}
		if all, _ := answered(t, j, id); len(all) != 82 {
			t.Fatalf("%d answers", len(all))
		}
		quiet(t, h)
	})
}

// TestRunnerThatLeaves: matches that wait when a runner leaves end as not started. Matches while it
// is away wait for it.
func TestRunnerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := listeners(t, h, listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		for range limits.MaxLiveSessions/2 + 3 {
			noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		}
		x.offered()
		x.says(listens("calc", `[{"schema_name":"other.v1","role":"context","key":"k"},{"schema_name":"s.v1"}]`)) // after a change of its subscriptions, the waiting matches are still its own
		synctest.Wait()
		if _, err := x.bring(); err != nil { // it leaves
			t.Fatal(err)
		}
		synctest.Wait()
		ended, notStarted := 0, 0
		for _, s := range storyOf(t, j, id, 1) {
			switch s {
			case "over failed":
				ended++
			case "not calc not_started":
				notStarted++
			}
		}
		if ended != limits.MaxLiveSessions/2 || notStarted != 3 {
			t.Fatalf("%d sessions have failed and %d matches were not started", ended, notStarted)
		}
		if all, _ := answered(t, j, id); len(all) != limits.MaxLiveSessions/2+3 {
			t.Fatalf("%d answers", len(all))
		}
		seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		logIs(t, j, id, seq, "note ann s.v1")
		quiet(t, h)
	})
}

// TestRunnerThatIsAway is woken when it is back, unless that takes too long.
func TestRunnerThatIsAway(t *testing.T) {
	for _, back := range []bool{true, false} {
		t.Run(fmt.Sprint(back), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t)
				h := startOn(t, j, counted("x"))
				b := listens("calc", onSchema("s.v1"))
				x := listeners(t, h, b)
				ann := h.LocalPrincipal("ann")
				id := create(t, h, ann, hall("calc"))
				x.conn.Close()
				synctest.Wait()
				seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
				logIs(t, j, id, seq, "note ann s.v1", "woken calc", "begun calc")
				if row := explained(t, h, ann, id, seq, "calc"); row.State != parley.TriggerPending || !row.Woken {
					t.Errorf("row %+v", row)
				}
				if back {
					pass(time.Minute)
					listeners(t, h, b).works("done")
					logIs(t, j, id, seq, "note ann s.v1", "woken calc", "begun calc", "over completed", "note calc tool.response.v1")
					return
				}
				pass(2 * limits.OfflineMs * time.Millisecond)
				logIs(t, j, id, seq, "note ann s.v1", "woken calc", "begun calc", "over failed", "note calc tool.response.v1")
			})
		})
	}
}

// TestStopWoken: the author of the event and the runner stop the session that the event started,
// also if they are the same; no one else does. The answer reports the stop.
func TestStopWoken(t *testing.T) {
	for name, c := range map[string]struct {
		author, stops string
		taken, may    bool
	}{
		"its author":                         {"bob", "bob", true, true},
		"its runner":                         {"bob", "ops", true, true},
		"its runner, before it has begun":    {"bob", "ops", false, true},
		"a person in the conversation":       {"bob", "ann", true, true},
		"its author, who runs it":            {"ops", "ops", true, true},
		"its author, who runs it, before":    {"ops", "ops", false, true},
		"another who takes part":             {"bob", "carl", true, false},
		"somebody else":                      {"bob", "eve", true, false},
		"the agent itself, by another token": {"bob", "calc", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t)
				h := startOn(t, j, counted("x"))
				x := listeners(t, h, listens("calc", onSchema("s.v1")))
				q := hall("calc")
				q.Participants = append(q.Participants, seatsOf(parley.KindPeer, "bob", "carl", "ops")...)
				id := create(t, h, h.LocalPrincipal("ann"), q)
				seq := noting(t, h, h.LocalPrincipal(c.author), id, "s.v1", `{"input":{"n":1}}`)
				o := x.oneOffer()
				if c.taken {
					x.take(o.ConversationID, o.ClaimID)
				}
				p := h.LocalPrincipal(c.stops)
				if c.stops == "ops" {
					p = x.p
				}
				_, err := h.StopSession(t.Context(), p, &parley.StopSessionParams{SessionID: o.ConversationID})
				if !c.may {
					if err == nil {
						t.Fatal("it was stopped")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				logIs(t, j, id, seq, "note "+c.author+" s.v1", "woken calc", "begun calc", "over stopped",
					"note calc tool.response.v1")
				if all, _ := answered(t, j, id); all[0].Status != parley.SessionStopped || all[0].Error == "" {
					t.Fatalf("the answer is %+v", all[0])
				}
				if row := explained(t, h, h.LocalPrincipal("ann"), id, seq, "calc"); row.State != parley.TriggerEnded {
					t.Errorf("row %+v", row)
				}
			})
		})
	}
}

// TestParentOfWokenCloses: the sessions that its events started end with the conversation, without
// answers.
func TestParentOfWokenCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := listeners(t, h, listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		seq := noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		ses := x.oneOffer().ConversationID
		shut(t, h, ann, id)
		stands(t, h, ann, ses, parley.SessionStopped, parley.ReasonParentClosed)
		if all, _ := answered(t, j, id); len(all) != 0 {
			t.Fatalf("answers %+v", all)
		}
		if row := explained(t, h, ann, id, seq, "calc"); row.State != parley.TriggerEnded {
			t.Errorf("row %+v", row)
		}
		quiet(t, h)
	})
}

// TestMatchesCount: matches count as events, so that maxEvents closes a conversation that wakes and wakes.
func TestMatchesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		listeners(t, h, listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		q := hall("calc")
		q.Limits = &parley.Limits{MaxEvents: 2}
		id := create(t, h, ann, q)
		noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
		synctest.Wait()
		s, _, err := h.GetConversation(t.Context(), ann, &parley.GetConversationParams{ConversationID: id})
		if err != nil || s.Status != parley.StatusClosed || s.Outcome.Reason != parley.ReasonMaxEvents {
			t.Fatalf("%+v, %v", s, err)
		}
		quiet(t, h)
	})
}

// TestLargeAnswer: an answer that is too large for a note, or nested too deep, is returned by
// getSession only.
func TestLargeAnswer(t *testing.T) {
	deep := strings.Repeat("[", limits.MaxDepth-6) + strings.Repeat("]", limits.MaxDepth-6)
	for name, result := range map[string]string{
		"large": ran(strings.Repeat("x", limits.MaxAnswerBytes)),
		"deep":  `{"result_type":"deterministic","result_text":null,"result_data":` + deep + `,"exit_code":0}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t)
				h := startOn(t, j, counted("x"))
				x := listeners(t, h, listens("calc", onSchema("s.v1")))
				ann := h.LocalPrincipal("ann")
				id := create(t, h, ann, hall("calc"))
				noting(t, h, ann, id, "s.v1", `{"input":{"n":1}}`)
				o := x.oneOffer()
				x.take(o.ConversationID, o.ClaimID)
				x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, result)
				synctest.Wait()
				all, _ := answered(t, j, id)
				if len(all) != 1 || !all[0].Omitted || all[0].Text != "" || all[0].Output != nil ||
					all[0].Status != parley.SessionCompleted {
					t.Fatalf("answers %.300v", all)
				}
			})
		})
	}
}
