package hub

import (
	"context"
	"time"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/quota"
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
	room *quota.Quota
	life context.Context // ends when the hub drains: nobody waits any more
	end  context.CancelFunc
}

func newUploads() *uploads {
	u := &uploads{room: quota.New(maxUploadBytes, maxUploadBytesOfOne)}
	u.life, u.end = context.WithCancel(context.Background())
	return u
}

// acquire waits for room for n bytes; the caller owes a release. It fails with ErrUnavailable when there is none for too long.
func (u *uploads) acquire(ctx context.Context, p *auth.Principal, n int64) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, uploadWait)
	defer cancel()
	defer context.AfterFunc(u.life, cancel)()
	who := p.Account
	if who == "" {
		who = "in process: " + p.AgentID
	}
	if release, err = u.room.Acquire(waiting, who, n); err != nil {
		return nil, u.noRoom(ctx)
	}
	return release, nil
}

// noRoom says why there was no room: the call has ended, the hub stops, or others took all.
func (u *uploads) noRoom(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if u.life.Err() != nil {
		return conv.ErrDraining
	}
	return &parley.Error{Err: parley.ErrUnavailable, Message: "too many files are on their way to the hub", RetryAfterMs: 1000}
}
