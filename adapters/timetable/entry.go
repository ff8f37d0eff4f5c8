package timetable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/parleyhub/parley"
)

// Entry is a line of the timetable.
type Entry struct {
	// Name distinguishes it from others that post in the same conversation as the same participant. It
	// has the form of a participant id.
	Name string
	// Cron is the schedule in five fields, and Timezone its time zone. The default is UTC.
	Cron, Timezone string
	// Conversation receives the notes.
	Conversation string
	// Client posts the notes as a participant of the conversation.
	Client parley.Client
	// Schema, Tags and Data are those of the notes. The default of Data is {"due": the time, as RFC
	// 3339 in UTC}.
	Schema string
	Tags   []string
	Data   json.RawMessage
	// CatchUp is the maximum delay of a missed due time that is still posted, at most MaxCatchUp. 0
	// means never.
	CatchUp time.Duration
}

// MaxCatchUp limits Entry.CatchUp.
const MaxCatchUp = 366 * 24 * time.Hour

const (
	// grace is the delay up to which a due time is not missed.
	grace = time.Minute
	// look is the interval of reading the clock, because the clock may be set and machines sleep.
	look = time.Minute
	// leastRetry and mostRetry are the minimum and maximum delay after a note that could not be
	// posted.
	leastRetry, mostRetry = time.Second, time.Minute
)

// entry is a running Entry.
type entry struct {
	Entry
	*schedule
	log *slog.Logger
}

func newEntry(e *Entry, log *slog.Logger) (*entry, error) {
	s, err := newSchedule(e.Cron, e.Timezone)
	switch {
	case !parley.ValidParticipantID(e.Name):
		return nil, fmt.Errorf("entry %q: invalid name (expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter "+
			"or digit)", e.Name)
	case err != nil:
		return nil, fmt.Errorf("entry %s: %w", e.Name, err)
	case e.Client == nil:
		return nil, fmt.Errorf("entry %s: missing client", e.Name)
	case e.CatchUp < 0 || e.CatchUp > MaxCatchUp:
		return nil, fmt.Errorf("entry %s: it catches up with %s (expected 0 to %s)", e.Name, e.CatchUp, MaxCatchUp)
	}
	return &entry{*e, s, log.With("entry", e.Name, "conversation", e.Conversation)}, nil
}

// clock returns the wall clock time, which may be set while the program runs.
func clock() time.Time { return time.Now().Round(0) }

// run posts due notes until ctx or the entry ends.
func (e *entry) run(ctx context.Context) {
	from := clock()
	late := e.last(from.Add(-e.CatchUp), from)
	for {
		if !late.IsZero() && !e.post(ctx, late) {
			return
		}
		due := e.next(from)
		if due.IsZero() {
			e.log.Warn("an entry of the timetable is never due again")
			return
		}
		if !wait(ctx, due) {
			return
		}
		now := clock()
		late = e.last(due.Add(-1), now) // several, if the clock was set or the machine has slept
		if now.Sub(late) > max(grace, e.CatchUp) {
			e.log.Warn("a due time of the timetable was missed", "due", late)
			late = time.Time{}
		}
		from = now
	}
}

// wait waits until the clock reaches a time. It returns false if ctx ends first.
func wait(ctx context.Context, until time.Time) bool {
	for {
		left := until.Sub(clock())
		if left <= 0 {
			return ctx.Err() == nil
		}
		if !pause(ctx, min(left, look)) {
			return false
		}
	}
}

// pause waits for d. It returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// post posts the note of a due time, and retries until the next one is due. It reports whether the
// entry continues.
func (e *entry) post(ctx context.Context, due time.Time) bool {
	p, err := e.note(due)
	if err != nil {
		e.log.Error("a note of the timetable cannot be made", "error", err)
		return false
	}
	next := e.next(due)
	for delay := leastRetry; ; delay = min(2*delay, mostRetry) {
		r, err := e.Client.SendNote(ctx, p)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			e.log.Debug("the timetable has posted", "due", due, "seq", r.Seq, "duplicate", r.Duplicate)
			return true
		case errors.Is(err, parley.ErrIdempotencyConflict):
			// the note was posted with another content, because the table has changed
			return true
		case errors.Is(err, parley.ErrConversationClosed):
			e.log.Warn("an entry of the timetable is over: its conversation is closed")
			return false
		case !parley.ErrorRowOf(err).Retryable:
			e.log.Error("the timetable cannot post", "due", due, "agent", e.Client.AgentID(), "error", err)
			return true
		case !next.IsZero() && !clock().Add(delay).Before(next):
			e.log.Error("the timetable could not post before the next was due", "due", due, "error", err)
			return true
		}
		if !pause(ctx, cmp.Or(retryAfter(err), delay)) {
			return false
		}
	}
}

// retryAfter returns the retry delay that the hub requests, or 0.
func retryAfter(err error) time.Duration {
	var refused *parley.Error
	if !errors.As(err, &refused) {
		return 0
	}
	return min(time.Duration(refused.RetryAfterMs)*time.Millisecond, mostRetry)
}

// note returns the note for a due time.
func (e *entry) note(due time.Time) (*parley.SendNoteParams, error) {
	at := due.Format(time.RFC3339)
	data := e.Data
	if len(data) == 0 {
		var err error
		if data, err = json.Marshal(map[string]string{"due": at}); err != nil {
			return nil, err
		}
	}
	return &parley.SendNoteParams{
		ConversationID: e.Conversation, Payload: parley.Note{Schema: e.Schema, Tags: e.Tags, Data: data},
		ClientRequestID: e.Name + "@" + at,
	}, nil
}
