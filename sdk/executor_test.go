package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// onSocket is a scene over a WebSocket whose client of a may come back at once.
func onSocket(t *testing.T) *scene {
	s := newScene(t, doors[1])
	s.a = s.hub.Dial(t, eager(s.hub.NewToken(t, "a")))
	return s
}

// TestRegistrationOverReconnects: a lost connection and a hub that was started again are a
// Registered each, and the claims that are held go on.
func TestRegistrationOverReconnects(t *testing.T) {
	t.Parallel()
	s := onSocket(t)
	var taken atomic.Pointer[string]
	told := s.register(s.a, asX(), func() []string {
		if taken.Load() == nil {
			return nil
		}
		return []string{*taken.Load(), "clm_1_of_long_ago"}
	})
	told.next()
	offer := told.next().RequestTurn
	if _, err := s.a.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: s.id, ClaimID: offer.ClaimID}); err != nil {
		t.Fatal(err)
	}
	claim := offer.ClaimID
	taken.Store(&claim)
	for i, disturb := range []func(){
		s.hub.CutConnections, s.hub.CutConnections, func() { s.hub.Restart(t) }, s.hub.CutConnections,
	} {
		disturb()
		if r := told.next().Registered; r == nil || !slices.Equal(r.Holding, []string{claim}) || r.Ended != 0 {
			t.Fatalf("registered again (%d): %+v", i, r)
		}
		_, err := s.a.SendMessage(t.Context(), &parley.SendMessageParams{
			ConversationID: s.id, Payload: text(fmt.Sprint("still at work ", i)), Finality: parley.FinalityNone, ClaimID: claim,
		})
		if err != nil {
			t.Fatalf("under the claim (%d): %v", i, err)
		}
	}
	s.must(
		s.a.SendMessage(
			t.Context(),
			&parley.SendMessageParams{
				ConversationID: s.id,
				Payload:        text("done"),
				Finality:       parley.FinalityTurn,
				ClaimID:        claim,
			},
		),
	)
	s.b = s.hub.Client(t, "b")
	s.must(s.say(s.b, parley.FinalityTurn, "", "and?"))
	if offer := told.next().RequestTurn; offer == nil || offer.Turn != 3 {
		t.Errorf("the next turn: %+v", offer)
	}
	page, err := s.b.Tail(t.Context(), &parley.TailParams{ConversationID: s.id, SinceSeq: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Events {
		if e.Type == parley.TypeSystem && kindOf(t, e) != parley.KindTurnClaimed {
			t.Errorf("the log has %s", e.Payload)
		}
	}
}

// TestRegistrationIsMadeAgainInTime: the hub is drained and comes back; the loop has no end in
// between.
func TestRegistrationIsMadeAgainInTime(t *testing.T) {
	t.Parallel()
	s := onSocket(t)
	told := s.register(s.a, asX(), nil)
	told.next()
	if q := told.next().RequestTurn; q == nil {
		t.Fatal("no offer")
	}
	s.hub.Drain(t)
	s.hub.Restart(t)
	if n := told.next(); n.Registered == nil {
		t.Fatalf("after the restart: %+v", n)
	}
	if q := told.next().RequestTurn; q == nil || q.Turn != 1 || q.Attempt != 1 {
		t.Errorf("the turn that nobody took: %+v", q)
	}
}

// TestRegistrationWithARefusedToken ends for good.
func TestRegistrationWithARefusedToken(t *testing.T) {
	t.Parallel()
	s := onSocket(t)
	made, err := s.a.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	told := s.register(s.hub.Dial(t, eager(made.Token)), asX(), nil)
	told.next()
	if _, err := s.a.RevokeToken(t.Context(), &parley.RevokeTokenParams{TokenID: made.TokenID}); err != nil {
		t.Fatal(err)
	}
	if err := told.ended(); !errors.Is(err, parley.ErrUnauthenticated) {
		t.Errorf("after the revocation: %v", err)
	}
}

// TestLostAnswersOfTurns: the connection breaks after a call was sent. What the hub recognizes is
// found out, what it does not says so.
func TestLostAnswersOfTurns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call func(ctx context.Context, c *sdk.Client, ref parley.ClaimRef) error
		want error
	}{
		"claimTurn": {func(ctx context.Context, c *sdk.Client, ref parley.ClaimRef) error {
			r, err := c.ClaimTurn(ctx, &parley.ClaimTurnParams{ConversationID: ref.ConversationID, ClaimID: ref.ClaimID})
			if err == nil && (!r.Duplicate || r.ClaimID != ref.ClaimID) {
				return fmt.Errorf("result %+v", r)
			}
			return err
		}, nil},
		"releaseClaim": {func(ctx context.Context, c *sdk.Client, ref parley.ClaimRef) error {
			return c.ReleaseClaim(ctx, &parley.ReleaseClaimParams{ConversationID: ref.ConversationID, ClaimID: ref.ClaimID,
				Outcome: parley.ReleaseYield})
		}, nil},
		"cancelTurn": {func(ctx context.Context, c *sdk.Client, ref parley.ClaimRef) error {
			_, err := c.CancelTurn(ctx, &parley.CancelTurnParams{ConversationID: ref.ConversationID, Turn: 1})
			return err
		}, parley.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			h := sdktest.NewHub(t)
			p := newProxy(t, h.URL)
			snapshot, err := h.Admin(t).CreateConversation(t.Context(), ab())
			if err != nil {
				t.Fatal(err)
			}
			o := eager(h.Token)
			o.AgentID = "a"
			client := dial(t, p.url, o)
			s := &scene{T: t, hub: h, id: snapshot.ConversationID}
			told := s.register(client, asX(), nil)
			told.next()
			offer := told.next().RequestTurn
			ref := parley.ClaimRef{ConversationID: s.id, ClaimID: offer.ClaimID}
			if name != "claimTurn" {
				if _, err := client.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: s.id, ClaimID: ref.ClaimID}); err != nil {
					t.Fatal(err)
				}
			}
			p.muteHub()
			done := h.Journal().Watch()
			ended := make(chan error, 1)
			go func() { ended <- c.call(t.Context(), client, ref) }()
			<-done // and the answer gets lost
			p.cut()
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("got %v, expected %v", err, c.want)
			}
		})
	}
}
