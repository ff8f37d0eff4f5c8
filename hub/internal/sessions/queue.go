package sessions

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// maxTasks bounds the tasks of a queue that run at once.
const maxTasks = 8

// A Queue runs a task for each conversation that is added, after it is added, and never two at once for
// one conversation. A task looks at the state, so that another run, also after a crash, changes nothing.
type Queue struct {
	engine *conv.Engine
	task   func(id string) error
	alarm  *conv.Clock   // adds conversations later
	kick   chan struct{} // one slot: a conversation was added
	slots  chan struct{}

	mu   sync.Mutex // guards the fields below
	ids  []string
	busy map[string]bool // queued or running; true: runs once more
}

// NewQueue returns a queue, which works while Run runs.
func NewQueue(e *conv.Engine, task func(id string) error) *Queue {
	q := &Queue{
		engine: e, task: task, kick: make(chan struct{}, 1), slots: make(chan struct{}, maxTasks),
		busy: make(map[string]bool),
	}
	q.alarm = conv.NewClock(e, q.Add)
	return q
}

// Add queues a conversation. It does not block, and may be called with any mutex held.
func (q *Queue) Add(id string) {
	q.mu.Lock()
	_, busy := q.busy[id]
	q.busy[id] = busy
	if !busy {
		q.ids = append(q.ids, id)
	}
	q.mu.Unlock()
	select {
	case q.kick <- struct{}{}:
	default: // a kick is pending
	}
}

// How long a hub waits until it looks whether the hub that wrote an event did what follows from it.
const (
	foreignPause  = 500 * time.Millisecond
	foreignJitter = 500 * time.Millisecond
)

// AddAfter is Add for a conversation whose state this hub or, if foreign, another hub committed. The
// other hub has time to act first, so that not all hubs act at once.
func (q *Queue) AddAfter(id string, foreign bool) {
	if !foreign {
		q.Add(id)
		return
	}
	q.addIn(id, foreignPause+rand.N(foreignJitter))
}

func (q *Queue) addIn(id string, d time.Duration) {
	q.alarm.Set(id, parley.TimestampOf(q.engine.Now().Add(d)))
}

// Run starts tasks until the hub ends.
func (q *Queue) Run() {
	q.engine.Go(q.alarm.Run)
	for {
		select {
		case <-q.engine.Context().Done():
			return
		case <-q.kick:
		}
		for id := q.next(); id != ""; id = q.next() {
			select {
			case <-q.engine.Context().Done():
				return
			case q.slots <- struct{}{}:
			}
			q.engine.Go(func() {
				defer func() { <-q.slots }()
				q.run(id)
			})
		}
	}
}

func (q *Queue) next() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ids) == 0 {
		return ""
	}
	id := q.ids[0]
	if q.ids = q.ids[1:]; len(q.ids) == 0 {
		q.ids = nil
	}
	return id
}

// run runs the task of a conversation, and again if the conversation was added meanwhile. It does
// nothing when the hub drains, because the next start queues every conversation.
func (q *Queue) run(id string) {
	for again := true; again; {
		q.mu.Lock()
		q.busy[id] = false
		q.mu.Unlock()
		if q.engine.Begin() == nil {
			if err := q.task(id); err != nil && q.engine.Err() == nil {
				q.engine.Log().Debug("a task is tried again", "conversation", id, "error", err)
				pause := conv.RetryWrite
				if errors.Is(err, conv.ErrUnread) {
					pause = conv.RetryRead
				}
				q.addIn(id, pause)
			}
			q.engine.End()
		}
		q.mu.Lock()
		if again = q.busy[id]; !again {
			delete(q.busy, id)
		}
		q.mu.Unlock()
	}
}
