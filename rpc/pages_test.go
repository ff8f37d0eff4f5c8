package rpc_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// A peer gets one page at a time, and no call waits while it has the right to read.

const openAlice = `{"conversationId":"case","clientRequestId":"k","participants":[{"id":"alice","kind":"peer"}],` +
	`"policy":{"kind":"open"}}`

const pageBytes = 700 << 10

// fill creates a conversation of four large events and returns a socket of alice that reads
// nothing.
func (w *world) fill(t *testing.T) (alice *peer, deaf *wire.Stream) {
	t.Helper()
	alice = w.as("alice")
	alice.create(openAlice)
	for range 4 {
		alice.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"`+strings.Repeat("x",
			pageBytes)+`"},"finality":"turn"}`)
	}
	header := bearer(devToken)
	header.Set("Parley-Agent", "alice")
	deaf, err := wire.DialStream(t.Context(), w.url(), &wire.DialOptions{HTTPClient: w.client(), Header: header})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return alice, deaf
}

func sendAll(t *testing.T, s *wire.Stream, n int, request string) {
	t.Helper()
	for i := range n {
		if err := s.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,%s}`, i, request)); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
}

// TestUnreadPagesAreBounded: a peer that requests page after page and reads none makes the hub keep
// one, for any method.
func TestUnreadPagesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	for name, request := range map[string]string{
		"tail":      `"method":"tail","params":{"conversationId":"case","sinceSeq":0}`,
		"updates":   `"method":"getUpdates","params":{"conversationId":"case","until":"closed","timeoutMs":60000}`,
		"subscribe": `"method":"subscribe","params":{"conversationId":"case"}`,
		"create":    `"method":"createConversation","params":` + openAlice,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				alice, deaf := w.fill(t)
				defer deaf.Close()
				before := heap()
				sendAll(t, deaf, 60, request)
				if name == "updates" { // all of them have something to say at once
					alice.must(methods.SendMessage,
						`{"conversationId":"case","payload":{"text":"bye"},"finality":"conversation"}`)
					synctest.Wait()
				}
				if held := heap() - before; held > 12*pageBytes {
					t.Errorf("%d MiB are held for a peer that reads nothing", held>>20)
				}
			})
		})
	}
}

// heap returns the bytes that are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools have set aside goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestPumpDoesNotHoldUpReads: a subscription that finds only events that its reader may not see
// does not delay the reads of the socket.
func TestPumpDoesNotHoldUpReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin, alice := w.as("admin"), w.as("alice")
		alice.create(twoAgents)
		bob := w.with(admin.token(`{"agentId":"bob"}`))
		bob.must(methods.Subscribe, `{"conversationId":"case"}`)
		for range 3 {
			alice.must(methods.SendTrace, `{"conversationId":"case","payload":{"kind":"thought"}}`)
			synctest.Wait()
			bob.must(methods.Tail, `{"conversationId":"case","sinceSeq":0}`)
		}
	})
}

// TestPeerLeavesItsPages: reads that wait for a peer end without an error when it leaves.
func TestPeerLeavesItsPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log record
		w := newWorld(t, &rpc.Options{Logger: slog.New(slog.NewJSONHandler(&log,
			&slog.HandlerOptions{Level: slog.LevelWarn}))})
		_, deaf := w.fill(t)
		sendAll(t, deaf, 20, `"method":"tail","params":{"conversationId":"case","sinceSeq":0}`)
		deaf.Close()
		time.Sleep(time.Minute) // in the bubble
		synctest.Wait()
		if s := log.text(); s != "" {
			t.Errorf("logged: %.400s", s)
		}
	})
}
