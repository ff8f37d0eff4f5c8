package hub_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/methods"
)

// tried calls each method, except those of HTTP only and those that the token of a command allows.
var tried = map[string]func(ctx context.Context, c parley.Client, session string) error{
	methods.CreateConversation: func(ctx context.Context, c parley.Client, _ string) error {
		_, err := c.CreateConversation(ctx, &parley.CreateConversationParams{Participants: seats("count")})
		return err
	},
	methods.GetConversation: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id})
		return err
	},
	methods.ListConversations: func(ctx context.Context, c parley.Client, _ string) error {
		_, err := c.ListConversations(ctx, nil)
		return err
	},
	methods.WatchConversations: func(ctx context.Context, c parley.Client, _ string) error {
		_, err := c.WatchConversations(ctx, nil)
		return err
	},
	methods.AddParticipant: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.AddParticipant(ctx, &parley.AddParticipantParams{ConversationID: id, Participant: seats("x")[0]})
		return err
	},
	methods.ForkConversation: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.ForkConversation(ctx, &parley.ForkConversationParams{ConversationID: id, Seq: 1})
		return err
	},
	methods.CloseConversation: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.CloseConversation(ctx, &parley.CloseConversationParams{ConversationID: id})
		return err
	},
	methods.Tail: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.Tail(ctx, &parley.TailParams{ConversationID: id})
		return err
	},
	methods.WaitForChange: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.WaitForChange(ctx, &parley.WaitForChangeParams{ConversationID: id})
		return err
	},
	methods.GetUpdates: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: id})
		return err
	},
	methods.Subscribe: func(ctx context.Context, c parley.Client, id string) error {
		return first(c.Subscribe(ctx, &parley.SubscribeParams{ConversationID: id}))
	},
	methods.GetGuidance: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: id})
		return err
	},
	methods.Explain: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.Explain(ctx, &parley.ExplainParams{ConversationID: id})
		return err
	},
	methods.SendMessage: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.SendMessage(ctx, message(id, "hi", parley.FinalityConversation, ""))
		return err
	},
	methods.SendTrace: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.SendTrace(ctx, trace(id, "hi", ""))
		return err
	},
	methods.SendNote: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.SendNote(ctx, note(id, "hi", ""))
		return err
	},
	methods.SendDelta: func(ctx context.Context, c parley.Client, id string) error {
		return c.SendDelta(ctx, &parley.SendDeltaParams{ConversationID: id, Turn: 2, Text: "hi"})
	},
	methods.PutAttachment: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.PutAttachment(ctx, &parley.PutAttachmentParams{ConversationID: id, Data: []byte("hi")})
		return err
	},
	methods.GetAttachment: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.GetAttachment(ctx, &parley.GetAttachmentParams{ConversationID: id, SHA256: strings.Repeat("0", 64)})
		return err
	},
	methods.RegisterExecutor: func(ctx context.Context, c parley.Client, _ string) error {
		return first(c.RegisterExecutor(ctx, &parley.RegisterExecutorParams{ExecutorID: "e", Agents: []string{"count"}}, nil))
	},
	methods.ClaimTurn: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.ClaimTurn(ctx, &parley.ClaimTurnParams{ConversationID: id, Turn: 2})
		return err
	},
	methods.RenewClaim: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.RenewClaim(ctx, &parley.RenewClaimParams{ConversationID: id, ClaimID: "clm_2_x"})
		return err
	},
	methods.ReleaseClaim: func(ctx context.Context, c parley.Client, id string) error {
		return c.ReleaseClaim(ctx, &parley.ReleaseClaimParams{ConversationID: id, ClaimID: "clm_2_x",
			Outcome: parley.ReleaseFailed})
	},
	methods.CancelTurn: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.CancelTurn(ctx, &parley.CancelTurnParams{ConversationID: id, Turn: 2})
		return err
	},
	methods.RegisterBlueprints: func(ctx context.Context, c parley.Client, _ string) error {
		_, err := c.RegisterBlueprints(ctx, nil)
		return err
	},
	methods.RequestApproval: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.RequestApproval(ctx, may(id, "k"))
		return err
	},
	methods.GetApproval: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.GetApproval(ctx, &parley.GetApprovalParams{ApprovalID: id + ".3"})
		return err
	},
	methods.ListApprovals: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.ListApprovals(ctx, &parley.ListApprovalsParams{ConversationID: id})
		return err
	},
	methods.ResolveApproval: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.ResolveApproval(ctx, &parley.ResolveApprovalParams{ApprovalID: id + ".3",
			Decision: parley.DecisionApproved})
		return err
	},
	methods.GetContext: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.GetContext(ctx, &parley.GetContextParams{ConversationID: id})
		return err
	},
	methods.ExplainTriggers: func(ctx context.Context, c parley.Client, id string) error {
		_, err := c.ExplainTriggers(ctx, &parley.ExplainTriggersParams{ConversationID: id, Seq: 2})
		return err
	},
	methods.CreateToken: func(ctx context.Context, c parley.Client, _ string) error {
		_, err := c.CreateToken(ctx, &parley.CreateTokenParams{AgentID: "count"})
		return err
	},
	methods.ListTokens: func(ctx context.Context, c parley.Client, _ string) error {
		_, err := c.ListTokens(ctx, nil)
		return err
	},
	methods.RevokeToken: func(ctx context.Context, c parley.Client, _ string) error {
		_, err := c.RevokeToken(ctx, &parley.RevokeTokenParams{TokenID: "t"})
		return err
	},
	methods.Stats: func(ctx context.Context, c parley.Client, _ string) error {
		_, err := c.Stats(ctx, nil)
		return err
	},
}

// first returns the first error of an iteration.
func first[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		return err
	}
	return errors.New("nothing came")
}

// TestCommandToken: the token of a command starts sessions from its session, in mode sync, reads
// and stops these, lists agents, and does nothing else.
func TestCommandToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, rooted("x"))
		x := hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		sibling := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		x.offered()
		id := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		claim := x.oneOffer().ClaimID
		token := "plc_" + id + "_" + claim
		if _, err := h.Authenticate(t.Context(), token, ""); !errors.Is(err, parley.ErrUnauthenticated) {
			t.Fatalf("before the claim: %v", err)
		}
		x.take(id, claim)
		p := login(t, h, token)
		if p.AgentID != "count" || p.Admin() {
			t.Fatalf("%+v", p)
		}
		for _, as := range []string{"ann", "ops", "admin"} {
			if _, err := h.Authenticate(t.Context(), token, as); err == nil {
				t.Errorf("it speaks as %s", as)
			}
		}
		c := h.Client(p)
		before := j.Last()
		mine := map[string]bool{methods.StartSession: true, methods.GetSession: true,
			methods.StopSession: true, methods.ListAgents: true}
		atDoors := map[string]bool{methods.Authenticate: true, methods.Ping: true, methods.CreateTicket: true,
			methods.Unsubscribe: true}
		for _, m := range methods.Table {
			do := tried[m.Name]
			if mine[m.Name] || atDoors[m.Name] {
				continue
			}
			if do == nil {
				t.Fatalf("%s is not tried", m.Name)
			}
			if err := do(t.Context(), c, id); !errors.Is(err, parley.ErrForbidden) {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
		if _, err := h.Narrow(p, id); !errors.Is(err, parley.ErrForbidden) {
			t.Errorf("a ticket: %v", err)
		}
		for _, q := range []*parley.StartSessionParams{
			counts("count", 1, parley.ModeAsyncPoll, ""), counts("count", 1, parley.ModeAsyncCallback, id), counts("count", 1,
				"", sibling), counts("count", 1, "", "absent"),
		} {
			_, err := c.StartSession(t.Context(), q)
			refused(t, err, parley.ErrForbidden)
		}
		for _, other := range []string{sibling, id, "absent"} {
			_, err := c.GetSession(t.Context(), &parley.GetSessionParams{SessionID: other})
			refused(t, err, parley.ErrNotFound)
			_, err = c.StopSession(t.Context(), &parley.StopSessionParams{SessionID: other})
			refused(t, err, parley.ErrNotFound)
		}
		if j.Last() != before {
			t.Error("something was written")
		}
		if r, err := c.ListAgents(t.Context(), nil); err != nil || len(r.Agents) != 1 {
			t.Errorf("%+v %v", r, err)
		}
		x.offered()
		answer := starts(t.Context(), h, p, counts("count", 2, "", ""))
		child := x.works("below")
		if a := <-answer; a.err != nil || *a.s.Result.ResultText != "below" || a.s.ParentConversationID != id ||
			a.s.Depth != 2 || a.s.CreatedBy != "count" {
			t.Fatalf("%+v %v", a.s, a.err)
		}
		if s, err := c.GetSession(t.Context(), &parley.GetSessionParams{SessionID: child}); err != nil ||
			s.Status != parley.SessionCompleted {
			t.Errorf("%+v %v", s, err)
		}
		q := counts("count", 3, "", id)
		q.TimeoutMs = 1
		slow := start(t, h, p, q)
		if s, err := c.StopSession(t.Context(), &parley.StopSessionParams{SessionID: slow.SessionID}); err != nil ||
			s.Status != parley.SessionStopped {
			t.Errorf("%+v %v", s, err)
		}
		x.offered()

		j = crash(t, j)
		h = startOn(t, j, rooted("y"))
		synctest.Wait()
		p = login(t, h, token)
		slow = start(t, h, p, q)
		waits := make(chan error, 1)
		go func() {
			_, err := h.GetSession(t.Context(), p, &parley.GetSessionParams{SessionID: slow.SessionID, TimeoutMs: 50_000})
			waits <- err
		}()
		synctest.Wait()
		if _, err := h.StopSession(t.Context(), h.LocalPrincipal("ann"),
			&parley.StopSessionParams{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		refused(t, <-waits, parley.ErrUnauthenticated)
		stands(t, h, h.LocalPrincipal("root", parley.ScopeAdmin), slow.SessionID, parley.SessionStopped,
			parley.ReasonParentClosed)
		if _, err := h.StartSession(t.Context(), p, q); !errors.Is(err, parley.ErrUnauthenticated) {
			t.Errorf("after its end: %v", err)
		}
		if _, err := h.Authenticate(t.Context(), token, ""); !errors.Is(err, parley.ErrUnauthenticated) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// TestCommandTokenForged: a token that is not made of a current claim and its session is invalid.
func TestCommandTokenForged(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		one, two := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID, start(t, h, ann,
			counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		claims := map[string]string{}
		for _, o := range x.offered() {
			x.take(o.ConversationID, o.ClaimID)
			claims[o.ConversationID] = o.ClaimID
		}
		r := push(t, h, "r1", "a")
		plain := asked(t, h, nil)
		c := r.claim()
		hash := events(t, j, one)
		sys, err := hash[2].System()
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{
			"plc_", "plc_x", "plc_" + one, "plc_" + one + "_", "plc_" + one + "_clm_", "plc_" + one + "_clm_2_", "plc_" + one + "_" + claims[two], "plc_" + two + "_" + claims[one],
			"plc_" + one + "_" + claims[one] + "x", "plc_" + one + "_" + claims[one][:len(claims[one])-1], "plc_" + one + "_clm_2_" + sys.ClaimHash, "PLC_" + one + "_" + claims[one],
			"plc_" + plain + "_" + c.ClaimID, "plc__" + claims[one], "plc_" + strings.Repeat("x",
				1<<16), claims[one], "plc_" + one + "_clm_2_x_" + claims[one],
		} {
			if p, err := h.Authenticate(t.Context(), token, ""); !errors.Is(err, parley.ErrUnauthenticated) {
				t.Errorf("%.80q: %+v %v", token, p, err)
			}
		}
		login(t, h, "plc_"+one+"_"+claims[one])
		x.ends(one, claims[one], parley.OutcomeCompleted, ran("x"))
		if _, err := h.Authenticate(t.Context(), "plc_"+one+"_"+claims[one], ""); !errors.Is(err, parley.ErrUnauthenticated) {
			t.Errorf("%v", err)
		}
		login(t, h, "plc_"+two+"_"+claims[two])
	})
}
