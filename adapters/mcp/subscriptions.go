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
	// maxSubscriptions bounds the subscriptions of one session, or of one subscriptions/listen, and maxSubscriptionsOfOne those of one caller.
	maxSubscriptions, maxSubscriptionsOfOne = 64, 256
	// updateEvery is the least time between two notifications of one subscription. The last change is always told.
	updateEvery = 500 * time.Millisecond
	// retryEvery is the time between attempts to tell a session whose stream is away.
	retryEvery = 2 * time.Second
	// notifyTimeout bounds the sending of one.
	notifyTimeout = 10 * time.Second
)

// codeTooMany is the error of one subscription more than there may be.
const codeTooMany = -32000

// subscriptions tell sessions that a conversation has changed.
//
//	hub --Subscribe--> follower (one for a caller's client and a conversation) --news--> watch (one for a session and a URI) --> client
//
// Each follower reads with the client of the caller who has subscribed, and each watch gets news of its own follower only: who may not read a conversation
// hears nothing of it. A follower and its watches end together when the hub refuses the caller.
type subscriptions struct {
	server *Server
	send   protocol.MethodHandler // sends to a session; set once, before any request
	// lost, if not nil, hears of sessions that had a subscription which the hub has ended; set once, before any request.
	lost func(*protocol.ServerSession)
	life context.Context // of all followers and watches
	stop context.CancelFunc
	wg   sync.WaitGroup // followers and watches

	mu        sync.Mutex // guards the fields below
	closed    bool
	watches   map[watchKey]*watch
	followers map[followerKey]*follower
	load      map[any]int // watches by session or listen, and by client
	awaited   map[*protocol.ServerSession]bool
}

// watchKey names a subscription: listen is nil for one of resources/subscribe.
type watchKey struct {
	session *protocol.ServerSession
	listen  *listen
	uri     string
}

// holder is what the subscription ends with: the listen, or else the session.
func (k *watchKey) holder() any {
	if k.listen != nil {
		return k.listen
	}
	return k.session
}

type watch struct {
	key      watchKey
	follower *follower     // nil for a resource that is not the hub's
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

// listen is one subscriptions/listen under way.
type listen struct {
	end   context.CancelFunc
	acked chan struct{} // closed when id is set: nothing may be sent before
	id    any
}

func newSubscriptions(s *Server) *subscriptions {
	life, stop := context.WithCancel(context.Background())
	return &subscriptions{
		server: s, life: life, stop: stop, watches: map[watchKey]*watch{}, followers: map[followerKey]*follower{}, load: map[any]int{},
		awaited: map[*protocol.ServerSession]bool{},
	}
}

// close ends all subscriptions, and waits until they have.
func (s *subscriptions) close() {
	s.mu.Lock()
	s.closed = true
	s.stop()
	s.mu.Unlock()
	s.wg.Wait()
}

// meetListen lets a listen be ended from here.
func (s *Server) meetListen(ctx context.Context, o *origin, req protocol.Request, next protocol.MethodHandler) (protocol.Result, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	o.listen = &listen{end: end, acked: make(chan struct{})}
	return next(ctx, "subscriptions/listen", req)
}

// sending keeps the way to a single session, and learns the ids of listens, which the library tells nobody but their clients.
func (s *subscriptions) sending(next protocol.MethodHandler) protocol.MethodHandler {
	s.send = next
	return func(ctx context.Context, method string, req protocol.Request) (protocol.Result, error) {
		got, err := next(ctx, method, req)
		l := originOf(ctx).listen
		if ack, ok := req.GetParams().(*protocol.SubscriptionsAcknowledgedParams); ok && l != nil && err == nil {
			l.id = ack.Meta[protocol.MetaKeySubscriptionID]
			close(l.acked)
		}
		return got, err
	}
}

// subscribe lets a session hear of a resource, if the caller can read it.
func (s *subscriptions) subscribe(ctx context.Context, req *protocol.SubscribeRequest) error {
	o := originOf(ctx)
	key := watchKey{req.Session, o.listen, req.Params.URI}
	id, _, ok := parseResource(key.uri)
	if !ok {
		return s.subscribeElse(ctx, o, key)
	}
	client, release, err := s.server.opts.Connect(ctx, o.extra)
	if err != nil {
		return fault(err, hints{})
	}
	at, err := client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		release()
		return resourceFault(err, key.uri, o.version)
	}
	took, err := s.add(key, followerKey{client, id}, release, at)
	if !took {
		release()
	}
	return err
}

// subscribeElse is subscribe for a resource that somebody else has added to the server, and tells of.
func (s *subscriptions) subscribeElse(ctx context.Context, o *origin, key watchKey) error {
	r := &protocol.ReadResourceRequest{Session: key.session, Params: &protocol.ReadResourceParams{URI: key.uri}, Extra: o.extra}
	if _, err := s.server.read(ctx, "resources/read", r); err != nil {
		return sameNotFound(err, r, o)
	}
	_, err := s.add(key, followerKey{}, nil, nil)
	return err
}

// add makes a watch, and its follower if there is none; took says that the follower has taken the client over.
func (s *subscriptions) add(key watchKey, follows followerKey, release func(), at *parley.Snapshot) (took bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return false, fault(parley.Refuse(parley.ErrUnavailable, "the server is about to stop", ""), hints{})
	case s.watches[key] != nil:
		return false, nil
	case s.load[key.holder()] >= maxSubscriptions:
		return false, &jsonrpc.Error{Code: codeTooMany, Message: fmt.Sprintf("too many subscriptions: expected at most %d at once", maxSubscriptions)}
	case follows.client != nil && s.load[follows.client] >= maxSubscriptionsOfOne:
		return false, &jsonrpc.Error{Code: codeTooMany, Message: fmt.Sprintf("too many subscriptions of one caller: expected at most %d", maxSubscriptionsOfOne)}
	}
	w := &watch{key: key, news: make(chan struct{}, 1)}
	w.ctx, w.cancel = context.WithCancel(s.life)
	s.watches[key] = w
	s.load[key.holder()]++
	s.awaitLocked(&key)
	if follows.client == nil {
		return false, nil
	}
	w.follower, took = s.followerLocked(follows, release, at)
	w.follower.watches[w] = true
	s.load[follows.client]++
	s.wg.Go(func() { s.tell(w) })
	return took, nil
}

// followerLocked gives the follower of a key; made says that it is new.
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

// awaitLocked has the subscriptions of a session end with it. Those of a listen end by themselves.
// What waits for the end of a session ends with the session.
func (s *subscriptions) awaitLocked(key *watchKey) {
	session := key.session
	if key.listen != nil || s.awaited[session] {
		return
	}
	s.awaited[session] = true
	go func() {
		_ = session.Wait() // however it ends
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.awaited, session)
		for _, w := range s.watches {
			if w.key.session == session {
				s.removeLocked(w)
			}
		}
	}()
}

// unsubscribe ends a subscription, if there is one.
func (s *subscriptions) unsubscribe(ctx context.Context, req *protocol.UnsubscribeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[watchKey{req.Session, originOf(ctx).listen, req.Params.URI}]; w != nil {
		s.removeLocked(w)
	}
	return nil
}

// removeLocked ends a watch, and its follower when that was the last.
func (s *subscriptions) removeLocked(w *watch) {
	w.cancel()
	delete(s.watches, w.key)
	s.unloadLocked(w.key.holder())
	f := w.follower
	if f == nil {
		return
	}
	s.unloadLocked(f.key.client)
	if delete(f.watches, w); len(f.watches) == 0 {
		f.cancel()
		delete(s.followers, f.key)
	}
}

func (s *subscriptions) unloadLocked(key any) {
	if s.load[key]--; s.load[key] == 0 {
		delete(s.load, key)
	}
}

// follow hears of a conversation until nobody watches any more, or the hub refuses: then whoever still watches has it no more, and their listens and sessions end.
func (s *subscriptions) follow(ctx context.Context, f *follower, at *parley.Snapshot) {
	s.hear(ctx, f, at.LatestSeq, at.Guidance)
	left := s.forsake(f)
	f.cancel()
	f.release()
	if s.lost == nil || s.life.Err() != nil {
		return
	}
	for session := range left {
		s.lost(session)
	}
}

// hear tells of each change after a seq.
func (s *subscriptions) hear(ctx context.Context, f *follower, since int64, last parley.Guidance) {
	for n, err := range f.key.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: f.key.conversationID, SinceSeq: since}) {
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

// forsake ends the watches of a follower and their listens, and gives the sessions of the others.
func (s *subscriptions) forsake(f *follower) map[*protocol.ServerSession]bool {
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
	default: // it has not told of the last news yet
	}
}

// tell notifies of news until the watch ends.
func (s *subscriptions) tell(w *watch) {
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
			return // both were ready
		}
		if err := s.notify(w); err != nil && w.ctx.Err() == nil {
			s.server.opts.Logger.Debug("a subscriber was not told", "uri", w.key.uri, "error", err)
			w.wake()
			timer.Reset(retryEvery)
			continue
		}
		timer.Reset(updateEvery)
	}
}

// notify tells one session, and no other, that a resource has changed.
func (s *subscriptions) notify(w *watch) error {
	ctx, cancel := context.WithTimeout(w.ctx, notifyTimeout)
	defer cancel()
	p := &protocol.ResourceUpdatedNotificationParams{URI: w.key.uri}
	if l := w.key.listen; l != nil {
		p.Meta = protocol.Meta{protocol.MetaKeySubscriptionID: l.id}
	}
	_, err := s.send(ctx, "notifications/resources/updated", &protocol.ServerRequest[*protocol.ResourceUpdatedNotificationParams]{Session: w.key.session, Params: p})
	return err
}
