package sdk

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// maxFeedBytes bounds the size of the events that wait for a slow loop.
const maxFeedBytes = 2 << 20

// feed has the notifications of one subscription on one connection that its loop has not read yet.
// The reader of the connection adds to it and never waits. A full feed ends, and its loop
// subscribes again after its cursor.
type feed struct {
	conversation string
	max          int
	wake         chan struct{} // a token: there are notifications, or the end
	id           string        // of the subscription, if it exists; guarded by the mu of the link

	mu    sync.Mutex // guards the fields below
	items []parley.Notification
	bytes int
	seq   int64 // of the last added event
	ended bool  // nothing is added any more
}

func newFeed(conversation string, since int64, max int) *feed {
	return &feed{conversation: conversation, max: max, wake: make(chan struct{}, 1), seq: since}
}

// add appends n. It returns false if the feed ended before, or ends now.
func (f *feed) add(conversation string, n parley.Notification) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return false
	}
	size := 0
	ok := conversation == f.conversation
	if n.Event != nil {
		size = len(n.Event.Raw())
		ok = ok && n.Event.Seq > f.seq // else the hub repeats itself: better to ask again from the cursor
		f.seq = max(f.seq, n.Event.Seq)
	}
	full := len(f.items) >= f.max || len(f.items) > 0 && f.bytes+size > maxFeedBytes
	if !ok || full {
		f.ended = true
		f.signal()
		return false
	}
	f.items = append(f.items, n)
	f.bytes += size
	f.signal()
	return true
}

// take returns the waiting notifications. If ended is true, no others follow.
func (f *feed) take() (items []parley.Notification, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	items, f.items, f.bytes = f.items, nil, 0
	return items, f.ended
}

// end ends the feed.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.signal()
}

func (f *feed) hasEnded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

func (f *feed) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// bind registers f for a new subscription. The reader calls it with the result of subscribe, and so
// before it reads the first notification.
func (l *link) bind(f *feed, result json.RawMessage) {
	var r parley.SubscribeResult
	if json.Unmarshal(result, &r) != nil {
		return // the caller gets the error
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.hasEnded() { // its loop is gone
		l.dropLocked(r.SubscriptionID)
		return
	}
	f.id = r.SubscriptionID
	l.feeds[f.id] = f
}

// notify passes a notification to its feed or to the registration.
func (l *link) notify(method string, params json.RawMessage) error {
	switch method {
	case methods.NotifyEvent:
		var p parley.EventNotification
		err := json.Unmarshal(params, &p)
		return l.pass(err, p.SubscriptionID, p.ConversationID, parley.Notification{Event: &p.Event})
	case methods.NotifyCaughtUp:
		var p parley.CaughtUpNotification
		err := json.Unmarshal(params, &p)
		return l.pass(err, p.SubscriptionID, p.ConversationID, parley.Notification{CaughtUp: &p})
	case methods.NotifyGuidance:
		var p parley.GuidanceNotification
		err := json.Unmarshal(params, &p)
		return l.pass(err, p.SubscriptionID, p.ConversationID, parley.Notification{Guidance: &p})
	case methods.NotifyDelta:
		var p parley.DeltaNotification
		err := json.Unmarshal(params, &p)
		return l.pass(err, p.SubscriptionID, p.ConversationID, parley.Notification{Delta: &p.Delta})
	case methods.NotifyRequestTurn:
		var p parley.RequestTurn
		err := json.Unmarshal(params, &p)
		return l.notifyExecutor(err, method, parley.ExecutorNotification{RequestTurn: &p})
	case methods.NotifyClaimEnded:
		var p parley.ClaimEndedNotification
		err := json.Unmarshal(params, &p)
		return l.notifyExecutor(err, method, parley.ExecutorNotification{ClaimEnded: &p})
	case methods.NotifyClaimWaiting:
		var p parley.ClaimWaitingNotification
		err := json.Unmarshal(params, &p)
		return l.notifyExecutor(err, method, parley.ExecutorNotification{ClaimWaiting: &p})
	case methods.NotifyClosing:
		var p parley.ClosingNotification
		if err := json.Unmarshal(params, &p); err != nil {
			return fmt.Errorf("notification closing: %w", err)
		}
		if p.Stays {
			if l.c.hubs.several() {
				l.isApart()
			}
			return nil
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.comeBack = min(time.Duration(max(p.RetryAfterMs, 0))*time.Millisecond, maxComeBack)
	}
	return nil // one of a later version
}

// maxComeBack bounds the retryAfterMs of a hub that closes the connection.
const maxComeBack = time.Minute

func (l *link) pass(err error, subscription, conversation string, n parley.Notification) error {
	if err != nil {
		return fmt.Errorf("notification of %s: %w", subscription, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.feeds[subscription]
	if f != nil && !f.add(conversation, n) {
		delete(l.feeds, subscription)
		l.dropLocked(subscription)
	}
	return nil
}

// leave ends f and its subscription.
func (l *link) leave(f *feed) {
	f.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.id != "" && l.feeds[f.id] == f {
		delete(l.feeds, f.id)
		l.dropLocked(f.id)
	}
}

func (l *link) dropLocked(subscription string) {
	l.drop = append(l.drop, subscription)
	select {
	case l.drops <- struct{}{}:
	default:
	}
}

// tidy ends subscriptions in the hub until the connection is lost. It runs on its own goroutine.
func (l *link) tidy() {
	for {
		select {
		case <-l.lost:
			return
		case <-l.drops:
		}
		l.mu.Lock()
		ids := l.drop
		l.drop = nil
		l.mu.Unlock()
		for _, id := range ids {
			l.unsubscribe(id)
		}
	}
}

func (l *link) unsubscribe(id string) {
	body, err := encode(&parley.UnsubscribeParams{SubscriptionID: id})
	if err == nil {
		_, err = l.call(l.c.life, methods.Unsubscribe, body, nil, func() {})
	}
	if err != nil {
		l.c.o.Logger.Debug("unsubscribe", "subscription", id, "error", err) // it ends with the connection
	}
}

// end is called by the reader when it ends. No notification follows.
func (l *link) end(closeCode int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.code = closeCode
	for _, f := range l.feeds {
		f.end()
	}
	clear(l.feeds)
	close(l.lost)
}
