package hub_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
)

// TestWorkspaceTokens: a token grants no workspace that its maker's does not.
func TestWorkspaceTokens(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("w"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	many := make([]string, limits.MaxWorkspaces+1)
	for i := range many {
		many[i] = fmt.Sprintf("w%d", i)
	}
	desk := mustToken(t, h, admin, of("a", []string{"w", "v", "w"}))
	for _, c := range []struct {
		name       string
		by         *hub.Principal
		workspaces []string
		want       error
	}{
		{"as many as there may be", admin, many[1:], nil},
		{"too many", admin, many, parley.ErrValidationFailed},
		{"an empty list", admin, []string{}, parley.ErrValidationFailed},
		{"no name", admin, []string{""}, parley.ErrValidationFailed},
		{"any", admin, []string{"*"}, parley.ErrValidationFailed},
		{"both", desk, []string{"v", "w"}, nil},
		{"one", desk, []string{"v"}, nil},
		{"one more", desk, []string{"v", "x"}, parley.ErrForbidden},
		{"any of a caller's", desk, []string{"*"}, parley.ErrValidationFailed},
		{"of one without", h.LocalPrincipal("a"), []string{"v"}, parley.ErrForbidden},
	} {
		q := of("a", c.workspaces)
		r, err := createToken(h, c.by, q)
		if c.want != nil {
			if refused(t, err, c.want); r.Token != "" {
				t.Errorf("%s: a token came with the refusal", c.name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	list, err := h.ListTokens(t.Context(), admin, &parley.ListTokensParams{})
	if err != nil || len(list.Tokens) != 4 || !slices.Equal(list.Tokens[0].Workspaces, []string{"v", "w"}) {
		t.Fatalf("%+v, %v", list, err)
	}
	heir := mustToken(t, h, desk, of("a", nil)) // it is not given what it does not ask for
	_, err = h.ListConversations(t.Context(), heir, &parley.ListConversationsParams{Workspace: "w"})
	refused(t, err, parley.ErrForbidden)
}

// TestWorkspaceTickets: what a ticket opens is read by the workspaces of the token that it was made with, and one may be made for what is only read.
func TestWorkspaceTickets(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("w"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	q := inWorkspace("w")
	q.ConversationID = "c1"
	create(t, h, admin, q)
	q.ConversationID = "c2"
	create(t, h, admin, q)
	reader := mustToken(t, h, admin, of("zed", []string{"w"}))
	ticket, err := h.Narrow(reader, "c1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Tail(t.Context(), ticket, &parley.TailParams{ConversationID: "c1"}); err != nil {
		t.Fatal(err)
	}
	_, err = h.Tail(t.Context(), ticket, &parley.TailParams{ConversationID: "c2"})
	refused(t, err, parley.ErrNotFound)
	r := <-post(h, ticket, message("c1", "x", parley.FinalityTurn, ""))
	refused(t, r.err, parley.ErrForbidden)
	_, err = h.Narrow(mustToken(t, h, admin, of("zed", nil)), "c1")
	refused(t, err, parley.ErrNotFound)
}

// TestWorkspaceTokenOfOneTurn: a token for one turn has no workspaces, whoever creates it.
func TestWorkspaceTokenOfOneTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), rooted("w"))
		synctest.Wait() // until the hub knows the current claims
		admin, _ := h.Authenticate(t.Context(), rootToken, "")
		a := mustToken(t, h, admin, of("a", []string{"w"}))
		q := inWorkspace("w")
		q.Participants[0].Kind = parley.KindAgent
		id, other := create(t, h, a, q), create(t, h, admin, inWorkspace("w"))
		claim, err := one(func(done func(parley.ClaimTurnResult, error)) {
			h.ClaimTurn(a, &parley.ClaimTurnParams{ConversationID: id, Turn: 1}, done)
		})
		if err != nil {
			t.Fatal(err)
		}
		bind := parley.CreateTokenParams{AgentID: "a", Claim: &parley.ClaimRef{ConversationID: id, ClaimID: claim.ClaimID},
			Workspaces: []string{"w"}}
		_, err = createToken(h, a, bind)
		refused(t, err, parley.ErrValidationFailed)
		bind.Workspaces = nil
		bound := mustToken(t, h, a, bind)
		_, err = h.ListConversations(t.Context(), bound, &parley.ListConversationsParams{Workspace: "w"})
		refused(t, err, parley.ErrForbidden)
		_, err = h.Tail(t.Context(), bound, &parley.TailParams{ConversationID: other})
		refused(t, err, parley.ErrNotFound)
		if _, err := h.Tail(t.Context(), bound, &parley.TailParams{ConversationID: id}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestWorkspaceSubscriptions: a subscription through a workspace continues under another token of
// the workspace. Under a token without it, and with the end of its token, it ends.
func TestWorkspaceSubscriptions(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("w"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	id := create(t, h, admin, inWorkspace("w"))
	reader := mustToken(t, h, admin, of("zed", []string{"w"}))
	s, err := h.Subscribe(t.Context(), reader, &parley.SubscribeParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Allows(mustToken(t, h, admin, of("zed", []string{"v", "w"}))); err != nil {
		t.Error(err)
	}
	refused(t, s.Allows(mustToken(t, h, admin, of("zed", []string{"v"}))), parley.ErrForbidden)
	refused(t, s.Allows(mustToken(t, h, admin, of("zed", []string{"w"}, "x"))), parley.ErrForbidden)
	for caughtUp := false; !caughtUp; {
		items, err := s.Next(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		caughtUp = slices.ContainsFunc(items, func(i hub.Item) bool { return i.Guidance != nil })
	}
	if _, err := one(func(done func(parley.RevokeTokenResult, error)) {
		h.RevokeToken(admin, &parley.RevokeTokenParams{TokenID: reader.TokenID}, done)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(t.Context(), 10); !errors.Is(err, parley.ErrUnauthenticated) {
		t.Errorf("after its token: %v", err)
	}
}

// TestWorkspaceSessions: a session out of a conversation is in no workspace, and only who sees the conversation as its own starts one.
func TestWorkspaceSessions(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("w"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	a := mustToken(t, h, admin, of("a", []string{"w"}))
	id := create(t, h, a, inWorkspace("w"))
	if _, err := h.RegisterAgent(parley.AgentInfo{Name: "idle", Type: parley.AgentTypeFunction}); err != nil {
		t.Fatal(err)
	}
	start := func(p *hub.Principal) (*parley.Session, error) {
		return h.Client(p).StartSession(t.Context(), &parley.StartSessionParams{AgentName: "idle", Prompt: "x",
			Mode: parley.ModeAsyncPoll, ParentConversationID: id})
	}
	reader := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "zed", Workspaces: []string{"w"}})
	_, err := start(reader)
	refused(t, err, parley.ErrForbidden)
	s, err := start(a)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Client(reader).GetSession(t.Context(), &parley.GetSessionParams{SessionID: s.SessionID})
	refused(t, err, parley.ErrNotFound)
	_, err = h.Tail(t.Context(), reader, &parley.TailParams{ConversationID: s.SessionID})
	refused(t, err, parley.ErrNotFound)
	if got := pagesOf(t, h, reader, parley.ListConversationsParams{Workspace: "w"}); !slices.Equal(got, []string{id}) {
		t.Errorf("the workspace has %v", got)
	}
}
