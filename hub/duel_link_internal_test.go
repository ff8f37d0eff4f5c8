package hub

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// link is the connection of one hub to the shared journal. Batches, answers and news are delayed
// and stay in order. Reads come from a replica, which lags. Messages under way are lost when the
// link is cut.
type link struct {
	*memory.Replica
	lag       time.Duration // at most
	blind     bool          // planted: a batch that comes too late is written behind what came first
	forced    bool          // planted: so is every batch, without a look at what it expects
	out, back *lane
	cut       chan struct{}
	lanes     sync.WaitGroup

	mu     sync.Mutex // guards the field below
	random *rand.Rand
}

func newLink(j *memory.Journal, lag time.Duration, random *rand.Rand) *link {
	l := &link{lag: lag, random: random, cut: make(chan struct{}), out: newLane(), back: newLane()}
	l.Replica = memory.NewReplica(j, l.delay)
	l.lanes.Go(func() { l.out.run(l) })
	l.lanes.Go(func() { l.back.run(l) })
	return l
}

func (l *link) end() {
	close(l.cut)
	l.lanes.Wait()
	l.Replica.Cut()
}

func (l *link) ended() bool {
	select {
	case <-l.cut:
		return true
	default:
		return false
	}
}

// due returns the arrival time of a message that is sent now.
func (l *link) due() time.Time { return time.Now().Add(l.delay()) }

func (l *link) delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.random.Int64N(int64(l.lag) + 1))
}

// until waits. It returns false when the link is cut.
func (l *link) until(when time.Time) bool {
	select {
	case <-time.After(time.Until(when)):
		return !l.ended()
	case <-l.cut:
		return false
	}
}

// Submit sends a batch, and its answer back.
func (l *link) Submit(b journal.Batch) {
	b = b.Sealed()
	done := b.Done
	b.Done = func(h journal.Head, err error) {
		var moved *journal.MovedError
		if l.blind && errors.As(err, &moved) {
			l.Replica.Submit(behind(b, moved.Head.Seq))
			return
		}
		l.back.put(l.due(), func() { done(h, err) })
	}
	l.out.put(l.due(), func() {
		if head, err := l.Journal.Head(b.Conversation); l.forced && err == nil && len(b.Events) > 0 {
			b = behind(b, head.Seq)
		}
		l.Replica.Submit(b)
	})
}

// behind returns a batch that follows a seq.
func behind(b journal.Batch, seq int64) journal.Batch {
	b.After, b.On = seq, nil
	events := make([][]byte, len(b.Events))
	for i, data := range b.Events {
		var e parley.Event
		if err := json.Unmarshal(data, &e); err != nil {
			panic(err) // the hub wrote it
		}
		e.Seq = seq + 1 + int64(i)
		events[i] = eventdata.AppendEvent(nil, &e)
	}
	b.Events = events
	return b
}

// lane carries calls in order, each of which arrives at its time or right behind the one before it.
type lane struct {
	wake chan struct{} // one slot

	mu    sync.Mutex // guards the field below
	calls []sent
}

// sent is a call that is under way.
type sent struct {
	due time.Time
	do  func()
}

func newLane() *lane { return &lane{wake: make(chan struct{}, 1)} }

func (a *lane) put(due time.Time, f func()) {
	a.mu.Lock()
	a.calls = append(a.calls, sent{due, f})
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default: // it is awake
	}
}

func (a *lane) take() []sent {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls = nil
	return calls
}

func (a *lane) run(l *link) {
	for {
		for _, c := range a.take() {
			if !l.until(c.due) {
				return
			}
			c.do()
		}
		select {
		case <-a.wake:
		case <-l.cut:
			return
		}
	}
}
