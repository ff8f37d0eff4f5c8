package hub_test

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestForkRights: callers that may close a conversation may fork it, and no others, within their
// rights to create in its workspace. Private events stay private in the fork.
func TestForkRights(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		ann := h.LocalPrincipal("ann").WithWorkspaces("red")
		id := create(t, h, ann, &parley.CreateConversationParams{
			Workspace: "red", Policy: &parley.Policy{Kind: parley.PolicyOpen},
			Participants: []parley.Participant{{ID: "bob", Kind: parley.KindHuman, Private: "for bob"},
				{ID: "bot", Kind: parley.KindAgent, Private: "for bot"}, {ID: "pat", Kind: parley.KindPeer}},
		})
		say(t, h, h.LocalPrincipal("pat"), message(id, "hi", parley.FinalityTurn, ""))
		narrow := func(p *hub.Principal, conversation string) *hub.Principal {
			n, err := h.Narrow(p, conversation)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for who, c := range map[string]struct {
			p   *hub.Principal
			err error
		}{
			"the creator":               {ann, nil},
			"a human":                   {h.LocalPrincipal("bob").WithWorkspaces("red"), nil},
			"without the workspace":     {h.LocalPrincipal("bob"), parley.ErrForbidden},
			"in another workspace":      {h.LocalPrincipal("bob").WithWorkspaces("blue"), parley.ErrForbidden},
			"the creator without it":    {h.LocalPrincipal("ann"), parley.ErrForbidden},
			"an admin":                  {h.LocalPrincipal("root", parley.ScopeAdmin), nil},
			"an agent":                  {h.LocalPrincipal("bot"), parley.ErrForbidden},
			"a peer":                    {h.LocalPrincipal("pat"), parley.ErrForbidden},
			"a stranger":                {h.LocalPrincipal("eve"), parley.ErrNotFound},
			"a reader of the workspace": {h.LocalPrincipal("eve").WithWorkspaces("red"), parley.ErrForbidden},
			"who may not create":        {h.LocalPrincipal("bob", parley.ScopeRead, parley.ScopeWrite), parley.ErrForbidden},
			"a token for this one":      {narrow(h.LocalPrincipal("bob"), id), parley.ErrForbidden},
		} {
			s, err := forks(h, c.p, parley.ForkConversationParams{ConversationID: id, Seq: 4})
			if c.err != nil {
				if err == nil {
					t.Fatalf("%s may fork", who)
				}
				refused(t, err, c.err)
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", who, err)
			}
			if s.CreatedBy != c.p.AgentID || s.Workspace != "red" {
				t.Errorf("%s: %+v", who, s)
			}
		}
		fork := forked(t, h, j, h.LocalPrincipal("bob").WithWorkspaces("red"), id, 4)
		for who, want := range map[string][]int64{"bob": {1, 2, 4, 5}, "bot": {1, 3, 4, 5}, "pat": {1, 4, 5}} {
			page, err := h.Tail(t.Context(), h.LocalPrincipal(who), &parley.TailParams{ConversationID: fork})
			if err != nil || len(page.Events) != len(want) {
				t.Errorf("%s sees %s, %v", who, page.Events, err)
			}
		}
		if _, err := h.Tail(t.Context(), ann, &parley.TailParams{ConversationID: fork}); err != nil {
			t.Errorf("by the workspace: %v", err)
		}
		_, err := one(func(done func(parley.SeqResult, error)) {
			h.CloseConversation(ann, &parley.CloseConversationParams{ConversationID: fork}, done)
		})
		refused(t, err, parley.ErrForbidden) // the creator of the original is not the creator of the fork
	})
}

// TestForkUnderTheNameOfTheFirst: where a fork was brought from another hub without its other, a fork of it cannot take the name of that: its events say that they are not that one's.
func TestForkUnderTheNameOfTheFirst(t *testing.T) {
	first := newJournal(t)
	h := startOn(t, first, counted("x"))
	ann := h.LocalPrincipal("ann")
	q := open2("ann", "bob")
	q.ConversationID = "other"
	create(t, h, ann, q)
	fork := forked(t, h, first, ann, "other", 1)
	batch := journal.Batch{Conversation: fork}
	for _, r := range records(t, first, fork, 2) {
		batch.Events = append(batch.Events, r.Data)
	}
	j := newJournal(t)
	if _, err := journal.Append(t.Context(), j, batch); err != nil {
		t.Fatal(err)
	}
	h = startOn(t, j, counted("y"))
	ann = h.LocalPrincipal("ann")
	_, err := forks(h, ann, parley.ForkConversationParams{ConversationID: fork, Seq: 2, ForkID: "other"})
	refused(t, err, parley.ErrValidationFailed)
	if s, err := forks(h, ann, parley.ForkConversationParams{ConversationID: fork, Seq: 1,
		ForkID: "other"}); err != nil || s.Fork.ConversationID != fork {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestForkRefused: params that are wrong, and what is not forked.
func TestForkRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		id, ann, _ := talked(t, h)
		session := start(t, h, ann, counts("count", 1, parley.ModeAsyncPoll, "")).SessionID
		x.offered()
		root := h.LocalPrincipal("root", parley.ScopeAdmin)
		for _, c := range []struct {
			p   *hub.Principal
			q   parley.ForkConversationParams
			err error
		}{
			{ann, parley.ForkConversationParams{ConversationID: id}, parley.ErrValidationFailed},
			{ann, parley.ForkConversationParams{ConversationID: id, Seq: -1}, parley.ErrValidationFailed},
			{ann, parley.ForkConversationParams{ConversationID: id, Seq: 8}, parley.ErrCursorAhead},
			{ann, parley.ForkConversationParams{ConversationID: id, Seq: 2, ForkID: "a b"}, parley.ErrValidationFailed},
			{ann, parley.ForkConversationParams{ConversationID: id, Seq: 2, ForkID: "~x"}, parley.ErrValidationFailed},
			{ann, parley.ForkConversationParams{ConversationID: id, Seq: 2, ForkID: "cnv_x"}, parley.ErrValidationFailed},
			{ann, parley.ForkConversationParams{ConversationID: id, Seq: 2, ForkID: "ses_x"}, parley.ErrValidationFailed},
			{ann, parley.ForkConversationParams{ConversationID: id, Seq: 2, Title: "a\nb"}, parley.ErrValidationFailed},
			{ann, parley.ForkConversationParams{ConversationID: id, Seq: 2, ClientRequestID: "\x00"},
				parley.ErrValidationFailed},
			{ann, parley.ForkConversationParams{ConversationID: id, Seq: 2, Traceparent: "00-1"}, parley.ErrValidationFailed},
			{ann, parley.ForkConversationParams{ConversationID: "nothing", Seq: 2}, parley.ErrNotFound},
			{ann, parley.ForkConversationParams{Seq: 2}, parley.ErrNotFound},
			{ann, parley.ForkConversationParams{ConversationID: session, Seq: 1}, parley.ErrForbidden},
			{root, parley.ForkConversationParams{ConversationID: session, Seq: 1}, parley.ErrForbidden},
			{root, parley.ForkConversationParams{ConversationID: "~runners", Seq: 1}, parley.ErrForbidden},
			{ann, parley.ForkConversationParams{ConversationID: "~runners", Seq: 1}, parley.ErrNotFound},
		} {
			_, err := forks(h, c.p, c.q)
			if err == nil {
				t.Fatalf("%+v is taken", c.q)
			}
			refused(t, err, c.err)
		}
		h.Drain()
		_, err := forks(h, ann, parley.ForkConversationParams{ConversationID: id, Seq: 2})
		refused(t, err, parley.ErrUnavailable)
	})
}
