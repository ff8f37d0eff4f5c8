package a2a

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/sse"
	"github.com/parleyhub/parley/internal/ssetest"
)

// given is one event of a stream: its id, and what it says without the envelope.
type given struct {
	id, said string
}

// reader streams one task, over any number of connections.
type reader struct {
	dialect *dialect
	base    string // of the agent, perhaps through a proxy
	agent   string // the agent of the task
	message string // that begins the task
	text    string
	// forgets makes the reader reconnect without its cursor. It then receives the current state of the
	// task.
	forgets bool

	task   string
	last   string  // id of the last event
	first  given   // the task as it began
	all    []given // behind it
	status status  // as the last event said
	cuts   int     // streams that were broken off
	asked  int     // requests that had no answer
}

// errWrong is what must not be, and is no matter of the connection.
var errWrong = errors.New("wrong")

func wrongf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errWrong}, args...)...)
}

// run reads until the task ends.
func (r *reader) run(ctx context.Context) error {
	for !r.status.terminal() {
		err := r.stream(ctx)
		switch {
		case errors.Is(err, errWrong):
			return fmt.Errorf("%s of %s, after %s: %w", r.dialect.name, r.message, r.last, err)
		case ctx.Err() != nil:
			return fmt.Errorf("%s of %s, after %s: %d cuts, %d without an answer, and not at the end: %w", r.dialect.name,
				r.message, r.last, r.cuts, r.asked, err)
		}
		if err := pause(ctx, retryPause); err != nil {
			return fmt.Errorf("%s of %s: not at the end after %s", r.dialect.name, r.message, r.last)
		}
	}
	return nil
}

// ask is what is asked next.
func (r *reader) ask() *ask {
	a := &ask{op: opStream, message: r.message, text: r.text, token: hubproc.Token, agent: r.agent}
	if r.task == "" {
		return a
	}
	a.op, a.task = opSubscribe, r.task
	if !r.forgets {
		a.cursor = r.last
	}
	return a
}

// stream reads one stream. An error that is no errWrong is of the connection.
func (r *reader) stream(ctx context.Context) error {
	a := r.ask()
	q, err := r.dialect.request(ctx, r.base, a)
	if err != nil {
		return err
	}
	q.Header.Set("Accept", sse.MediaType)
	resp, err := lonely.Do(q)
	if err != nil {
		r.asked++
		return err
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != sse.MediaType {
		return r.refused(resp)
	}
	r.cuts++
	events := ssetest.NewReader(resp.Body, 8<<20)
	for n := 0; ; n++ {
		m, err := events.Next()
		if err != nil {
			return err
		}
		if err := r.take(a, n, m); err != nil {
			return err
		}
		if r.status.terminal() {
			r.cuts--
			return nil
		}
	}
}

// refused reads what came in place of a stream.
func (r *reader) refused(resp *http.Response) error {
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return err
	}
	_, f := r.dialect.result(resp.StatusCode, body.Bytes())
	switch {
	case f == nil:
		return wrongf("an answer that is no stream: %.300s", body.Bytes())
	case r.forgets && r.task != "" && f.code == -32004, r.forgets && f.http == http.StatusBadRequest:
		r.status.State = "completed" // it missed the end, so the next answer must have it
		return nil
	case f.passes():
		r.asked++
		return f
	}
	return wrongf("refused: %v", f)
}

// take takes event n of a stream.
func (r *reader) take(a *ask, n int, m sse.Message) error {
	raw, f := r.dialect.result(http.StatusOK, m.Data)
	if f != nil {
		if f.passes() {
			return f
		}
		return wrongf("the stream says %v", f)
	}
	v, err := r.dialect.read(raw)
	if err != nil {
		return wrongf("%.300s: %v", raw, err)
	}
	g := given{m.ID, string(raw)}
	switch {
	case n == 0 && v.Task == nil:
		return wrongf("a stream begins with %.300s", raw)
	case n == 0 && r.task == "":
		r.task, r.first = v.Task.ID, g
		r.status = v.Task.Status
	case n == 0:
		if err := r.again(a, v, g); err != nil {
			return err
		}
	case v.Update != nil:
		r.status = v.Update.Status
		r.all = append(r.all, g)
	default:
		r.all = append(r.all, g)
	}
	r.last = m.ID
	return nil
}

// again takes the task with which a later stream begins: it is as it was at the cursor.
func (r *reader) again(a *ask, v *told, g given) error {
	switch {
	case v.Task.ID != r.task:
		return wrongf("asked for %s, given %s", r.task, v.Task.ID)
	case r.forgets:
		r.status = v.Task.Status
	case a.op == opSubscribe && g.id != a.cursor:
		return wrongf("the task at %s is given as that at %s", a.cursor, g.id)
	case v.Task.Status.State != r.status.State, v.Task.Status.text() != r.status.text():
		return wrongf("the task at %s is %s %q, and was %s %q", a.cursor, v.Task.Status.State, v.Task.Status.text(),
			r.status.State, r.status.text())
	}
	return nil
}

// replay returns all that there is behind a cursor, of a task that ended, in one stream.
func replay(ctx context.Context, d *dialect, base, agent, task, cursor string) (first given, all []given, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r := &reader{dialect: d, base: base, agent: agent, task: task, last: cursor, message: "a replay"}
	q, err := d.request(ctx, base, r.ask())
	if err != nil {
		return first, nil, err
	}
	resp, err := lonely.Do(q)
	if err != nil {
		return first, nil, err
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != sse.MediaType {
		return first, nil, r.refused(resp)
	}
	events := ssetest.NewReader(resp.Body, 8<<20)
	for n := 0; !r.status.terminal(); n++ {
		m, err := events.Next()
		if err != nil {
			return first, nil, err
		}
		if n > 0 {
			if err := r.take(r.ask(), n, m); err != nil {
				return first, nil, err
			}
			continue
		}
		raw, f := d.result(http.StatusOK, m.Data)
		if f != nil {
			return first, nil, f
		}
		first = given{m.ID, string(raw)}
	}
	return first, r.all, nil
}
