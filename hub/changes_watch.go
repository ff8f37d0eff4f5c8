package hub

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/page"
)

// gather is how long a watcher that was woken waits for more before it looks: so that one looks a bounded number of times, however much is written.
const gather = 50 * time.Millisecond

// watchScan bounds the conversations that one answer looks at to find some that the caller may see.
const watchScan = 500

// WatchConversations tells which conversations have changed since a cursor: a commit is a change. That an executor comes or goes is none, though it shows in the floor
// of those that are told.
func (h *Hub) WatchConversations(ctx context.Context, p *auth.Principal, q *parley.WatchConversationsParams) (*parley.WatchConversationsResult, error) {
	if err := h.auth.Allow(p, parley.MethodWatchConversations); err != nil {
		return nil, err
	}
	w, err := h.newWatch(p, q)
	if err != nil {
		return nil, err
	}
	timer, err := page.WaitTimer(q.TimeoutMs)
	if err != nil {
		return nil, err
	}
	defer timer.Stop()
	for timedOut := false; ; {
		if err := h.Valid(p); err != nil {
			return nil, err
		}
		next, err := w.look(ctx)
		if err != nil {
			return nil, err
		}
		if w.done() || timedOut {
			return w.result(timedOut && q.TimeoutMs > 0), nil
		}
		if timedOut, err = h.conv.Wait(ctx, p, next, timer, q.TimeoutMs); err != nil {
			return nil, err
		}
		if timedOut {
			continue
		}
		if timedOut, err = h.gather(ctx, p, timer); err != nil {
			return nil, err
		}
	}
}

// gather waits a moment, or for what ends every wait.
func (h *Hub) gather(ctx context.Context, p *auth.Principal, timer *time.Timer) (timedOut bool, err error) {
	moment := make(chan struct{})
	defer time.AfterFunc(gather, func() { close(moment) }).Stop()
	return h.conv.Wait(ctx, p, moment, timer, gather.Milliseconds())
}

// watch is one call of WatchConversations: what it has found, and up to which change it has looked.
type watch struct {
	hub   *Hub
	p     *auth.Principal
	scope listScope
	limit int
	at    int64
	first bool // there was no cursor: only where to begin is asked
	out   parley.WatchConversationsResult
}

func (h *Hub) newWatch(p *auth.Principal, q *parley.WatchConversationsParams) (*watch, error) {
	limit, err := page.CheckLimit(q.Limit, maxSummaries, presetSummaries)
	if err != nil {
		return nil, err
	}
	w := &watch{hub: h, p: p, limit: limit, out: parley.WatchConversationsResult{Conversations: []parley.ConversationSummary{}}}
	if w.scope, err = listScopeOf(p, q.Workspace); err != nil {
		return nil, err
	}
	if q.Cursor == "" {
		w.first, w.at = true, h.changes.now()
		return w, nil
	}
	epoch, number, ok := parseChange(q.Cursor)
	switch now := h.changes.now(); {
	case !ok || epoch == h.changes.epoch() && number > now:
		return nil, parley.Refuse(parley.ErrValidationFailed, "cursor is not one of this hub's", "cursor of an earlier answer")
	case epoch != h.changes.epoch():
		w.reset()
	default:
		w.at = number
	}
	return w, nil
}

// reset forgets the cursor: what has changed since is not known.
func (w *watch) reset() {
	w.out.Reset, w.at = true, w.hub.changes.now()
}

// look goes on from where it has looked before. It gives what is closed by the next change.
func (w *watch) look(ctx context.Context) (next <-chan struct{}, err error) {
	if w.done() {
		return nil, nil
	}
	found, more, next, known := w.hub.changes.after(w.at, watchScan)
	if !known {
		w.reset()
		return next, nil
	}
	w.out.More = more
	for i, c := range found {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		summary, err := w.hub.summary(w.p, c.id, w.wants)
		if err != nil {
			return nil, err
		}
		w.at = c.number
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

func (w *watch) wants(s *fold.State) bool { return w.scope.has(w.p, s) }

// done reports whether there is something to answer.
func (w *watch) done() bool {
	return w.first || w.out.Reset || w.out.More || len(w.out.Conversations) > 0
}

func (w *watch) result(timedOut bool) *parley.WatchConversationsResult {
	w.out.TimedOut = timedOut && !w.done()
	w.out.Cursor = w.hub.changes.epoch() + changeMark + strconv.FormatInt(w.at, 10)
	return &w.out
}

// changeMark stands between the epoch and the number of a cursor.
const changeMark = "."

func parseChange(cursor string) (epoch string, number int64, ok bool) {
	i := strings.LastIndex(cursor, changeMark)
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseInt(cursor[i+1:], 10, 64)
	return cursor[:i], number, err == nil && number >= 0
}
