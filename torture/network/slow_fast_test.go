package network

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/parleyhub/parley/internal/methods"
)

// fastReader reads what comes and notes how long it took.
type fastReader struct {
	peer    *peer
	history *history
	failed  error

	sent, took []time.Duration // of each message: when it was sent, in this process's time, and how long after it was here
}

func (w *slowWorld) startFast() *fastReader {
	w.t.Helper()
	p, err := dial(w.hub.URL, "reader", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	f := &fastReader{peer: p, history: newHistory(slowLive)}
	if _, err := p.subscribe(slowLive, f.history); err != nil {
		w.t.Fatal(err)
	}
	w.wg.Go(f.read)
	return f
}

func (f *fastReader) read() {
	for {
		n, err := f.peer.next()
		if err != nil {
			f.failed = err
			return
		}
		if n.Method != methods.NotifyEvent {
			continue
		}
		now := time.Since(born)
		if err := f.history.take(n.Params.Event); err != nil {
			f.failed = err
			return
		}
		if at, ok := sentAt(n.Params.Event); ok {
			f.sent, f.took = append(f.sent, at), append(f.took, now-at)
		}
	}
}

// compareFast waits until the fast subscribers have everything, ends them and compares them with
// the log. It returns the number of their events.
func (w *slowWorld) compareFast(l *record) (delivered int) {
	w.t.Helper()
	for deadline := time.Now().Add(slowGone); ; time.Sleep(10 * time.Millisecond) {
		behind := slices.ContainsFunc(w.fast, func(f *fastReader) bool { return f.history.last() < l.last() })
		if !behind || time.Now().After(deadline) {
			break
		}
	}
	for _, f := range w.fast {
		f.peer.Close()
	}
	w.wg.Wait()
	for i, f := range w.fast {
		s := f.history.seen(slowLive)
		d := l.differs(s)
		if d == "" && s.Seq != l.last() {
			d = fmt.Sprintf("it has come to %d of %d: %v", s.Seq, l.last(), f.failed)
		}
		if d != "" {
			w.wrong++
			w.t.Errorf("fast subscriber %d: %s", i, d)
		}
		delivered += int(s.Seq)
	}
	return delivered
}

var sentMark = []byte(`"sentNs":`)

// sentAt finds when a message was sent, in the time of the process that has sent it.
func sentAt(event []byte) (time.Duration, bool) {
	_, rest, ok := bytes.Cut(event, sentMark)
	if !ok {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte{'}'})
	ns, err := strconv.ParseInt(string(digits), 10, 64)
	return time.Duration(ns), err == nil
}
