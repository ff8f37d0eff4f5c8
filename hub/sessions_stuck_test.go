package hub_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestToldIsAsked: an agent that got callbacks is offered its turn, also while others wait for
// theirs.
func TestToldIsAsked(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 10})
		x.says(counter("count"))
		a, b := push(t, h, "wa", "a"), push(t, h, "wb", "b")
		id := team(t, h, parley.PolicyRoundRobin)
		first := a.oneOffer()
		a.take(id, first.ClaimID)
		for _, p := range []*hub.Principal{a.p, h.LocalPrincipal("b")} {
			start(t, h, p, counts("count", 1, parley.ModeAsyncCallback, id))
		}
		for _, o := range x.offered() {
			x.take(o.ConversationID, o.ClaimID)
			x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("x"))
			pass(0)
		}
		say(t, h, a.p, under(message(id, "now", parley.FinalityTurn, ""), first.ClaimID))
		for _, w := range []*runner{a, b} { // both get their callbacks, one after the other
			pass(time.Second)
			o := w.oneOffer()
			w.take(id, o.ClaimID)
			say(t, h, w.p, under(message(id, "thanks", parley.FinalityTurn, ""), o.ClaimID))
		}
		if got := toldIDs(t, j, id); len(got) != 2 {
			t.Fatalf("told %v", got)
		}
	})
}

// TestNobodyTakesMany: sessions fail that are offered to a runner that takes none, however many they are: what it is asked is not what it works on.
func TestNobodyTakesMany(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 1})
		x.says(counter("count"))
		ann := h.LocalPrincipal("ann")
		var ids []string
		for range 40 {
			ids = append(ids, start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID)
		}
		pass(200 * time.Second)
		for _, id := range ids {
			failsAs(t, h, ann, id, parley.ReasonNoRunner, "No matching runner available within timeout")
		}
		quiet(t, h)
	})
}

// TestLateRunnerRunsOnce: a command is repeated only if the blueprint of its runner allows it,
// whichever blueprint was known when the session started.
func TestLateRunnerRunsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		again := counter("count")
		again.Idempotent = true
		hosts(t, h, again)
		ann := h.LocalPrincipal("ann")
		q := counts("count", 1, parley.ModeAsyncPoll, "")
		q.Demands = map[string]string{"gpu": "1"}
		id := start(t, h, ann, q).SessionID
		late := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "late", Labels: map[string]string{"gpu": "1"}})
		late.says(counter("count"))
		o := late.oneOffer()
		late.take(id, o.ClaimID)
		if err := release(h, late.p, id, o.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		late.noOffer()
		stands(t, h, ann, id, parley.SessionFailed, parley.ReasonAttempts)
	})
}

// TestDeepResult: a result that nests as deep as a message may is left out of a callback, in which it would nest deeper than an event may.
func TestDeepResult(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		parent := create(t, h, ann, open2("ann"))
		id := start(t, h, ann, counts("count", 1, parley.ModeAsyncCallback, parent)).SessionID
		o := x.oneOffer()
		x.take(id, o.ClaimID)
		deep := strings.Repeat("[", 58) + strings.Repeat("]", 58)
		x.ends(id, o.ClaimID, parley.OutcomeCompleted, `{"result_type":"deterministic","result_text":null,"result_data":`+deep+`}`)
		pass(0)
		got := callbacks(t, j, parent)
		if len(got) != 1 || got[0][0].Result == nil || !got[0][0].Result.Omitted || got[0][0].Result.ResultData != nil {
			t.Fatalf("%+v", got[0][0].Result)
		}
		if s := session(t, h, ann, id); string(s.Result.ResultData) != deep {
			t.Fatalf("%+v", s.Result)
		}
	})
}

// TestNameOfAnExecutor: a runner does not take the name of an agent that executors run, whose token speaks as that.
func TestNameOfAnExecutor(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		w := push(t, h, "w1", "writer")
		eve := arrive(t, h, "eve", parley.RegisterExecutorParams{ExecutorID: "evil"})
		b := counter("writer")
		b.ParametersSchema = json.RawMessage(`{"type":"object"}`)
		names := eve.says(b)
		s := start(t, h, h.LocalPrincipal("ann"), &parley.StartSessionParams{AgentName: "writer", Prompt: "secret",
			Mode: parley.ModeAsyncPoll})
		eve.noOffer()
		if o := w.oneOffer(); o.ConversationID != s.SessionID {
			t.Errorf("%+v", o)
		}
		if names[0] != "writer@evil" {
			t.Error(names)
		}
	})
}

// TestOthersWithoutLabels: an executor that has lost a session's turn is not refused it for the sake of others that may not take it.
func TestOthersWithoutLabels(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		push(t, h, "w1", "writer")
		x := arrive(t, h, "writer", parley.RegisterExecutorParams{ExecutorID: "w2", Agents: []string{"writer"},
			Labels: map[string]string{"gpu": "1"}})
		q := &parley.StartSessionParams{AgentName: "writer", Prompt: "p", Mode: parley.ModeAsyncPoll,
			Demands: map[string]string{"gpu": "1"}}
		id := start(t, h, h.LocalPrincipal("ann"), q).SessionID
		o := x.oneOffer()
		x.take(id, o.ClaimID)
		if err := release(h, x.p, id, o.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		if _, err := claimTurn(h, x.p, parley.ClaimTurnParams{ConversationID: id, Turn: 2}); err != nil {
			t.Fatal(err)
		}
	})
}

// readings is a journal that counts how often one conversation is read, which cannot be.
type readings struct {
	damaged
	times *atomic.Int64
}

func (r readings) Read(id string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	if id == r.id {
		r.times.Add(1)
	}
	return r.damaged.Read(id, after, limit, maxBytes)
}

// TestDamagedParent: a parent that cannot be read is not read again and again for the sake of its sessions.
func TestDamagedParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		parent := create(t, h, ann, open2("ann"))
		id := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, parent)).SessionID
		times := new(atomic.Int64)
		h = startOn(t, readings{damaged{crash(t, j), parent}, times}, counted("y"))
		pass(time.Hour)
		if n := times.Load(); n == 0 || n > 20 {
			t.Fatalf("it was read %d times in an hour", n)
		}
		failsAs(t, h, h.LocalPrincipal("ann"), id, parley.ReasonNoRunner, "No matching runner available within timeout")
	})
}

// claimless is a journal that has no room for claims while its switch is set.
type claimless struct {
	*memory.Journal
	say chan struct{}
}

func (c claimless) Submit(b journal.Batch) {
	b = b.Sealed()
	if !bytes.Contains(b.Events[0], []byte(`"kind":"turn_claimed"`)) {
		c.Journal.Submit(b)
		return
	}
	go func() {
		<-c.say
		b.Done(journal.Head{}, journal.ErrStorageFull)
	}()
}

// TestCommandTokenOfNoClaim: the token of a command ends with a claim that could not be written.
func TestCommandTokenOfNoClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := claimless{newJournal(t), make(chan struct{})}
		h := startOn(t, j, counted("x"))
		x := hosts(t, h, counter("count"))
		id := start(t, h, h.LocalPrincipal("ann"), counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		o := x.oneOffer()
		taken := make(chan error, 1)
		h.ClaimTurn(x.p, &parley.ClaimTurnParams{ConversationID: id, ClaimID: o.ClaimID},
			func(_ parley.ClaimTurnResult, err error) { taken <- err })
		command, err := h.Authenticate(t.Context(), "plc_"+id+"_"+o.ClaimID, "")
		close(j.say)
		refused(t, <-taken, parley.ErrStorageFull)
		if err == nil && !command.Revoked() {
			t.Fatal("the token of a claim that does not stand is valid")
		}
	})
}
