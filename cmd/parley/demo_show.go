package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/examples/priorauth"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
)

// The pace of the demo. It is presentation only: the agents do not wait for it.
const (
	paceEvent = 150 * time.Millisecond
	paceRune  = 2 * time.Millisecond
	paceMost  = 700 * time.Millisecond
)

// demoShow prints the demo.
type demoShow struct {
	app      *app
	fast     bool
	sessions int // that were shown
}

func (d *demoShow) say(format string, args ...any) {
	d.app.out.line(fmt.Sprintf(format, args...))
}

func (d *demoShow) opening(s *stage) {
	out := d.app.out
	d.say("hub      %s, log in %s", s.server.url, s.data)
	d.say("payer    inside the hub (process %d)", os.Getpid())
	d.say("checker  %s: a process for each session, as %s says", priorauth.CriteriaAgent, s.blueprints())
	d.say("clinic   process %d, over WebSocket, with a token for these conversations only", s.clinic.Process.Pid)
	d.say("%s", out.paint(styleDim, "each line: seq, turn, who, what; traces are seen by their author and by admins, such as this screen"))
}

// follow shows a conversation as it goes, until it is closed or the clinic is gone.
func (d *demoShow) follow(ctx context.Context, s *stage, id string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	defer func() { cancel(nil); <-watched }()
	go func() {
		defer close(watched)
		select {
		case err := <-s.left:
			s.left <- err // close wants it too
			cancel(fmt.Errorf("the clinic's process has ended: %w", errors.Join(errUnexpected, err)))
		case <-ctx.Done():
		}
	}()
	v := newView(d.app.out)
	v.wrap = d.app.out.columns()
	d.say("")
	for e, err := range s.admin.Events(ctx, id, 0) {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		v.event(&e)
		if err := d.session(ctx, s, v, &e); err != nil {
			return err
		}
		d.pause(ctx, &e)
	}
	return nil
}

// session shows what a session has brought whose start is told: who has started it waits for it, so it is what comes next.
func (d *demoShow) session(ctx context.Context, s *stage, v *view, e *parley.Event) error {
	started, err := e.System()
	if e.Type != parley.TypeSystem || err != nil || started.Kind != parley.KindSessionStarted {
		return nil
	}
	ended, err := s.admin.GetSession(ctx, &parley.GetSessionParams{SessionID: started.SessionID, TimeoutMs: parley.MaxWaitMs})
	if err != nil {
		return fmt.Errorf("the session %s: %w", started.SessionID, err)
	}
	d.sessions++
	if ended.Status != parley.SessionCompleted {
		v.write(v.indent() + clean(endText(ended)))
		return nil
	}
	var table priorauth.CriteriaTable
	if err := json.Unmarshal(ended.Result.ResultData, &table); err != nil {
		return fmt.Errorf("the result of %s: %w", started.SessionID, err)
	}
	stands := make([]string, len(table.Checks))
	for i, c := range table.Checks {
		stands[i] = clean(c.Criterion) + " " + d.app.out.paint(styleBold, clean(string(c.Status)))
	}
	how := fmt.Sprintf(" [exit code %d, %d ms]", *ended.Result.ExitCode, ended.EndedAt-ended.CreatedAt)
	v.write(v.indent() + strings.Join(stands, ", ") + d.app.out.paint(styleDim, how))
	return nil
}

var errUnexpected = errors.New("before it was told to")

func (d *demoShow) pause(ctx context.Context, e *parley.Event) {
	if d.fast {
		return
	}
	pace := paceEvent
	if m, err := e.Message(); err == nil {
		pace += time.Duration(len(m.Text)) * paceRune
	}
	t := time.NewTimer(min(pace, paceMost))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// ending verifies the log of the hub that has stopped, exports it, and verifies the export.
func (d *demoShow) ending(ctx context.Context, s *stage, cases int) error {
	d.say("")
	j, err := openExisting(s.data)
	if err != nil {
		return err
	}
	defer j.Close()
	checked, err := j.Verify(ctx)
	if err != nil {
		return err
	}
	d.say("log      %s", d.app.verified(checked))
	d.say("         %s", d.app.out.paint(styleDim,
		"two of them are the hub's own: the clinic's token, as a SHA-256, and what the checker's runner runs; exports leave them out"))
	file := filepath.Join(s.dir, "export.jsonl")
	exported, err := exportFile(ctx, j, file)
	if err != nil {
		return err
	}
	if want := cases + d.sessions; len(exported.Conversations) != want {
		return fmt.Errorf("%s: %d conversations, expected %d", file, len(exported.Conversations), want)
	}
	d.say("export   %s: %s, verified by itself; %s of %s among them",
		file, count(exported.Events, "event"), count(int64(d.sessions), "session"), priorauth.CriteriaAgent)
	for _, h := range exported.Conversations {
		if strings.HasPrefix(h.ConversationID, demoPrefix) {
			d.say("         %s  seq %d  head hash %s", h.ConversationID, h.Seq, h.HeadHash)
		}
	}
	d.joining(file)
	return nil
}

// exportFile exports all of a journal to a file, and reads it again.
func exportFile(ctx context.Context, j journal.Journal, name string) (archive.Report, error) {
	f, err := os.Create(name)
	if err != nil {
		return archive.Report{}, err
	}
	defer f.Close()
	e := newExporter(f, archive.FromJournal(j))
	if err := errors.Join(e.allOf(ctx, j), e.out.Flush()); err != nil {
		return archive.Report{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return archive.Report{}, err
	}
	r, err := archive.Check(f, nil)
	if err == nil && r.Events != e.lines.Events {
		err = fmt.Errorf("%s: %d events of %d", name, r.Events, e.lines.Events)
	}
	return r, err
}

// joining prints commands to copy.
func (d *demoShow) joining(export string) {
	self := os.Args[0]
	d.say("")
	d.say("take a seat yourself, in three terminals:")
	d.say("  1  PARLEY_DEV_TOKEN=plt_dev_me %s serve --dev", self)
	d.say("  2  export PARLEY_TOKEN=plt_dev_me")
	d.say("     %s conversation create --id hello --participant ann --participant bob", self)
	d.say("     %s chat hello --as ann", self)
	d.say("  3  PARLEY_TOKEN=plt_dev_me %s chat hello --as bob", self)
	d.say("check the export again, or change a byte of it first: %s log verify %s", self, export)
}
