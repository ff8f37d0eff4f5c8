package memory

import (
	"sync"
	"time"

	"github.com/parleyhub/parley/hub/journal"
)

var _ journal.Journal = (*Replica)(nil)

// Replica is a journal in memory as one of several hubs has it on a network: batches go to the journal itself, and what is read is what has come of it so far. A batch is answered
// once the replica has everything that was committed by then. Make one with NewReplica.
type Replica struct {
	*Journal // the journal itself: for what is not read from the replica

	lag   func() time.Duration
	view  *Journal // what has come; it commits nothing
	end   chan struct{}
	ended chan struct{}

	mu      sync.Mutex // guards the fields below
	held    chan struct{}
	upTo    journal.Position // what is behind it does not come; 0: everything does
	answers []answer
	news    chan struct{} // one slot: there is an answer
}

// answer is a Done that waits until the replica is at a position.
type answer struct {
	at   journal.Position
	call func()
}

// NewReplica gives a replica of j. What is committed comes to it after a time that lag gives, in order. It does not close j.
func NewReplica(j *Journal, lag func() time.Duration) *Replica {
	r := &Replica{
		Journal: j, lag: lag, view: &Journal{watch: make(chan struct{}), states: make(map[string]state), store: newStore()},
		end: make(chan struct{}), ended: make(chan struct{}), news: make(chan struct{}, 1),
	}
	r.apply() // a hub begins with what there is
	go r.run()
	return r
}

// Pause keeps anything from coming until Resume, Cut or Close.
func (r *Replica) Pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = make(chan struct{})
	}
}

// PauseAt keeps anything behind a position from coming until Resume.
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

// wakeUp has it look again. It does not wait.
func (r *Replica) wakeUp() {
	select {
	case r.news <- struct{}{}:
	default: // it is awake
	}
}

// last gives up to where it shall come.
func (r *Replica) last() journal.Position {
	last := r.Journal.Last()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.upTo > 0 {
		return min(last, r.upTo)
	}
	return last
}

// Cut ends the replica: nothing comes any more, and what was not answered never is.
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

// apply takes in what the journal has now.
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

// answer calls what need not wait any more.
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

// Head gives a head as far as it has come; so do all that read.
func (r *Replica) Head(conversation string) (journal.Head, error) { return r.view.Head(conversation) }

// Read gives records of a conversation.
func (r *Replica) Read(conversation string, after int64, limit, maxBytes int) ([]journal.Record, error) {
	return r.view.Read(conversation, after, limit, maxBytes)
}

// Last gives the position of the last record that has come.
func (r *Replica) Last() journal.Position { return r.view.Last() }

// Scan gives records in commit order.
func (r *Replica) Scan(after journal.Position, limit, maxBytes int) ([]journal.Record, error) {
	return r.view.Scan(after, limit, maxBytes)
}

// Watch gives a channel that is closed when more comes.
func (r *Replica) Watch() <-chan struct{} { return r.view.Watch() }

// Open gives the conversations that are not final.
func (r *Replica) Open(after string, limit int) ([]string, error) { return r.view.Open(after, limit) }

// Labeled gives the conversations that have a label.
func (r *Replica) Labeled(label string, after journal.Position, limit int) ([]journal.Listed, error) {
	return r.view.Labeled(label, after, limit)
}

// LabeledBefore is Labeled the other way.
func (r *Replica) LabeledBefore(label string, before journal.Position, limit int) ([]journal.Listed, error) {
	return r.view.LabeledBefore(label, before, limit)
}

// SaveState keeps a derived state beside the replica, LoadState gives it back.
func (r *Replica) SaveState(conversation string, seq int64, data []byte) error {
	return r.view.SaveState(conversation, seq, data)
}

// LoadState gives a state that was kept.
func (r *Replica) LoadState(conversation string) (int64, []byte, error) {
	return r.view.LoadState(conversation)
}
