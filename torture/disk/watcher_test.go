//go:build linux

package disk

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
)

// watcher is subscribed to the conversations until its hub ends or it is closed.
type watcher struct {
	caller *caller
	ended  chan error
}

func watch(t *testing.T, h *hubproc.Hub) *watcher {
	t.Helper()
	c, err := dial(h, admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range conversations {
		c.must(t, methods.Subscribe, parley.SubscribeParams{ConversationID: id}, &parley.SubscribeResult{})
	}
	w := &watcher{caller: c, ended: make(chan error, 1)}
	go func() {
		for {
			if err := c.next(); err != nil {
				w.ended <- err
				return
			}
		}
	}()
	return w
}

// told ends the watcher and returns the events that it received.
func (w *watcher) told() []shown {
	w.caller.Close()
	<-w.ended
	return w.caller.shown
}
