package memory

import (
	"sync"
	"time"

	"github.com/parleyhub/parley/hub/journal"
)

var _ journal.Journal = (*Replica)(nil)

// Replica is the view that one of several hubs has of a journal over a network. Batches go to the
// journal, and reads return what has reached the replica. A batch is answered once the replica has
// everything that was committed before. See NewReplica.
type Replica struct {
	*Journal // the journal, for everything that is not read from the replica

	lag   func() time.Duration
	view  *Journal // what reached the replica; it commits nothing
	end   chan struct{}
	ended chan struct{}

	mu      sync.Mutex // guards the fields below
	held    chan struct{}
	upTo    journal.Position // later records do not reach the replica; 0: no limit
	answers []answer
	news    chan struct{} // one slot: there is an answer
}

// answer is a Done that waits until the replica reaches a position.
type answer struct {
	at   journal.Position
	call func()
}

// NewReplica returns a replica of j. Commits reach it in order, after the time that lag returns. It
// does not close j.
func NewReplica(j *Journal, lag func() time.Duration) *Replica {
	r := &Replica{
		Journal: j, lag: lag, view: &Journal{watch: make(chan struct{}), states: make(map[string]state), store: newStore()},
		end: make(chan struct{}), ended: make(chan struct{}), news: make(chan struct{}, 1),
	}
	r.apply() // a hub starts with the existing records
	go r.run()
	return r
}

// Pause stops the replica until Resume, Cut or Close.
func (r *Replica) Pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = make(chan struct{})
	}
}

// PauseAt stops the replica at a position until Resume.
func (r *Replica) PauseAt(at journal.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.upTo = at
}

// Resume ends Pause and PauseAt.
func (r *Replica) Resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.upTo = 0
	if r.held != nil {
		close(r.held)
		r.held = nil
	}
	r.wakeUp()
}

// wakeUp wakes the replica. It does not block.
func (r *Replica) wakeUp() {
	select {
	case r.news <- struct{}{}:
	default: // a wake-up is pending
	}
}

// last returns the position that the replica may reach.
func (r *Replica) last() journal.Position {
	last := r.Journal.Last()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.upTo > 0 {
		return min(last, r.upTo)
	}
	return last
}

// Cut ends the replica. Batches without an answer never get one.
func (r *Replica) Cut() {
	close(r.end)
	<-r.ended
	r.view.mu.Lock()
	defer r.view.mu.Unlock()
	r.view.closed = true
	close(r.view.watch)
	r.view.watch = make(chan struct{})
}

// Close is Cut.
func (r *Replica) Close() error {
	r.Cut()
	return nil
}

func (r *Replica) run() {
	defer close(r.ended)
	for {
		changed := r.Journal.Watch()
		if r.last() > r.view.Last() {
			if !r.until(time.After(r.lag())) || !r.resumed() {
				return
			}
			r.apply()
		}
		r.answer()
		select {
		case <-r.end:
			return
		default:
		}
		if r.last() > r.view.Last() {
			continue
		}
		select {
		case <-changed:
		case <-r.news:
		case <-r.end:
			return
		}
	}
}

func (r *Replica) until(when <-chan time.Time) bool {
	select {
	case <-when:
		return true
	case <-r.end:
		return false
	}
}

// resumed waits while the replica is paused.
func (r *Replica) resumed() bool {
	r.mu.Lock()
	held := r.held
	r.mu.Unlock()
	if held == nil {
		return true
	}
	select {
	case <-held:
		return true
	case <-r.end:
		return false
	}
}

// apply adds the new records of the journal.
func (r *Replica) apply() {
	at := r.view.Last()
	more := int(r.last()) - int(at)
	if more <= 0 {
		return
	}
	records, err := r.Journal.Scan(at, more, 1<<40)
	if err != nil {
		return // it is closed
	}
	v := r.view
	v.mu.Lock()
	defer v.mu.Unlock()
	v.store.append(records)
	close(v.watch)
	v.watch = make(chan struct{})
}

// answer calls every Done whose position is reached.
func (r *Replica) answer() {
	at := r.view.Last()
	r.mu.Lock()
	n := 0
	for n < len(r.answers) && r.answers[n].at <= at {
		n++
	}
	due := r.answers[:n:n]
	r.answers = r.answers[n:]
	r.mu.Unlock()
	for _, a := range due {
		a.call()
	}
}

// Submit sends a batch to the journal.
func (r *Replica) Submit(b journal.Batch) {
	done := b.Done
	b.Done = func(h journal.Head, err error) {
		r.mu.Lock()
		r.answers = append(r.answers, answer{r.Journal.Last(), func() { done(h, err) }})
		r.mu.Unlock()
		r.wakeUp()
	}
	r.Journal.Submit(b)
}

// Head returns a head as far as the replica has it, like all reads.
func (r *Replica) Head(conversation string) (journal.Head, error) { return r.view.Head(conversation) }

// Read returns records of a conversation.
func (r *Replica) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	return r.view.Read(conversation, after, limit, maxBytes)
}

// Last returns the position of the last record of the replica.
func (r *Replica) Last() journal.Position { return r.view.Last() }

// Scan returns records in commit order.
func (r *Replica) Scan(after journal.Position, limit, maxBytes int) ([]journal.Record, error) {
	return r.view.Scan(after, limit, maxBytes)
}

// Watch returns a channel that the next new record closes.
func (r *Replica) Watch() <-chan struct{} { return r.view.Watch() }

// Open returns the conversations that are not final.
func (r *Replica) Open(after string, limit int) ([]string, error) { return r.view.Open(after, limit) }

// Labeled returns the conversations that have a label.
func (r *Replica) Labeled(label string, after journal.Position, limit int) ([]journal.Listed, error) {
	return r.view.Labeled(label, after, limit)
}

// LabeledBefore is Labeled in the reverse order.
func (r *Replica) LabeledBefore(label string, before journal.Position, limit int) ([]journal.Listed, error) {
	return r.view.LabeledBefore(label, before, limit)
}

// SaveState stores a derived state beside the replica.
func (r *Replica) SaveState(conversation string, seq int64, data []byte) error {
	return r.view.SaveState(conversation, seq, data)
}

// LoadState returns a stored state.
func (r *Replica) LoadState(conversation string) (int64, []byte, error) {
	return r.view.LoadState(conversation)
}
