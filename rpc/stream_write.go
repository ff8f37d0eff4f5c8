package rpc

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/sse"
)

// errPeerGone is why a feed ends whose peer takes no more.
var errPeerGone = errors.New("the peer takes no more")

// tell writes one item of the subscription.
func (f *feed) tell(item *hub.Item) error {
	id := f.params.ConversationID
	switch {
	case item.Event != nil:
		f.named = item.Seq
		f.buf = sse.Append(f.buf, sse.Message{ID: seqID(item.Seq), Data: item.Event})
		return f.give(feedPiece)
	case item.CaughtUp:
		return f.say(parley.NotifyCaughtUp, parley.CaughtUpNotification{ConversationID: id, Seq: item.Seq})
	case item.Guidance != nil:
		return f.say(parley.NotifyGuidance, parley.GuidanceNotification{ConversationID: id, Seq: item.Seq, Guidance: *item.Guidance})
	}
	return f.say(parley.NotifyDelta, parley.DeltaNotification{Delta: *item.Delta})
}

func seqID(seq int64) string { return strconv.FormatInt(seq, 10) }

// say writes a notification.
func (f *feed) say(name string, params any) error {
	f.buf = sse.Append(f.buf, sse.Message{Name: name, Data: appendWire(nil, params)})
	return f.give(feedPiece)
}

// give hands on what is waiting once it is more than so many bytes. The peer must take each piece in time.
func (f *feed) give(over int) error {
	if len(f.buf) <= over {
		return nil
	}
	for rest := f.buf; len(rest) > 0; {
		n := min(len(rest), feedPiece)
		if err := f.renew(); err != nil {
			return err
		}
		if _, err := f.w.Write(rest[:n]); err != nil {
			return fmt.Errorf("%w: %w", errPeerGone, err)
		}
		rest = rest[n:]
	}
	f.buf, f.waiting, f.wrote = f.buf[:0], true, time.Now()
	if cap(f.buf) > outboxKept {
		f.buf = nil
	}
	return nil
}

// flush hands on everything that is waiting, down to the connection.
func (f *feed) flush() error {
	if err := f.give(0); err != nil || !f.waiting {
		return err
	}
	f.waiting = false
	if err := f.http.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errPeerGone, err)
	}
	return nil
}

// renew starts the clock for what is written next.
func (f *feed) renew() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cutOff {
		return errPeerGone
	}
	_ = f.http.SetWriteDeadline(time.Now().Add(f.server.opts.WriteTimeout)) // fails where there are no deadlines
	return nil
}

// cut ends f without a word. Its handler has not returned.
func (f *feed) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cutOff = true
	f.cancel()
	_ = f.http.SetWriteDeadline(past)
}

// addFeed makes a feed known unless the server has stopped. The caller owes a removeFeed.
func (s *Server) addFeed(f *feed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.feeds[f] = struct{}{}
	s.wg.Add(1)
	return true
}

func (s *Server) removeFeed(f *feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.feeds, f)
	s.wg.Done()
}
