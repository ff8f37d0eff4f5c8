package fold_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/internal/limits"
)

// ask is the agent's that has the claim: it asks for an approval that is over in a minute.
func (s *story) ask(key string) *story { return s.do(s.wish(key)) }

func (s *story) wish(key string) fold.Command {
	q := &fold.RequestApproval{ExpiresInMs: 60_000}
	q.Key, q.Title, q.Details, q.AnswerSchema, q.TokenID = key, "may I "+key, json.RawMessage(`{"secret":"`+key+`"}`),
		json.RawMessage(`{"type":"object"}`), "t1"
	return fold.Command{Do: q, From: s.state.Floor().Speaker}
}

// resolve answers an approval that was asked for at a seq.
func (s *story) resolve(seq int64, status parley.ApprovalStatus, by, key string) *story {
	return s.do(s.answering(seq, status, by, key))
}

func (s *story) answering(seq int64, status parley.ApprovalStatus, by, key string) fold.Command {
	q := &fold.ResolveApproval{Seq: seq}
	q.Status, q.By, q.Comment = status, by, "so be it"
	if status == parley.ApprovalApproved {
		q.Answer = json.RawMessage(`{"n":1}`)
	}
	return fold.Command{Do: q, From: by, Key: key}
}

// decide is do for what may be refused; the state stays as it was.
func (s *story) decide(c fold.Command) fold.Decision {
	c.Now = s.now
	if n := c.NewClaim(); n != nil && n.New == (eventdata.ClaimHash{}) {
		n.New = eventdata.HashClaim(eventdata.ClaimID(s.state.CurrentTurn(), fmt.Sprint(s.state.Seq)))
	}
	return fold.Decide(s.state, s.keys, c)
}

// refuses fails the test unless a command is refused so, without an event.
func (s *story) refuses(c fold.Command, sentinel error, words string) {
	s.t.Helper()
	d := s.decide(c)
	if !errors.Is(d.Err, sentinel) || !strings.Contains(d.Err.Error(), words) || len(d.Events) > 0 {
		s.t.Fatalf("%v and %d events, want %v and %q", d.Err, len(d.Events), sentinel, words)
	}
}

// statuses are those of the approvals.
func (s *story) statuses() string {
	var out []string
	for _, a := range s.state.Approvals {
		out = append(out, string(a.Status))
	}
	return strings.Join(out, " ")
}

func (s *story) wants(statuses string) {
	s.t.Helper()
	if got := s.statuses(); got != statuses {
		s.t.Fatalf("approvals are %q, want %q", got, statuses)
	}
}

// kinds are those of the last events.
func (s *story) kinds(n int) string {
	s.t.Helper()
	var out []string
	for _, b := range s.log[len(s.log)-n:] {
		var e parley.Event
		if err := json.Unmarshal(b, &e); err != nil {
			s.t.Fatal(err)
		}
		sys, err := e.System()
		if err != nil {
			sys.Kind = string(e.Type)
		}
		out = append(out, sys.Kind)
	}
	return strings.Join(out, " ")
}

func newStory(t *testing.T) *story {
	return &story{t: t, state: fold.State{ID: "cnv"}, keys: idempotency.Keys{}, now: 946_684_800_000}
}

// atWork is a story in which the agent a has claimed the first turn, at seq 2; b is an agent too, and h a human.
func atWork(t *testing.T, l *parley.Limits) *story {
	s := newStory(t)
	return s.create(roundRobin, "", l, agentsAnd("h", "a", "b")...).take("a", "a1")
}

// TestApprovalSuspends checks that the time of a claim does not run while an approval is pending. The last answer
// restarts it within maxClaimMs.
func TestApprovalSuspends(t *testing.T) {
	for held, want := range map[int64]int64{0: 10_000, 30_000: 10_000, 44_000: 6_000, 49_999: 1, 60_000: 1} {
		s := atWork(t, &parley.Limits{TurnTimeoutMs: 10_000, MaxClaimMs: 50_000}).ask("k1").ask("k2")
		claim := s.state.Claim
		renewal := fold.Command{Do: &fold.Renew{}, From: "a", Named: &claim.Hash, Executor: fold.Executor{ID: "a1"}}
		for _, c := range []fold.Command{
			renewal,
			{
				Do:   &fold.EndClaim{RenewedSeq: claim.RenewedSeq, Reason: parley.ClaimExpired},
				From: parley.HubID, Named: &claim.Hash,
			},
			{
				Do:   &fold.Renew{RenewedSeq: claim.RenewedSeq, ShortenMs: 10, LeftMs: 9000},
				From: parley.HubID, Named: &claim.Hash,
			},
		} {
			if d := s.decide(c); d.Err != nil || len(d.Events) > 0 {
				t.Fatalf("%+v: %v, %d events", c, d.Err, len(d.Events))
			}
		}
		if g := s.state.Guidance("h", false); g.Kind != parley.Wait ||
			g.Claim.DeadlineMs != int64(s.state.Approvals[1].ExpiresAt)+10_000 ||
			g.Reason != "a has claimed turn 1, which waits for an approval." {
			t.Fatalf("%+v %+v", g, g.Claim)
		}
		if !s.state.MaySpeak("a") {
			t.Fatal("who has asked may not go on")
		}
		s.resolve(3, parley.ApprovalApproved, "h", "")
		if c := s.state.Claim; c.RenewedSeq != claim.RenewedSeq || !s.state.AwaitsApproval() {
			t.Fatalf("one is pending, and the claim is %+v", c)
		}
		c := s.answering(5, parley.ApprovalRejected, "h", "")
		c.HeldMs = held
		s.do(c)
		if c := s.state.Claim; s.state.AwaitsApproval() || c.DurationMs != want || c.RenewedSeq != s.state.Seq ||
			c.RenewedAt != s.state.LastAt || c.HeldMs != 0 {
			t.Fatalf("after %d ms the claim is %+v, want %d ms", held, c, want)
		}
		if stale := s.decide(fold.Command{From: parley.HubID, Named: &claim.Hash,
			Do: &fold.EndClaim{RenewedSeq: claim.RenewedSeq, Reason: parley.ClaimExpired}}); len(stale.Events) > 0 {
			t.Fatal("the deadline from before has ended the claim")
		}
		s.wants("approved rejected")
	}
}

// TestApprovalEnds: whatever ends the turn cancels what is pending, without an event.
func TestApprovalEnds(t *testing.T) {
	limits := func(l parley.Limits) *parley.Limits { return &l }
	for name, c := range map[string]struct {
		limits *parley.Limits
		end    func(s *story)
	}{
		"final message":              {nil, func(s *story) { s.say("a", turn) }},
		"last message":               {nil, func(s *story) { s.say("a", conversation) }},
		"yield":                      {nil, func(s *story) { s.release("a", parley.ClaimYielded) }},
		"cancelTurn":                 {nil, func(s *story) { s.cancel("h") }},
		"cancelTurn without a claim": {nil, func(s *story) { s.lapse(parley.ClaimDisconnected).cancel("h") }},
		"close":                      {nil, func(s *story) { s.close(nil) }},
		"deadline":                   {limits(parley.Limits{DeadlineMs: 30_000}), func(s *story) { s.tick(30_000) }},
		"skip after the last attempt": {limits(parley.Limits{MaxAttempts: 1, OnTurnTimeout: parley.TurnSkip}),
			func(s *story) { s.lapse(parley.ClaimDisconnected) }},
		"close after the last attempt": {limits(parley.Limits{MaxAttempts: 1, OnTurnTimeout: parley.TurnClose}),
			func(s *story) { s.release("a", parley.ClaimFailed) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := atWork(t, c.limits).ask("k1").ask("k2").resolve(3, parley.ApprovalRejected, "h", "")
			before := len(s.log)
			c.end(s)
			s.wants("rejected canceled")
			if kinds := s.kinds(len(s.log) - before); strings.Contains(kinds, "approval") {
				t.Fatalf("the log has %s", kinds)
			}
			if s.state.AwaitsApproval() || len(s.state.Pending()) > 0 || s.state.Approvals[1].ResolvedSeq != s.state.Seq {
				t.Fatalf("%+v", s.state.Approvals[1])
			}
			s.refuses(s.answering(5, parley.ApprovalApproved, "h", ""), parley.ErrAlreadyResolved, "canceled")
		})
	}
}

// TestApprovalOutlivesItsClaim checks that the turn waits when the claim ends, without a speaker or claim. Then it is
// offered again, and the next attempt receives the answer.
func TestApprovalOutlivesItsClaim(t *testing.T) {
	for _, opened := range []bool{false, true} {
		for _, policy := range []parley.PolicyKind{roundRobin, open} {
			t.Run(fmt.Sprint(policy, " opened ", opened), func(t *testing.T) {
				s := newStory(t).create(policy, "", nil, agentsAnd("h", "a", "b")...).take("a", "a1")
				if opened {
					s.say("a", none)
				}
				seq := s.state.Seq + 1
				old := s.state.Claim.Hash
				s.ask("k").lapse(parley.ClaimDisconnected)
				s.wants("pending")
				if f := s.state.Floor(); f.Speaker != "a" || s.state.Claim != nil || len(s.state.Asks()) > 0 ||
					s.state.AtBoundary() {
					t.Fatalf("floor %+v, asks %+v", f, s.state.Asks())
				}
				for _, p := range []string{"a", "b", "h"} {
					g := s.state.Guidance(p, true)
					if g.Kind != parley.Wait || g.Speaker != "a" || g.Reason != "turn 1 of a waits for an approval." ||
						s.state.MaySpeak(p) {
						t.Fatalf("%s: %+v", p, g)
					}
					s.refuses(fold.Command{Do: &fold.Message{Finality: turn, Payload: text("x")}, From: p}, parley.ErrNotYourTurn,
						"waits for an approval")
				}
				s.refuses(fold.Command{Do: &fold.Take{Turn: 1}, From: "a"}, parley.ErrNotYourTurn, "waits for an approval")
				hash := eventdata.HashClaim("clm_1_offered")
				s.refuses(fold.Command{From: "a", Named: &hash,
					Do: &fold.Take{Turn: 1, Offered: true, NewClaim: fold.NewClaim{New: hash}}}, parley.ErrClaimLost, "")
				for _, c := range []fold.Command{
					{Do: &fold.Message{Finality: turn, Payload: text("x")}, From: "a", Named: &old},
					{Do: &fold.Renew{}, From: "a", Named: &old},
					{Do: &fold.Trace{Payload: json.RawMessage(`{"kind":"k"}`)}, From: "a", Implied: &old, ImpliedTurn: 1},
				} {
					s.refuses(c, parley.ErrClaimLost, "")
				}
				again := s.wish("k")
				again.Named = &old
				s.refuses(again, parley.ErrClaimLost, "")
				s.resolve(seq, parley.ApprovalApproved, "h", "")
				asks := s.state.Asks()
				if len(asks) == 0 || asks[0].Since != seq+3 || !slices.ContainsFunc(
					asks, func(a fold.Ask) bool { return a.AgentID == "a" && a.Attempts == 1 && a.Offer }) {
					t.Fatalf("%+v", asks)
				}
				s.take("a", "a2")
				d := s.decide(s.named(s.wish("k")))
				if d.Err != nil || !d.Duplicate || d.Seq != seq || len(d.Events) > 0 {
					t.Fatalf("the next attempt gets %+v", d)
				}
			})
		}
	}
}

// named returns a command under the current claim.
func (s *story) named(c fold.Command) fold.Command {
	c.Named, c.Executor = &s.state.Claim.Hash, fold.Executor{ID: s.state.Claim.ExecutorID}
	return c
}

// TestApprovalKey: in one turn a key is one approval, whatever has become of it.
func TestApprovalKey(t *testing.T) {
	s := atWork(t, nil).ask("k")
	meets := func(duplicate bool) {
		t.Helper()
		if d := s.decide(s.named(s.wish("k"))); d.Err != nil || d.Duplicate != duplicate || duplicate &&
			(d.Seq != 3 || len(d.Events) > 0) {
			t.Fatalf("%+v", d)
		}
	}
	meets(true)
	for _, change := range []func(a *fold.RequestApproval){
		func(a *fold.RequestApproval) { a.Title = "another" }, func(a *fold.RequestApproval) { a.Details = nil },
		func(a *fold.RequestApproval) { a.AnswerSchema = nil },
		func(a *fold.RequestApproval) { a.Details, a.AnswerSchema = a.AnswerSchema, a.Details },
	} {
		c := s.named(s.wish("k"))
		change(c.Do.(*fold.RequestApproval))
		s.refuses(c, parley.ErrIdempotencyConflict, `"k"`)
	}
	later := s.named(s.wish("k"))
	question := later.Do.(*fold.RequestApproval)
	question.ExpiresInMs, question.TokenID = 120_000, "t2"
	if d := s.decide(later); !d.Duplicate {
		t.Fatalf("%+v", d)
	}
	s.lapse(parley.ClaimFailed).resolve(3, parley.ApprovalRejected, "h", "").take("a", "a1")
	meets(true)
	s.say("a", turn).say("b", turn).say("h", turn).take("a", "a1")
	meets(false)
}

// TestApprovalFence checks that only the holder of the claim requests approvals, and that the refusals have the order
// of those of an append.
func TestApprovalFence(t *testing.T) {
	s := newStory(t).create(roundRobin, "", nil, agentsAnd("h", "a", "b")...)
	from := func(who string, change func(c *fold.Command)) fold.Command {
		c := s.wish("k")
		c.From = who
		if change != nil {
			change(&c)
		}
		return c
	}
	other := eventdata.HashClaim("clm_1_other")
	s.refuses(from("stranger", nil), parley.ErrForbidden, "")
	s.refuses(from("b", nil), parley.ErrNotYourTurn, "")
	s.refuses(from("a", nil), parley.ErrClaimRequired, "")
	s.refuses(from("a", func(c *fold.Command) { c.Named = &other }), parley.ErrClaimLost, "")
	s.take("a", "a1")
	s.refuses(from("a", nil), parley.ErrClaimRequired, "")
	s.refuses(from("a", func(c *fold.Command) { c.Named = &other }), parley.ErrClaimLost, "")
	s.refuses(from("a", func(c *fold.Command) { c.Named, c.Executor.ID = &s.state.Claim.Hash, "a2" }),
		parley.ErrClaimLost, "another executor")
	s.refuses(from("h", func(c *fold.Command) { c.Named = &s.state.Claim.Hash }), parley.ErrNotYourTurn, "")
	if d := s.decide(from("a", func(c *fold.Command) {
		c.Implied, c.ImpliedTurn, c.Executor.ID = &s.state.Claim.Hash, 1,
			"a1"
	})); d.Err != nil || len(d.Events) != 2 {
		t.Fatalf("%+v", d)
	}
	s.say("a", turn).say("b", turn)
	s.refuses(from("h", nil), parley.ErrForbidden, "only agents and tools")
	s.close(nil)
	s.refuses(from("a", nil), parley.ErrConversationClosed, "")
}

// TestApprovalBounds: so many of a turn are pending, so many are asked for in all, and so many are remembered.
func TestApprovalBounds(t *testing.T) {
	s := atWork(t, nil)
	for i := range limits.MaxPendingApprovals {
		s.ask(fmt.Sprint("first ", i))
	}
	s.refuses(s.named(s.wish("one more")), parley.ErrTooLarge, "pending")
	answer := func() {
		for _, a := range s.state.Pending() {
			s.resolve(a.Seq, parley.ApprovalApproved, "h", "")
		}
	}
	answer()
	for i := limits.MaxPendingApprovals; i < limits.MaxTurnApprovals; i++ {
		s.ask(fmt.Sprint("next ", i))
		answer()
	}
	s.refuses(s.named(s.wish("one more")), parley.ErrTooLarge, "256")
	if d := s.decide(s.named(s.wish("first 0"))); !d.Duplicate || d.Seq != 3 {
		t.Fatalf("the first is not remembered: %+v", d)
	}
	last := s.state.Approvals[limits.MaxTurnApprovals-1].Seq
	s.say("a", turn).take("b", "b1").ask("k")
	if n := len(s.state.Approvals); n != limits.MaxKeptApprovals+1 || s.state.Approvals[n-2].Seq != last ||
		s.state.ApprovalIndex(3) >= 0 {
		t.Fatalf("%d are kept, the last but one is %d", n, s.state.Approvals[n-2].Seq)
	}
	// Dropped approvals are read from the log.
	for _, seq := range []int64{3, 5, last, s.state.Approvals[limits.MaxKeptApprovals].Seq} {
		got := s.past(seq)
		if i := s.state.ApprovalIndex(seq); i >= 0 && got != s.state.Approvals[i] {
			t.Fatal(cmp.Diff(s.state.Approvals[i], got))
		}
		if got.Seq != seq || (seq < last) != (got.Status == parley.ApprovalApproved && s.state.ApprovalIndex(seq) < 0) {
			t.Fatalf("%d is %+v", seq, got)
		}
	}
}

// past finds an approval in the log.
func (s *story) past(seq int64) fold.Approval {
	s.t.Helper()
	var p fold.PastApproval
	for _, b := range s.log[seq-1:] {
		var e parley.Event
		if err := json.Unmarshal(b, &e); err != nil {
			s.t.Fatal(err)
		}
		over, err := p.ReadEvent("cnv", &e)
		if err != nil {
			s.t.Fatal(err)
		}
		if over {
			break
		}
	}
	return p.Approval
}

// TestPastApproval checks that the approval read from the log equals that of the state.
func TestPastApproval(t *testing.T) {
	s := atWork(t, nil).ask("k1").ask("k2").ask("k3").say("a", none).resolve(5, parley.ApprovalApproved, "h", "key").
		resolve(3, parley.ApprovalRejected, "h", "").
		note("b").lapse(parley.ClaimDisconnected).tick(70_000).take("a", "a1").ask("k4").say("a", turn).say("b", turn)
	s.wants("rejected approved timed_out canceled")
	for _, a := range s.state.Approvals {
		if got := s.past(a.Seq); got != a {
			t.Error(cmp.Diff(a, got))
		}
	}
	for _, seq := range []int64{1, 2, 4, s.state.Seq} {
		if got := s.past(seq); got.Seq != 0 {
			t.Errorf("seq %d is taken for the approval %+v", seq, got)
		}
	}
}
