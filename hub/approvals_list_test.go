package hub_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// pages returns the ids of all pages of a list.
func pages(t testing.TB, h *hub.Hub, p *hub.Principal, q parley.ListApprovalsParams) [][]string {
	t.Helper()
	var all [][]string
	for {
		list, err := h.ListApprovals(t.Context(), p, &q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Fields(ids(list)))
		for _, a := range list.Approvals {
			if want := q.Status; a.Status != want && (want != "" || a.Status != parley.ApprovalPending) {
				t.Fatalf("%+v in a list of %q", a, want)
			}
		}
		if q.Cursor = list.NextCursor; q.Cursor == "" {
			return all
		}
	}
}

func wantPages(t testing.TB, got [][]string, want ...[]string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("pages %v, want %v", got, want)
	}
}

// TestListApprovals: a caller lists the approvals that it may answer or requested, the oldest
// first, in pages, also after a restart and for conversations that are not in memory.
func TestListApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		o := counted("x")
		o.IdleEvict = time.Second
		h := startOn(t, j, o)
		r := connect(t, h, h.LocalPrincipal("a"))
		var convs, all []string
		for i := range 4 {
			id := asked(t, h, &parley.Limits{TurnTimeoutMs: limits.MaxTurnMs})
			r.pull(id, 1)
			convs = append(convs, id)
			all = append(all, asks(t, h, r.p, may(id, fmt.Sprint(i))).ApprovalID)
			pass(time.Millisecond)
		}
		all = append(all, asks(t, h, r.p, may(convs[1], "later")).ApprovalID)
		elsewhere := create(t, h, h.LocalPrincipal("z"), &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "q", Kind: parley.KindAgent}, {ID: "z", Kind: parley.KindHuman}},
		})
		q := connect(t, h, h.LocalPrincipal("q"))
		q.pull(elsewhere, 1)
		foreign := asks(t, h, q.p, may(elsewhere, "k")).ApprovalID
		look := func() {
			t.Helper()
			b := approver(h, "b")
			wantPages(t, pages(t, h, b, parley.ListApprovalsParams{}), all)
			wantPages(t, pages(t, h, b, parley.ListApprovalsParams{Limit: 2}), all[:2], all[2:4], all[4:])
			wantPages(t, pages(t, h, b, parley.ListApprovalsParams{Limit: 5}), all)
			wantPages(t, pages(t, h, h.LocalPrincipal("a"), parley.ListApprovalsParams{Limit: 4}), all[:4], all[4:])
			wantPages(t, pages(t, h, approver(h, "z"), parley.ListApprovalsParams{}), []string{foreign})
			wantPages(t, pages(t, h, approver(h, "nobody"), parley.ListApprovalsParams{}), []string{})
			wantPages(t, pages(t, h, h.LocalPrincipal("b"), parley.ListApprovalsParams{}), []string{}) // without the scope
			wantPages(t, pages(t, h, b, parley.ListApprovalsParams{ConversationID: convs[1]}), []string{all[1], all[4]})
			wantPages(t, pages(t, h, h.LocalPrincipal("root", parley.ScopeAdmin), parley.ListApprovalsParams{}),
				append(slices.Clone(all), foreign))
		}
		look()
		pass(10 * time.Second)
		if n := h.Loaded(); n != 0 {
			t.Fatalf("%d conversations are in memory", n)
		}
		look()
		h = startOn(t, crash(t, j), counted("y"))
		look()

		b := approver(h, "b")
		answers(t, h, b, all[0], parley.DecisionApproved)
		answers(t, h, b, all[1], parley.DecisionRejected)
		answers(t, h, b, all[4], parley.DecisionApproved)
		if _, err := h.Client(h.LocalPrincipal("b")).CloseConversation(t.Context(),
			&parley.CloseConversationParams{ConversationID: convs[3]}); err != nil {
			t.Fatal(err)
		}
		if err := cancelTurn(h, h.LocalPrincipal("b"), convs[2], 1); err != nil {
			t.Fatal(err)
		}
		for status, want := range map[parley.ApprovalStatus][]string{
			"": {}, parley.ApprovalPending: {}, parley.ApprovalApproved: {all[0],
				all[4]}, parley.ApprovalRejected: {all[1]}, parley.ApprovalTimedOut: {},
			parley.ApprovalCanceled: {all[2]}, // the other conversation is closed
		} {
			wantPages(t, pages(t, h, b, parley.ListApprovalsParams{Status: status}), want)
		}
		wantPages(t, pages(t, h, b, parley.ListApprovalsParams{Status: parley.ApprovalApproved, Limit: 1}), all[:1], all[4:])
		wantPages(t, pages(t, h, b, parley.ListApprovalsParams{Status: parley.ApprovalCanceled, ConversationID: convs[3]}), all[3:4])
		approvalIs(t, h, b, all[3], parley.ApprovalCanceled)
		for _, bad := range []parley.ListApprovalsParams{
			{Status: "open"}, {Limit: -1}, {Limit: parley.MaxPage + 1}, {Cursor: "x"}, {Cursor: "1.x"}, {Cursor: "x.cnv.1"},
		} {
			_, err := h.ListApprovals(t.Context(), b, &bad)
			refused(t, err, parley.ErrValidationFailed)
		}
		for _, unknown := range []string{"absent", elsewhere, "~tokens", "a b"} {
			_, err := h.ListApprovals(t.Context(), b, &parley.ListApprovalsParams{ConversationID: unknown})
			refused(t, err, parley.ErrNotFound)
		}
	})
}

// TestListApprovalsIsBounded: a page ends before it passes MaxPageBytes.
func TestListApprovalsIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("left out: one caller reads pages of megabytes")
	}
	atWork(t, nil, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		for i := range limits.MaxPendingApprovals {
			q := may(id, fmt.Sprint(i))
			q.Details = json.RawMessage(`{"x":"` + strings.Repeat("x", limits.MaxApprovalBytes-8) + `"}`)
			asks(t, h, r.p, q)
		}
		count, q := 0, parley.ListApprovalsParams{}
		for {
			list, err := h.ListApprovals(t.Context(), approver(h, "b"), &q)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(list)
			if err != nil || len(raw) > limits.MaxPageBytes || len(list.Approvals) == 0 {
				t.Fatalf("a page of %d approvals in %d bytes, %v", len(list.Approvals), len(raw), err)
			}
			count += len(list.Approvals)
			if q.Cursor = list.NextCursor; q.Cursor == "" {
				break
			}
		}
		if count != limits.MaxPendingApprovals {
			t.Fatalf("%d approvals", count)
		}
	})
}

// TestApprovalOfLongAgo: an approval that the state no longer has is returned as it was, and cannot
// be answered.
func TestApprovalOfLongAgo(t *testing.T) {
	atWork(t, nil, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		b := approver(h, "b")
		q := may(id, "first")
		q.AnswerSchema = json.RawMessage(`true`)
		first, canceled := asks(t, h, r.p, q), asks(t, h, r.p, may(id, "canceled"))
		answer := &parley.ResolveApprovalParams{
			ApprovalID: first.ApprovalID, Decision: parley.DecisionApproved, Answer: json.RawMessage(`{"n":1}`), Comment: "go", ClientRequestID: "r",
		}
		told, err := h.ResolveApproval(t.Context(), b, answer)
		if err != nil {
			t.Fatal(err)
		}
		say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
		say(t, h, h.LocalPrincipal("b"), message(id, "again", parley.FinalityTurn, ""))
		r.pull(id, 3)
		for i := range limits.MaxKeptApprovals + 5 {
			answers(t, h, b, asks(t, h, r.p, may(id, fmt.Sprint(i))).ApprovalID, parley.DecisionRejected)
		}
		got := approval(t, h, b, first.ApprovalID)
		told.Seq = got.Seq
		sameApproval(t, got, *told)
		approvalIs(t, h, b, canceled.ApprovalID, parley.ApprovalCanceled)
		if again, err := h.ResolveApproval(t.Context(), b, answer); err != nil || !again.Duplicate || again.By != "b" {
			t.Fatalf("%+v, %v", again, err)
		}
		for _, id := range []string{first.ApprovalID, canceled.ApprovalID} {
			_, err := resolve(t, h, b, id, parley.DecisionApproved)
			refused(t, err, parley.ErrAlreadyResolved)
		}
		if rejected := pages(t, h, b,
			parley.ListApprovalsParams{Status: parley.ApprovalRejected}); len(rejected[0]) < limits.MaxKeptApprovals {
			t.Fatalf("%d are listed", len(rejected[0]))
		}
	})
}

// TestApprovalEvents: all participants read that an approval was requested and how it ended. Only
// the requester, tokens with the scope trace, and admins read its details and its answer.
func TestApprovalEvents(t *testing.T) {
	atWork(t, nil, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		q := may(id, "k")
		q.AnswerSchema = json.RawMessage(`true`)
		a := asks(t, h, r.p, q)
		b := approver(h, "b")
		_, err := h.ResolveApproval(t.Context(), b, &parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: parley.DecisionApproved, Answer: json.RawMessage(`"s4"`)})
		if err != nil {
			t.Fatal(err)
		}
		plain := []string{parley.KindApprovalRequested, parley.KindApprovalResolved}
		whole := []string{parley.KindApprovalRequested, parley.KindApprovalDetails, parley.KindApprovalResolved,
			parley.KindApprovalAnswer}
		for name, c := range map[string]struct {
			p    *hub.Principal
			want []string
		}{
			"who has asked": {r.p, whole}, "a human": {b, plain}, "with trace": {h.LocalPrincipal("b", parley.ScopeRead,
				parley.ScopeTrace), whole},
			"an admin": {h.LocalPrincipal("root", parley.ScopeAdmin), whole},
		} {
			page, err := h.Tail(t.Context(), c.p, &parley.TailParams{ConversationID: id, SinceSeq: 2})
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, raw := range page.Events {
				var e parley.Event
				if err := json.Unmarshal(raw, &e); err != nil {
					t.Fatal(err)
				}
				sys, err := e.System()
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, sys.Kind)
			}
			if !slices.Equal(kinds, c.want) || page.NextSeq != 6 {
				t.Errorf("%s sees %v up to %d, want %v", name, kinds, page.NextSeq, c.want)
			}
			if all := fmt.Sprintf("%s", page.Events); strings.Contains(all, "s3") != (len(c.want) == 4) ||
				strings.Contains(all, "s4") != (len(c.want) == 4) {
				t.Errorf("%s reads %s", name, all)
			}
		}
	})
}

// TestListResolvedIsBounded: a page of approvals that are resolved looks at some conversations only; with the cursor all are found, each once.
func TestListResolvedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := counted("x")
		o.IdleEvict = time.Second
		h := startOn(t, newJournal(t), o)
		r := connect(t, h, h.LocalPrincipal("a"))
		b := approver(h, "b")
		want := map[string]bool{}
		for range 230 {
			id := asked(t, h, nil)
			r.pull(id, 1)
			want[answers(t, h, b, asks(t, h, r.p, may(id, "k")).ApprovalID, parley.DecisionRejected).ApprovalID] = true
			say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
		}
		pass(10 * time.Second)
		if n := h.Loaded(); n != 0 {
			t.Fatalf("%d conversations are in memory", n)
		}
		if _, err := h.ListApprovals(t.Context(), b,
			&parley.ListApprovalsParams{Status: parley.ApprovalRejected}); err != nil || h.Loaded() > 100 {
			t.Fatalf("%d conversations were read for a page, %v", h.Loaded(), err)
		}
		empty := pages(t, h, b, parley.ListApprovalsParams{Status: parley.ApprovalTimedOut})
		all := slices.Concat(pages(t, h, b, parley.ListApprovalsParams{Status: parley.ApprovalRejected, Limit: 30})...)
		for _, id := range all {
			delete(want, id)
		}
		if len(want) > 0 || len(all) != 230 || len(empty) != 3 || len(slices.Concat(empty...)) > 0 {
			t.Fatalf("%d listed, %d missing, and %d empty pages", len(all), len(want), len(empty))
		}
	})
}
