package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/hubtest"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// oneClaim is the turns of a hub in which every call is under the claim claimID.
type oneClaim struct{ engine *conv.Engine }

const claimID = "turn1_x"

func (c oneClaim) EnterClaimed(
	p *auth.Principal, _, conversation, id string, cmd *fold.Command,
) (*conv.Conversation, *auth.Principal, error) {
	hash := eventdata.HashClaim(id)
	cmd.Named = &hash
	pinned, err := c.engine.Pin(conversation)
	return pinned, p, err
}

func (oneClaim) ConfirmHolder(eventdata.ClaimHash, string, *auth.Principal) {}
func (oneClaim) AwaitRecovery(context.Context) error                        { return nil }
func (oneClaim) Taken(string, *conv.Request)                                {}
func (oneClaim) Dropped(string, *conv.Request)                              {}

// approver returns a caller that may answer approvals.
func approver(id string) *auth.Principal {
	return auth.Local(id, append([]parley.Scope{parley.ScopeApprove}, parley.DefaultScopes...)...)
}

// newService returns a Service and the conversation c1, in which bot has the claim of the first turn.
func newService(t *testing.T) *Service {
	t.Helper()
	j := memory.New()
	t.Cleanup(func() { _ = j.Close() })
	e := hubtest.NewEngine(t, j)
	s := New(e, auth.New(e, auth.Options{}), oneClaim{e})
	e.Connect(hubtest.Parts(s))
	e.Start()
	seats := []parley.Participant{
		{ID: "ann", Kind: parley.KindHuman}, {ID: "pat", Kind: parley.KindPeer},
		{ID: "bot", Kind: parley.KindAgent}, {ID: "calc", Kind: parley.KindTool},
	}
	do(t, e, "ann", &fold.Create{Params: &parley.CreateConversationParams{StartsWith: "bot", Participants: seats}})
	do(t, e, "bot", &fold.Take{Turn: 1, NewClaim: fold.NewClaim{New: eventdata.HashClaim(claimID)}})
	return s
}

// do runs a command in c1.
func do(t *testing.T, e *conv.Engine, from string, a fold.Action) {
	t.Helper()
	c, err := e.Pin("c1")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Unpin(c)
	r := &conv.Request{Cmd: fold.Command{Do: a, From: from}, Claims: oneClaim{}}
	if _, err := c.AskOnce(t.Context(), r, ""); err != nil {
		t.Fatal(err)
	}
}

func request(t *testing.T, s *Service, key string) *parley.Approval {
	t.Helper()
	a, err := s.Request(t.Context(), auth.Local("bot"), &parley.RequestApprovalParams{
		ConversationID: "c1", ClaimID: claimID, Key: key, Title: "Delete " + key + "?", Details: json.RawMessage(`{"n":1}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// An approval is answered once, also if a request or an answer is repeated, and leaves the list of pending
// ones with its answer.
func TestApproval_RequestListResolve(t *testing.T) {
	s := newService(t)
	ann := approver("ann")
	first, second := request(t, s, "one"), request(t, s, "two")
	if again := request(t, s, "one"); !again.Duplicate || again.ApprovalID != first.ApprovalID {
		t.Errorf("the repeated request returned %+v, want the first approval", again)
	}
	list := func(q parley.ListApprovalsParams) (ids []string, next string) {
		t.Helper()
		r, err := s.List(t.Context(), ann, &q)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range r.Approvals {
			if ids = append(ids, a.ApprovalID); a.Status == parley.ApprovalPending && !a.MayAnswer {
				t.Errorf("ann may not answer %s", a.ApprovalID)
			}
		}
		return ids, r.NextCursor
	}
	ids, next := list(parley.ListApprovalsParams{Limit: 1})
	rest, end := list(parley.ListApprovalsParams{Cursor: next})
	if want := []string{first.ApprovalID, second.ApprovalID}; !slices.Equal(append(ids, rest...), want) || end != "" {
		t.Errorf("the pages have %v, then %v and cursor %q", ids, rest, end)
	}
	answer := parley.ResolveApprovalParams{ApprovalID: first.ApprovalID, Decision: parley.DecisionApproved}
	if _, err := s.Resolve(t.Context(), ann, &answer); err != nil {
		t.Fatal(err)
	}
	answer.Decision = parley.DecisionRejected
	if _, err := s.Resolve(t.Context(), ann, &answer); err == nil {
		t.Error("a second answer was accepted")
	}
	if ids, _ := list(parley.ListApprovalsParams{}); len(ids) != 1 || ids[0] != second.ApprovalID {
		t.Errorf("pending are %v, want %s", ids, second.ApprovalID)
	}
	ids, _ = list(parley.ListApprovalsParams{Status: parley.ApprovalApproved})
	if len(ids) != 1 || ids[0] != first.ApprovalID {
		t.Errorf("approved are %v, want %s", ids, first.ApprovalID)
	}
	do(t, s.engine, "ann", &fold.Close{})
	if n := len(s.openStates()); n > 0 {
		t.Errorf("the list has %d conversations after the close", n)
	}
}

// Only callers that could not have requested an approval answer it.
func TestApproval_Rights(t *testing.T) {
	s := newService(t)
	asker := auth.Local("bot")
	asker.TokenID, asker.Account = "tok", "acc"
	a, err := s.Request(t.Context(), asker, &parley.RequestApprovalParams{
		ConversationID: "c1", ClaimID: claimID, Key: "k", Title: "Delete?",
	})
	if err != nil {
		t.Fatal(err)
	}
	as := func(id, token, account string) *auth.Principal {
		p := approver(id)
		p.TokenID, p.Account = token, account
		return p
	}
	for _, test := range []struct {
		name   string
		caller *auth.Principal
		reads  bool
		refuse error // of an answer
	}{
		{"a person", approver("ann"), true, nil},
		{"a peer", approver("pat"), true, nil},
		{"a person without the scope", auth.Local("ann"), false, errNoScope},
		{"the requester", approver("bot"), true, errRequester},
		{"another tool", approver("calc"), false, errAgent},
		{"a stranger", approver("eve"), false, errNotFound},
		{"a stranger who is admin", auth.Local("eve", parley.ScopeAdmin, parley.ScopeApprove, parley.ScopeRead), true, nil},
		{"the same token", as("ann", "tok", "other"), false, errSameToken},
		{"the same account", as("ann", "other", "acc"), false, errSameAccount},
		{"another account", as("ann", "other", "other"), true, nil},
	} {
		state, err := s.engine.StateOf("c1")
		if err != nil {
			t.Fatal(err)
		}
		r := s.newAnswerer(test.caller).findRights(&state, &state.Approvals[0])
		if got := r.refuseAnswer(); !errors.Is(got, test.refuse) && got != test.refuse {
			t.Errorf("%s: the answer is refused with %v, want %v", test.name, got, test.refuse)
		}
		if r.canRead() != test.reads {
			t.Errorf("%s reads it: %t, want %t", test.name, r.canRead(), test.reads)
		}
		_, err = s.Get(t.Context(), test.caller, &parley.GetApprovalParams{ApprovalID: a.ApprovalID})
		if (err == nil) != test.reads {
			t.Errorf("%s: getApproval returns %v", test.name, err)
		}
	}
}
