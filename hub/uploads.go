package hub

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/parleyhub/parley"
)

// What uploads may hold in memory at once, in bytes: all of them, and those of one token. So nobody who sends slowly holds up everybody.
const (
	maxUploadBytes      = 64 << 20
	maxUploadBytesOfOne = 32 << 20
	// uploadWait is how long an upload waits for room.
	uploadWait = 10 * time.Second
)

// uploads bounds the files that are on their way.
type uploads struct {
	all  *semaphore.Weighted
	life context.Context // ends when the hub drains: nobody waits any more
	end  context.CancelFunc

	mu     sync.Mutex // guards the field below
	tokens map[string]*share
}

// share is the room of one token; it is forgotten when nobody uses it.
type share struct {
	room  *semaphore.Weighted
	users int
}

func newUploads() *uploads {
	u := &uploads{all: semaphore.NewWeighted(maxUploadBytes), tokens: make(map[string]*share)}
	u.life, u.end = context.WithCancel(context.Background())
	return u
}

// acquire waits for room for n bytes; the caller owes a release. It fails with ErrUnavailable when there is none for too long.
func (u *uploads) acquire(ctx context.Context, p *Principal, n int64) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, uploadWait)
	defer cancel()
	defer context.AfterFunc(u.life, cancel)()
	who := p.TokenID
	if who == "" {
		who = "in process: " + p.AgentID
	}
	s := u.take(who)
	if err = s.room.Acquire(waiting, n); err != nil {
		u.give(who, s)
		return nil, u.noRoom(ctx)
	}
	if err = u.all.Acquire(waiting, n); err != nil {
		s.room.Release(n)
		u.give(who, s)
		return nil, u.noRoom(ctx)
	}
	return func() {
		u.all.Release(n)
		s.room.Release(n)
		u.give(who, s)
	}, nil
}

// noRoom says why there was no room: the call has ended, the hub stops, or others took all.
func (u *uploads) noRoom(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if u.life.Err() != nil {
		return errDraining
	}
	return &parley.Error{Err: parley.ErrUnavailable, Message: "too many files are on their way to the hub", RetryAfterMs: 1000}
}

func (u *uploads) take(who string) *share {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.tokens[who]
	if s == nil {
		s = &share{room: semaphore.NewWeighted(maxUploadBytesOfOne)}
		u.tokens[who] = s
	}
	s.users++
	return s
}

func (u *uploads) give(who string, s *share) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(u.tokens, who)
	}
}
