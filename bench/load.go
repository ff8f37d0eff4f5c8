package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// LoadOptions are for NewLoad.
type LoadOptions struct {
	// Conns is the number of connections, and InFlight how many calls are under way on each.
	Conns    int
	InFlight int
	// Size is the length of a message's text in bytes.
	Size int
	// Conversations is how many the appends are spread over, at random.
	Conversations int

	acked *atomic.Int64 // nil, or counts acknowledgements as they come
}

// pipelinedBytes bounds what is on its way on one connection with more than one call in flight: no
// more than a socket holds both ways.
const pipelinedBytes = 256 << 10

func (o LoadOptions) check() error {
	switch {
	case o.Conns < 1 || o.Conns > 8000:
		return fmt.Errorf("connections: %d: expected 1 to 8000", o.Conns)
	case o.InFlight < 1 || o.InFlight > limits.MaxInFlight:
		return fmt.Errorf("in flight: %d: expected 1 to %d", o.InFlight, limits.MaxInFlight)
	case o.Conversations < 1 || o.Conversations > 100_000:
		return fmt.Errorf("conversations: %d: expected 1 to 100000", o.Conversations)
	case o.Size < 1 || o.Size > 512<<10:
		return fmt.Errorf("size: %d: expected 1 to %d bytes", o.Size, 512<<10)
	case o.InFlight > 1 && o.InFlight*o.Size > pipelinedBytes:
		return fmt.Errorf("size: %d: expected at most %d bytes with %d calls in flight", o.Size, pipelinedBytes/o.InFlight,
			o.InFlight)
	}
	return nil
}

// Load appends messages to a hub, or sends the same frames to a bare echo. Each connection has as
// many calls under way as it may: with an answer comes the next call. An append counts when its
// acknowledgement was read, and that means that it is durable.
type Load struct {
	side
	frameBytes int
}

// NewLoad connects, and makes the conversations in a hub. End it with Close; the conversations stay
// as they are.
func NewLoad(ctx context.Context, t Target, o LoadOptions) (*Load, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ids, err := makeConversations(ctx, &t, o.Conversations)
	if err != nil {
		return nil, err
	}
	return newLoad(ctx, t, o, ids)
}

// newLoad is NewLoad for conversations that are there.
func newLoad(ctx context.Context, t Target, o LoadOptions, ids []string) (*Load, error) {
	sockets, err := dialAll(ctx, &t, "", o.Conns)
	if err != nil {
		return nil, err
	}
	l := &Load{side: side{target: t}}
	for i, s := range sockets {
		a := newAppender(s, i, ids, &o, t.bare())
		l.frameBytes = a.frameBytes()
		l.workers = append(l.workers, a)
	}
	return l, nil
}

// Append appends for d, and then waits for the answers that are still to come.
func (l *Load) Append(ctx context.Context, d time.Duration) (Rate, error) { return l.slice(ctx, d) }

// FrameBytes is the length of one call.
func (l *Load) FrameBytes() int { return l.frameBytes }

// dialers is how many connections are made at once.
const dialers = 16

// dialAll opens n sockets.
func dialAll(ctx context.Context, t *Target, route string, n int) ([]*socket, error) {
	return openAll(ctx, n, func(ctx context.Context, _ int) (*socket, error) { return t.dial(ctx, route) })
}

// openAll opens n sockets, some at once.
func openAll(ctx context.Context, n int, open func(ctx context.Context, i int) (*socket, error)) ([]*socket, error) {
	sockets := make([]*socket, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(dialers)
	for i := range sockets {
		g.Go(func() (err error) {
			if sockets[i], err = open(ctx, i); err != nil {
				err = fmt.Errorf("connection %d: %w", i+1, err)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		closeSockets(sockets)
		return nil, err
	}
	return sockets, nil
}

func closeSockets(sockets []*socket) {
	for _, s := range sockets {
		s.close()
	}
}

// runID distinguishes the conversations of one run from those of other runs in the same hub.
var runID = sync.OnceValue(func() string {
	var b [4]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
})

// made counts the sets of conversations of this process.
var made struct {
	sync.Mutex
	n int
}

// makeConversations makes n conversations in which an append never waits for a turn and meets no
// limit. For a bare server it makes names only.
func makeConversations(ctx context.Context, t *Target, n int) ([]string, error) {
	made.Lock()
	made.n++
	set := fmt.Sprintf("bench-%s-%d", runID(), made.n)
	made.Unlock()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s-%d", set, i)
	}
	if t.bare() {
		return ids, nil
	}
	return ids, t.eachOf(ctx, ids, create)
}

// closeConversations closes conversations, and one that is closed already is left so.
func closeConversations(ctx context.Context, t *Target, ids []string) error {
	return t.eachOf(ctx, ids, func(s *socket, id string) error {
		_, err := s.call(methods.CloseConversation, &parley.CloseConversationParams{ConversationID: id})
		return err
	})
}

// eachOf does something with every one of ids, on a few sockets.
func (t *Target) eachOf(ctx context.Context, ids []string, do func(s *socket, id string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for w := range min(len(ids), dialers) {
		g.Go(func() error { return t.someOf(ctx, ids, w, do) })
	}
	return g.Wait()
}

// someOf does it with every dialers-th, from one on.
func (t *Target) someOf(ctx context.Context, ids []string, from int, do func(s *socket, id string) error) error {
	s, err := t.dial(ctx, "")
	if err != nil {
		return err
	}
	defer s.close()
	stop := context.AfterFunc(ctx, s.close)
	defer stop()
	for i := from; i < len(ids); i += dialers {
		if err := do(s, ids[i]); err != nil {
			return err
		}
	}
	return nil
}

func create(s *socket, id string) error {
	_, err := s.call(methods.CreateConversation, &parley.CreateConversationParams{
		ConversationID: id,
		Participants:   []parley.Participant{{ID: benchAgent, Kind: parley.KindAgent}},
		Policy:         &parley.Policy{Kind: parley.PolicyOpen},
		Limits:         &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	})
	return err
}
