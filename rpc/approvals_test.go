package rpc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// claims takes turn 1.
func (p *peer) claims(conversation string) (claim string) {
	p.t.Helper()
	return claimIn(p.t, string(p.must(methods.ClaimTurn,
		fmt.Sprintf(`{"conversationId":%q,"turn":1}`, conversation))))
}

// asks takes turn 1 and asks for an approval, with which an answer may come.
func (p *peer) asks(conversation string) parley.Approval {
	p.t.Helper()
	p.claims(conversation)
	return approvalIn(p.t, p.must(methods.RequestApproval,
		fmt.Sprintf(`{"conversationId":%q,"key":"k","title":"May I?","details":{"n":1},"answerSchema":{}}`, conversation)))
}

func approvalIn(t testing.TB, text []byte) parley.Approval {
	t.Helper()
	var a parley.Approval
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

// question returns a world in which bot, with its own token, asks ann in the conversation case, on
// the connection with the claim.
func question(t *testing.T) (w *world, bot, ann, claim string, a parley.Approval) {
	t.Helper()
	w = newWorld(t, nil)
	admin := w.as("admin")
	bot, ann = admin.token(`{"agentId":"bot"}`), admin.token(`{"agentId":"ann","scopes":["read","approve"]}`)
	p := w.with(bot)
	p.create(`{"conversationId":"case","participants":[{"id":"bot","kind":"agent"},{"id":"ann","kind":"human"}]}`)
	a = p.asks("case")
	return w, bot, ann, p.claims("case"), a
}

// TestApprovalOverHTTP: a request creates an approval at its path. An answer is taken once, by its
// key, and ends a wait.
func TestApprovalOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, bot, ann, claim, first := question(t)
		ask := fmt.Sprintf(`{"claimId":%q,"key":"other","title":"And this?","expiresInMs":5000}`, claim)
		made := w.plain(bearer(bot), http.MethodPost, "/conversations/case/approvals", ask)
		second := approvalIn(t, []byte(made.body))
		if made.status != http.StatusCreated || made.header.Get("Location") != "/approvals/"+second.ApprovalID ||
			second.Status != parley.ApprovalPending {
			t.Fatalf("asked: %v", made)
		}
		if again := w.plain(bearer(bot), http.MethodPost, "/conversations/case/approvals",
			ask); again.status != http.StatusOK || !approvalIn(t, []byte(again.body)).Duplicate {
			t.Errorf("asked once more: %v", again)
		}
		if refused := w.plain(bearer(bot), http.MethodPost, "/conversations/case/approvals",
			strings.Replace(ask, "this", "that", 1)); refused.reason() != "idempotency_conflict" {
			t.Errorf("another question under the same key: %v", refused)
		}
		if list := w.plain(bearer(ann), http.MethodGet, "/approvals?status=pending&conversationId=case&limit=1",
			""); list.status != http.StatusOK ||
			!strings.Contains(list.body, first.ApprovalID) || !strings.Contains(list.body, `"nextCursor"`) ||
			strings.Contains(list.body, second.ApprovalID) {
			t.Errorf("the first page: %v", list)
		}
		waits := make(chan parley.Approval, 1)
		go func() {
			waits <- approvalIn(t, []byte(w.plain(bearer(bot), http.MethodGet, "/approvals/"+first.ApprovalID+"?timeoutMs=60000",
				"").body))
		}()
		synctest.Wait()
		keyed := bearer(ann)
		keyed.Set("Idempotency-Key", "k-1")
		for _, duplicate := range []bool{false, true} {
			a := w.plain(keyed, http.MethodPost, "/approvals/"+first.ApprovalID+"/resolve",
				`{"decision":"approved","answer":{"n":2}}`)
			if got := approvalIn(t, []byte(a.body)); a.status != http.StatusOK || got.Status != parley.ApprovalApproved ||
				got.By != "ann" || got.Duplicate != duplicate {
				t.Errorf("answered, duplicate %v: %v", duplicate, a)
			}
		}
		if got := <-waits; got.Status != parley.ApprovalApproved || string(got.Answer) != `{"n":2}` || got.TimedOut {
			t.Errorf("the wait ended with %+v", got)
		}
		late := w.plain(bearer(ann), http.MethodPost, "/approvals/"+first.ApprovalID+"/resolve", `{"decision":"rejected"}`)
		if late.status != http.StatusConflict || late.reason() != "already_resolved" ||
			!strings.Contains(late.body, `"code":4098`) {
			t.Errorf("answered otherwise: %v", late)
		}
		time.Sleep(5*time.Second + time.Millisecond) // the timer fires at five, at the same time as a sleep of that would end
		if a := w.plain(bearer(bot), http.MethodGet, "/approvals/"+second.ApprovalID, ""); approvalIn(t,
			[]byte(a.body)).Status != parley.ApprovalTimedOut {
			t.Errorf("after its time: %v", a)
		}
	})
}

// TestWaitForApprovalEndsWithItsToken: a wait over plain HTTP, POST /rpc or a socket ends with an
// error when its token is revoked, and never returns a later answer.
func TestWaitForApprovalEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, ann, _, a := question(t)
		answers := make(chan string, 2)
		go func() {
			answers <- w.plain(bearer(ann), http.MethodGet, "/approvals/"+a.ApprovalID+"?timeoutMs=60000", "").reason()
		}()
		go func() {
			_, _, body := w.post(bearer(ann), strings.NewReader(
				fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"getApproval","params":{"approvalId":%q,"timeoutMs":60000}}`,
					a.ApprovalID)))
			answers <- parseReply(t, body).reason()
		}()
		synctest.Wait()
		w.as("admin").must(methods.RevokeToken, revokes(ann))
		for range 2 {
			if got := <-answers; got != "unauthenticated" {
				t.Errorf("it ended with %q", got)
			}
		}
	})
}
