package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/cmd/parley/internal/logs"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
	"github.com/parleyhub/parley/examples/priorauth"
)

// The pace of the demo. It is presentation only: the agents do not wait for it.
const (
	paceEvent = 150 * time.Millisecond
	paceRune  = 2 * time.Millisecond
	paceMost  = 700 * time.Millisecond
)

// show prints the demo.
type show struct {
	app      *cli.App
	fast     bool
	sessions int // that were shown
}

func (d *show) printf(format string, args ...any) {
	d.app.Out.Line(fmt.Sprintf(format, args...))
}

func (d *show) printOpening(s *stage) {
	out := d.app.Out
	d.printf("hub      %s, log in %s", s.server.URL, s.data)
	d.printf("payer    inside the hub (process %d)", os.Getpid())
	d.printf("checker  %s: a process for each session, as %s says", priorauth.CriteriaAgent, s.blueprints())
	d.printf("clinic   process %d, over WebSocket, with a token for these conversations only", s.clinic.Process.Pid)
	d.printf("%s",
		out.Paint(cli.StyleDim,
			"each line: seq, turn, who, what; traces are seen by their author and by admins, such as this screen"))
}

// follow shows a conversation as it goes, until it is closed or the clinic is gone.
func (d *show) follow(ctx context.Context, s *stage, id string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	defer func() { cancel(nil); <-watched }()
	go func() {
		defer close(watched)
		select {
		case err := <-s.left:
			s.left <- err // close wants it too
			cancel(fmt.Errorf("the clinic's process ended: %w", errors.Join(errUnexpected, err)))
		case <-ctx.Done():
		}
	}()
	v := view.New(d.app.Out)
	v.Wrap = d.app.Out.Columns()
	d.printf("")
	for e, err := range s.admin.Events(ctx, id, 0) {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		v.Event(&e)
		if err := d.printSession(ctx, s, v, &e); err != nil {
			return err
		}
		d.pause(ctx, &e)
	}
	return nil
}

// printSession prints the result of a session after its start. The starting agent waits for it, so
// it is the next event.
func (d *show) printSession(ctx context.Context, s *stage, v *view.Printer, e *parley.Event) error {
	started, err := e.System()
	if e.Type != parley.TypeSystem || err != nil || started.Kind != parley.KindSessionStarted {
		return nil
	}
	ended, err := s.admin.GetSession(ctx,
		&parley.GetSessionParams{SessionID: started.SessionID, TimeoutMs: parley.MaxWaitMs})
	if err != nil {
		return fmt.Errorf("the session %s: %w", started.SessionID, err)
	}
	d.sessions++
	if ended.Status != parley.SessionCompleted {
		v.Write(v.Indent() + cli.Clean(view.SessionEndText(ended)))
		return nil
	}
	var table priorauth.CriteriaTable
	if err := json.Unmarshal(ended.Result.ResultData, &table); err != nil {
		return fmt.Errorf("the result of %s: %w", started.SessionID, err)
	}
	stands := make([]string, len(table.Checks))
	for i, c := range table.Checks {
		stands[i] = cli.Clean(c.Criterion) + " " + d.app.Out.Paint(cli.StyleBold, cli.Clean(string(c.Status)))
	}
	how := fmt.Sprintf(" [exit code %d, %d ms]", *ended.Result.ExitCode, ended.EndedAt-ended.CreatedAt)
	v.Write(v.Indent() + strings.Join(stands, ", ") + d.app.Out.Paint(cli.StyleDim, how))
	return nil
}

var errUnexpected = errors.New("before it was stopped")

func (d *show) pause(ctx context.Context, e *parley.Event) {
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

// verifyAndExport verifies the log of the hub that has stopped, exports it, and verifies the
// export.
func (d *show) verifyAndExport(ctx context.Context, s *stage, cases int) error {
	d.printf("")
	j, err := journals.OpenExisting(s.data)
	if err != nil {
		return err
	}
	defer j.Close()
	checked, err := j.Verify(ctx)
	if err != nil {
		return err
	}
	d.printf("log      %s", logs.VerifiedText(d.app, checked))
	d.printf("         %s", d.app.Out.Paint(cli.StyleDim,
		"two of them are the hub's own: the clinic's token, as a SHA-256, and what the checker's runner runs; exports "+
			"leave them out"))
	file := filepath.Join(s.dir, "export.jsonl")
	exported, err := logs.ExportFile(ctx, j, file)
	if err != nil {
		return err
	}
	if want := cases + d.sessions; len(exported.Conversations) != want {
		return fmt.Errorf("%s: %d conversations, expected %d", file, len(exported.Conversations), want)
	}
	d.printf("export   %s: %s, verified by itself; %s of %s among them",
		file, cli.Count(exported.Events, "event"), cli.Count(int64(d.sessions), "session"), priorauth.CriteriaAgent)
	for _, h := range exported.Conversations {
		if strings.HasPrefix(h.ConversationID, demoPrefix) {
			d.printf("         %s  seq %d  head hash %s", h.ConversationID, h.Seq, h.HeadHash)
		}
	}
	d.printCommands(file)
	return nil
}

// printCommands prints commands to copy.
func (d *show) printCommands(export string) {
	self := os.Args[0]
	d.printf("")
	d.printf("take a seat yourself, in three terminals:")
	d.printf("  1  PARLEY_DEV_TOKEN=plt_dev_me %s serve --dev", self)
	d.printf("  2  export PARLEY_TOKEN=plt_dev_me")
	d.printf("     %s conversation create --id hello --participant ann --participant bob", self)
	d.printf("     %s chat hello --as ann", self)
	d.printf("  3  PARLEY_TOKEN=plt_dev_me %s chat hello --as bob", self)
	d.printf("check the export again, or change a byte of it first: %s log verify %s", self, export)
}
