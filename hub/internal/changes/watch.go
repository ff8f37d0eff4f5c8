package changes

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/internal/methods"
)

// gatherTime is how long a call that a change woke waits for more changes. It bounds how often a call reads
// the feed, at any rate of writes.
const gatherTime = 50 * time.Millisecond

// maxExamined bounds the conversations that one answer examines.
const maxExamined = 500

// Watch waits until a conversation changes that the caller may list, for at most TimeoutMs. It returns the
// conversations that changed since the cursor. A commit is a change; the registration of an executor is not.
func (f *Feed) Watch(
	ctx context.Context, p *auth.Principal, q *parley.WatchConversationsParams,
) (*parley.WatchConversationsResult, error) {
	if err := f.opts.Auth.Allow(p, methods.WatchConversations); err != nil {
		return nil, err
	}
	w, err := f.newWatch(p, q)
	if err != nil {
		return nil, err
	}
	timer, err := page.WaitTimer(q.TimeoutMs)
	if err != nil {
		return nil, err
	}
	defer timer.Stop()
	for timedOut := false; ; {
		if err := p.Valid(f.opts.Engine.Now()); err != nil {
			return nil, err
		}
		next, err := w.collect(ctx)
		if err != nil {
			return nil, err
		}
		if w.done() || timedOut {
			return w.result(timedOut && q.TimeoutMs > 0), nil
		}
		if timedOut, err = f.opts.Engine.Wait(ctx, p, next, timer, q.TimeoutMs); err != nil {
			return nil, err
		}
		if timedOut {
			continue
		}
		if timedOut, err = f.gather(ctx, p, timer); err != nil {
			return nil, err
		}
	}
}

// gather waits for gatherTime. It returns earlier if the caller, the timer or the hub ends the wait.
func (f *Feed) gather(ctx context.Context, p *auth.Principal, timer *time.Timer) (timedOut bool, err error) {
	moment := make(chan struct{})
	defer time.AfterFunc(gatherTime, func() { close(moment) }).Stop()
	return f.opts.Engine.Wait(ctx, p, moment, timer, gatherTime.Milliseconds())
}

// watch is one call of Watch.
type watch struct {
	feed      *Feed
	p         *auth.Principal
	workspace string
	limit     int
	number    int64 // of the last change that was examined
	first     bool  // there is no cursor: the call returns one
	out       parley.WatchConversationsResult
}

// newWatch checks the params.
func (f *Feed) newWatch(p *auth.Principal, q *parley.WatchConversationsParams) (*watch, error) {
	limit, err := page.CheckLimit(q.Limit, page.MaxSummaries, page.PresetSummaries)
	if err != nil {
		return nil, err
	}
	w := &watch{feed: f, p: p, workspace: q.Workspace, limit: limit}
	w.out.Conversations = []parley.ConversationSummary{}
	if q.Workspace != "" {
		if err := p.CheckGrants(q.Workspace); err != nil {
			return nil, err
		}
	}
	if q.Cursor == "" {
		w.first, w.number = true, f.latest()
		return w, nil
	}
	epoch, number, ok := parseCursor(q.Cursor)
	switch latest := f.latest(); {
	case !ok || epoch == f.epoch() && number > latest:
		return nil, parley.Refuse(parley.ErrValidationFailed,
			"cursor is not one of this hub's", "cursor of an earlier answer")
	case epoch != f.epoch():
		w.reset()
	default:
		w.number = number
	}
	return w, nil
}

// reset drops the cursor, because the changes since are not known.
func (w *watch) reset() {
	w.out.Reset, w.number = true, w.feed.latest()
}

// collect examines the changes after the last one that was examined. It returns a channel that the next
// change closes.
func (w *watch) collect(ctx context.Context) (next <-chan struct{}, err error) {
	if w.done() {
		return nil, nil
	}
	found, more, next, known := w.feed.after(w.number, maxExamined)
	if !known {
		w.reset()
		return next, nil
	}
	w.out.More = more
	for i, c := range found {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		summary, err := w.feed.opts.Lister.Summarize(w.p, w.workspace, c.id)
		if err != nil {
			return nil, err
		}
		w.number = c.number
		if summary == nil {
			continue
		}
		w.out.Conversations = append(w.out.Conversations, *summary)
		if len(w.out.Conversations) == w.limit {
			w.out.More = more || i < len(found)-1
			break
		}
	}
	return next, nil
}

// done reports whether the call has an answer.
func (w *watch) done() bool {
	return w.first || w.out.Reset || w.out.More || len(w.out.Conversations) > 0
}

// result returns the answer.
func (w *watch) result(timedOut bool) *parley.WatchConversationsResult {
	w.out.TimedOut = timedOut && !w.done()
	w.out.Cursor = w.feed.epoch() + cursorMark + strconv.FormatInt(w.number, 10)
	return &w.out
}

// cursorMark separates the epoch and the number of a cursor.
const cursorMark = "."

// parseCursor returns the epoch and the number of a cursor.
func parseCursor(cursor string) (epoch string, number int64, ok bool) {
	i := strings.LastIndex(cursor, cursorMark)
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseInt(cursor[i+1:], 10, 64)
	return cursor[:i], number, err == nil && number >= 0
}
