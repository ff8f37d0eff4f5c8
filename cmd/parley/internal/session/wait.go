package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// waitFlags say how long and how a session is waited for.
type waitFlags struct {
	follow  bool
	maxWait time.Duration
}

func (f *waitFlags) addTo(c *cobra.Command) {
	c.Flags().BoolVar(&f.follow, "follow", false, "wait, and print its progress on stderr")
	c.Flags().DurationVar(&f.maxWait, "max-wait", 0, "how long to wait (default: until it ends)")
}

func (f *waitFlags) check(given func(flag string) bool) error {
	if given("max-wait") && f.maxWait <= 0 {
		return exit.Usagef("--max-wait %s: expected more than 0", f.maxWait)
	}
	return nil
}

// How often a pending session is checked, since the start of its run is no progress: if a line
// shows it, and if it is only reported once.
const (
	pendingLook = time.Second
	pendingTold = 5 * time.Second
)

// waitForResult waits for the end of a session, or until it asks for input, and prints what it has
// brought.
func waitForResult(ctx context.Context, a *cli.App, client parley.Client, s *parley.Session, f *waitFlags,
	n *cli.ConnectionNotices) error {
	s, err := waitForEnd(ctx, a, client, s, f, n)
	if err != nil {
		return err
	}
	return printOutcome(ctx, a, client, s)
}

// waitForEnd waits for the end of a session, or until it asks for input. The error says how to go
// on.
func waitForEnd(ctx context.Context, a *cli.App, client parley.Client, s *parley.Session, f *waitFlags,
	n *cli.ConnectionNotices) (*parley.Session, error) {
	if f.follow {
		a.Err.Linef("-- %s of %s", cli.Clean(s.SessionID), cli.Clean(s.AgentName))
	}
	if isSettled(s) {
		return s, nil
	}
	w := &waiter{status: cli.NewStatusLine(a.Err), follow: f.follow, latest: s}
	n.SendTo(func(text string) { w.status.Line("-- " + text) })
	defer n.SendTo(nil)
	waiting := ctx
	if f.maxWait > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeoutCause(ctx, f.maxWait, exit.ErrTimeout)
		defer cancel()
	}
	found, err := w.run(waiting, client)
	w.status.Clear()
	if err == nil {
		return found, nil
	}
	hint := fmt.Sprintf("%s continues: 'parley session wait %s' waits again, 'parley session stop %s' ends it",
		s.SessionID, s.SessionID, s.SessionID)
	if ctx.Err() == nil && waiting.Err() != nil {
		err = fmt.Errorf("%w: no end within %s", exit.ErrTimeout, f.maxWait)
	}
	return nil, exit.WithHint(err, hint)
}

// isSettled reports whether there is nothing to wait for.
func isSettled(s *parley.Session) bool {
	return s.Status.Ended() || s.Status == parley.SessionInputRequired
}

// waiter is the wait for one session. It shows how that gets on.
type waiter struct {
	status       *cli.StatusLine
	follow       bool
	latest       *parley.Session
	shownSeq     int64 // the seq of the last printed progress
	reportedIdle bool  // a line reported that it waits for a runner
}

// answer is an answer of getSession.
type answer struct {
	session *parley.Session
	err     error
}

// run waits until the session is settled. The calls have a separate goroutine, so that the shown
// time advances.
func (w *waiter) run(ctx context.Context, client parley.Client) (*parley.Session, error) {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer)
	asking.Go(func() { // ends with ctx
		for last := (answer{session: w.latest}); last.err == nil && !isSettled(last.session) && ctx.Err() == nil; {
			last.session, last.err = w.getSession(ctx, client, last.session)
			select {
			case answers <- last:
			case <-ctx.Done():
			}
		}
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	w.printProgress()
	for {
		w.updateStatus()
		select {
		case now := <-answers:
			if now.err != nil {
				return nil, now.err
			}
			w.latest = now.session
			if isSettled(w.latest) {
				return w.latest, nil
			}
			w.reportIdle()
			w.printProgress()
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// getSession waits for news of a session.
func (w *waiter) getSession(ctx context.Context, client parley.Client, last *parley.Session) (*parley.Session, error) {
	p := &parley.GetSessionParams{SessionID: last.SessionID, TimeoutMs: parley.MaxWaitMs}
	switch {
	case last.Status != parley.SessionPending:
	case w.status.Shows:
		p.TimeoutMs = pendingLook.Milliseconds()
	default:
		p.TimeoutMs = pendingTold.Milliseconds()
	}
	if w.follow || w.status.Shows {
		since := int64(0)
		if last.Progress != nil {
			since = last.Progress.Seq
		}
		p.ProgressSince = &since
	}
	return client.GetSession(ctx, p)
}

// reportIdle reports, once and only without a status line, that the session waits for a runner: one
// may be missing or overloaded.
func (w *waiter) reportIdle() {
	if w.latest.Status == parley.SessionPending && !w.status.Shows && !w.reportedIdle {
		w.reportedIdle = true
		w.status.Line(fmt.Sprintf("-- no runner took %s yet; waiting for one", cli.Clean(w.latest.SessionID)))
	}
}

// printProgress prints new progress.
func (w *waiter) printProgress() {
	p := w.latest.Progress
	if !w.follow || p == nil || p.Seq <= w.shownSeq {
		return
	}
	w.shownSeq = p.Seq
	w.status.Line(cli.CleanLines(p.Text, "", 0))
}

// updateStatus brings the line on a terminal up to date.
func (w *waiter) updateStatus() {
	if !w.status.Shows {
		return
	}
	s := w.latest
	since := s.CreatedAt
	if s.StartedAt != 0 {
		since = s.StartedAt
	}
	text := fmt.Sprintf("%s %s %s", cli.Clean(s.AgentName), cli.Clean(string(s.Status)),
		max(0, time.Since(since.Time())).Truncate(time.Second))
	if s.Progress != nil && !w.follow {
		text += " · " + cli.Clean(cli.LastLine(s.Progress.Text))
	}
	w.status.Show(text)
}
