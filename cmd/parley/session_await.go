package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

// awaitFlags say how long and how a session is waited for.
type awaitFlags struct {
	follow bool
	most   time.Duration
}

func (f *awaitFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.follow, "follow", false, "wait, and tell on stderr how it gets on")
	c.Flags().DurationVar(&f.most, "max-wait", 0, "how long to wait (default: until it has ended)")
}

func (f *awaitFlags) check(given func(flag string) bool) error {
	if given("max-wait") && f.most <= 0 {
		return usagef("--max-wait %s: expected more than 0", f.most)
	}
	return nil
}

// How often a session is looked at that nobody has taken yet, since that it was taken is no progress: where that is shown, and where it is only told of once.
const (
	pendingLook = time.Second
	pendingTold = 5 * time.Second
)

// awaitResult waits for the end of a session, or until it asks for input, and prints what it has brought.
func (a *app) awaitResult(ctx context.Context, client parley.Client, s *parley.Session, f *awaitFlags, n *notices) error {
	s, err := a.awaitSession(ctx, client, s, f, n)
	if err != nil {
		return err
	}
	return a.tellResult(ctx, client, s)
}

// awaitSession waits for the end of a session, or until it asks for input. The error says how to go on.
func (a *app) awaitSession(ctx context.Context, client parley.Client, s *parley.Session, f *awaitFlags, n *notices) (*parley.Session, error) {
	if f.follow {
		a.err.linef("-- %s of %s", clean(s.SessionID), clean(s.AgentName))
	}
	if isThere(s) {
		return s, nil
	}
	w := &sessionWait{status: newStatusLine(a.err), follow: f.follow, latest: s}
	n.to(func(text string) { w.status.line("-- " + text) })
	defer n.to(nil)
	waiting := ctx
	if f.most > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeoutCause(ctx, f.most, errTimeout)
		defer cancel()
	}
	found, err := w.run(waiting, client)
	w.status.clear()
	if err == nil {
		return found, nil
	}
	hint := fmt.Sprintf("%s goes on: 'parley session wait %s' waits again, 'parley session stop %s' ends it", s.SessionID, s.SessionID, s.SessionID)
	if ctx.Err() == nil && waiting.Err() != nil {
		err = fmt.Errorf("%w: no end within %s", errTimeout, f.most)
	}
	return nil, withHint(err, hint)
}

// isThere reports whether there is nothing to wait for.
func isThere(s *parley.Session) bool {
	return s.Status.Ended() || s.Status == parley.SessionInputRequired
}

// sessionWait is the wait for one session. It shows how that gets on.
type sessionWait struct {
	status *statusLine
	follow bool
	latest *parley.Session
	told   int64 // the seq of the last progress that was told
	idle   bool  // it was told that nobody has taken it
}

// seen is an answer of getSession.
type seen struct {
	session *parley.Session
	err     error
}

// run asks until the session is there. The calls have a goroutine of their own, so that the time that is shown goes on.
func (w *sessionWait) run(ctx context.Context, client parley.Client) (*parley.Session, error) {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan seen)
	asking.Go(func() { // ends with ctx
		for last := (seen{session: w.latest}); last.err == nil && !isThere(last.session) && ctx.Err() == nil; {
			last.session, last.err = w.ask(ctx, client, last.session)
			select {
			case answers <- last:
			case <-ctx.Done():
			}
		}
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	w.tellProgress()
	for {
		w.show()
		select {
		case now := <-answers:
			if now.err != nil {
				return nil, now.err
			}
			w.latest = now.session
			if isThere(w.latest) {
				return w.latest, nil
			}
			w.tellIdle()
			w.tellProgress()
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ask waits for news of a session.
func (w *sessionWait) ask(ctx context.Context, client parley.Client, last *parley.Session) (*parley.Session, error) {
	p := &parley.GetSessionParams{SessionID: last.SessionID, TimeoutMs: parley.MaxWaitMs}
	switch {
	case last.Status != parley.SessionPending:
	case w.status.shows:
		p.TimeoutMs = pendingLook.Milliseconds()
	default:
		p.TimeoutMs = pendingTold.Milliseconds()
	}
	if w.follow || w.status.shows {
		since := int64(0)
		if last.Progress != nil {
			since = last.Progress.Seq
		}
		p.ProgressSince = &since
	}
	return client.GetSession(ctx, p)
}

// tellIdle says, once and where no line shows it, that nobody has taken the session: a runner may be missing, or have too much to do.
func (w *sessionWait) tellIdle() {
	if w.latest.Status == parley.SessionPending && !w.status.shows && !w.idle {
		w.idle = true
		w.status.line(fmt.Sprintf("-- nobody has taken %s yet; waiting for a runner", clean(w.latest.SessionID)))
	}
}

// tellProgress prints progress that was not told yet.
func (w *sessionWait) tellProgress() {
	p := w.latest.Progress
	if !w.follow || p == nil || p.Seq <= w.told {
		return
	}
	w.told = p.Seq
	w.status.line(cleanLines(p.Text, "", 0))
}

// show brings the line on a terminal up to date.
func (w *sessionWait) show() {
	if !w.status.shows {
		return
	}
	s := w.latest
	since := s.CreatedAt
	if s.StartedAt != 0 {
		since = s.StartedAt
	}
	text := fmt.Sprintf("%s %s %s", clean(s.AgentName), clean(string(s.Status)), max(0, time.Since(since.Time())).Truncate(time.Second))
	if s.Progress != nil && !w.follow {
		text += " · " + clean(lastLine(s.Progress.Text))
	}
	w.status.show(text)
}
