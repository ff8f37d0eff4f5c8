package session

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// storyClient answers getSession with the next part of a story.
type storyClient struct {
	parley.Client
	story chan *parley.Session
}

func (c *storyClient) GetSession(ctx context.Context, p *parley.GetSessionParams) (*parley.Session, error) {
	select {
	case s, more := <-c.story:
		if !more {
			return nil, errors.New("the hub is gone")
		}
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func sessionAt(status parley.SessionStatus, seq int64, text string) *parley.Session {
	s := &parley.Session{SessionID: "ses_1", AgentName: "crawl", Status: status, CreatedAt: parley.TimestampOf(time.Now())}
	if text != "" {
		s.Progress = &parley.SessionProgress{Seq: seq, Text: text}
	}
	return s
}

// TestProgressLine: on a terminal one line shows the progress of a session. It is rewritten,
// harmless, no wider than the screen, and cleared at the end.
func TestProgressLine(t *testing.T) {
	t.Parallel()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 10, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(screen) // until the other side is closed, which is an error on Linux
		shown <- string(b)
	}()
	client := &storyClient{story: make(chan *parley.Session)}
	w := &waiter{status: cli.NewStatusLine(cli.NewStream(tty)), latest: sessionAt(parley.SessionPending, 0, "")}
	if !w.status.Shows {
		t.Fatal("a terminal is none")
	}
	go func() {
		client.story <- sessionAt(parley.SessionRunning, 3, "first\nreading \x1b[31mrows\n")
		client.story <- sessionAt(parley.SessionRunning, 4, strings.Repeat("wide", 20))
		w.status.Line("-- the connection to the hub is lost; trying again")
		client.story <- sessionAt(parley.SessionCompleted, 0, "")
	}()
	if s, err := w.run(t.Context(), client); err != nil || s.Status != parley.SessionCompleted {
		t.Errorf("%+v, %v", s, err)
	}
	w.status.Clear()
	tty.Close()
	got := regexp.MustCompile(`(pending|running) \d+s`).ReplaceAllString(<-shown, "$1 0s")
	for _, want := range []string{
		"\r\x1b[Kcrawl pending 0s", "\r\x1b[Kcrawl running 0s · reading \\x1b[31mrows",
		"\r\x1b[Kcrawl running 0s · widewidewidewidewi",
		"\r\x1b[K-- the connection to the hub is lost; trying again\r\ncrawl ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "widewidewidewidewidewide") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("%q", got)
	}
}

// TestFollowedProgress: without a terminal each progress is a separate line, printed once. A
// session that no runner takes is reported once.
func TestFollowedProgress(t *testing.T) {
	t.Parallel()
	said, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	client := &storyClient{story: make(chan *parley.Session, 10)}
	w := &waiter{status: cli.NewStatusLine(cli.NewStream(said)), follow: true,
		latest: sessionAt(parley.SessionPending, 0, "")}
	for _, s := range []*parley.Session{
		sessionAt(parley.SessionPending, 0, ""), sessionAt(parley.SessionPending, 0, ""),
		sessionAt(parley.SessionRunning, 3, "one\ntwo \x1b[2J"), sessionAt(parley.SessionRunning, 3, "one\ntwo \x1b[2J"),
		sessionAt(parley.SessionRunning, 5, "three"), sessionAt(parley.SessionInputRequired, 0, ""),
	} {
		client.story <- s
	}
	if _, err := w.run(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(said.Name())
	if want := "-- no runner took ses_1 yet; waiting for one\none\ntwo \\x1b[2J\nthree\n"; err != nil ||
		string(got) != want {
		t.Errorf("%q, %v; expected %q", got, err, want)
	}
}

// TestAwaitedInVain: an error ends the wait and says that the session does not end with it.
func TestAwaitedInVain(t *testing.T) {
	t.Parallel()
	client := &storyClient{story: make(chan *parley.Session)}
	close(client.story)
	a := &cli.App{Out: cli.NewStream(io.Discard), Err: cli.NewStream(io.Discard), Timeout: cli.DefaultTimeout}
	_, err := waitForEnd(t.Context(), a, client, sessionAt(parley.SessionRunning, 0, ""), &waitFlags{},
		&cli.ConnectionNotices{})
	if f := exit.FailureOf(t.Context(), err); !strings.Contains(f.What, "the hub is gone") ||
		!strings.Contains(f.Hint, "ses_1 continues: 'parley session wait ses_1'") {
		t.Errorf("%+v", f)
	}
}

// TestSessionEnds: each end has an exit code and one line.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	text := "what there is"
	for _, row := range []struct {
		status       parley.SessionStatus
		result       *parley.SessionResult
		reason       string
		exit         int
		out, failure string
	}{
		{parley.SessionCompleted, &parley.SessionResult{ResultText: &text}, "", exit.CodeOK, "what there is\n", ""},
		{parley.SessionCompleted, nil, "", exit.CodeOK, "", ""},
		{parley.SessionFailed, &parley.SessionResult{ResultText: &text, Error: "first\nlast\n"}, "exit_code",
			exit.CodeSessionFailed, "what there is\n", "session_failed: ses_1 of crawl: last"},
		{parley.SessionFailed, nil, "no_runner", exit.CodeSessionFailed, "", "session_failed: ses_1 of crawl: no_runner"},
		{parley.SessionFailed, nil, "", exit.CodeSessionFailed, "", "session_failed: ses_1 of crawl: failed"},
		{parley.SessionStopped, &parley.SessionResult{Error: "by ann"}, "stopped", exit.CodeSessionStopped, "",
			"session_stopped: ses_1 of crawl: by ann"},
		{parley.SessionInputRequired, &parley.SessionResult{ResultText: &text}, "", exit.CodeInputRequired, "what there is\n",
			"input_required: "},
	} {
		var out, said strings.Builder
		a := &cli.App{Out: cli.NewStream(&out), Err: cli.NewStream(&said)}
		s := sessionAt(row.status, 0, "")
		s.Result, s.Reason = row.result, row.reason
		code := a.Report(t.Context(), printOutcome(t.Context(), a, nil, s))
		if code != row.exit || out.String() != row.out || !strings.Contains(said.String(), row.failure) ||
			row.exit == exit.CodeOK && said.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, %q", row.status, code, out.String(), said.String())
		}
	}
}
