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
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

// TestForkOverHTTP: a new fork is answered with 201 and its path, and a retry with 200.
func TestForkOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		header := speaks("alice")
		header.Set("Idempotency-Key", "k")
		made := w.plain(header, http.MethodPost, "/conversations/case/forks", `{"seq":1}`)
		place := "/conversations/" + parley.DerivedForkID("alice", "k")
		if made.status != http.StatusCreated || made.header.Get("Location") != place {
			t.Errorf("%v, at %q", made, made.header.Get("Location"))
		}
		if again := w.plain(header, http.MethodPost, "/conversations/case/forks",
			`{"seq":1}`); again.status != http.StatusOK || again.header.Get("Location") != "" {
			t.Errorf("again: %v", again)
		}
	})
}

// TestForkCostsWhatItCopies: the events that a fork copies count as bytes of its caller. A fork
// that exceeds the rate is not created, and a retry copies no events.
func TestForkCostsWhatItCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{Rates: &rpc.Rates{BytesPerSecond: 10_000, ByteBurst: 100_000}})
		alice := w.as("alice")
		alice.create(twoAgents)
		alice.must(methods.SendNote, fmt.Sprintf(`{"conversationId":"case","payload":{"schema":"s","data":%q}}`,
			strings.Repeat("x", 60_000)))
		time.Sleep(time.Minute)
		fork := func(id string) reply {
			return parseReply(t, alice.call(methods.ForkConversation,
				fmt.Sprintf(`{"conversationId":"case","seq":2,"forkId":%q,"clientRequestId":"k"}`, id)))
		}
		if got := fork("one").reason(); got != "" {
			t.Fatalf("within the burst: %q", got)
		}
		if r := fork("two"); r.reason() != "rate_limited" || r.Error.Data.RetryAfterMs < 1000 {
			t.Errorf("over it: %+v", r.Error)
		}
		if r := parseReply(t, alice.call(methods.GetConversation,
			`{"conversationId":"two"}`)); r.reason() != "not_found" {
			t.Errorf("what was refused is there: %.100s", r.Result)
		}
		if got := fork("one").reason(); got != "" {
			t.Errorf("a retry: %q", got)
		}
		time.Sleep(10 * time.Second)
		if got := fork("two").reason(); got != "" {
			t.Errorf("after a rest: %q", got)
		}
	})
}

// TestUnreadChangesAreBounded: a peer that watches and reads nothing makes the hub keep one answer,
// as with every other page.
func TestUnreadChangesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice, deaf := w.fill(t)
		defer deaf.Close()
		var began parley.WatchConversationsResult
		if err := json.Unmarshal(alice.must(methods.WatchConversations, `{}`), &began); err != nil {
			t.Fatal(err)
		}
		seats := []string{`{"id":"alice","kind":"peer"}`}
		for i := range limits.MaxParticipants - 1 {
			seats = append(seats, fmt.Sprintf(`{"id":"%s%02d","kind":"peer"}`, strings.Repeat("x", 62), i))
		}
		for range 100 {
			alice.must(methods.CreateConversation, `{"participants":[`+strings.Join(seats, ",")+`]}`)
		}
		sendAll(t, deaf, 3, `"method":"tail","params":{"conversationId":"case","sinceSeq":0}`)
		before := heap()
		sendAll(t, deaf, 57, fmt.Sprintf(`"method":"watchConversations","params":{"cursor":%q,"limit":100}`, began.Cursor))
		if held := heap() - before; held > 12*pageBytes {
			t.Errorf("%d MiB are held for a peer that reads nothing", held>>20)
		}
	})
}
