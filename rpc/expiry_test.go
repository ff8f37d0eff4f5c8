package rpc_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
)

// TestExpiryBetweenDecisionAndCommit: a write that may be in the log is not reported as refused.
func TestExpiryBetweenDecisionAndCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		admin.create(twoAgents)
		token := admin.token(`{"agentId":"alice","expiresInMs":1000}`)
		before := len(w.stored("case"))
		w.journal.Hold()
		answered := make(chan httpAnswer, 1)
		go func() {
			h := bearer(token)
			h.Set("Content-Type", "application/octet-stream")
			answered <- w.plain(h, "POST", "/attachments?conversationId=case&name=x", "file")
		}()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		a := <-answered
		w.journal.Release()
		synctest.Wait()
		var p parley.Problem
		unmarshal(t, a.body, &p)
		if written := len(w.stored("case")) > before; !written || p.Reason != "outcome_unknown" {
			t.Errorf("written: %t; answer: %v", written, a)
		}
		if a := w.plain(bearer(token), "GET", "/conversations", ""); a.status != http.StatusUnauthorized {
			t.Errorf("after that: %v", a)
		}
	})
}
