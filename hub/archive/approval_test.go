package archive_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// approve fills a log with approvals that ended in every way, in the conversation c1, and with a
// pending one whose claim is over.
func approve(t *testing.T, j journal.Journal) {
	t.Helper()
	withHub(t, j, func(h *hub.Hub) {
		bob, ann := as(t, h, "bob"), as(t, h, "ann", parley.ScopeRead, parley.ScopeWrite, parley.ScopeCreate, parley.ScopeApprove)
		must[*parley.Snapshot](t)(ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
			ConversationID: "c1", Participants: []parley.Participant{{ID: "bob", Kind: parley.KindAgent},
				{ID: "ann", Kind: parley.KindHuman}},
		}))
		claim := must[*parley.ClaimTurnResult](t)(bob.ClaimTurn(t.Context(),
			&parley.ClaimTurnParams{ConversationID: "c1", Turn: 1}))
		ask := func(key string) string {
			t.Helper()
			return must[*parley.Approval](t)(bob.RequestApproval(t.Context(), &parley.RequestApprovalParams{
				ConversationID: "c1", Key: key, Title: "may I " + key, Details: json.RawMessage(`{"k":[1.0,"<&>"]}`), AnswerSchema: json.RawMessage(`true`), ExpiresInMs: 60_000,
			})).ApprovalID
		}
		answer := func(q parley.ResolveApprovalParams) {
			t.Helper()
			must[*parley.Approval](t)(ann.ResolveApproval(t.Context(), &q))
		}
		answer(parley.ResolveApprovalParams{ApprovalID: ask("one"), Decision: parley.DecisionApproved, Answer: json.RawMessage(`[1]`), Comment: "yes", ClientRequestID: "r"})
		answer(parley.ResolveApprovalParams{ApprovalID: ask("two"), Decision: parley.DecisionRejected})
		ask("three")
		time.Sleep(time.Minute)
		ask("four")
		if err := bob.ReleaseClaim(t.Context(), &parley.ReleaseClaimParams{ConversationID: "c1", ClaimID: claim.ClaimID,
			Outcome: parley.ReleaseFailed}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestApprovalsBackUp: a log with approvals is exported, checked and imported, and continues; so
// does one whose turn was canceled meanwhile.
func TestApprovalsBackUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		defer j.Close()
		approve(t, j)
		for _, end := range []bool{false, true} {
			if end {
				withHub(t, j, func(h *hub.Hub) {
					must[*parley.SeqResult](t)(as(t, h, "ann").CancelTurn(t.Context(),
						&parley.CancelTurnParams{ConversationID: "c1", Turn: 1}))
				})
			}
			file := exportOf(t, j)
			if _, err := archive.Check(bytes.NewReader(file), nil); err != nil {
				t.Fatal(err)
			}
			next := memory.New()
			defer next.Close()
			if _, err := archive.Import(t.Context(), bytes.NewReader(file), next, nil); err != nil {
				t.Fatal(err)
			}
			withHub(t, next, func(h *hub.Hub) {
				ann := as(t, h, "ann", parley.ScopeRead, parley.ScopeApprove)
				list := must[*parley.ListApprovalsResult](t)(ann.ListApprovals(t.Context(), &parley.ListApprovalsParams{}))
				if len(list.Approvals) == 1 == end {
					t.Fatalf("%+v", list)
				}
			})
			journaltest.CheckInvariants(t, next)
		}
	})
}

// TestApprovalsForged: an import refuses approvals that no hub writes.
func TestApprovalsForged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		defer j.Close()
		approve(t, j)
		var log []string
		for _, r := range must[[]journal.Record](t)(j.Read("c1", 0, 1000, 1<<20)) {
			log = append(log, string(r.Data))
		}
		whole := strings.Join(log, "\n")
		for _, c := range []struct{ old, new string }{
			{`"title":"may I one"`, `"title":""`},
			{`"title":"may I one"`, `"title":"two\nlines"`},
			{`"key":"one"`, `"key":""`},
			{`"key":"two"`, `"key":"one"`},
			{`"expiresAt":"2000-01-01T00:01:00.000Z"`, `"expiresAt":"2000-03-01T00:00:00.000Z"`},
			{`"approvalId":"c1.3"`, `"approvalId":"c2.3"`},
			{`"hash"`, `"tokenId":"` + strings.Repeat("x", 129) + `","hash"`},
			{`"status":"approved"`, `"status":"timed_out"`},
			{`"status":"approved","by":"ann"`, `"status":"timed_out"`},
			{`"by":"ann"`, `"by":"hub"`},
			{`"status":"rejected"`, `"status":"canceled"`},
			{`"details":{"k":[1.0,"<&>"]}`, `"details":[1]`},
			{`"durationMs":60000,"approval":{"approvalId":"c1.3"`, `"durationMs":99999999,"approval":{"approvalId":"c1.3"`},
			{`"from":"hub"`, `"from":"ann"`},
		} {
			forged := strings.Replace(whole, c.old, c.new, 1)
			if forged == whole {
				t.Fatalf("%s is not in %s", c.old, whole)
			}
			err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "c1", strings.Split(forged, "\n")...)), nil, nil)
			if err == nil || !strings.Contains(err.Error(), "no hub would take it") {
				t.Errorf("%.60s: %v", c.new, err)
			}
		}
		if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "c1", log...)), nil, nil); err != nil {
			t.Fatal(err)
		}
	})
}
