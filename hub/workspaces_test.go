package hub_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/methods"
)

// inWorkspace is a conversation of a, b and c that alice creates in a workspace.
func inWorkspace(workspace string) *parley.CreateConversationParams {
	q := open2("a", "b")
	q.Workspace = workspace
	return q
}

// of returns the params of a token.
func of(agent string, workspaces []string, conversations ...string) parley.CreateTokenParams {
	q := parley.CreateTokenParams{AgentID: agent, Workspaces: workspaces}
	if len(conversations) > 0 {
		q.Conversations = conversations
	}
	return q
}

// TestWorkspaceReads: a token that grants a workspace reads its conversations by every method, and writes in none; for every other token they do not exist.
func TestWorkspaceReads(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("w"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	q := inWorkspace("w")
	q.Participants[0].Private = "PRIVATE-A"
	id := create(t, h, mustToken(t, h, admin, of("a", []string{"w"})), q)
	a := h.LocalPrincipal("a")
	say(t, h, a, message(id, "HELLO", parley.FinalityNone, ""))
	if _, err := one(func(done func(parley.SendResult, error)) {
		h.SendTrace(a, trace(id, "TRACE-A", ""), done)
	}); err != nil {
		t.Fatal(err)
	}
	say(t, h, a, message(id, "HELLO", parley.FinalityTurn, ""))
	for _, c := range calls {
		if c.method == methods.PutAttachment {
			if _, err := c.do(h, a, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	readers := map[string]parley.CreateTokenParams{
		"reader": of("zed", []string{"w"}), "among others": of("zed", []string{"v", "w", "x"}), "narrowed to it": of("zed",
			[]string{"w"}, "x", id), "of a local caller": {},
	}
	strangers := map[string]parley.CreateTokenParams{
		"none": of("zed", nil), "another": of("zed", []string{"v", "W", "w2"}), "narrowed away": of("zed", []string{"w"},
			"x"), "of a local caller": {},
	}
	for _, restarted := range []bool{false, true} {
		if restarted {
			h = startOn(t, j, rooted("r"))
			admin, _ = h.Authenticate(t.Context(), rootToken, "")
		}
		for name, token := range readers {
			p := h.LocalPrincipal("zed").WithWorkspaces("v", "w")
			if token.AgentID != "" {
				p = mustToken(t, h, admin, token)
			}
			for _, c := range calls {
				m, _ := methods.ByName(c.method)
				told, err := c.do(h, p, id)
				if m.Scope == parley.ScopeWrite {
					if err == nil || parley.ErrorRowOf(err).Err != parley.ErrForbidden {
						t.Errorf("%s writes by %s (restarted %t): %v", name, c.method, restarted, err)
					}
					continue
				}
				if err != nil || told == "" {
					t.Errorf("%s reads by %s (restarted %t): %q, %v", name, c.method, restarted, told, err)
				}
				if strings.Contains(told, "PRIVATE-A") || strings.Contains(told, "TRACE-A") {
					t.Errorf("%s is shown what is private by %s", name, c.method)
				}
			}
			s, _, err := h.GetConversation(t.Context(), p, &parley.GetConversationParams{ConversationID: id})
			if err != nil || s.Workspace != "w" || s.Guidance.Kind == parley.MaySpeak ||
				slices.ContainsFunc(s.Participants, func(seat parley.Participant) bool { return seat.ID == "zed" }) {
				t.Errorf("%s (restarted %t): %+v, %v", name, restarted, s, err)
			}
			if _, err := one(func(done func(parley.ClaimTurnResult, error)) {
				h.ClaimTurn(p, &parley.ClaimTurnParams{ConversationID: id, Turn: 2}, done)
			}); err == nil || parley.ErrorRowOf(err).Err != parley.ErrForbidden {
				t.Errorf("%s claims: %v", name, err)
			}
			if r := <-post(h, p, &parley.SendMessageParams{ConversationID: id, Payload: text("x"),
				Finality: parley.FinalityTurn, ClaimID: "clm_2_x"}); parley.ErrorRowOf(r.err).Err != parley.ErrForbidden {
				t.Errorf("%s speaks under a claim: %v", name, r.err)
			}
		}
		for name, token := range strangers {
			p := h.LocalPrincipal("zed").WithWorkspaces("")
			if token.AgentID != "" {
				p = mustToken(t, h, admin, token)
			}
			for _, c := range calls {
				if _, err := c.do(h, p, id); err == nil || parley.ErrorRowOf(err).Err != parley.ErrNotFound {
					t.Errorf("%s, by %s: %v", name, c.method, err)
				}
			}
		}
	}
}

// TestWorkspaceOfNone: a conversation without a workspace is visible through no workspace, also for
// an admin's token and reserved conversations.
func TestWorkspaceOfNone(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("w"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	plain := create(t, h, h.LocalPrincipal("a"), open2("a", "b"))
	for _, reader := range []*hub.Principal{mustToken(t, h, admin, of("zed", []string{"w"})),
		h.LocalPrincipal("zed").WithWorkspaces("", "w")} {
		for _, id := range []string{plain, "~tokens"} {
			_, err := h.Tail(t.Context(), reader, &parley.TailParams{ConversationID: id})
			refused(t, err, parley.ErrNotFound)
		}
	}
	q := inWorkspace("w")
	q.ConversationID = "~a2a.x"
	_, err := h.Client(admin).CreateConversation(t.Context(), q)
	refused(t, err, parley.ErrValidationFailed)
}

// TestWorkspaceCreated: a conversation is put into a workspace by who has a token of it.
func TestWorkspaceCreated(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("w"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	granted := mustToken(t, h, admin, of("a", []string{"w", "w.2-x_Y"}))
	for _, c := range []struct {
		by        *hub.Principal
		workspace string
		want      error
	}{
		{granted, "w", nil}, {granted, "w.2-x_Y", nil}, {granted, "v", parley.ErrForbidden}, {granted, "W",
			parley.ErrForbidden}, {admin, "any", nil},
		{h.LocalPrincipal("a"), "w", parley.ErrForbidden}, {h.LocalPrincipal("a").WithWorkspaces("w"), "w", nil},
		{granted, "*", parley.ErrValidationFailed}, {admin, "*", parley.ErrValidationFailed}, {admin, "a b",
			parley.ErrValidationFailed}, {admin, ".w", parley.ErrValidationFailed},
		{admin, strings.Repeat("w", 65), parley.ErrValidationFailed}, {admin, strings.Repeat("w", 64), nil},
	} {
		s, err := h.Client(c.by).CreateConversation(t.Context(), inWorkspace(c.workspace))
		if c.want != nil {
			refused(t, err, c.want)
			continue
		}
		if err != nil || s.Workspace != c.workspace {
			t.Fatalf("%q: %+v, %v", c.workspace, s, err)
		}
		sys, err := events(t, j, s.ConversationID)[0].System()
		if err != nil || sys.Workspace != c.workspace {
			t.Fatalf("%q is logged as %+v, %v", c.workspace, sys, err)
		}
	}
	q := inWorkspace("w")
	q.ClientRequestID = "k"
	first := create(t, h, granted, q)
	again, err := h.Client(granted).CreateConversation(t.Context(), q)
	if err != nil || again.ConversationID != first || !again.Duplicate || again.Workspace != "w" {
		t.Fatalf("%+v, %v", again, err)
	}
	q.Workspace = "w.2-x_Y"
	_, err = h.Client(granted).CreateConversation(t.Context(), q)
	refused(t, err, parley.ErrIdempotencyConflict)
}

// pagesOf returns the ids of all pages of a list.
func pagesOf(t *testing.T, h *hub.Hub, p *hub.Principal, q parley.ListConversationsParams) []string {
	t.Helper()
	ids := []string{}
	for {
		page, err := h.ListConversations(t.Context(), p, &q)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Conversations {
			if row.Workspace != q.Workspace && q.Workspace != "" {
				t.Errorf("%s of %q is in the list of %q", row.ConversationID, row.Workspace, q.Workspace)
			}
			ids = append(ids, row.ConversationID)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return ids
		}
	}
}

// TestWorkspaceListed: the conversations of a workspace come in pages, in order of creation, as far as the token reaches.
func TestWorkspaceListed(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("w"))
	admin, _ := h.Authenticate(t.Context(), rootToken, "")
	want := map[string][]string{}
	for i := range 12 {
		workspace := []string{"w", "v", ""}[i%3]
		q := inWorkspace(workspace)
		q.ConversationID = fmt.Sprintf("c-%02d", i)
		create(t, h, admin, q)
		want[workspace] = append(want[workspace], q.ConversationID)
	}
	say(t, h, h.LocalPrincipal("a"), message("c-03", "bye", parley.FinalityConversation, ""))
	for _, restarted := range []bool{false, true} {
		if restarted {
			h = startOn(t, j, rooted("r"))
			admin, _ = h.Authenticate(t.Context(), rootToken, "")
		}
		reader := mustToken(t, h, admin, of("zed", []string{"w"}))
		for _, p := range []*hub.Principal{reader, admin, h.LocalPrincipal("q").WithWorkspaces("w")} {
			for _, limit := range []int{1, 3, 0} {
				if got := pagesOf(t, h, p, parley.ListConversationsParams{Workspace: "w", Limit: limit}); !slices.Equal(got, want["w"]) {
					t.Errorf("%s, by %d: %v", p.AgentID, limit, got)
				}
			}
		}
		if got := pagesOf(t, h, reader, parley.ListConversationsParams{Workspace: "w",
			Status: parley.StatusClosed}); !slices.Equal(got, []string{"c-03"}) {
			t.Errorf("closed: %v", got)
		}
		if got := pagesOf(t, h, reader, parley.ListConversationsParams{}); len(got) != 0 {
			t.Errorf("without a workspace the list has what is not the caller's own: %v", got)
		}
		narrow := mustToken(t, h, admin, of("zed", []string{"w"}, "c-06", "c-07"))
		if got := pagesOf(t, h, narrow, parley.ListConversationsParams{Workspace: "w"}); !slices.Equal(got, []string{"c-06"}) {
			t.Errorf("narrowed: %v", got)
		}
		_, err := h.ListConversations(t.Context(), reader, &parley.ListConversationsParams{Workspace: "v"})
		refused(t, err, parley.ErrForbidden)
		_, err = h.ListConversations(t.Context(), h.LocalPrincipal("a"), &parley.ListConversationsParams{Workspace: "w"})
		refused(t, err, parley.ErrForbidden)
		_, err = h.ListConversations(t.Context(), admin, &parley.ListConversationsParams{Workspace: "*"})
		refused(t, err, parley.ErrValidationFailed)
	}
}
