package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// begun is the answer of a startSession that was made on the side.
type begun struct {
	s     *parley.Session
	err   error
	after time.Duration
}

// starts calls startSession on the side.
func starts(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.StartSessionParams) <-chan begun {
	synctest.Wait()
	c, at := make(chan begun, 1), time.Now()
	go func() {
		s, err := h.StartSession(ctx, p, q)
		c <- begun{s, err, time.Since(at)}
	}()
	synctest.Wait()
	return c
}

// TestSync: startSession answers with the result as soon as there is one.
func TestSync(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		answer := starts(t.Context(), h, ann, counts("count", 1, "", ""))
		o := x.oneOffer()
		x.take(o.ConversationID, o.ClaimID)
		pass(7 * time.Second)
		stands(t, h, ann, o.ConversationID, parley.SessionRunning, "")
		x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, `{"result_type":"deterministic","result_text":"{\"a\":1}","result_data":{"a":1},"exit_code":0}`)
		a := <-answer
		if a.err != nil || a.after != 7*time.Second || a.s.Status != parley.SessionCompleted || a.s.TimedOut ||
			a.s.Mode != parley.ModeSync {
			t.Fatalf("%+v %v after %v", a.s, a.err, a.after)
		}
		if r := a.s.Result; *r.ResultText != `{"a":1}` || string(r.ResultData) != `{"a":1}` || *r.ExitCode != 0 || r.Error != "" {
			t.Errorf("%+v", r)
		}
		if a.s.EndedAt <= a.s.StartedAt || a.s.StartedAt < a.s.CreatedAt {
			t.Errorf("created %v, started %v, ended %v", a.s.CreatedAt, a.s.StartedAt, a.s.EndedAt)
		}
		wantTurns(t, j, o.ConversationID, "ann:turn", "claimed(box 1)", "count:conversation")
	})
}

// TestSyncDegrades: after the timeout the call returns a running session, which continues.
func TestSyncDegrades(t *testing.T) {
	for _, c := range []struct {
		given int64
		want  time.Duration
	}{{0, 60 * time.Second}, {1500, 1500 * time.Millisecond}, {10 * parley.MaxWaitMs,
		parley.MaxWaitMs * time.Millisecond}} {
		t.Run(fmt.Sprint(c.given), func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				x := hosts(t, h, counter("count"))
				ann := h.LocalPrincipal("ann")
				q := counts("count", 1, "", "")
				q.TimeoutMs = c.given
				a := <-starts(t.Context(), h, ann, q)
				if a.err != nil || a.after != c.want || !a.s.TimedOut || a.s.Status != parley.SessionPending || a.s.Result != nil {
					t.Fatalf("%+v %v after %v", a.s, a.err, a.after)
				}
				o := x.offered()
				last := o[len(o)-1]
				x.take(last.ConversationID, last.ClaimID)
				x.ends(a.s.SessionID, last.ClaimID, parley.OutcomeCompleted, ran("late"))
				stands(t, h, ann, a.s.SessionID, parley.SessionCompleted, "")
			})
		})
	}
}

// TestStartGivenUp: the end of a call is not the end of its session.
func TestStartGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		ctx, cancel := context.WithCancel(t.Context())
		answer := starts(ctx, h, h.LocalPrincipal("ann"), counts("count", 1, "", ""))
		cancel()
		if a := <-answer; !errors.Is(a.err, context.Canceled) {
			t.Fatalf("%+v %v", a.s, a.err)
		}
		id := x.works("done")
		stands(t, h, h.LocalPrincipal("ann"), id, parley.SessionCompleted, "")
	})
}

// TestPoll: async_poll answers at once, and getSession waits for the end, or for news.
func TestPoll(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		a := <-starts(t.Context(), h, ann, counts("count", 1, parley.ModeAsyncPoll, ""))
		if a.err != nil || a.after != 0 || a.s.Status != parley.SessionPending || a.s.TimedOut || a.s.Callback != "" {
			t.Fatalf("%+v %v after %v", a.s, a.err, a.after)
		}
		id := a.s.SessionID
		get := func(timeoutMs int64, since *int64) <-chan begun {
			c, at := make(chan begun, 1), time.Now()
			go func() {
				s, err := h.GetSession(t.Context(), ann, &parley.GetSessionParams{SessionID: id, TimeoutMs: timeoutMs, ProgressSince: since})
				c <- begun{s, err, time.Since(at)}
			}()
			synctest.Wait()
			return c
		}
		if g := <-get(2000, nil); g.err != nil || !g.s.TimedOut || g.after != 2*time.Second {
			t.Fatalf("%+v %v after %v", g.s, g.err, g.after)
		}
		o := x.offered()
		claim := o[len(o)-1].ClaimID
		x.take(id, claim)
		progress := func(words string) int64 {
			t.Helper()
			r, err := one(func(done func(parley.SendResult, error)) {
				h.SendTrace(x.p, &parley.SendTraceParams{ConversationID: id, Payload: json.RawMessage(`{"kind":"progress","text":"` + words + `"}`)}, done)
			})
			if err != nil {
				t.Fatal(err)
			}
			return r.Seq
		}
		zero := int64(0)
		news, end := get(50_000, &zero), get(50_000, nil)
		pass(time.Second)
		first := progress("one of three")
		if g := <-news; g.err != nil || g.after != time.Second || g.s.TimedOut || g.s.Status != parley.SessionRunning ||
			*g.s.Progress != (parley.SessionProgress{Seq: first, Text: "one of three"}) {
			t.Fatalf("%+v %v", g.s, g.err)
		}
		if g := <-get(0, &zero); g.s.Progress.Seq != first { // known progress is returned at once
			t.Fatalf("%+v", g.s.Progress)
		}
		news = get(50_000, &first)
		pass(time.Second)
		second := progress("two of three")
		if g := <-news; g.after != time.Second || g.s.Progress.Seq != second {
			t.Fatalf("%+v after %v", g.s, g.after)
		}
		if g := <-get(1000, &second); !g.s.TimedOut || g.s.Progress.Text != "two of three" {
			t.Fatalf("%+v", g.s)
		}
		news = get(50_000, &second)
		x.ends(id, claim, parley.OutcomeCompleted, ran("done"))
		for _, c := range []<-chan begun{news, end} {
			if g := <-c; g.err != nil || g.s.Status != parley.SessionCompleted || g.s.Progress != nil || g.s.TimedOut {
				t.Fatalf("%+v %v", g.s, g.err)
			}
		}
		if _, err := h.GetSession(t.Context(), ann, &parley.GetSessionParams{SessionID: id,
			ProgressSince: new(int64(-1))}); !errors.Is(err, parley.ErrValidationFailed) {
			t.Errorf("%v", err)
		}
	})
}

// TestProgressIsCut: of a long progress the last words are kept, whole runes of them.
func TestProgressIsCut(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		s := start(t, h, h.LocalPrincipal("ann"), counts("count", 1, parley.ModeAsyncPoll, ""))
		o := x.oneOffer()
		x.take(o.ConversationID, o.ClaimID)
		long := strings.Repeat("é", 2000) + "x"
		for _, payload := range []string{`{"kind":"progress","text":"` + long + `"}`, `{"kind":"thought","text":"no"}`, `{"kind":"progress","text":7}`, `{"kind":"progress"}`} {
			if _, err := one(func(done func(parley.SendResult, error)) {
				h.SendTrace(x.p, &parley.SendTraceParams{ConversationID: s.SessionID, Payload: json.RawMessage(payload)}, done)
			}); err != nil {
				t.Fatal(err)
			}
		}
		if got := session(t, h, h.LocalPrincipal("ann"), s.SessionID).Progress; got == nil ||
			got.Text != strings.Repeat("é", 511)+"x" {
			t.Fatalf("%+v", got)
		}
	})
}

// TestInput: an agent that asks for input leaves its session to the caller, in mode sync too, and
// continues with the next message.
func TestInput(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		w := push(t, h, "w1", "writer")
		ann := h.LocalPrincipal("ann")
		answer := starts(t.Context(), h, ann, &parley.StartSessionParams{AgentName: "writer", Prompt: "a poem"})
		o := w.oneOffer()
		id := o.ConversationID
		w.take(id, o.ClaimID)
		_, err := h.StartSession(t.Context(), ann, &parley.StartSessionParams{AgentName: "writer", Prompt: "too early", Resume: id})
		refused(t, err, parley.ErrNotYourTurn)
		say(t, h, w.p, under(message(id, "of what?", parley.FinalityTurn, ""), o.ClaimID))
		a := <-answer
		if a.err != nil || a.s.Status != parley.SessionInputRequired || *a.s.Result.ResultText != "of what?" ||
			a.s.TimedOut || a.s.EndedAt != 0 {
			t.Fatalf("%+v %v", a.s, a.err)
		}
		for _, wrong := range []struct {
			q        parley.StartSessionParams
			p        *hub.Principal
			sentinel error
		}{
			{parley.StartSessionParams{AgentName: "writer", Prompt: "x", Resume: id}, h.LocalPrincipal("eve"), parley.ErrNotFound},
			{parley.StartSessionParams{AgentName: "writer", Prompt: "x", Resume: id},
				h.LocalPrincipal("root", parley.ScopeAdmin), parley.ErrForbidden},
			{parley.StartSessionParams{AgentName: "reader", Prompt: "x", Resume: id}, ann, parley.ErrValidationFailed},
			{parley.StartSessionParams{AgentName: "writer", Parameters: json.RawMessage(`{}`), Resume: id}, ann, parley.ErrParameters},
		} {
			_, err := h.StartSession(t.Context(), wrong.p, &wrong.q)
			refused(t, err, wrong.sentinel)
		}
		resume := &parley.StartSessionParams{AgentName: "writer", Prompt: "of rain", Resume: id, ClientRequestID: "more"}
		answer = starts(t.Context(), h, ann, resume)
		o = w.oneOffer()
		c := w.take(id, o.ClaimID)
		if o.Turn != 4 || c.Attempt != 1 {
			t.Fatalf("%+v %+v", o, c)
		}
		say(t, h, w.p, under(message(id, "drip drop", parley.FinalityConversation, ""), o.ClaimID))
		a = <-answer
		if a.err != nil || a.s.SessionID != id || a.s.Status != parley.SessionCompleted ||
			*a.s.Result.ResultText != "drip drop" || a.s.Result.ResultType != parley.AgentTypeAgent {
			t.Fatalf("%+v %v", a.s, a.err)
		}
		if a := <-starts(t.Context(), h, ann, resume); a.err != nil || !a.s.Duplicate ||
			a.s.Status != parley.SessionCompleted {
			t.Fatalf("%+v %v", a.s, a.err)
		}
		resume.ClientRequestID = "other"
		_, err = h.StartSession(t.Context(), ann, resume)
		refused(t, err, parley.ErrConversationClosed)
		wantTurns(t, j, id, "ann:turn", "claimed(w1 1)", "writer:turn", "ann:turn", "claimed(w1 1)", "writer:conversation")
		quiet(t, h)
	})
}

// TestResults: whatever an agent closes its session with is its result.
func TestResults(t *testing.T) {
	for name, c := range map[string]struct {
		payload, outcome, status, reason, result string
	}{
		"text":            {`{"text":"hi"}`, "", "completed", "", `{"result_type":"agent","result_text":"hi"}`},
		"data":            {`{"data":[1,2]}`, "completed", "completed", "", `{"result_type":"agent","result_text":null,"result_data":[1,2]}`},
		"a result":        {`{"text":"x","result":{"result_type":"agent","result_text":"y"}}`, "completed", "completed", "", `{"result_type":"agent","result_text":"y"}`},
		"a failure":       {`{"text":"no luck"}`, "failed", "failed", "r", `{"result_type":"agent","result_text":"no luck"}`},
		"a cancellation":  {`{"text":"enough"}`, "canceled", "stopped", "r", `{"result_type":"agent","result_text":"enough"}`},
		"unknown members": {`{"result":{"result_type":"agent","result_text":null,"new":1}}`, "", "completed", "", `{"result_type":"agent","result_text":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
				w := push(t, h, "w1", "writer")
				ann := h.LocalPrincipal("ann")
				id := start(t, h, ann, &parley.StartSessionParams{AgentName: "writer", Prompt: "p",
					Mode: parley.ModeAsyncPoll}).SessionID
				o := w.oneOffer()
				w.take(id, o.ClaimID)
				q := &parley.SendMessageParams{ConversationID: id, ClaimID: o.ClaimID, Finality: parley.FinalityConversation,
					Payload: json.RawMessage(c.payload)}
				if c.outcome != "" {
					q.Outcome = &parley.Outcome{Status: parley.OutcomeStatus(c.outcome), Reason: c.reason}
				}
				say(t, h, w.p, q)
				s := stands(t, h, ann, id, parley.SessionStatus(c.status), c.reason)
				if got, err := json.Marshal(s.Result); err != nil || string(got) != c.result {
					t.Errorf("the result is %s, %v", got, err)
				}
			})
		})
	}
}

// TestCallerEnds: the last message of the agent is the result of a session that its caller ends,
// with or without a message.
func TestCallerEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		w := push(t, h, "w1", "writer")
		x := hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		id := start(t, h, ann, &parley.StartSessionParams{AgentName: "writer", Prompt: "p",
			Mode: parley.ModeAsyncPoll}).SessionID
		o := w.oneOffer()
		w.take(id, o.ClaimID)
		say(t, h, w.p, under(message(id, "here it is", parley.FinalityTurn, ""), o.ClaimID))
		say(t, h, ann, message(id, "thank you", parley.FinalityConversation, ""))
		if s := stands(t, h, ann, id, parley.SessionCompleted, ""); *s.Result.ResultText != "here it is" {
			t.Errorf("%s", *s.Result.ResultText)
		}
		// closeConversation is not the way: a session is stopped, or ends with its agent's words.
		id = start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		o = x.oneOffer()
		x.take(id, o.ClaimID)
		for _, p := range []*hub.Principal{ann, h.LocalPrincipal("root", parley.ScopeAdmin)} {
			_, err := h.Client(p).CloseConversation(t.Context(), &parley.CloseConversationParams{ConversationID: id})
			refused(t, err, parley.ErrForbidden)
		}
		if _, err := h.StopSession(t.Context(), ann, &parley.StopSessionParams{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		stands(t, h, ann, id, parley.SessionStopped, parley.ReasonStopped)
		quiet(t, h)
	})
}

// TestAttemptsOfAgents: an agent may fail three times, a command once. The error is that of the
// last attempt.
func TestAttemptsOfAgents(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		w := push(t, h, "w1", "writer")
		ann := h.LocalPrincipal("ann")
		id := start(t, h, ann, &parley.StartSessionParams{AgentName: "writer", Prompt: "p",
			Mode: parley.ModeAsyncPoll}).SessionID
		for range limits.DefaultMaxAttempts {
			pass(time.Second) // the pause after a failed attempt
			o := w.oneOffer()
			w.take(id, o.ClaimID)
			if err := release(h, w.p, id, o.ClaimID, parley.ReleaseFailed); err != nil {
				t.Fatal(err)
			}
		}
		failsAs(t, h, ann, id, parley.ReasonAttempts, "The attempts of the turn are used up.")
		for _, c := range []struct {
			o    parley.ReleaseOutcome
			want string
		}{
			{parley.ReleaseFailed, "the output is no JSON"}, {parley.ReleaseDecline, "the output is no JSON"},
			{parley.ReleaseSilent, "the output is no JSON"}, {parley.ReleaseYield, "the output is no JSON"},
		} {
			x := hosts(t, h, counter("count"))
			id := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
			o := x.oneOffer()
			x.take(id, o.ClaimID)
			if _, err := one(func(done func(parley.EmptyResult, error)) {
				h.ReleaseClaim(x.p, &parley.ReleaseClaimParams{ConversationID: id, ClaimID: o.ClaimID, Outcome: c.o, Reason: c.want}, done)
			}); err != nil {
				t.Fatal(err)
			}
			failsAs(t, h, ann, id, parley.ReasonAttempts, c.want)
		}
		quiet(t, h)
	})
}

// TestIdempotent: an idempotent command is tried three times, however it fails.
func TestIdempotent(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		b := counter("count")
		b.Idempotent = true
		x := hosts(t, h, b)
		ann := h.LocalPrincipal("ann")
		id := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		for i := range limits.IdempotentAttempts {
			pass(time.Second)
			o := x.oneOffer()
			if c := x.take(id, o.ClaimID); c.Attempt != i+1 {
				t.Fatalf("%+v", c)
			}
			if err := release(h, x.p, id, o.ClaimID, parley.ReleaseFailed); err != nil {
				t.Fatal(err)
			}
		}
		stands(t, h, ann, id, parley.SessionFailed, parley.ReasonAttempts)
		pass(time.Hour)
		x.noOffer()
	})
}

// TestTooLong: a command that does not end is ended by its claim, some seconds after its own time.
func TestTooLong(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		b := counter("count")
		b.TimeoutMs = 30_000
		x := hosts(t, h, b)
		ann := h.LocalPrincipal("ann")
		id := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		o := x.oneOffer()
		x.take(id, o.ClaimID)
		pass(20 * time.Second)
		if _, err := renew(h, x.p, id, o.ClaimID); err != nil { // nor does it get more by asking
			t.Fatal(err)
		}
		pass(20*time.Second - time.Millisecond)
		stands(t, h, ann, id, parley.SessionRunning, "")
		pass(time.Millisecond)
		failsAs(t, h, ann, id, parley.ReasonInterrupted, "The runner has not ended the session in time")
	})
}

// TestWhatIsSaid: parameters are the caller's alone, results the agent's, and a command ends its session with its turn.
func TestWhatIsSaid(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		w := push(t, h, "w1", "writer")
		ann := h.LocalPrincipal("ann")
		id := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		o := x.oneOffer()
		x.take(id, o.ClaimID)
		says := func(p *hub.Principal, id, claim, payload string, f parley.Finality) error {
			return (<-post(h, p, &parley.SendMessageParams{ConversationID: id, ClaimID: claim,
				Payload: json.RawMessage(payload), Finality: f})).err
		}
		before := len(events(t, j, id))
		for _, err := range []error{
			says(x.p, id, o.ClaimID, `{"text":"x"}`, parley.FinalityTurn),
			says(x.p, id, o.ClaimID, `{"parameters":{}}`, parley.FinalityConversation),
			says(x.p, id, o.ClaimID, `{"result":{"result_type":"deterministic","result_text":null}}`, parley.FinalityNone),
			says(x.p, id, o.ClaimID, `{"result":{"result_type":"oracle","result_text":null}}`, parley.FinalityConversation),
			says(x.p, id, o.ClaimID, `{"result":{"result_type":"deterministic","result_text":7}}`, parley.FinalityConversation),
			says(x.p, id, o.ClaimID, `{"result":[]}`, parley.FinalityConversation),
			says(x.p, id, o.ClaimID, `{"result":{"result_type":"deterministic","result_text":"x","attachment":{"sha256":"`+strings.Repeat("0", 64)+`"}}}`, parley.FinalityConversation),
		} {
			refused(t, err, parley.ErrValidationFailed)
		}
		if n := len(events(t, j, id)); n != before {
			t.Fatalf("%d events were written", n-before)
		}
		refused(t, cancelTurn(h, ann, id, 2), parley.ErrForbidden)
		refused(t, cancelTurn(h, h.LocalPrincipal("root", parley.ScopeAdmin), id, 2), parley.ErrForbidden)
		_, err := one(func(done func(parley.SeqResult, error)) {
			h.AddParticipant(ann, &parley.AddParticipantParams{ConversationID: id, Participant: parley.Participant{ID: "eve",
				Kind: parley.KindPeer}}, done)
		})
		refused(t, err, parley.ErrForbidden)
		refused(t, says(ann, id, "", `{"text":"well?"}`, parley.FinalityTurn), parley.ErrNotYourTurn)
		x.ends(id, o.ClaimID, parley.OutcomeCompleted, ran("x"))

		plain := create(t, h, ann, open2("ann", "bob"))
		refused(t, says(ann, plain, "", `{"parameters":{}}`, parley.FinalityTurn), parley.ErrValidationFailed)
		refused(t, says(ann, plain, "", `{"result":{"result_type":"agent","result_text":"x"}}`, parley.FinalityConversation), parley.ErrValidationFailed)
		id = start(t, h, ann, &parley.StartSessionParams{AgentName: "writer", Prompt: "p",
			Mode: parley.ModeAsyncPoll}).SessionID
		o = w.oneOffer()
		w.take(id, o.ClaimID)
		refused(t, says(w.p, id, o.ClaimID, `{"result":{"result_type":"agent","result_text":"x"}}`, parley.FinalityTurn), parley.ErrValidationFailed)
		if err := says(w.p, id, o.ClaimID, `{"text":"?"}`, parley.FinalityTurn); err != nil {
			t.Fatal(err)
		}
		refused(t, says(ann, id, "", `{"result":{"result_type":"agent","result_text":"x"}}`, parley.FinalityConversation), parley.ErrValidationFailed)
		if err := says(ann, id, "", `{"parameters":{"prompt":"more"}}`, parley.FinalityTurn); err != nil {
			t.Fatal(err)
		}
	})
}
