package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// FanOptions are for NewFan.
type FanOptions struct {
	// Subscribers is the number of subscribers of one conversation, each with its own socket.
	Subscribers int
	// Size is the length of a message's text in bytes.
	Size int
	// Bare says what a bare server sends instead of events.
	Bare Order
}

// Order is what a bare server is asked for: frames of so many bytes, which are made once and of
// which so many go out with one write.
type Order struct {
	Bytes    int `json:"bytes"`
	Frames   int `json:"frames"`
	PerWrite int `json:"perWrite"`
}

// maxSubscribers leaves room for files under the limit that systems usually set.
const maxSubscribers = 19_000

func (o FanOptions) check() error {
	switch {
	case o.Subscribers < 1 || o.Subscribers > maxSubscribers:
		return fmt.Errorf("subscribers: %d: expected 1 to %d", o.Subscribers, maxSubscribers)
	case o.Size < 1 || o.Size > 64<<10:
		return fmt.Errorf("size: %d: expected 1 to %d bytes", o.Size, 64<<10)
	}
	return nil
}

// Fan is one conversation with many subscribers, and one who writes to it. Against a bare server it
// asks for frames to as many sockets.
type Fan struct {
	target       Target
	options      FanOptions
	conversation string
	publisher    *socket
	readers      []*reader

	wg        sync.WaitGroup // the readers
	published int            // events
	bytes     atomic.Int64   // of a frame that was delivered

	awaited atomic.Int64 // deliveries that are still to come
	all     chan struct{}
	failed  chan error
	paced   atomic.Pointer[pacedRun] // nil: times of single events are not taken
}

// pacedRun is what a paced run notes of each event.
type pacedRun struct {
	before  int            // events published before the run
	awaited []atomic.Int64 // deliveries that are still to come
	lastAt  []time.Time    // when they had all come
}

// reader is a subscriber. Its goroutine reads until the socket is closed.
type reader struct {
	*socket
	fan  *Fan
	seen int // events
	now  int // events of one read
	take func([]byte) error
}

// NewFan connects and subscribes. End it with Close.
func NewFan(ctx context.Context, t Target, o FanOptions) (f *Fan, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f = &Fan{target: t, options: o, failed: make(chan error, 1)}
	ids, err := makeConversations(ctx, &t, 1)
	if err != nil {
		return nil, err
	}
	f.conversation = ids[0]
	publisherRoute, readerRoute := "", ""
	if t.bare() {
		publisherRoute, readerRoute = bareShout, bareListen
	}
	if f.publisher, err = t.dial(ctx, publisherRoute); err != nil {
		return nil, err
	}
	sockets, err := dialAll(ctx, &t, readerRoute, o.Subscribers)
	if err != nil {
		f.publisher.close()
		return nil, err
	}
	for _, s := range sockets {
		r := &reader{socket: s, fan: f}
		r.take = r.event
		f.readers = append(f.readers, r)
	}
	if err := f.subscribe(ctx); err != nil {
		f.publisher.close()
		closeSockets(sockets)
		return nil, err
	}
	for _, r := range f.readers {
		f.wg.Go(r.run)
	}
	return f, nil
}

// subscribe subscribes all readers of a hub from the end of the log.
func (f *Fan) subscribe(ctx context.Context) error {
	if f.target.bare() {
		return nil
	}
	stop := context.AfterFunc(ctx, f.cut)
	defer stop()
	for _, r := range f.readers {
		if err := subscribeTo(r.socket, f.conversation); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
	return nil
}

// subscribeTo subscribes to the events that are still to come, and waits until nothing older can
// come.
func subscribeTo(s *socket, conversation string) error {
	current := false
	answer, err := s.callAside(methods.Subscribe, &parley.SubscribeParams{ConversationID: conversation},
		func(frame []byte) {
			current = current || isCaughtUp(frame)
		})
	if err != nil {
		return err
	}
	for !current {
		err := s.read(func(frame []byte) error {
			current = current || isCaughtUp(frame)
			return nil
		})
		if err != nil {
			return fmt.Errorf("after %.80s: %w", answer, err)
		}
	}
	return nil
}

// run reads until the socket is closed.
func (r *reader) run() {
	for {
		r.now = 0
		err := r.read(r.take)
		if err == nil {
			err = r.flush()
		}
		if err != nil {
			r.fan.fail(err)
			return
		}
		if r.now > 0 {
			r.fan.delivered(r)
		}
	}
}

// event counts an event. It ignores other notifications, such as guidance.
func (r *reader) event(frame []byte) error {
	if !isEvent(frame) {
		return nil
	}
	if r.seen == 0 && r.now == 0 {
		r.fan.bytes.Store(int64(len(frame)))
	}
	r.now++
	return nil
}

// delivered counts what one read has brought.
func (f *Fan) delivered(r *reader) {
	from := r.seen
	r.seen += r.now
	if p := f.paced.Load(); p != nil {
		p.note(from, r.seen)
	}
	if f.awaited.Add(-int64(r.now)) == 0 {
		close(f.all)
	}
}

// note takes the time of events that were delivered, by how many had been published before.
func (p *pacedRun) note(from, to int) {
	now := time.Now()
	for i := max(from, p.before) - p.before; i < min(to-p.before, len(p.awaited)); i++ {
		if p.awaited[i].Add(-1) == 0 {
			p.lastAt[i] = now
		}
	}
}

func (f *Fan) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}

// Burst writes events as fast as they go, and waits until every subscriber has all of them. The
// rate is of deliveries, and the server's CPU that of the appends too.
func (f *Fan) Burst(ctx context.Context, events int) (Rate, error) {
	if events < 1 {
		return Rate{}, fmt.Errorf("events: %d: expected at least 1", events)
	}
	f.expect(events)
	use := startUsage(&f.target)
	if err := f.publish(events); err != nil {
		return Rate{}, err
	}
	if err := f.wait(ctx); err != nil {
		return Rate{}, err
	}
	use.stop()
	return use.rate(events*len(f.readers), nil), nil
}

// Paced writes one event after every pause. The rate is of deliveries; its times are those of
// events, from when one was sent until the last subscriber had it.
func (f *Fan) Paced(ctx context.Context, events int, pause time.Duration) (Rate, error) {
	if events < 1 || pause <= 0 {
		return Rate{}, fmt.Errorf("events: %d, one each %s: expected at least 1, and more than no time between them", events,
			pause)
	}
	p := &pacedRun{before: f.published, awaited: make([]atomic.Int64, events), lastAt: make([]time.Time, events)}
	for i := range p.awaited {
		p.awaited[i].Store(int64(len(f.readers)))
	}
	f.paced.Store(p)
	defer f.paced.Store(nil)
	f.expect(events)
	sent := make([]time.Time, events)
	use := startUsage(&f.target)
	for i := range sent {
		if err := sleep(ctx, time.Until(use.start.Add(time.Duration(i)*pause))); err != nil {
			return Rate{}, err
		}
		sent[i] = time.Now()
		if err := f.publish(1); err != nil {
			return Rate{}, err
		}
	}
	if err := f.wait(ctx); err != nil {
		return Rate{}, err
	}
	use.stop()
	took := make([]time.Duration, events)
	for i := range took {
		took[i] = p.lastAt[i].Sub(sent[i])
	}
	return use.rate(events*len(f.readers), took), nil
}

// expect prepares for events more to each reader.
func (f *Fan) expect(events int) {
	f.all = make(chan struct{})
	f.awaited.Store(int64(events) * int64(len(f.readers)))
}

// publish writes events, or orders as many frames.
func (f *Fan) publish(events int) error {
	if err := f.publisher.wake(); err != nil {
		return err
	}
	defer f.publisher.rest()
	defer func() { f.published += events }()
	if f.target.bare() {
		order := f.options.Bare
		order.Frames = events
		return f.publisher.order(order)
	}
	return f.publisher.post(f.conversation, f.published, events, f.options.Size)
}

// wait waits until all is delivered.
func (f *Fan) wait(ctx context.Context) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-f.all:
		return nil
	case err := <-f.failed:
		return err
	case <-late.C:
		return fmt.Errorf("%w: %d deliveries are missing", errPatience, f.awaited.Load())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// FrameBytes is the length of the frame of an event; 0 before there was one.
func (f *Fan) FrameBytes() int { return int(f.bytes.Load()) }

func (f *Fan) cut() {
	f.publisher.close()
	for _, r := range f.readers {
		r.close()
	}
}

// Close closes the connections and waits for the readers.
func (f *Fan) Close() {
	f.cut()
	f.wg.Wait()
}
