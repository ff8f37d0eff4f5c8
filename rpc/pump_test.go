package rpc_test

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley/internal/methods"
)

// TestPumpsMissNothing: a change while a subscription is about to rest is sent without a further
// change.
func TestPumpsMissNothing(t *testing.T) {
	const sockets, each, rounds, atOnce = 3, 2, 500, 5
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		var readers []*peer
		for range sockets {
			reader := w.as("alice")
			for range each { // they share the right to a page
				reader.must(methods.Subscribe, `{"conversationId":"case"}`)
			}
			readers = append(readers, reader)
		}
		for round := range rounds {
			for i := range atOnce {
				alice.start(methods.SendTrace, fmt.Sprintf(
					`{"conversationId":"case","payload":{"kind":"thought","text":"%d-%d"}}`, round, i))
			}
			synctest.Wait()
			for _, r := range readers {
				if got := countFrames(r.take(), fmt.Sprintf(`"%d-%d"`, round, atOnce-1)); got != each {
					t.Fatalf("round %d: the %d subscriptions of a socket told the last event %d times", round, each, got)
				}
			}
		}
	})
}

func countFrames(frames []string, with string) (n int) {
	for _, f := range frames {
		if strings.Contains(f, with) {
			n++
		}
	}
	return n
}

// TestRestingSubscriptions: they cost no goroutine, and end with their socket or before.
func TestRestingSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		synctest.Wait()
		before := goroutinesIn("rpc.")
		for range 20 {
			alice.must(methods.Subscribe, `{"conversationId":"case"}`)
		}
		alice.must(methods.SendTrace, `{"conversationId":"case","payload":{"kind":"thought"}}`)
		synctest.Wait()
		if after := goroutinesIn("rpc."); after != before {
			t.Errorf("%d goroutines with 20 subscriptions at rest, %d without", after, before)
		}
		alice.take()
		for i := range 10 {
			alice.must(methods.Unsubscribe, fmt.Sprintf(`{"subscriptionId":"sub_%d"}`, i+1))
		}
		alice.must(methods.SendTrace, `{"conversationId":"case","payload":{"kind":"thought"}}`)
		synctest.Wait()
		if got := countFrames(alice.take(), `"method":"event"`); got != 10 {
			t.Errorf("%d events for 10 subscriptions", got)
		}
		if got := w.hub.Counted().Subscribers; got != 10 {
			t.Errorf("%d subscriptions, expected 10", got)
		}
		alice.close()
		synctest.Wait()
		if got := w.hub.Counted().Subscribers; got != 0 {
			t.Errorf("%d subscriptions after the end of their socket", got)
		}
	})
}

// goroutinesIn counts those of which a function is one of a package.
func goroutinesIn(name string) (n int) {
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
	for _, stack := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(stack, "parley/"+name+"(") {
			n++
		}
	}
	return n
}
