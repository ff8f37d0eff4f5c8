package mcp

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

const (
	// maxSubscriptions limits the subscriptions of one session or of one subscriptions/listen.
	// maxSubscriptionsOfOne limits those of one caller.
	maxSubscriptions, maxSubscriptionsOfOne = 64, 256
	// updateEvery is the minimum time between two notifications of one subscription. The last change
	// is always sent.
	updateEvery = 500 * time.Millisecond
	// retryEvery is the time between attempts to notify a session without a stream.
	retryEvery = 2 * time.Second
	// notifyTimeout limits the sending of one notification.
	notifyTimeout = 10 * time.Second
)

// codeTooMany is the error code for too many subscriptions.
const codeTooMany = -32000

// subscriptions notifies sessions of changes in conversations.
//
//	hub --Subscribe--> follower (one per client and conversation)
//	    --changes--> watch (one per session and URI) --> MCP client
//
// Each follower reads with the client of the caller that subscribed, and a watch is notified by its
// own follower only. So a caller that may not read a conversation receives no notification of it. A
// follower and its watches end together when the hub refuses the caller.
type subscriptions struct {
	server *Server
	send   protocol.MethodHandler // sends to a session; set once, before any request
	// onLost, if not nil, is called with sessions whose subscription the hub ended. It is set
	// once, before any request.
	onLost func(*protocol.ServerSession)
	life   context.Context // of all followers and watches
	stop   context.CancelFunc
	wg     sync.WaitGroup // followers and watches

	mu              sync.Mutex // guards the fields below
	closed          bool
	watches         map[watchKey]*watch
	followers       map[followerKey]*follower
	count           map[any]int // number of watches by session or listen, and by client
	awaitedSessions map[*protocol.ServerSession]bool
}

// watchKey identifies a subscription. listen is nil for resources/subscribe.
type watchKey struct {
	session *protocol.ServerSession
	listen  *listen
	uri     string
}

// owner returns the listen or session with which the subscription ends.
func (k *watchKey) owner() any {
	if k.listen != nil {
		return k.listen
	}
	return k.session
}

type watch struct {
	key      watchKey
	follower *follower     // nil for a resource that is not of the hub
	news     chan struct{} // one slot
	ctx      context.Context
	cancel   context.CancelFunc
}

type followerKey struct {
	client         parley.Client
	conversationID string
}

type follower struct {
	key     followerKey
	release func()
	cancel  context.CancelFunc
	watches map[*watch]bool // guarded by subscriptions.mu
}

// listen is a running subscriptions/listen.
type listen struct {
	end   context.CancelFunc
	acked chan struct{} // closed when id is set; notifications must wait for it
	id    any
}

func newSubscriptions(s *Server) *subscriptions {
	life, stop := context.WithCancel(context.Background())
	return &subscriptions{
		server: s, life: life, stop: stop, watches: map[watchKey]*watch{}, followers: map[followerKey]*follower{},
		count:           map[any]int{},
		awaitedSessions: map[*protocol.ServerSession]bool{},
	}
}

// close ends all subscriptions and waits for their goroutines.
func (s *subscriptions) close() {
	s.mu.Lock()
	s.closed = true
	s.stop()
	s.mu.Unlock()
	s.wg.Wait()
}

// handleListen lets the adapter end a listen.
func (s *Server) handleListen(ctx context.Context, o *requestInfo, req protocol.Request,
	next protocol.MethodHandler) (protocol.Result, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	o.listen = &listen{end: end, acked: make(chan struct{})}
	return next(ctx, "subscriptions/listen", req)
}

// sendingMiddleware keeps the send handler of the library, and records the ids of listens, which
// the library sends only to clients.
func (s *subscriptions) sendingMiddleware(next protocol.MethodHandler) protocol.MethodHandler {
	s.send = next
	return func(ctx context.Context, method string, req protocol.Request) (protocol.Result, error) {
		got, err := next(ctx, method, req)
		l := requestInfoOf(ctx).listen
		if ack, ok := req.GetParams().(*protocol.SubscriptionsAcknowledgedParams); ok && l != nil && err == nil {
			l.id = ack.Meta[protocol.MetaKeySubscriptionID]
			close(l.acked)
		}
		return got, err
	}
}

// subscribe subscribes a session to a resource that the caller can read.
func (s *subscriptions) subscribe(ctx context.Context, req *protocol.SubscribeRequest) error {
	o := requestInfoOf(ctx)
	key := watchKey{req.Session, o.listen, req.Params.URI}
	id, _, ok := parseResource(key.uri)
	if !ok {
		return s.subscribeOther(ctx, o, key)
	}
	client, release, err := s.server.opts.Connect(ctx, o.extra)
	if err != nil {
		return protocolError(err, hints{})
	}
	at, err := client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		release()
		return resourceError(err, key.uri, o.version)
	}
	took, err := s.addWatch(key, followerKey{client, id}, release, at)
	if !took {
		release()
	}
	return err
}

// subscribeOther subscribes to a resource that another package has added to the server.
func (s *subscriptions) subscribeOther(ctx context.Context, o *requestInfo, key watchKey) error {
	r := &protocol.ReadResourceRequest{Session: key.session, Params: &protocol.ReadResourceParams{URI: key.uri},
		Extra: o.extra}
	if _, err := s.server.read(ctx, "resources/read", r); err != nil {
		return mapNotFound(err, r, o)
	}
	_, err := s.addWatch(key, followerKey{}, nil, nil)
	return err
}

// addWatch creates a watch, and its follower if none exists. tookClient reports that the follower
// took over the client.
func (s *subscriptions) addWatch(key watchKey, follows followerKey, release func(), at *parley.Snapshot) (took bool,
	err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return false, protocolError(parley.Refuse(parley.ErrUnavailable, "the server is about to stop", ""), hints{})
	case s.watches[key] != nil:
		return false, nil
	case s.count[key.owner()] >= maxSubscriptions:
		return false, &jsonrpc.Error{Code: codeTooMany,
			Message: fmt.Sprintf("too many subscriptions: expected at most %d at once", maxSubscriptions)}
	case follows.client != nil && s.count[follows.client] >= maxSubscriptionsOfOne:
		return false, &jsonrpc.Error{Code: codeTooMany,
			Message: fmt.Sprintf("too many subscriptions of one caller: expected at most %d", maxSubscriptionsOfOne)}
	}
	w := &watch{key: key, news: make(chan struct{}, 1)}
	w.ctx, w.cancel = context.WithCancel(s.life)
	s.watches[key] = w
	s.count[key.owner()]++
	s.endWithSessionLocked(&key)
	if follows.client == nil {
		return false, nil
	}
	w.follower, took = s.followerLocked(follows, release, at)
	w.follower.watches[w] = true
	s.count[follows.client]++
	s.wg.Go(func() { s.sendNotifications(w) })
	return took, nil
}

// followerLocked returns the follower of a key, and whether it is new.
func (s *subscriptions) followerLocked(key followerKey, release func(), at *parley.Snapshot) (f *follower, made bool) {
	if f := s.followers[key]; f != nil {
		return f, false
	}
	ctx, cancel := context.WithCancel(s.life)
	f = &follower{key: key, release: release, cancel: cancel, watches: map[*watch]bool{}}
	s.followers[key] = f
	s.wg.Go(func() { s.follow(ctx, f, at) })
	return f, true
}

// endWithSessionLocked removes the subscriptions of a session when the session ends. Those of a
// listen end with the listen.
func (s *subscriptions) endWithSessionLocked(key *watchKey) {
	session := key.session
	if key.listen != nil || s.awaitedSessions[session] {
		return
	}
	s.awaitedSessions[session] = true
	go func() {
		_ = session.Wait() // the reason does not matter
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.awaitedSessions, session)
		for _, w := range s.watches {
			if w.key.session == session {
				s.removeLocked(w)
			}
		}
	}()
}

// unsubscribe ends a subscription, if it exists.
func (s *subscriptions) unsubscribe(ctx context.Context, req *protocol.UnsubscribeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[watchKey{req.Session, requestInfoOf(ctx).listen, req.Params.URI}]; w != nil {
		s.removeLocked(w)
	}
	return nil
}

// removeLocked ends a watch, and its follower if that was its last watch.
func (s *subscriptions) removeLocked(w *watch) {
	w.cancel()
	delete(s.watches, w.key)
	s.decrementLocked(w.key.owner())
	f := w.follower
	if f == nil {
		return
	}
	s.decrementLocked(f.key.client)
	if delete(f.watches, w); len(f.watches) == 0 {
		f.cancel()
		delete(s.followers, f.key)
	}
}

func (s *subscriptions) decrementLocked(key any) {
	if s.count[key]--; s.count[key] == 0 {
		delete(s.count, key)
	}
}

// awaitSession reads a conversation until the last watch is gone or the hub refuses the caller. If
// the hub refuses, it ends the listens and sessions of the remaining watches.
func (s *subscriptions) follow(ctx context.Context, f *follower, at *parley.Snapshot) {
	s.forwardChanges(ctx, f, at.LatestSeq, at.Guidance)
	left := s.removeWatches(f)
	f.cancel()
	f.release()
	if s.onLost == nil || s.life.Err() != nil {
		return
	}
	for session := range left {
		s.onLost(session)
	}
}

// forwardChanges wakes the watches after each change behind seq since.
func (s *subscriptions) forwardChanges(ctx context.Context, f *follower, since int64, last parley.Guidance) {
	for n, err := range f.key.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: f.key.conversationID,
		SinceSeq: since}) {
		if err != nil {
			return
		}
		if n.Guidance != nil && reflect.DeepEqual(n.Guidance.Guidance, last) {
			continue
		}
		if n.Guidance != nil {
			last = n.Guidance.Guidance
		}
		if n.Event != nil || n.Guidance != nil {
			s.wake(f)
		}
	}
}

// removeWatches ends the watches of a follower and their listens. It returns the sessions of the
// other watches.
func (s *subscriptions) removeWatches(f *follower) map[*protocol.ServerSession]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := map[*protocol.ServerSession]bool{}
	for w := range f.watches {
		s.removeLocked(w)
		if w.key.listen != nil {
			w.key.listen.end()
		} else {
			left[w.key.session] = true
		}
	}
	return left
}

func (s *subscriptions) wake(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range f.watches {
		w.wake()
	}
}

func (w *watch) wake() {
	select {
	case w.news <- struct{}{}:
	default: // a notification is already pending
	}
}

// sendNotifications notifies the client of changes until the watch ends.
func (s *subscriptions) sendNotifications(w *watch) {
	defer w.cancel()
	if l := w.key.listen; l != nil {
		select {
		case <-l.acked:
		case <-w.ctx.Done():
			return
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-timer.C:
		}
		select {
		case <-w.ctx.Done():
			return
		case <-w.news:
		}
		if w.ctx.Err() != nil {
			return // both cases were ready
		}
		if err := s.notify(w); err != nil && w.ctx.Err() == nil {
			s.server.opts.Logger.Debug("a subscriber was not notified", "uri", w.key.uri, "error", err)
			w.wake()
			timer.Reset(retryEvery)
			continue
		}
		timer.Reset(updateEvery)
	}
}

// notify sends one session a notification that a resource has changed.
func (s *subscriptions) notify(w *watch) error {
	ctx, cancel := context.WithTimeout(w.ctx, notifyTimeout)
	defer cancel()
	p := &protocol.ResourceUpdatedNotificationParams{URI: w.key.uri}
	if l := w.key.listen; l != nil {
		p.Meta = protocol.Meta{protocol.MetaKeySubscriptionID: l.id}
	}
	_, err := s.send(ctx, "notifications/resources/updated",
		&protocol.ServerRequest[*protocol.ResourceUpdatedNotificationParams]{Session: w.key.session, Params: p})
	return err
}
