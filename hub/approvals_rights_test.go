package hub_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

var allScopes = []parley.Scope{parley.ScopeRead, parley.ScopeWrite, parley.ScopeCreate, parley.ScopeClaim, parley.ScopeApprove}

// want is what a caller may do with an approval: answer it, or be refused with a message; read it;
// and find it in a list.
type want struct {
	who   *hub.Principal
	err   error  // of an answer
	words string // of that
	reads bool
}

// holds tries all callers. Each caller that may answer rejects a separate approval.
func holds(t *testing.T, h *hub.Hub, ask func(key string) string, all map[string]want) {
	t.Helper()
	id := ask("shared")
	for name, w := range all {
		got, err := h.GetApproval(t.Context(), w.who, &parley.GetApprovalParams{ApprovalID: id})
		if (err == nil) != w.reads || err != nil && !errors.Is(err, parley.ErrNotFound) {
			t.Errorf("%s: getApproval gives %v", name, err)
		}
		if err == nil && (got.MayAnswer != (w.err == nil) || len(got.Details) == 0) {
			t.Errorf("%s: getApproval gives %+v", name, got)
		}
		list, err := h.ListApprovals(t.Context(), w.who, &parley.ListApprovalsParams{})
		if err != nil {
			t.Errorf("%s: listApprovals gives %v", name, err)
			continue
		}
		if there := strings.Contains(ids(list), id); there != w.reads {
			t.Errorf("%s: listed: %t", name, there)
		}
		if w.err != nil {
			_, err = resolve(t, h, w.who, id, parley.DecisionApproved)
			if !errors.Is(err, w.err) || !strings.Contains(err.Error(), w.words) {
				t.Errorf("%s: %v, want %v with %q", name, err, w.err, w.words)
			}
		}
	}
	for name, w := range all {
		if w.err == nil {
			if got, err := resolve(t, h, w.who, ask("of "+name), parley.DecisionRejected); err != nil ||
				got.Status != parley.ApprovalRejected || got.By != w.who.AgentID {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	}
}

// ids are those of a page.
func ids(list *parley.ListApprovalsResult) string {
	var all []string
	for _, a := range list.Approvals {
		all = append(all, a.ApprovalID)
	}
	return strings.Join(all, " ") + " "
}

// TestApprovalRights: people and peers of the conversation answer, and admins; never the requester,
// an agent, or a token that requested it or descends from one that did.
func TestApprovalRights(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		root, err := h.Authenticate(t.Context(), rootToken, "")
		if err != nil {
			t.Fatal(err)
		}
		token := func(by *hub.Principal, id string, agents []string, scopes ...parley.Scope) *hub.Principal {
			t.Helper()
			return mustToken(t, h, by, parley.CreateTokenParams{AgentID: id, Agents: agents, Scopes: scopes})
		}
		asker := token(root, "a", []string{"b", "p"}, allScopes...)
		below := token(asker, "b", nil, parley.ScopeRead, parley.ScopeApprove)
		far := token(token(asker, "b", nil, allScopes...), "b", nil, parley.ScopeRead, parley.ScopeApprove)
		sibling := token(root, "b", nil, parley.ScopeRead, parley.ScopeApprove)
		asB, err := h.Authenticate(t.Context(), rootToken, "b")
		if err != nil {
			t.Fatal(err)
		}
		asAgent, err := h.Authenticate(t.Context(), rootToken, "c")
		if err != nil {
			t.Fatal(err)
		}
		other := *asker
		other.AgentID = "b" // the token of the asker, as another of its ids

		r := &host{id: "r1"}
		r.runner = &runner{t: t, h: h}
		r.conn = h.Connect(r.notify, nil)
		r.p = asker.On(r.conn)
		id := create(t, h, h.LocalPrincipal("maker"), &parley.CreateConversationParams{Participants: []parley.Participant{
			{ID: "a", Kind: parley.KindAgent}, {ID: "b", Kind: parley.KindHuman}, {ID: "p", Kind: parley.KindPeer}, {ID: "c",
				Kind: parley.KindAgent}, {ID: "x", Kind: parley.KindTool},
		}})
		create(t, h, h.LocalPrincipal("maker"), open2("foreign"))
		r.pull(id, 1)
		ask := func(key string) string { return asks(t, h, r.p, may(id, key)).ApprovalID }
		holds(t, h, ask, map[string]want{
			"human":                    {approver(h, "b"), nil, "", true},
			"peer":                     {approver(h, "p"), nil, "", true},
			"admin":                    {root, nil, "", true},
			"admin as the human":       {asB, nil, "", true},
			"another token":            {sibling, nil, "", true},
			"the asker":                {r.p, parley.ErrForbidden, "the requester of", true},
			"the asker, elsewhere":     {approver(h, "a"), parley.ErrForbidden, "the requester of", true},
			"the asker's token":        {&other, parley.ErrForbidden, "with this token", true},
			"a token made with it":     {below, parley.ErrForbidden, "the same account", false},
			"a token made with that":   {far, parley.ErrForbidden, "the same account", false},
			"an agent":                 {approver(h, "c"), parley.ErrForbidden, "agents and tools", false},
			"a tool":                   {approver(h, "x"), parley.ErrForbidden, "agents and tools", false},
			"an admin as an agent":     {asAgent, parley.ErrForbidden, "agents and tools", true},
			"a human without approve":  {h.LocalPrincipal("b"), parley.ErrForbidden, "scope approve", false},
			"the maker":                {approver(h, "maker"), parley.ErrForbidden, "people and peers", false},
			"a foreigner":              {approver(h, "foreign"), parley.ErrNotFound, "no such approval", false},
			"nobody":                   {approver(h, "nobody"), parley.ErrNotFound, "no such approval", false},
			"a human of another token": {token(root, "b", nil, parley.ScopeRead, parley.ScopeApprove), nil, "", true},
		})
		for _, unknown := range []string{"", "x", id, id + ".", id + ".0", id + ".03", id + ".2", id + ".4", id + ".9999",
			id + ".-3", "~tokens.2", "absent.3", id + ".3.3", "../x.3"} {
			for _, p := range []*hub.Principal{root, approver(h, "b"), approver(h, "nobody")} {
				_, err := h.GetApproval(t.Context(), p, &parley.GetApprovalParams{ApprovalID: unknown})
				refused(t, err, parley.ErrNotFound)
				_, err = resolve(t, h, p, unknown, parley.DecisionApproved)
				refused(t, err, parley.ErrNotFound)
				if !strings.Contains(err.Error(), "no such approval") {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestApprovalOfOneAccount: a token of the requester's account answers nothing, and neither does
// one that could have requested the approval, with any of its ids.
func TestApprovalOfOneAccount(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		root, err := h.Authenticate(t.Context(), rootToken, "")
		if err != nil {
			t.Fatal(err)
		}
		parent := mustToken(t, h, root, parley.CreateTokenParams{AgentID: "b", Agents: []string{"a", "bot"}, Scopes: allScopes})
		child := mustToken(t, h, parent, parley.CreateTokenParams{AgentID: "a", Scopes: allScopes})
		sibling := mustToken(t, h, parent, parley.CreateTokenParams{AgentID: "b", Scopes: allScopes})
		niece := mustToken(t, h, sibling, parley.CreateTokenParams{AgentID: "b", Scopes: allScopes})
		same := approver(h, "b") // another token of a user whom a Verifier knows
		same.TokenID, same.Account = "second", child.Account
		asAsker := mustToken(t, h, root, parley.CreateTokenParams{AgentID: "b", Agents: []string{"a"}, Scopes: allScopes})
		asAgent := mustToken(t, h, root, parley.CreateTokenParams{AgentID: "b", Agents: []string{"bot"}, Scopes: allScopes})
		id := create(t, h, h.LocalPrincipal("maker"), &parley.CreateConversationParams{Participants: []parley.Participant{
			{ID: "a", Kind: parley.KindAgent, Agent: "bot"}, {ID: "b", Kind: parley.KindHuman},
		}})
		conn := h.Connect(nil, nil)
		if _, err := claimTurn(h, child.On(conn), parley.ClaimTurnParams{ConversationID: id, Turn: 1}); err != nil {
			t.Fatal(err)
		}
		ask := func(key string) string { return asks(t, h, child.On(conn), may(id, key)).ApprovalID }
		holds(t, h, ask, map[string]want{
			"the parent":                   {parent, parley.ErrForbidden, "the same account", true},
			"a sibling":                    {sibling, parley.ErrForbidden, "the same account", false},
			"a sibling's child":            {niece, parley.ErrForbidden, "the same account", false},
			"another token of the account": {same, parley.ErrForbidden, "the same account", false},
			"who may speak as the asker":   {asAsker, parley.ErrForbidden, "may speak as who asks", true},
			"who may work for the agent":   {asAgent, parley.ErrForbidden, "may speak as who asks", true},
			"another account": {mustToken(t, h, root, parley.CreateTokenParams{AgentID: "b", Scopes: allScopes}),
				nil, "", true},
			"an admin":                 {root, nil, "", true},
			"one of the hub's process": {approver(h, "b"), nil, "", true},
		})
	})
}

// TestApprovalOfAnAdminsToken: a token that an admin's token created may answer requests of that
// token, but not its own.
func TestApprovalOfAnAdminsToken(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		root, err := h.Authenticate(t.Context(), rootToken, "")
		if err != nil {
			t.Fatal(err)
		}
		admin := mustToken(t, h, root, parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{parley.ScopeAdmin}})
		made := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "b", Scopes: []parley.Scope{parley.ScopeRead, parley.ScopeApprove}})
		asB := *admin
		asB.AgentID = "b"
		id := asked(t, h, nil)
		conn := h.Connect(nil, nil)
		if _, err := claimTurn(h, admin.On(conn), parley.ClaimTurnParams{ConversationID: id, Turn: 1}); err != nil {
			t.Fatal(err)
		}
		holds(t, h, func(key string) string { return asks(t, h, admin.On(conn), may(id, key)).ApprovalID }, map[string]want{
			"the token itself": {&asB, parley.ErrForbidden, "with this token", true},
			"one made with it": {made, nil, "", true},
		})
	})
}

// TestApprovalInTree: people above in the tree of sessions answer. The starter of the session does
// not if it is an agent there, whatever its seat in the session is called.
func TestApprovalInTree(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		w := arrive(t, h, "writer", parley.RegisterExecutorParams{ExecutorID: "w1", Agents: []string{"writer"}, Capacity: 20})
		lead := arrive(t, h, "lead", parley.RegisterExecutorParams{ExecutorID: "l1", Agents: []string{"lead"}, Capacity: 20})
		top := create(t, h, h.LocalPrincipal("hal"), &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "lead", Kind: parley.KindAgent}, {ID: "hal", Kind: parley.KindHuman},
				{ID: "pia", Kind: parley.KindPeer}, {ID: "bot", Kind: parley.KindAgent}},
		})
		create(t, h, h.LocalPrincipal("sam"), open2("sam"))
		lead.claim()
		first := start(t, h, lead.p, &parley.StartSessionParams{AgentName: "writer", Prompt: "p", Mode: parley.ModeAsyncPoll,
			ParentConversationID: top})
		synctest.Wait()
		o := w.oneOffer()
		w.take(o.ConversationID, o.ClaimID)
		second := start(t, h, w.p, &parley.StartSessionParams{AgentName: "writer", Prompt: "p", Mode: parley.ModeAsyncPoll,
			ParentConversationID: first.SessionID})
		synctest.Wait()
		o = w.oneOffer()
		w.take(o.ConversationID, o.ClaimID)
		narrow := func(id string, conversations ...string) *hub.Principal {
			t.Helper()
			root, err := h.Authenticate(t.Context(), rootToken, "")
			if err != nil {
				t.Fatal(err)
			}
			return mustToken(t, h, root, parley.CreateTokenParams{AgentID: id, Scopes: allScopes, Conversations: conversations})
		}
		for _, id := range []string{first.SessionID, second.SessionID} {
			ask := func(key string) string { return asks(t, h, w.p, may(id, key)).ApprovalID }
			holds(t, h, ask, map[string]want{
				"a human above":             {approver(h, "hal"), nil, "", true},
				"a peer above":              {approver(h, "pia"), nil, "", true},
				"a token for what is above": {narrow("hal", top), nil, "", true},
				"a token for elsewhere":     {narrow("hal", "elsewhere"), parley.ErrNotFound, "", false},
				"an agent above":            {approver(h, "bot"), parley.ErrNotFound, "", false},
				"a stranger":                {approver(h, "sam"), parley.ErrNotFound, "", false},
				"an admin":                  {h.LocalPrincipal("root", parley.ScopeAdmin), nil, "", true},
				"a human without approve":   {h.LocalPrincipal("hal"), parley.ErrForbidden, "approve", false},
			})
		}
		ask := func(key string) string { return asks(t, h, w.p, may(first.SessionID, key)).ApprovalID }
		holds(t, h, ask, map[string]want{
			"who has started it, an agent": {approver(h, "lead"), parley.ErrForbidden, "agents and tools", false},
		})
		list, err := h.ListApprovals(t.Context(), approver(h, "hal"),
			&parley.ListApprovalsParams{ConversationID: second.SessionID})
		if err != nil || len(list.Approvals) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		for _, p := range []*hub.Principal{approver(h, "sam"), approver(h, "bot")} {
			_, err = h.ListApprovals(t.Context(), p, &parley.ListApprovalsParams{ConversationID: second.SessionID})
			refused(t, err, parley.ErrNotFound)
		}
		// A session that waits runs, for its starter too.
		stands(t, h, h.LocalPrincipal("root", parley.ScopeAdmin), first.SessionID, parley.SessionRunning, "")
	})
}

// TestApprovalOfATopSession: the starter of a session without a parent answers in it.
func TestApprovalOfATopSession(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		w := arrive(t, h, "writer", parley.RegisterExecutorParams{ExecutorID: "w1", Agents: []string{"writer"}, Capacity: 20})
		s := start(t, h, h.LocalPrincipal("ann"), &parley.StartSessionParams{AgentName: "writer", Prompt: "p",
			Mode: parley.ModeAsyncPoll})
		w.claim()
		holds(t, h, func(key string) string { return asks(t, h, w.p, may(s.SessionID, key)).ApprovalID }, map[string]want{
			"its starter": {approver(h, "ann"), nil, "", true},
			"its agent":   {approver(h, "writer"), parley.ErrForbidden, "", true},
		})
	})
}

// TestApprovalBelowDamage: if the parent conversation cannot be read, admins answer, and no one
// whose kind in the parent matters.
func TestApprovalBelowDamage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		w := arrive(t, h, "writer", parley.RegisterExecutorParams{ExecutorID: "w1", Agents: []string{"writer"}, Capacity: 20})
		lead := arrive(t, h, "lead", parley.RegisterExecutorParams{ExecutorID: "l1", Agents: []string{"lead"}, Capacity: 20})
		top := create(t, h, h.LocalPrincipal("hal"), &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "lead", Kind: parley.KindAgent}, {ID: "hal", Kind: parley.KindHuman}},
		})
		lead.claim()
		s := start(t, h, lead.p, &parley.StartSessionParams{AgentName: "writer", Prompt: "p", Mode: parley.ModeAsyncPoll,
			ParentConversationID: top})
		synctest.Wait()
		o := w.oneOffer()
		w.take(o.ConversationID, o.ClaimID)
		id := asks(t, h, w.p, may(s.SessionID, "k")).ApprovalID
		h = startOn(t, damaged{crash(t, j), top}, counted("y"))
		for _, who := range []string{"lead", "hal"} {
			if _, err := resolve(t, h, approver(h, who), id, parley.DecisionApproved); err == nil {
				t.Errorf("%s answers", who)
			}
		}
		answers(t, h, h.LocalPrincipal("root", parley.ScopeAdmin), id, parley.DecisionApproved)
	})
}
