package rpc_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPagesOverHTTPAreBounded: a client that requests much and reads nothing has a bounded number
// of answers under way until they are cut. Other clients notice nothing.
func TestPagesOverHTTPAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		alice.say(strings.Repeat("a", 700<<10))
		slow, other := w.as("admin").token(`{"agentId":"alice"}`), w.as("admin").token(`{"agentId":"bob"}`)
		for range 16 {
			w.begin("GET /conversations/case HTTP/1.1\nHost: localhost\nAuthorization: Bearer " + slow + "\n\n")
		}
		synctest.Wait()
		time.Sleep(time.Second)
		begin := time.Now()
		get := func(token string) (int, time.Duration) {
			a := w.plain(bearer(token), "GET", "/conversations/case", "")
			return a.status, time.Since(begin)
		}
		if status, took := get(other); status != 200 || took != 0 {
			t.Errorf("another reader: %d after %v", status, took)
		}
		if a := w.plain(bearer(slow), "GET", "/conversations/case/guidance", ""); a.status != 200 || time.Since(begin) != 0 {
			t.Errorf("a small answer: %d after %v", a.status, time.Since(begin))
		}
		if status, took := get(slow); status != 200 || took != 9*time.Second {
			t.Errorf("one more of the slow reader: %d after %v, when the others are cut", status, took)
		}
	})
}
