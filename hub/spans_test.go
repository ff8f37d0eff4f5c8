package hub_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
)

// spanNumber returns the traceparent of a caller's span, in the trace of the same number.
func spanNumber(n int) string { return fmt.Sprintf("00-%032x-%016x-01", 0xaa00+n, 0xbb00+n) }

// turnSpanID is what the id of a turn's span is made of, by the words of protocol.md.
func turnSpanID(conversation string, turn int64) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("turn\x00%s\x00%d", conversation, turn)))
	return hex.EncodeToString(sum[:8])
}

// turnUnder is the traceparent of a turn whose message was said in a span.
func turnUnder(parent, conversation string, turn int64) string {
	return parent[:36] + turnSpanID(conversation, turn) + parent[52:]
}

// recorded returns the options of a hub with a span recorder.
func recorded(prefix string, r *spantest.Recorder) *hub.Options {
	o := rooted(prefix)
	o.Tracer = r
	return o
}

// saidUnder says a message in a span.
func saidUnder(t testing.TB, h *hub.Hub, p *hub.Principal, id, words, span string) parley.SendResult {
	t.Helper()
	q := message(id, words, parley.FinalityTurn, "")
	q.Traceparent = span
	return say(t, h, p, q)
}

// checkTraceparents holds what the events of a log say of spans against a list, empty for none.
func checkTraceparents(t testing.TB, j journal.Journal, id string, want ...string) {
	t.Helper()
	var got []string
	for _, e := range events(t, j, id) {
		got = append(got, e.Traceparent)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the spans of %s are\n%s\nwant\n%s", id, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTurnSpan: a turn that was claimed is a span below what it answers, from when the floor was given to its end, with an id that follows from the log alone. Offer and claim
// name it.
func TestTurnSpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &spantest.Recorder{}
		j := newJournal(t)
		h := startOn(t, j, recorded("t", told))
		r := push(t, h, "r1", "a")
		b := h.LocalPrincipal("b")
		id := create(t, h, b, &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "b", Kind: parley.KindHuman},
				{ID: "a", Kind: parley.KindAgent}}, Traceparent: spanNumber(1),
		})
		saidUnder(t, h, b, id, "hello", spanNumber(2))
		given := h.Now()
		want := turnUnder(spanNumber(2), id, 2)
		o := r.oneOffer()
		pass(time.Second)
		c := r.take(o.ConversationID, o.ClaimID)
		if o.Traceparent != want || c.Traceparent != want {
			t.Fatalf("offered under %q, claimed under %q, want %q", o.Traceparent, c.Traceparent, want)
		}
		pass(time.Second)
		if n := len(told.Spans()); n > 0 {
			t.Fatalf("%d spans before the turn has ended", n)
		}
		saidUnder(t, h, r.p, id, "hi", spanNumber(3))
		spans := told.Spans()
		if len(spans) != 1 {
			t.Fatalf("%d spans of one turn that was claimed: %+v", len(spans), spans)
		}
		s := spans[0]
		wantAttributes := map[string]any{
			spannames.AttrGenAIConversationID: id, spannames.AttrGenAIAgentID: "a", spannames.AttrGenAIAgentName: "a",
			spannames.AttrTurnNumber: int64(2), spannames.AttrTurnAttempts: 1, spannames.AttrTurnOutcome: "final",
		}
		if s.Name != "turn a" || s.Kind != parley.SpanInternal || s.Parent != spanNumber(2) || s.Traceparent != want ||
			s.Failure != "" || s.Ends != 1 {
			t.Errorf("%+v", s)
		}
		if fmt.Sprint(s.Attributes) != fmt.Sprint(wantAttributes) {
			t.Errorf("attributes %v, want %v", s.Attributes, wantAttributes)
		}
		if !s.At.Equal(given) || !s.EndedAt.Equal(given.Add(2*time.Second)) {
			t.Errorf("from %v to %v, want 2 s from %v", s.At, s.EndedAt, given)
		}
		saidUnder(t, h, b, id, "bye", spanNumber(4))
		if n := len(told.Spans()); n != 1 {
			t.Errorf("the turn was told %d times", n)
		}
		checkTraceparents(t, j, id, spanNumber(1), spanNumber(2), "", spanNumber(3), spanNumber(4))
	})
}

// TestTurnSpanWithoutParent: a turn that answers a message without a span starts a separate trace,
// which is sampled.
func TestTurnSpanWithoutParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &spantest.Recorder{}
		h := startOn(t, newJournal(t), recorded("t", told))
		r := push(t, h, "r1", "a")
		traces := map[string]bool{}
		for range 3 {
			id := asked(t, h, nil)
			c := r.claim()
			if !parley.ValidTraceparent(c.Traceparent) || c.Traceparent[36:] != turnSpanID(id, 1)+"-01" {
				t.Fatalf("claimed under %q", c.Traceparent)
			}
			traces[c.Traceparent[:36]] = true
			say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
			if got := told.Spans(); got[len(got)-1].Traceparent != c.Traceparent || got[len(got)-1].Parent != "" {
				t.Fatalf("%+v, claimed under %q", got[len(got)-1], c.Traceparent)
			}
		}
		if len(traces) != 3 {
			t.Errorf("the turns of 3 conversations are in %d traces", len(traces))
		}
	})
}

// TestTurnSpanOverRestart: the span of a turn that was claimed before a crash is the same after it,
// in the next claim and in the end of the turn.
func TestTurnSpanOverRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, recorded("x", &spantest.Recorder{}))
		r, b := push(t, h, "r1", "a"), h.LocalPrincipal("b")
		id := create(t, h, b, &parley.CreateConversationParams{Participants: []parley.Participant{{ID: "b",
			Kind: parley.KindHuman}, {ID: "a", Kind: parley.KindAgent}}})
		saidUnder(t, h, b, id, "hello", spanNumber(1))
		given := h.Now()
		first := r.claim()
		pass(time.Second)
		next, told := crash(t, j), &spantest.Recorder{}
		h = startOn(t, next, recorded("y", told))
		r = push(t, h, "r2", "a")
		pass(6 * time.Second)
		second := r.claim()
		if second.ClaimID == first.ClaimID || second.Traceparent != first.Traceparent {
			t.Fatalf("claimed under %q, and again under %q", first.Traceparent, second.Traceparent)
		}
		say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
		spans := told.Spans()
		if len(spans) != 1 || spans[0].Traceparent != first.Traceparent ||
			spans[0].Attributes[spannames.AttrTurnAttempts] != 2 || !spans[0].At.Equal(given) {
			t.Fatalf("%+v, want %s from %v", spans, first.Traceparent, given)
		}
	})
}

// TestTurnSpanOutcomes: a claimed turn has one span however it ends, and an unclaimed turn has
// none.
func TestTurnSpanOutcomes(t *testing.T) {
	release := func(outcome parley.ReleaseOutcome) func(testing.TB, *hub.Hub, *runner, string, parley.ClaimTurnResult) {
		return func(t testing.TB, h *hub.Hub, r *runner, id string, c parley.ClaimTurnResult) {
			q := &parley.ReleaseClaimParams{ConversationID: id, ClaimID: c.ClaimID, Outcome: outcome}
			if _, err := one(func(done func(parley.EmptyResult, error)) { h.ReleaseClaim(r.p, q, done) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		limits  parley.Limits
		end     func(testing.TB, *hub.Hub, *runner, string, parley.ClaimTurnResult)
		outcome string
		failure string
	}{
		"yielded": {end: release(parley.ReleaseYield), outcome: "yielded"},
		"skipped": {limits: parley.Limits{OnTurnTimeout: parley.TurnSkip, MaxAttempts: 1},
			end: release(parley.ReleaseFailed), outcome: "skipped", failure: "skipped"},
		"closed": {limits: parley.Limits{OnTurnTimeout: parley.TurnClose, MaxAttempts: 1},
			end: release(parley.ReleaseFailed), outcome: "closed", failure: "closed"},
		"canceled": {outcome: "canceled", failure: "canceled", end: func(t testing.TB, h *hub.Hub, _ *runner, id string,
			c parley.ClaimTurnResult) {
			q := &parley.CancelTurnParams{ConversationID: id, Turn: c.Turn}
			if _, err := one(func(done func(parley.SeqResult, error)) {
				h.CancelTurn(h.LocalPrincipal("b"), q, done)
			}); err != nil {
				t.Fatal(err)
			}
		}},
		"closed by a person": {outcome: "closed", failure: "closed",
			end: func(t testing.TB, h *hub.Hub, _ *runner, id string, _ parley.ClaimTurnResult) {
				q := &parley.CloseConversationParams{ConversationID: id}
				if _, err := one(func(done func(parley.SeqResult, error)) {
					h.CloseConversation(h.LocalPrincipal("b"), q, done)
				}); err != nil {
					t.Fatal(err)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := &spantest.Recorder{}
				h := startOn(t, newJournal(t), recorded("t", told))
				r := push(t, h, "r1", "a")
				id := asked(t, h, &c.limits)
				c.end(t, h, r, id, r.claim())
				synctest.Wait()
				spans := told.Spans()
				if len(spans) != 1 || spans[0].Attributes[spannames.AttrTurnOutcome] != c.outcome || spans[0].Failure != c.failure || spans[0].Ends != 1 {
					t.Fatalf("%+v", spans)
				}
			})
		})
	}
	told := &spantest.Recorder{}
	h := startOn(t, newJournal(t), recorded("n", told))
	id := create(t, h, h.LocalPrincipal("x"), open2("x", "y"))
	say(t, h, h.LocalPrincipal("x"), message(id, "one", parley.FinalityTurn, ""))
	say(t, h, h.LocalPrincipal("y"), message(id, "two", parley.FinalityConversation, ""))
	if spans := told.Spans(); len(spans) > 0 {
		t.Errorf("turns of people have spans: %+v", spans)
	}
}

// TestTurnWithoutTracer: a hub without a tracer passes on the span of the answered message, if
// there is one.
func TestTurnWithoutTracer(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		r, b := push(t, h, "r1", "a"), h.LocalPrincipal("b")
		id := asked(t, h, nil)
		o := r.oneOffer()
		if c := r.take(o.ConversationID, o.ClaimID); o.Traceparent != "" || c.Traceparent != "" {
			t.Fatalf("offered under %q, claimed under %q", o.Traceparent, c.Traceparent)
		}
		say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
		saidUnder(t, h, b, id, "again", spanNumber(1))
		o = r.oneOffer()
		c := r.take(o.ConversationID, o.ClaimID)
		if o.Traceparent != spanNumber(1) || c.Traceparent != spanNumber(1) {
			t.Fatalf("offered under %q, claimed under %q", o.Traceparent, c.Traceparent)
		}
		say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
		say(t, h, b, message(id, "no span", parley.FinalityTurn, ""))
		if c := r.claim(); c.Traceparent != "" {
			t.Fatalf("claimed under %q", c.Traceparent)
		}
	})
}

// TestYieldedTurnLeavesItsSpan: after a turn that ended without a message, the next turn answers
// the same span.
func TestYieldedTurnLeavesItsSpan(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		a, c, b := push(t, h, "r1", "a"), push(t, h, "r2", "c"), h.LocalPrincipal("b")
		q := &parley.CreateConversationParams{Participants: append(seatsOf(parley.KindHuman, "b"),
			seatsOf(parley.KindAgent, "a", "c")...)}
		id := create(t, h, b, q)
		saidUnder(t, h, b, id, "who?", spanNumber(1))
		yield := &parley.ReleaseClaimParams{ConversationID: id, ClaimID: a.claim().ClaimID, Outcome: parley.ReleaseYield}
		if _, err := one(func(done func(parley.EmptyResult, error)) { h.ReleaseClaim(a.p, yield, done) }); err != nil {
			t.Fatal(err)
		}
		if got := c.claim(); got.Traceparent != spanNumber(1) {
			t.Fatalf("claimed under %q", got.Traceparent)
		}
	})
}

// TestSessionSpans: the span that started a session is in its first events, so the turn of its
// agent continues it. The callback continues the span in which the session ended.
func TestSessionSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &spantest.Recorder{}
		j := newJournal(t)
		h := startOn(t, j, recorded("t", told))
		x := hosts(t, h, counter("count"))
		a := h.LocalPrincipal("a")
		id := team(t, h, parley.PolicyRoundRobin)
		q := counts("count", 1, parley.ModeAsyncCallback, id)
		q.Traceparent = spanNumber(1)
		s := start(t, h, a, q)
		o := x.oneOffer()
		c := x.take(o.ConversationID, o.ClaimID)
		if want := turnUnder(spanNumber(1), s.SessionID, 2); o.Traceparent != want || c.Traceparent != want {
			t.Fatalf("offered under %q, claimed under %q, want %q", o.Traceparent, c.Traceparent, want)
		}
		end := closing(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("one"))
		end.Traceparent = spanNumber(2)
		say(t, h, x.p, end)
		pass(0)
		checkTraceparents(t, j, s.SessionID, spanNumber(1), spanNumber(1), "", spanNumber(2))
		all := events(t, j, id)
		if last := all[len(all)-1]; last.From != parley.HubID || last.Type != parley.TypeMessage ||
			last.Traceparent != spanNumber(2) {
			t.Fatalf("the callback is %s", last.Raw())
		}
		if got := told.Named("turn count"); len(got) != 1 || got[0].Parent != spanNumber(1) {
			t.Errorf("%+v", told.Spans())
		}
	})
}

// TestTriggerSpans: the session that an event starts continues the span of the event, and the
// answer continues the span in which the session ended.
func TestTriggerSpans(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := listeners(t, h, listens("calc", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		_, err := one(func(done func(parley.SeqResult, error)) {
			h.SendNote(ann, &parley.SendNoteParams{
				ConversationID: id, Payload: parley.Note{Schema: "s.v1", Data: json.RawMessage(`{"input":{"n":2}}`)}, Traceparent: spanNumber(1),
			}, done)
		})
		if err != nil {
			t.Fatal(err)
		}
		o := x.oneOffer()
		if c := x.take(o.ConversationID, o.ClaimID); c.Traceparent != spanNumber(1) {
			t.Fatalf("claimed under %q", c.Traceparent)
		}
		end := closing(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("four"))
		end.Traceparent = spanNumber(2)
		say(t, h, x.p, end)
		pass(0)
		_, notes := answered(t, j, id)
		if len(notes) != 1 || notes[0].Traceparent != spanNumber(2) {
			t.Fatalf("answered by %+v", notes)
		}
	})
}

// TestWokenTurnSpan: a triggered turn continues the span of the event, also if another message has
// moved the floor since.
func TestWokenTurnSpan(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		listeners(t, h, listens("one", onSchema("s.v1")), listens("two", onSchema("s.v1")))
		ann := h.LocalPrincipal("ann")
		q := hall()
		q.Participants = append(q.Participants, seatsOf(parley.KindAgent, "one", "two")...)
		id := create(t, h, ann, q)
		say(t, h, ann, &parley.SendMessageParams{
			ConversationID: id, Payload: json.RawMessage(`{"text":"go","schema":"s.v1"}`), Finality: parley.FinalityTurn, Traceparent: spanNumber(1),
		})
		for i, agent := range []string{"one", "two"} {
			p := h.LocalPrincipal(agent)
			c, err := claimTurn(h, p, parley.ClaimTurnParams{ConversationID: id, Turn: int64(i + 2)})
			if err != nil {
				t.Fatal(err)
			}
			if c.Traceparent != spanNumber(1) {
				t.Fatalf("%s claims under %q", agent, c.Traceparent)
			}
			done := under(message(id, "done", parley.FinalityTurn, ""), c.ClaimID)
			done.Traceparent = spanNumber(2)
			say(t, h, p, done)
		}
		checkTraceparents(t, j, id, "", spanNumber(1), "", "", spanNumber(2), "", spanNumber(2))
	})
}

// TestTraceparentIsNoPartOfARetry: a retry in another span returns the first answer.
func TestTraceparentIsNoPartOfARetry(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		id := ""
		for i := 1; i <= 2; i++ {
			again := i == 2
			q := open2("ann", "bob")
			q.ClientRequestID, q.Traceparent = "create", spanNumber(i)
			s, err := h.Client(ann).CreateConversation(t.Context(), q)
			if err != nil || s.Duplicate != again {
				t.Fatalf("createConversation in span %d: %+v, %v", i, s, err)
			}
			id = s.ConversationID
			m, k, n := message(id, "one", parley.FinalityNone, "m"), trace(id, "two", "t"), note(id, "three", "n")
			m.Traceparent, k.Traceparent, n.Traceparent = spanNumber(i), spanNumber(i), spanNumber(i)
			if got := say(t, h, ann, m); got.Duplicate != again {
				t.Errorf("sendMessage in span %d: %+v", i, got)
			}
			if got, err := one(func(done func(parley.SendResult, error)) { h.SendTrace(ann, k, done) }); err != nil ||
				got.Duplicate != again {
				t.Errorf("sendTrace in span %d: %+v, %v", i, got, err)
			}
			if got, err := one(func(done func(parley.SeqResult, error)) { h.SendNote(ann, n, done) }); err != nil ||
				got.Duplicate != again {
				t.Errorf("sendNote in span %d: %+v, %v", i, got, err)
			}
			p := counts("count", 1, parley.ModeAsyncPoll, "")
			p.ClientRequestID, p.Traceparent = "start", spanNumber(i)
			if s := start(t, h, ann, p); s.Duplicate != again {
				t.Errorf("startSession in span %d: %+v", i, s)
			}
		}
		checkTraceparents(t, j, id, spanNumber(1), spanNumber(1), spanNumber(1), spanNumber(1))
		x.works("one")
	})
}

// TestTraceparentRefused: an invalid traceparent is refused by name, and nothing is written.
func TestTraceparentRefused(t *testing.T) {
	good := spanNumber(1)
	bad := []string{
		"x", good[:54], good + "0", strings.ToUpper(good), "01" + good[2:], "ff" + good[2:], good[:3] + strings.Repeat("0",
			32) + good[35:], good[:36] + strings.Repeat("0", 16) + good[52:],
		strings.Replace(good, "-", "_", 1), good[:53] + "0g",
	}
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		c := h.Client(ann)
		id := create(t, h, ann, open2("ann", "bob"))
		for _, span := range bad {
			refusals := map[string]error{}
			q := open2("ann")
			q.Traceparent = span
			_, refusals["createConversation"] = c.CreateConversation(t.Context(), q)
			m, k, n := message(id, "one", parley.FinalityTurn, ""), trace(id, "two", ""), note(id, "three", "")
			m.Traceparent, k.Traceparent, n.Traceparent = span, span, span
			_, refusals["sendMessage"] = c.SendMessage(t.Context(), m)
			_, refusals["sendTrace"] = c.SendTrace(t.Context(), k)
			_, refusals["sendNote"] = c.SendNote(t.Context(), n)
			p := counts("count", 1, parley.ModeAsyncPoll, "")
			p.Traceparent = span
			_, refusals["startSession"] = c.StartSession(t.Context(), p)
			for method, err := range refusals {
				refused(t, err, parley.ErrValidationFailed)
				if !strings.Contains(err.Error(), "traceparent") || !strings.Contains(err.Error(),
					"W3C Trace Context, version 00") {
					t.Errorf("%s refuses %q with %v", method, span, err)
				}
			}
		}
		checkTraceparents(t, j, id, "")
	})
}

// TestClientGoesOnInTheSpanOfItsContext: the client in the hub's process says everything in the span of its context, unless the params name another.
func TestClientGoesOnInTheSpanOfItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		c := h.Client(h.LocalPrincipal("ann"))
		ctx := parley.WithTraceparent(context.Background(), spanNumber(1))
		s, err := c.CreateConversation(ctx, open2("ann", "bob"))
		if err != nil {
			t.Fatal(err)
		}
		id := s.ConversationID
		own := message(id, "two", parley.FinalityNone, "")
		own.Traceparent = spanNumber(2)
		for _, err := range []error{
			failing(c.SendMessage(ctx, message(id, "one", parley.FinalityNone, ""))), failing(c.SendMessage(ctx,
				own)), failing(c.SendTrace(ctx, trace(id, "three", ""))),
			failing(c.SendNote(ctx, note(id, "four", ""))),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if own.Traceparent != spanNumber(2) {
			t.Error("the caller's params were changed")
		}
		checkTraceparents(t, j, id, spanNumber(1), spanNumber(1), spanNumber(2), spanNumber(1), spanNumber(1))
		synctest.Wait()
		child, err := c.StartSession(ctx, counts("count", 1, parley.ModeAsyncPoll, ""))
		if err != nil {
			t.Fatal(err)
		}
		checkTraceparents(t, j, child.SessionID, spanNumber(1), spanNumber(1))
		x.works("one")
	})
}

func failing[T any](_ T, err error) error { return err }

// sampling is a tracer that records the questions that it gets.
type sampling struct {
	*spantest.Recorder
	tells bool
}

func (s sampling) Samples(b parley.SpanStart) bool {
	if b.ID == [8]byte{} || b.Parent == "" && b.TraceID == [16]byte{} {
		panic("the span has no ids")
	}
	return s.tells
}

// TestTurnSpanIsSampled: the flags of a turn are those of the tracer, whatever its parent has, also
// after a restart. So no span below an unsampled span is sampled.
func TestTurnSpanIsSampled(t *testing.T) {
	for _, tells := range []bool{false, true} {
		for _, parent := range []string{"", spanNumber(2), spanNumber(2)[:53] + "00", spanNumber(2)[:53] + "ff"} {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(t)
				o := rooted("t")
				o.Tracer = sampling{&spantest.Recorder{}, tells}
				h := startOn(t, j, o)
				r := push(t, h, "r1", "a")
				b := h.LocalPrincipal("b")
				id := create(t, h, b, &parley.CreateConversationParams{Participants: []parley.Participant{{ID: "b",
					Kind: parley.KindHuman}, {ID: "a", Kind: parley.KindAgent}}})
				saidUnder(t, h, b, id, "hello", parent)
				flags := map[bool]string{false: "-00", true: "-01"}[tells]
				offer := r.oneOffer()
				if got := offer.Traceparent; !parley.ValidTraceparent(got) || got[52:] != flags ||
					got[36:52] != turnSpanID(id, 2) || parent != "" && got[:36] != parent[:36] {
					t.Errorf("below %q the turn is offered under %q, want the flags %s", parent, got, flags)
				}
				if c := r.take(offer.ConversationID, offer.ClaimID); c.Traceparent != offer.Traceparent {
					t.Errorf("offered under %q and claimed under %q", offer.Traceparent, c.Traceparent)
				}
			})
		}
	}
}
