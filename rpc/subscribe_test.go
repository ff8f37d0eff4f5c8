package rpc_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// badDisk is a journal whose reads can be made to fail.
type badDisk struct {
	journal.Journal
	bad  atomic.Bool
	gate chan struct{} // Read waits for it while bad
}

func (j *badDisk) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	if j.bad.Load() {
		<-j.gate
		return nil, errors.New("the disk gives nothing")
	}
	return j.Journal.Read(conversation, after, limit, maxBytes)
}

// onBadDisk returns a world and its disk. The disk is good, and its gate closed.
func onBadDisk(t *testing.T) (*world, *badDisk) {
	w := newWorld(t, nil)
	disk := &badDisk{gate: make(chan struct{})}
	w.wrap = func(j journal.Journal) journal.Journal {
		disk.Journal = j
		return disk
	}
	w.restart()
	return w, disk
}

const twoAgents = `{"conversationId":"case","participants":[{"id":"alice","kind":"peer"},{"id":"bob","kind":"peer"}]}`

// TestSubscribeIsAnswered: also if its subscription, whose id can be guessed, is ended before it is
// active, and then fails.
func TestSubscribeIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, disk := onBadDisk(t)
		alice := w.as("alice")
		alice.create(twoAgents)
		alice.must(methods.CloseConversation, `{"conversationId":"case"}`)
		w.restart() // so that it has to be read: only those that are open are at a start
		p := w.as("alice")
		disk.bad.Store(true)
		subscribe := p.start(methods.Subscribe, `{"conversationId":"case"}`)
		synctest.Wait()
		unsubscribe := p.start(methods.Unsubscribe, `{"subscriptionId":"sub_1"}`)
		synctest.Wait()
		close(disk.gate)
		if got := parseReply(t, p.reply(subscribe)); got.reason() == "" {
			t.Errorf("subscribe: %+v", got)
		}
		if got := parseReply(t, p.reply(unsubscribe)); got.reason() != "not_found" {
			t.Errorf("unsubscribe: %+v", got)
		}
		disk.bad.Store(false)
	})
}

// TestBrokenSubscriptionEndsItsSocket: a subscription that fails closes its socket.
func TestBrokenSubscriptionEndsItsSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, disk := onBadDisk(t)
		close(disk.gate)
		alice, bob := w.as("alice"), w.as("bob")
		alice.create(twoAgents)
		bob.must(methods.Subscribe, `{"conversationId":"case"}`)
		synctest.Wait()
		disk.bad.Store(true)
		w.journal.FailNext(journal.ErrStorageFull) // after which the conversation is read again
		if got := parseReply(t, alice.call(methods.SendMessage,
			`{"conversationId":"case","payload":{"text":"a"},"finality":"turn"}`)); got.reason() != "storage_full" {
			t.Errorf("the append: %+v", got)
		}
		synctest.Wait()
		select {
		case <-bob.done:
			if bob.closeCode() != 1011 {
				t.Errorf("close code %d", bob.closeCode())
			}
		default:
			t.Error("the socket of a broken subscription stays open")
		}
		alice.must(methods.Ping, `{}`)
		disk.bad.Store(false)
	})
}

// TestDrainKeepsSockets: Shutdown closes the socket of a subscription that ends because the hub
// drains.
func TestDrainKeepsSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		p := w.as("alice")
		p.create(twoAgents)
		p.must(methods.Subscribe, `{"conversationId":"case"}`)
		w.hub.Drain()
		synctest.Wait()
		w.server.Shutdown(t.Context())
		<-p.done
		if p.closeCode() != wire.CloseGoingAway {
			t.Errorf("close code %d", p.closeCode())
		}
	})
}

// TestFreshTokenKeepsSubscriptions: a new token of a socket takes over its subscriptions, or is
// refused and changes nothing.
func TestFreshTokenKeepsSubscriptions(t *testing.T) {
	const minute = 60_000
	token := func(admin *peer, more string, ms int) string {
		return admin.token(fmt.Sprintf(`{"agentId":"bob","expiresInMs":%d%s}`, ms, more))
	}
	traces := `,"scopes":["read","write","trace"]`
	for _, c := range []struct {
		name, more string
		refused    bool
	}{
		{"as wide", traces, false},
		{"without traces", `,"scopes":["read","write"]`, true},
		{"without read", `,"scopes":["write","trace"]`, true},
		{"for another conversation", traces + `,"conversations":["other"]`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				admin, alice := w.as("admin"), w.as("alice")
				alice.create(twoAgents)
				alice.create(strings.Replace(twoAgents, "case", "other", 1))
				bob := w.with(token(admin, traces, minute))
				fresh := token(admin, c.more, 3*minute)
				bob.must(methods.Subscribe, `{"conversationId":"case","sinceSeq":1}`)
				wait := bob.start(methods.WaitForChange, `{"conversationId":"other","sinceSeq":1,"timeoutMs":60000}`)
				time.Sleep(30 * time.Second)
				waitLate := bob.start(methods.WaitForChange, `{"conversationId":"other","sinceSeq":1,"timeoutMs":60000}`)
				synctest.Wait()
				got := parseReply(t, bob.call(methods.Authenticate, fmt.Sprintf(`{"token":%q}`, fresh)))
				if c.refused != (got.reason() == "forbidden") || !c.refused && got.Error != nil {
					t.Fatalf("authenticate: %+v", got.Error)
				}
				alice.must(methods.SendTrace, `{"conversationId":"case","payload":{"kind":"thought"}}`)
				bob.find("the trace", func(f string) bool { return strings.Contains(f, `"type":"trace"`) })
				time.Sleep(30*time.Second + time.Millisecond)
				synctest.Wait()
				if c.refused {
					<-bob.done
					if bob.closeCode() != wire.CloseUnauthenticated {
						t.Errorf("close code %d at the end of the first token", bob.closeCode())
					}
					return
				}
				if got := parseReply(t, bob.reply(wait)); got.Error != nil && got.reason() != "unauthenticated" {
					t.Errorf("a wait as long as the first token: %+v", got)
				}
				if got := parseReply(t, bob.reply(waitLate)); got.reason() != "unauthenticated" {
					t.Errorf("a wait of the first token went on after its end: %+v", got)
				}
				alice.must(methods.SendTrace, `{"conversationId":"case","payload":{"kind":"second thought"}}`)
				bob.find("the trace after the end of the first token",
					func(f string) bool { return strings.Contains(f, `"second thought"`) })
				time.Sleep(150 * time.Second)
				<-bob.done
				if bob.closeCode() != wire.CloseUnauthenticated {
					t.Errorf("close code %d at the end of the fresh token", bob.closeCode())
				}
			})
		})
	}
}

// TestSubscriptionOfAnOldToken: a subscription that was being opened when a narrower token was
// shown is refused. An equal token takes it over.
func TestSubscriptionOfAnOldToken(t *testing.T) {
	for _, c := range []struct{ scopes, want string }{{`["read"]`, "forbidden"}, {`["read","trace"]`, ""}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, nil)
			gate := make(chan struct{})
			var slow atomic.Bool
			w.wrap = func(j journal.Journal) journal.Journal { return &slowDisk{j, &slow, gate} }
			w.restart()
			alice := w.as("alice")
			alice.create(twoAgents)
			alice.must(methods.CloseConversation, `{"conversationId":"case"}`)
			w.restart() // it reads what is open
			admin := w.as("admin")
			bob := w.with(admin.token(`{"agentId":"bob","scopes":["read","trace"]}`))
			fresh := admin.token(`{"agentId":"bob","scopes":` + c.scopes + `}`)
			slow.Store(true)
			subscribe := bob.start(methods.Subscribe, `{"conversationId":"case"}`)
			synctest.Wait()
			bob.must(methods.Authenticate, fmt.Sprintf(`{"token":%q}`, fresh))
			close(gate)
			if got := parseReply(t, bob.reply(subscribe)); got.reason() != c.want {
				t.Errorf("with %s: %+v", c.scopes, got)
			}
		})
	}
}

// slowDisk is a journal whose reads wait.
type slowDisk struct {
	journal.Journal
	slow *atomic.Bool
	gate chan struct{}
}

func (j *slowDisk) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	if j.slow.Load() {
		<-j.gate
	}
	return j.Journal.Read(conversation, after, limit, maxBytes)
}
