package simulation

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/promise"
)

// history has all answers to all clients, with their times.
type history struct {
	stamps atomic.Int64

	mu       sync.Mutex // guards the fields below
	sayings  map[string]*saying
	reads    []read
	pages    []page
	told     []told
	waits    []waiting
	feeds    []*feed
	claims   []claiming
	closings []closing
	starts   map[string]*starting // of sessions, by key
	written  map[string]time.Time // of each event, by placeOf
	problems map[promise.ID][]string
	story    []string
}

// noPromise is where problems go that break none by name.
const noPromise promise.ID = 0

func newHistory() history {
	return history{
		sayings: make(map[string]*saying), starts: make(map[string]*starting), written: make(map[string]time.Time),
		problems: make(map[promise.ID][]string),
	}
}

// outcome is what a caller knows of its call.
type outcome string

const (
	acked     outcome = "acked"
	refused   outcome = "refused"
	uncertain outcome = "unknown"
)

// outcomeOf returns what an error says.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return acked
	case errors.Is(err, parley.ErrOutcomeUnknown) && !errors.Is(err, errDown):
		return uncertain
	}
	return refused
}

// saying is something that was said, however often it was sent. No two say the same text.
type saying struct {
	text, conversation, from, key string
	claim                         string
	tries                         []try
}

// try is one call.
type try struct {
	begin, end int64
	outcome    outcome
	seq        int64
	duplicate  bool
	err        error
	// batch names those that were sent in order on one socket, and place is the place among them;
	// empty when it was sent alone.
	batch string
	place int
}

// read is a seq that a client received as the end of a log.
type read struct {
	conversation string
	begin, end   int64
	latest       int64
}

// page is what someone who sees everything has read of a log at once.
type page struct {
	conversation string
	since, next  int64
	events       []parley.Event
}

// told is guidance that a client received.
type told struct {
	conversation, who, how string
	seq                    int64
	guidance               parley.Guidance
	// exact says that there is nothing in it but what is from the log.
	exact bool
}

// waiting is a wait whose answer came on the connection on which it was asked.
type waiting struct {
	conversation string
	since        int64
	timeout      time.Duration
	began, ended time.Time
	latest       int64
	timedOut     bool
}

// claiming is a claim that was granted.
type claiming struct {
	conversation, id string
	turn             int64
}

// closing is a close that was acknowledged.
type closing struct {
	conversation string
	seq          int64
	end          int64
}

// starting is a session that was begun with a key.
type starting struct {
	key, parent string
	mode        parley.SessionMode
	sessions    map[string]bool // that the answers have named
	sure        bool            // there was an answer
	maybe       bool            // there was a call of unknown outcome
}

func (h *history) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteLocked(format, args...)
}

func (h *history) noteLocked(format string, args ...any) {
	h.story = append(h.story, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// problem notes what must not be, and which promise it breaks.
func (h *history) problem(id promise.ID, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problems[id] = append(h.problems[id], fmt.Sprintf(format, args...))
	h.noteLocked("PROBLEM "+format, args...)
}

// says records a call that posts a message, and returns the function that records its answer.
func (h *history) says(s saying) (answered func(seq int64, duplicate bool, err error)) {
	return h.saysIn(s, "", 0)
}

// saysIn is says in a batch.
func (h *history) saysIn(s saying, batch string, place int) (answered func(seq int64, duplicate bool, err error)) {
	begin := h.stamps.Add(1)
	return func(seq int64, duplicate bool, err error) {
		t := try{begin: begin, end: h.stamps.Add(1), outcome: outcomeOf(err), seq: seq, duplicate: duplicate, err: err,
			batch: batch, place: place}
		h.mu.Lock()
		defer h.mu.Unlock()
		known := h.sayings[s.text]
		if known == nil {
			known = &s
			h.sayings[s.text] = known
		}
		known.tries = append(known.tries, t)
		h.noteLocked("%s says %s in %s: %s at %d %v", s.from, s.text, s.conversation, t.outcome, seq, err)
	}
}

// hears records a seq that a client received as the end of a log.
func (h *history) hears(conversation string, begin, latest int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = append(h.reads, read{conversation, begin, h.stamps.Add(1), latest})
}

// turned notes a page.
func (h *history) turned(p page) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages = append(h.pages, p)
}

func (h *history) guided(g told) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, g)
}

// wrote notes when an event was written.
func (h *history) wrote(r journal.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.written[placeOf(r.Conversation, r.Seq)] = time.Now()
	h.noteLocked("log: %s %s", r.Conversation, r.Data)
}

func placeOf(conversation string, seq int64) string { return fmt.Sprintf("%s/%d", conversation, seq) }

// feed is what one reader was given of a conversation, over all its connections.
type feed struct {
	name, conversation string
	since              int64
	everything         bool // it sees all; else what a participant sees who leaves no traces
	h                  *history

	mu     sync.Mutex // guards the fields below
	seqs   []int64
	events [][]byte
	joins  int
	closed bool
}

func (h *history) feed(name, conversation string, since int64, everything bool) *feed {
	f := &feed{name: name, conversation: conversation, since: since, everything: everything, h: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feeds = append(h.feeds, f)
	return f
}

// take keeps an event, and reports whether it was the last.
func (f *feed) take(e *parley.Event) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seqs, f.events = append(f.seqs, e.Seq), append(f.events, e.Raw())
	f.closed = f.closed || e.Closes()
	return f.closed
}

// cursor returns its current seq.
func (f *feed) cursor() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.joins++
	if n := len(f.seqs); n > 0 {
		return f.seqs[n-1]
	}
	return f.since
}
