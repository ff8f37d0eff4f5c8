package fold_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/limits"
)

// TestApprovalAnsweredOnce checks that the first answer is final. Only a retry with its key receives its result, also
// after the end of the turn or the conversation.
func TestApprovalAnsweredOnce(t *testing.T) {
	s := atWork(t, nil).ask("k1").ask("k2").resolve(3, parley.ApprovalApproved, "h", "key").
		resolve(5, parley.ApprovalRejected, "h", "")
	once := func() {
		t.Helper()
		if d := s.decide(s.answering(3, parley.ApprovalApproved, "h", "key")); d.Err != nil || !d.Duplicate || d.Seq != 3 ||
			len(d.Events) > 0 {
			t.Fatalf("the retry gets %+v", d)
		}
		change := func(f func(c *fold.Command)) fold.Command {
			c := s.answering(3, parley.ApprovalApproved, "h", "key")
			f(&c)
			return c
		}
		for _, c := range []fold.Command{
			change(func(c *fold.Command) { c.Key = "another" }), change(func(c *fold.Command) { c.Key = "" }),
			change(func(c *fold.Command) { answerOf(c).By = "c" }),
			change(func(c *fold.Command) { answerOf(c).Comment = "no" }),
			change(func(c *fold.Command) { answerOf(c).Answer = json.RawMessage(`{"n":2}`) }),
			change(func(c *fold.Command) { answerOf(c).Answer = nil }), s.answering(3, parley.ApprovalRejected, "h", "key"),
		} {
			s.refuses(c, parley.ErrAlreadyResolved, "approved")
		}
		s.refuses(s.answering(5, parley.ApprovalRejected, "h", ""), parley.ErrAlreadyResolved, "rejected")
	}
	once()
	s.say("a", turn)
	once()
	s.close(nil)
	once()
	s.refuses(s.answering(99, parley.ApprovalRejected, "h", ""), parley.ErrConversationClosed, "")
}

func answerOf(c *fold.Command) *fold.ResolveApproval { return c.Do.(*fold.ResolveApproval) }

// TestApprovalAnswerIsWanted: an answer comes only where a schema is.
func TestApprovalAnswerIsWanted(t *testing.T) {
	s := atWork(t, nil)
	c := s.named(s.wish("k"))
	c.Do.(*fold.RequestApproval).AnswerSchema = nil
	s.do(c)
	s.refuses(s.answering(3, parley.ApprovalApproved, "h", ""), parley.ErrValidationFailed, "answer")
	s.refuses(s.answering(4, parley.ApprovalRejected, "h", ""), parley.ErrNotFound, "")
}

// TestApprovalTimes checks that hub time ends an approval, that its wait is no silence, and that a deadline still ends
// the conversation.
func TestApprovalTimes(t *testing.T) {
	l := &parley.Limits{IdleTimeoutMs: 10_000, DeadlineMs: 300_000}
	s := atWork(t, l).ask("k1")
	over := s.state.Approvals[0].ExpiresAt
	if due, reason := s.state.Due(); reason != parley.ReasonDeadline || s.state.NextDeadline() != over ||
		over != s.state.LastAt+60_000 {
		t.Fatalf("due at %d (%s), wakes at %d", due, reason, s.state.NextDeadline())
	}
	s.tick(50_000)
	s.wants("pending")
	for name, c := range map[string]fold.Command{
		"tick": {Do: &fold.Tick{}, From: parley.HubID}, "an answer": s.answering(3, parley.ApprovalApproved, "h", "k"),
		"the same key": s.named(s.wish("k1")),
	} {
		late := *s
		late.now = over - 1001
		if late.do(c); name == "tick" && late.statuses() != "pending" {
			t.Fatalf("%s, a moment before: %s", name, late.statuses())
		}
		late = *s
		late.now = over
		d := late.decide(c)
		if (d.Err != nil) != (name == "an answer") || len(d.Events) != 1 ||
			d.State.Approvals[0].Status != parley.ApprovalTimedOut {
			t.Fatalf("%s: %+v", name, d)
		}
		if name == "the same key" && (!d.Duplicate || d.Seq != 3) {
			t.Fatalf("%+v", d)
		}
	}
	if s.tick(10_000); s.state.Closed() {
		t.Fatal("the silence of who waits has closed the conversation")
	}
	s.wants("timed_out")
	if due, reason := s.state.Due(); reason != parley.ReasonIdleTimeout || due != s.state.LastAt+10_000 {
		t.Fatalf("then it is due at %d (%s), %d", due, reason, s.state.LastAt)
	}
	if s.tick(10_000); !s.state.Closed() {
		t.Fatal("silence has not closed the conversation")
	}
}

// TestApprovalCanceledIsNoSilence checks that the cancel of a turn that waited counts as activity.
func TestApprovalCanceledIsNoSilence(t *testing.T) {
	s := atWork(t, &parley.Limits{IdleTimeoutMs: 10_000}).ask("k1").tick(50_000).cancel("h")
	if s.state.Closed() || s.state.ActiveAt != s.state.LastAt {
		t.Fatalf("%+v", s.state)
	}
}

// TestApprovalLimits: approvals count, with their sizes; their ends do not.
func TestApprovalLimits(t *testing.T) {
	s := atWork(t, &parley.Limits{MaxEvents: 2}).ask("k1").resolve(3, parley.ApprovalApproved, "h", "")
	if s.state.Closed() || s.state.Events != 1 {
		t.Fatalf("%+v", s.state)
	}
	size := int64(len(s.log[2]) + len(s.log[3]) + len(s.log[5]))
	if s.state.Bytes != size {
		t.Fatalf("%d bytes, want %d", s.state.Bytes, size)
	}
	if s.ask("k2"); !s.state.Closed() || s.state.Outcome.Reason != parley.ReasonMaxEvents ||
		s.statuses() != "approved canceled" {
		t.Fatalf("%s %+v", s.statuses(), s.state)
	}
	s = atWork(t, &parley.Limits{MaxBytes: limits.MinBytesLimit})
	c := s.named(s.wish("k1"))
	c.Do.(*fold.RequestApproval).Details = json.RawMessage(`{"x":"` + strings.Repeat("x", 200) + `"}`)
	if s.do(c); s.state.Closed() {
		t.Fatalf("%+v", s.state)
	}
	c = s.answering(3, parley.ApprovalApproved, "h", "")
	answerOf(&c).Answer = json.RawMessage(`"` + strings.Repeat("x", 500) + `"`)
	if s.do(c); !s.state.Closed() || s.state.Outcome.Reason != parley.ReasonMaxBytes || s.statuses() != "approved" {
		t.Fatalf("%d bytes: %+v", s.state.Bytes, s.state)
	}
}

// TestApprovalVisibility checks that all participants read the request and its end, and only the requester reads the
// details and the answer.
func TestApprovalVisibility(t *testing.T) {
	s := atWork(t, nil)
	c := s.named(s.wish("k1"))
	c.Do.(*fold.RequestApproval).Details = json.RawMessage(
		`{"kind":"participant_private","x":"approval_resolved","secret":"s3"}`)
	s.do(c).resolve(3, parley.ApprovalApproved, "h", "")
	want := map[string]string{
		parley.KindApprovalRequested: "", parley.KindApprovalDetails: "a", parley.KindApprovalResolved: "",
		parley.KindApprovalAnswer: "a",
	}
	seen := 0
	for _, b := range s.log {
		var e parley.Event
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		sys, err := e.System()
		if err != nil {
			t.Fatal(err)
		}
		private, ok := want[sys.Kind]
		if !ok {
			continue
		}
		seen++
		for name, payload := range map[string]string{"as written": string(e.Payload),
			"escaped": strings.Replace(string(e.Payload), `"kind":"a`, `"kind":"\u0061`, 1)} {
			e.Payload = json.RawMessage(payload)
			if m := eventdata.MetaOf(&e); m.Private != private {
				t.Errorf("%s, %s, is for %q alone, want %q", sys.Kind, name, m.Private, private)
			}
		}
		if hidden := strings.Contains(string(b), "s3") || strings.Contains(string(b), `"t1"`) ||
			strings.Contains(string(b), `"n":1`); hidden != (private != "") {
			t.Errorf("%s", b)
		}
	}
	if seen != len(want) {
		t.Errorf("%d of the kinds", seen)
	}
}

// TestApprovalSession: a session whose agent waits runs, with a claim or without.
func TestApprovalSession(t *testing.T) {
	s := newStory(t)
	s.state.ID = "ses_1"
	record := &parley.SessionRecord{Agent: "a", AgentID: "a", Type: parley.AgentTypeAgent, Caller: "maker",
		Mode: parley.ModeSync, Root: "ses_1", Depth: 1}
	s.do(fold.Command{
		Do: &fold.Create{Session: record, Payload: json.RawMessage(`{"parameters":{}}`),
			Params: &parley.CreateConversationParams{Participants: append(
				seats("a"), parley.Participant{ID: "maker", Kind: parley.KindPeer}), StartsWith: "maker"}},
		From: "maker",
	})
	s.take("a", "a1").ask("k")
	for range 2 {
		if got := s.state.SessionStatus(); got != parley.SessionRunning {
			t.Fatalf("it is %s", got)
		}
		if s.state.Claim != nil {
			s.lapse(parley.ClaimDisconnected)
		}
	}
	s.resolve(s.state.Approvals[0].Seq, parley.ApprovalRejected, "maker", "")
	if s.state.SessionStatus() != parley.SessionPending {
		t.Fatalf("it is %s", s.state.SessionStatus())
	}
}

// TestApprovalForged checks that the fold refuses logs of approvals that no hub wrote.
func TestApprovalForged(t *testing.T) {
	told := atWork(t, nil).ask("k1").ask("k2").resolve(3, parley.ApprovalApproved, "h", "").
		resolve(5, parley.ApprovalRejected, "h", "")
	replay := func(change func(seq int64, sys *parley.System), skip ...int64) error {
		s := fold.State{ID: "cnv"}
		for _, b := range told.log {
			var e parley.Event
			if err := json.Unmarshal(b, &e); err != nil {
				t.Fatal(err)
			}
			sys, err := e.System()
			if err != nil {
				t.Fatal(err)
			}
			if len(skip) > 0 && e.Seq == skip[0] {
				continue
			}
			was := e.Seq
			e.Seq = s.Seq + 1
			change(was, &sys)
			e.Payload = eventdata.Encode(sys)
			if s, err = s.Apply(&e, len(b)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := replay(func(int64, *parley.System) {}); err != nil {
		t.Fatal(err)
	}
	at := func(seq int64, f func(sys *parley.System)) func(int64, *parley.System) {
		return func(n int64, sys *parley.System) {
			if n == seq {
				f(sys)
			}
		}
	}
	for name, change := range map[string]func(int64, *parley.System){
		"no approval":              at(3, func(s *parley.System) { s.Approval = nil }),
		"another's claim":          at(3, func(s *parley.System) { s.ClaimHash = eventdata.HashClaim("x").String() }),
		"another asks":             at(3, func(s *parley.System) { s.AgentID = "b" }),
		"another turn":             at(3, func(s *parley.System) { s.Turn = 2 }),
		"another id":               at(3, func(s *parley.System) { s.Approval.ApprovalID = "cnv.4" }),
		"of another conversation":  at(3, func(s *parley.System) { s.Approval.ApprovalID = "foreign.3" }),
		"no key":                   at(4, func(s *parley.System) { s.Approval.Key = "" }),
		"the same key":             at(6, func(s *parley.System) { s.Approval.Key = "k1" }),
		"no end":                   at(3, func(s *parley.System) { s.Approval.ExpiresAt = 0 }),
		"no details":               at(4, func(s *parley.System) { s.Kind = "unknown_kind" }),
		"details of another":       at(6, func(s *parley.System) { s.Approval.ApprovalID = "cnv.3" }),
		"details without a hash":   at(4, func(s *parley.System) { s.Approval.Hash = "zz" }),
		"a canceled one":           at(7, func(s *parley.System) { s.Approval.Status = parley.ApprovalCanceled }),
		"a pending one":            at(7, func(s *parley.System) { s.Approval.Status = parley.ApprovalPending }),
		"by nobody":                at(7, func(s *parley.System) { s.Approval.By = "" }),
		"timed out by somebody":    at(7, func(s *parley.System) { s.Approval.Status = parley.ApprovalTimedOut }),
		"twice":                    at(9, func(s *parley.System) { s.Approval.ApprovalID = "cnv.3" }),
		"unknown":                  at(7, func(s *parley.System) { s.Approval.ApprovalID = "cnv.2" }),
		"time while another waits": at(7, func(s *parley.System) { s.DurationMs = 1 }),
		"no time":                  at(9, func(s *parley.System) { s.DurationMs = 0 }),
		"an answer to a rejection": at(7, func(s *parley.System) { s.Approval.Status = parley.ApprovalRejected }),
		"an answer of nothing":     at(8, func(s *parley.System) { s.Approval.Answer = nil }),
		"an answer without schema": at(4, func(s *parley.System) { s.Approval.AnswerSchema = nil }),
		"an answer to another":     at(8, func(s *parley.System) { s.Approval.ApprovalID = "cnv.5" }),
	} {
		if replay(change) == nil {
			t.Errorf("%s: the fold takes it", name)
		}
	}
}

// TestApprovalBeforeTheDeadline checks that an approval that expires before the deadline of its conversation is timed
// out, also if no event comes between them.
func TestApprovalBeforeTheDeadline(t *testing.T) {
	s := atWork(t, &parley.Limits{DeadlineMs: 120_000}).ask("k1")
	later := s.wish("k2")
	later.Do.(*fold.RequestApproval).ExpiresInMs = 150_000
	s.do(later)
	s.now += 200_000
	d := s.decide(s.answering(s.state.Approvals[0].Seq, parley.ApprovalApproved, "h", ""))
	if !errors.Is(d.Err, parley.ErrAlreadyResolved) || !strings.Contains(d.Err.Error(), "timed out") || !d.State.Closed() {
		t.Fatalf("a late answer: %v", d.Err)
	}
	s.tick(0).wants("timed_out canceled")
	if got := s.kinds(2); got != "approval_resolved " || s.state.Outcome.Reason != parley.ReasonDeadline {
		t.Fatalf("events %s, closed with %+v", got, s.state.Outcome)
	}
}
