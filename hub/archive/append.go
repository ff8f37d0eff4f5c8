package archive

import (
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
)

// Bounds of the batches that an import has submitted.
const (
	runEvents   = 256
	runBytes    = 128 << 10
	windowBytes = 16 << 20
	batchCost   = 1 << 10 // of a batch, besides its events
)

// appender appends the events of an archive in their order. Consecutive events of one conversation
// share a batch, up to a size, so that many share a commit.
type appender struct {
	ctx      context.Context
	journal  journal.Journal
	imported Imported
	there    map[string]int64          // the number of events that the journal had, by conversation
	files    map[journal.Hash]struct{} // that events name
	run      journal.Batch             // the batch that is filled
	runBytes int

	window  *semaphore.Weighted
	pending sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	failed error      // of the first append that failed
	added  int64      // events that the journal took
}

func newAppender(ctx context.Context, j journal.Journal) *appender {
	return &appender{
		ctx: ctx, journal: j, window: semaphore.NewWeighted(windowBytes),
		there: map[string]int64{}, files: map[journal.Hash]struct{}{},
	}
}

func (a *appender) attachment(l *attachmentLine) error {
	_, err := a.journal.GetBlob(l.hash)
	if err != nil { // it is missing, or damaged and repaired by this
		_, err = a.journal.PutBlob(l.data)
	}
	return err
}

func (a *appender) event(l *eventLine, e *parley.Event, head journal.Head, _ bool) error {
	if err := a.lacks(e); err != nil {
		return err
	}
	there, err := a.presentIn(l.conversation)
	if err != nil {
		return err
	}
	if l.seq <= there {
		a.imported.Present++
		return nil
	}
	labels, err := labelsOf(l.conversation, e)
	if err != nil {
		return err
	}
	if l.conversation != a.run.Conversation || labels != nil || len(a.run.Events) == runEvents ||
		a.runBytes+len(l.data) > runBytes {
		if err := a.submit(); err != nil {
			return err
		}
		a.run = journal.Batch{Conversation: l.conversation, After: l.seq - 1, Labels: labels}
	}
	a.run.Events = append(a.run.Events, slices.Clone(l.data))
	a.run.Final = head.Final
	a.runBytes += len(l.data)
	return nil
}

// lacks counts a file that an event names, if the journal has no intact copy.
func (a *appender) lacks(e *parley.Event) error {
	h, _, err := attachmentOf(e)
	if err != nil || h == nil {
		return err
	}
	if _, known := a.files[*h]; known {
		return nil
	}
	a.files[*h] = struct{}{}
	_, err = a.journal.GetBlob(*h)
	if isLost(err) {
		a.imported.Missing++
		return nil
	}
	return err
}

// presentIn returns how many events of a conversation the journal had at the start of the import.
func (a *appender) presentIn(conversation string) (int64, error) {
	if n, known := a.there[conversation]; known {
		return n, nil
	}
	head, err := a.journal.Head(conversation)
	a.there[conversation] = head.Seq
	return head.Seq, err
}

// labelsOf returns the labels that the hub writes with an event. Reserved conversations have none.
func labelsOf(conversation string, e *parley.Event) ([]string, error) {
	if e.Type != parley.TypeSystem || strings.HasPrefix(conversation, "~") {
		return nil, nil
	}
	sys, err := e.System()
	if err != nil {
		return nil, err
	}
	return eventdata.Labels(&sys), nil
}

// submit submits the batch to the journal once the window has room.
func (a *appender) submit() error {
	b := a.run
	if len(b.Events) == 0 {
		return a.failure()
	}
	cost := min(int64(a.runBytes)+batchCost, windowBytes)
	a.run, a.runBytes = journal.Batch{}, 0
	if err := a.window.Acquire(a.ctx, cost); err != nil {
		return err
	}
	a.pending.Add(1)
	b.Done = func(_ journal.Head, err error) {
		a.done(len(b.Events), err)
		a.window.Release(cost)
		a.pending.Done()
	}
	a.journal.Submit(b)
	return a.failure()
}

// done records the outcome of a batch of n events.
func (a *appender) done(n int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.added += int64(n)
	}
	if a.failed == nil {
		a.failed = err
	}
}

func (a *appender) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}
