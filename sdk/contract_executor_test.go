package sdk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// asX are the params of an executor of agent a that is offered turns.
func asX() *parley.RegisterExecutorParams {
	return &parley.RegisterExecutorParams{
		ExecutorID: "x",
		Agents:     []string{"a"},
		Mode:       parley.ModePush,
		GraceMs:    patientMs,
	}
}

// TestContractOffers: a registration receives offers and the ends of its claims, in order. It does
// not receive ends that its own calls caused.
func TestContractOffers(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		told := s.register(s.a, asX(), nil)
		if r := told.next().Registered; r == nil || !r.OK || r.Holding == nil || r.Ended != 0 {
			t.Fatalf("first came %+v", r)
		}
		offer := told.next().RequestTurn
		if offer == nil || offer.Turn != 1 || offer.Agent != "a" {
			t.Fatalf("then came %+v", offer)
		}
		take := &parley.ClaimTurnParams{ConversationID: s.id, ClaimID: offer.ClaimID}
		first, err := s.a.ClaimTurn(t.Context(), take)
		if err != nil || first.ClaimID != offer.ClaimID || first.Duplicate {
			t.Fatalf("%+v, %v", first, err)
		}
		if again, err := s.a.ClaimTurn(t.Context(), take); err != nil || !again.Duplicate || again.ClaimID != first.ClaimID {
			t.Errorf("again: %+v, %v", again, err)
		}
		if c := s.guidance(s.b).Claim; c == nil || c.ExecutorID != "x" {
			t.Errorf("guidance has the claim %+v", c)
		}
		s.must(s.say(s.a, parley.FinalityTurn, "", "mine")) // an implied claim, which the message ends: no notification
		s.must(s.say(s.b, parley.FinalityTurn, "", "and?"))
		offer = told.next().RequestTurn
		if offer == nil || offer.Turn != 3 || offer.SinceSeq != 3 {
			t.Fatalf("the next turn: %+v", offer)
		}
		if _, err := s.a.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: s.id, ClaimID: offer.ClaimID}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.b.CancelTurn(t.Context(), &parley.CancelTurnParams{ConversationID: s.id, Turn: 3}); err != nil {
			t.Fatal(err)
		}
		end := told.next().ClaimEnded
		if end == nil ||
			*end != (parley.ClaimEndedNotification{ConversationID: s.id, AgentID: "a", Turn: 3, ClaimID: offer.ClaimID,
				Reason: parley.ClaimTurnEnded}) {
			t.Errorf("the end: %+v", end)
		}
	})
}

// TestContractRegistrationEnds: the ways in which a registration ends, with their errors. After the
// end, the hub offers no more turns, and the claims remain.
func TestContractRegistrationEnds(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		told := s.register(s.a, asX(), nil)
		told.next()
		offer := told.next().RequestTurn
		claim := s.claim(s.a, 1)
		if err := s.register(s.a, asX(), nil).ended(); !errors.Is(err, parley.ErrAlreadyExists) {
			t.Errorf("a second registration beside the first: %v", err)
		}
		told.end()
		if err := told.ended(); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of ctx: %v", err)
		}
		r, err := s.a.RenewClaim(t.Context(), &parley.RenewClaimParams{ConversationID: s.id, ClaimID: claim.ClaimID})
		if err != nil || r.DurationMs == 0 {
			t.Errorf("the claim after the loop: %+v, %v", r, err)
		}
		s.must(s.say(s.a, parley.FinalityTurn, "", "done"))
		s.must(s.say(s.b, parley.FinalityTurn, "", "and?"))
		if offer == nil || s.stats().Offers != 1 {
			t.Errorf("without a loop turns are offered: %+v, %d", offer, s.stats().Offers)
		}
		broken := 0
		for n, err := range s.a.RegisterExecutor(t.Context(), asX(), nil) {
			if broken++; err != nil {
				t.Fatal(err)
			}
			if n.RequestTurn != nil {
				break
			}
		}
		if broken != 2 {
			t.Errorf("the registration before the break told %d things", broken)
		}
		other := asX()
		other.ExecutorID = "y"
		if err := s.register(s.a, other, nil).ended(); !errors.Is(err, parley.ErrAlreadyExists) {
			t.Errorf("another executor on the same client: %v", err)
		}
		told = s.register(s.a, asX(), nil)
		told.next()
		if err := s.a.Close(); err != nil {
			t.Fatal(err)
		}
		if err := told.ended(); !errors.Is(err, parley.ErrUnavailable) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// stats are the hub's counts.
func (s *scene) stats() *parley.Stats {
	s.Helper()
	n, err := s.hub.Admin(s.T).Stats(s.Context(), nil)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// TestContractReplaced: an executor with the same id on another client replaces the first one. The
// loop of the first one ends with an error, and its client still works.
func TestContractReplaced(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		first := s.register(s.a, asX(), nil)
		first.next()
		claim := s.claim(s.a, 1)
		lost := s.door.client(t, s.hub, "a")
		var second *registration
		t.Run("taken", func(t *testing.T) {
			second = s.register(lost, asX(), func() []string { return []string{claim.ClaimID, "clm_1_other"} })
			if r := second.next().Registered; r == nil || !slices.Equal(r.Holding, []string{claim.ClaimID}) || r.Ended != 0 {
				t.Errorf("%+v", r)
			}
			if err := first.ended(); !errors.Is(err, parley.ErrAlreadyExists) {
				t.Errorf("the first ends with %v", err)
			}
			if _, err := s.say(lost, parley.FinalityTurn, "", "it is mine now"); err != nil {
				t.Errorf("under the claim that it goes on with: %v", err)
			}
		})
		if _, err := s.a.Now(t.Context()); err != nil {
			t.Errorf("the first client: %v", err)
		}
		s.must(s.say(s.b, parley.FinalityTurn, "", "and?"))
		offer := second.next().RequestTurn
		if offer == nil || offer.Turn != 3 {
			t.Fatalf("%+v", offer)
		}
		if _, err := lost.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: s.id, ClaimID: offer.ClaimID}); err != nil {
			t.Fatal(err)
		}
		back := s.register(s.a, asX(), nil) // without what the other holds
		if r := back.next().Registered; r == nil || r.Ended != 1 {
			t.Errorf("back: %+v", r)
		}
		if err := second.ended(); !errors.Is(err, parley.ErrAlreadyExists) {
			t.Errorf("the second ends with %v", err)
		}
	})
}

// TestContractBadRegistrations are refused with a name, and once: the loop ends.
func TestContractBadRegistrations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*parley.RegisterExecutorParams)
		want   error
	}{
		"no executorId":  {func(p *parley.RegisterExecutorParams) { p.ExecutorID = "" }, parley.ErrValidationFailed},
		"odd executorId": {func(p *parley.RegisterExecutorParams) { p.ExecutorID = "a b" }, parley.ErrValidationFailed},
		"labels": {func(p *parley.RegisterExecutorParams) { p.Labels = map[string]string{"": "x"} },
			parley.ErrValidationFailed},
		"odd label": {func(p *parley.RegisterExecutorParams) { p.Labels = map[string]string{"\xff": "x"} }, nil},
		"many agents": {func(p *parley.RegisterExecutorParams) { p.Agents = slices.Repeat([]string{"a"}, 65) },
			parley.ErrValidationFailed},
		"foreign agent": {func(p *parley.RegisterExecutorParams) { p.Agents = []string{"b"} }, parley.ErrForbidden},
		"no mode":       {func(p *parley.RegisterExecutorParams) { p.Mode = "poll" }, parley.ErrValidationFailed},
		"capacity": {func(p *parley.RegisterExecutorParams) { p.Capacity = limits.MaxCapacity + 1 },
			parley.ErrValidationFailed},
		"below capacity":  {func(p *parley.RegisterExecutorParams) { p.Capacity = -1 }, parley.ErrValidationFailed},
		"grace":           {func(p *parley.RegisterExecutorParams) { p.GraceMs = 1 }, parley.ErrValidationFailed},
		"not UTF-8":       {func(p *parley.RegisterExecutorParams) { p.ExecutorID = "\xff" }, nil},
		"without a scope": {nil, parley.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			eachDoor(t, func(t *testing.T, s *scene) {
				p, client := asX(), s.a
				if c.change == nil {
					client = s.door.client(t, s.hub, "a", parley.ScopeRead, parley.ScopeWrite)
				} else {
					c.change(p)
				}
				n := 0
				for r, err := range client.RegisterExecutor(t.Context(), p, nil) {
					if n++; err == nil || c.want != nil && !errors.Is(err, c.want) {
						t.Fatalf("%+v, %v, want %v", r, err, c.want)
					}
				}
				if n != 1 {
					t.Errorf("the loop was told %d things", n)
				}
			})
		})
	}
}

// TestContractClaims: which callers may speak under a claim, and which must name it.
func TestContractClaims(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		other := s.door.client(t, s.hub, "a")
		named := func(c parley.Client, claim string, f parley.Finality) error {
			_, err := c.SendMessage(
				t.Context(),
				&parley.SendMessageParams{ConversationID: s.id, Payload: text("x"), Finality: f, ClaimID: claim},
			)
			return err
		}
		progress := s.must(s.say(s.a, parley.FinalityNone, "k", "looking"))
		if again := s.must(s.say(s.a, parley.FinalityNone, "k", "looking")); !again.Duplicate ||
			again.ClaimID != progress.ClaimID {
			t.Errorf("again: %+v", again)
		}
		if err := named(s.a, "", parley.FinalityNone); err != nil {
			t.Errorf("whoever has taken it need not name it: %v", err)
		}
		if err := named(other, "", parley.FinalityNone); !errors.Is(err, parley.ErrClaimRequired) {
			t.Errorf("another client without the claim: %v", err)
		}
		if err := named(s.b, progress.ClaimID, parley.FinalityNone); !errors.Is(err, parley.ErrNotYourTurn) {
			t.Errorf("another participant: %v", err)
		}
		if _, err := other.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: s.id, Turn: 1}); !errors.Is(
			err,
			parley.ErrClaimLost,
		) {
			t.Errorf("the turn is claimed: %v", err)
		}
		if err := other.SendDelta(t.Context(), &parley.SendDeltaParams{ConversationID: s.id, Turn: 1, Text: "x"}); !errors.Is(
			err,
			parley.ErrClaimRequired,
		) {
			t.Errorf("a delta without the claim: %v", err)
		}
		if err := named(other, progress.ClaimID, parley.FinalityNone); err != nil {
			t.Errorf("another client that names it: %v", err)
		}
		if err := named(s.a, "", parley.FinalityNone); !errors.Is(err, parley.ErrClaimRequired) {
			t.Errorf("whoever had it, without naming it: %v", err)
		}
		s.release(other, progress.ClaimID, parley.ReleaseFailed)
		for what, err := range map[string]error{
			"implied": named(other, "", parley.FinalityTurn), "named": named(s.a, progress.ClaimID, parley.FinalityTurn),
			"released": s.a.ReleaseClaim(t.Context(), &parley.ReleaseClaimParams{ConversationID: s.id, ClaimID: progress.ClaimID, Outcome: parley.ReleaseYield}),
		} {
			if !errors.Is(err, parley.ErrClaimLost) {
				t.Errorf("after its end, %s: %v", what, err)
			}
		}
		u, err := s.b.GetUpdates(t.Context(), &parley.GetUpdatesParams{ConversationID: s.id})
		if err != nil || len(u.Messages) != 0 ||
			!slices.Equal(u.Withdrawn, []parley.Withdrawn{{Turn: 1, FromSeq: 3, ToSeq: 5}}) {
			t.Errorf("updates: %+v, %v", u, err)
		}
		next, err := s.door.client(t, s.hub, "a").
			ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: s.id, Turn: 1})
		if err != nil || next.Attempt != 2 || next.ClaimID == progress.ClaimID {
			t.Errorf("the next attempt: %+v, %v", next, err)
		}
	})
}

// TestContractRefusedClaims: each refusal has its name, and nothing is written.
func TestContractRefusedClaims(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		take := func(c parley.Client, p parley.ClaimTurnParams) error {
			_, err := c.ClaimTurn(t.Context(), &p)
			return err
		}
		renew := func(claim string) error {
			_, err := s.a.RenewClaim(t.Context(), &parley.RenewClaimParams{ConversationID: s.id, ClaimID: claim})
			return err
		}
		release := func(claim string, o parley.ReleaseOutcome, why string) error {
			return s.a.ReleaseClaim(
				t.Context(),
				&parley.ReleaseClaimParams{ConversationID: s.id, ClaimID: claim, Outcome: o, Reason: why},
			)
		}
		cancel := func(c parley.Client, turn int64) error {
			_, err := c.CancelTurn(t.Context(), &parley.CancelTurnParams{ConversationID: s.id, Turn: turn})
			return err
		}
		for name, c := range map[string]struct{ got, want error }{
			"a human": {take(s.b, parley.ClaimTurnParams{ConversationID: s.id, Turn: 1}), parley.ErrForbidden},
			"neither": {take(s.a, parley.ClaimTurnParams{ConversationID: s.id}), parley.ErrValidationFailed},
			"both": {take(s.a, parley.ClaimTurnParams{ConversationID: s.id, Turn: 1, ClaimID: "clm_1_x"}),
				parley.ErrValidationFailed},
			"below": {take(s.a, parley.ClaimTurnParams{ConversationID: s.id, Turn: -1}),
				parley.ErrValidationFailed},
			"not reached": {take(s.a, parley.ClaimTurnParams{ConversationID: s.id, Turn: 9}), parley.ErrTurnConflict},
			"unknown id": {take(s.a, parley.ClaimTurnParams{ConversationID: s.id, ClaimID: "clm_1_guess"}),
				parley.ErrClaimLost},
			"no id": {take(s.a, parley.ClaimTurnParams{ConversationID: s.id, ClaimID: "guess"}),
				parley.ErrValidationFailed},
			"no conversation": {take(s.a, parley.ClaimTurnParams{ConversationID: "none", Turn: 1}), parley.ErrNotFound},
			"foreigner": {take(s.door.client(t, s.hub, "z"), parley.ClaimTurnParams{ConversationID: s.id, Turn: 1}),
				parley.ErrNotFound},
			"no scope": {take(s.door.client(t, s.hub, "a", parley.ScopeRead, parley.ScopeClaim),
				parley.ClaimTurnParams{ConversationID: s.id, Turn: 1}), parley.ErrForbidden},
			"renew unknown":   {renew("clm_1_guess"), parley.ErrClaimLost},
			"renew none":      {renew(""), parley.ErrValidationFailed},
			"release unknown": {release("clm_1_guess", parley.ReleaseSilent, ""), parley.ErrClaimLost},
			"release as what": {release("clm_1_guess", "gone", ""), parley.ErrValidationFailed},
			"release, long reason": {release("clm_1_guess", parley.ReleaseSilent, strings.Repeat("r", parley.MaxReasonBytes+1)),
				parley.ErrValidationFailed},
			"cancel by the agent":  {cancel(s.a, 1), parley.ErrForbidden},
			"cancel by a stranger": {cancel(s.door.client(t, s.hub, "c"), 1), parley.ErrNotFound},
			"cancel not reached":   {cancel(s.b, 2), parley.ErrTurnConflict},
			"cancel none":          {cancel(s.b, 0), parley.ErrValidationFailed},
		} {
			if !errors.Is(c.got, c.want) {
				t.Errorf("%s: %v, want %v", name, c.got, c.want)
			}
		}
		if page, err := s.b.Tail(t.Context(), &parley.TailParams{ConversationID: s.id}); err != nil || page.LatestSeq != 1 {
			t.Errorf("the log grew: %+v, %v", page, err)
		}
		s.must(s.say(s.a, parley.FinalityTurn, "", "x"))
		if err := take(s.a, parley.ClaimTurnParams{ConversationID: s.id, Turn: 1}); !errors.Is(err, parley.ErrTurnClosed) {
			t.Errorf("a turn that has ended: %v", err)
		}
		if err := cancel(s.b, 1); !errors.Is(err, parley.ErrTurnClosed) {
			t.Errorf("canceled after its end: %v", err)
		}
		if _, err := s.a.CloseConversation(t.Context(), &parley.CloseConversationParams{ConversationID: s.id}); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"claim": take(s.a, parley.ClaimTurnParams{ConversationID: s.id, Turn: 2}), "renew": renew("clm_2_x"),
			"release": release("clm_2_x", parley.ReleaseSilent, ""), "cancel": cancel(s.b, 2),
		} {
			if !errors.Is(err, parley.ErrConversationClosed) {
				t.Errorf("%s after the close: %v", what, err)
			}
		}
	})
}

// TestContractOfferOfAnother: what one executor is offered, another of the same agent does not take
// with it.
func TestContractOfferOfAnother(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		told := s.register(s.a, asX(), nil)
		told.next()
		offer := told.next().RequestTurn
		other := s.door.client(t, s.hub, "a")
		y := asX()
		y.ExecutorID = "y"
		s.register(other, y, nil).next()
		q := &parley.ClaimTurnParams{ConversationID: s.id, ClaimID: offer.ClaimID}
		if c, err := other.ClaimTurn(t.Context(), q); !errors.Is(err, parley.ErrClaimLost) {
			t.Errorf("the other takes it: %+v, %v", c, err)
		}
		if c, err := s.a.ClaimTurn(t.Context(), q); err != nil || c.Attempt != 1 || c.Duplicate {
			t.Errorf("who was offered it: %+v, %v", c, err)
		}
	})
}

// TestContractTurnHint: the hint is in the event, and names the next.
func TestContractTurnHint(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		p := peers()
		p.Policy = &parley.Policy{Kind: parley.PolicyAddressed}
		p.Participants = append(p.Participants, parley.Participant{ID: "c", Kind: parley.KindHuman})
		s.begin(p)
		if _, err := s.a.SendMessage(t.Context(), &parley.SendMessageParams{
			ConversationID: s.id, Payload: text("x"), Finality: parley.FinalityTurn, TurnHint: &parley.TurnHint{Next: "c"},
		}); err != nil {
			t.Fatal(err)
		}
		page, err := s.b.Tail(t.Context(), &parley.TailParams{ConversationID: s.id, SinceSeq: 1})
		if err != nil || len(page.Events) != 1 || page.Events[0].TurnHint == nil || page.Events[0].TurnHint.Next != "c" {
			t.Errorf("%+v, %v", page, err)
		}
		if g := s.guidance(s.b); g.Speaker != "c" {
			t.Errorf("%+v", g)
		}
	})
}

// TestContractTurnToken: a token for one turn speaks under the claim without naming it, and ends
// with it.
func TestContractTurnToken(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		claim := s.claim(s.a, 1)
		made, err := s.a.CreateToken(
			t.Context(),
			&parley.CreateTokenParams{AgentID: "a", Claim: &parley.ClaimRef{ConversationID: s.id, ClaimID: claim.ClaimID}},
		)
		if err != nil {
			t.Fatal(err)
		}
		program := s.door.with(t, s.hub, made.Token)
		if r := s.must(s.say(program, parley.FinalityNone, "", "working")); r.ClaimID != "" || r.Seq != 3 {
			t.Errorf("%+v", r)
		}
		if _, err := program.CreateConversation(t.Context(), ab()); err == nil {
			t.Error("it made a conversation")
		}
		s.must(s.say(program, parley.FinalityTurn, "", "done"))
		for end := time.Now().Add(patience); err == nil && time.Now().Before(end); {
			_, err = program.Tail(t.Context(), &parley.TailParams{ConversationID: s.id})
		}
		if !errors.Is(err, parley.ErrUnauthenticated) {
			t.Errorf("after the claim it still reads: %v", err)
		}
	})
}
