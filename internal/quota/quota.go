// Package quota shares out room, such as memory, among many users, so that one of them alone cannot
// take it all.
package quota

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Quota is an amount of room, of which one user has at most a part. All methods may be called from
// any goroutine.
type Quota struct {
	all   *semaphore.Weighted
	ofOne int64

	mu    sync.Mutex // guards the field below
	users map[string]*user
}

// user is the room of one; it is forgotten when nobody uses it.
type user struct {
	room  *semaphore.Weighted
	calls int
}

// New makes a quota of so much room, of which one user has at most ofOne.
func New(all, ofOne int64) *Quota {
	return &Quota{all: semaphore.NewWeighted(all), ofOne: ofOne, users: map[string]*user{}}
}

// Acquire waits for n of the room, at most what one user may have; the caller owes one release. It
// fails with ctx's error.
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

// Users counts those who have some of the room or wait for it.
func (q *Quota) Users() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.users)
}
