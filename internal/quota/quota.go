// Package quota divides a resource, such as memory, among many users, so that one user cannot take
// all of it.
package quota

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Quota is an amount of a resource. Each user can hold a limited part of it. All methods may be
// called from any goroutine.
type Quota struct {
	all   *semaphore.Weighted
	ofOne int64

	mu    sync.Mutex // guards the field below
	users map[string]*user
}

// user has the share of one user. It is deleted when no call uses it.
type user struct {
	room  *semaphore.Weighted
	calls int
}

// New returns a quota of the amount all. Each user can hold at most ofOne.
func New(all, ofOne int64) *Quota {
	return &Quota{all: semaphore.NewWeighted(all), ofOne: ofOne, users: map[string]*user{}}
}

// Acquire waits for an amount n for a user, at most ofOne. The caller must call release. If ctx
// ends first, Acquire returns the error of ctx.
func (q *Quota) Acquire(ctx context.Context, who string, n int64) (release func(), err error) {
	u := q.enter(who)
	if err = u.room.Acquire(ctx, n); err != nil {
		q.leave(who, u)
		return nil, err
	}
	if err = q.all.Acquire(ctx, n); err != nil {
		u.room.Release(n)
		q.leave(who, u)
		return nil, err
	}
	return func() {
		q.all.Release(n)
		u.room.Release(n)
		q.leave(who, u)
	}, nil
}

func (q *Quota) enter(who string) *user {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.users[who]
	if u == nil {
		u = &user{room: semaphore.NewWeighted(q.ofOne)}
		q.users[who] = u
	}
	u.calls++
	return u
}

func (q *Quota) leave(who string, u *user) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if u.calls--; u.calls == 0 {
		delete(q.users, who)
	}
}

// Users returns the number of users that hold a part of the quota or wait for one.
func (q *Quota) Users() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.users)
}
