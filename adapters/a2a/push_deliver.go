package a2a

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/egress"
)

// maxPushAnswer bounds what is read of an answer, which nobody looks at.
const maxPushAnswer = 64 << 10

// errEnded is that there is nothing more to deliver.
var errEnded = errors.New("the task has ended, and all of it was delivered")

// consume delivers a configuration until it ends, or ctx does.
func (p *Push) consume(ctx context.Context, c *config) {
	defer p.left(c)
	for fails := 0; ; {
		before := p.at(c).Cursor
		err := p.follow(ctx, c)
		moved := p.at(c).Cursor != before
		switch {
		case ctx.Err() != nil, errors.Is(err, errGivenUp):
			return
		case errors.Is(err, errEnded):
			if p.end(ctx, c) == nil {
				return
			}
		case lost(err):
			if p.failed(ctx, c, err) {
				return
			}
		case err == nil && moved: // the task waits for its caller: on from there
			fails = 0
			continue
		case err != nil:
			p.log.Debug("cannot follow a task for its push notifications", "task", c.Task, "config", c.ID, "error", err)
		}
		if moved {
			fails = 0
		}
		if rest(ctx, p.pace.pause(fails)) != nil {
			return
		}
		fails++
	}
}

// lost reports whether an error says that the task cannot be read, and not only that it cannot be now.
func lost(err error) bool {
	for _, is := range []error{errAgentGone, a2a.ErrTaskNotFound, parley.ErrNotFound, parley.ErrForbidden, parley.ErrUnauthenticated} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

var (
	errAgentGone = errors.New("the agent is not shown any more")
	errGivenUp   = errors.New("given up")
)

// left says that nobody delivers a configuration now.
func (p *Push) left(c *config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.stop()
	c.stop = nil
}

func (p *Push) at(c *config) progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.progress
}

// follow delivers what one stream of the task brings.
func (p *Push) follow(ctx context.Context, c *config) error {
	agent := p.server.agent(c.Agent)
	if agent == nil {
		return errAgentGone
	}
	client, release, err := p.opts.As(ctx, c.Owner)
	if err != nil {
		return err
	}
	defer release()
	f := &delivery{push: p, config: c, caller: &caller{client: client, agent: agent}}
	from := p.at(c)
	for u, err := range p.server.subscribe(ctx, f.caller, &a2a.SubscribeToTaskRequest{ID: c.Task}, from.Cursor) {
		if errors.Is(err, a2a.ErrUnsupportedOperation) {
			return f.last(ctx)
		}
		if err == nil {
			err = f.take(ctx, u)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// delivery is one stream of a task on its way out.
type delivery struct {
	push   *Push
	config *config
	caller *caller
	began  bool
	task   *a2a.Task // as it is after the last update, for 0.3
}

// take delivers an update, unless it was delivered before.
func (f *delivery) take(ctx context.Context, u update) error {
	at := f.push.at(f.config)
	first := !f.began
	f.began = true
	if t, ok := u.event.(*a2a.Task); ok {
		f.task = t
	} else {
		f.task = advance(f.task, f.config.Task, u.event)
	}
	if first && at.Begun && u.id == at.Cursor {
		return nil
	}
	return f.send(ctx, u)
}

// last delivers a task that had ended when its stream was to begin.
func (f *delivery) last(ctx context.Context) error {
	t, err := f.now(ctx)
	if err != nil {
		return err
	}
	if !t.Status.State.Terminal() {
		return fmt.Errorf("task %s has neither a stream nor an end", t.ID)
	}
	at := f.push.at(f.config)
	if at.Begun {
		return errEnded
	}
	f.task = t
	return f.send(ctx, update{at.Cursor, t})
}

func (f *delivery) now(ctx context.Context) (*a2a.Task, error) {
	return f.push.server.get(ctx, f.caller, &a2a.GetTaskRequest{ID: f.config.Task})
}

// send delivers an update and moves the cursor.
func (f *delivery) send(ctx context.Context, u update) error {
	ended := terminal(u.event)
	body, err := f.body(ctx, u.event, ended)
	if err != nil {
		return err
	}
	if err := f.push.deliver(ctx, f.config, body); err != nil {
		return err
	}
	f.push.moved(f.config, u.id)
	if ended {
		return errEnded
	}
	return nil
}

func terminal(e a2a.Event) bool {
	switch e := e.(type) {
	case *a2a.Task:
		return e.Status.State.Terminal()
	case *a2a.TaskStatusUpdateEvent:
		return e.Status.State.Terminal()
	}
	return false
}

// body is what is POSTed. In 0.3 that is the task, as it is after the update.
func (f *delivery) body(ctx context.Context, e a2a.Event, ended bool) ([]byte, error) {
	if !f.config.Legacy {
		return json.Marshal(a2a.StreamResponse{Event: e})
	}
	task := f.task
	if ended || task == nil { // with all that was said
		var err error
		if task, err = f.now(ctx); err != nil {
			return nil, err
		}
	}
	return json.Marshal(a2av0.FromV1Task(task))
}

// deliver tries until it is answered well, ctx ends, or it is given up.
func (p *Push) deliver(ctx context.Context, c *config, body []byte) error {
	for n := 0; ; n++ {
		wait, err := p.post(ctx, c, body)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if given := p.failed(ctx, c, err); given {
			return errGivenUp
		}
		if err := rest(ctx, max(p.pace.pause(n), min(wait, p.pace.longest))); err != nil {
			return err
		}
	}
}

// pause is how long to wait after n failures and one more: it doubles, and is drawn from its upper half so that not all come back at once.
func (p *pace) pause(n int) time.Duration {
	d := p.longest
	if n < 20 {
		d = min(p.first<<n, p.longest)
	}
	return d/2 + rand.N(d/2+1)
}

// post tries once. wait is how long the other side wants to be left alone.
func (p *Push) post(ctx context.Context, c *config, body []byte) (wait time.Duration, err error) {
	if err := p.gate.enter(ctx, c.Owner); err != nil {
		return 0, err
	}
	defer p.gate.leave(c.Owner)
	ctx, cancel := context.WithTimeout(ctx, p.pace.timeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.secret.URL, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("not a URL")
	}
	c.head(q.Header)
	a, err := p.http.Do(q)
	if err != nil {
		return 0, egress.Reason(err)
	}
	defer a.Body.Close()
	_, _ = io.CopyN(io.Discard, a.Body, maxPushAnswer) // so that the connection can be used again
	if a.StatusCode >= 200 && a.StatusCode < 300 {
		return 0, nil
	}
	if s, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && s > 0 {
		wait = time.Duration(min(s, 3600)) * time.Second
	}
	return wait, fmt.Errorf("answered with status %d", a.StatusCode)
}

func (c *config) head(h http.Header) {
	h.Set("Content-Type", "application/a2a+json")
	if c.Legacy {
		h.Set("Content-Type", "application/json")
	}
	h.Set("User-Agent", "parley")
	if c.secret.Token != "" {
		h.Set("X-A2A-Notification-Token", c.secret.Token)
		h.Set("A2A-Notification-Token", c.secret.Token)
	}
	if c.secret.Credentials != "" {
		h.Set("Authorization", c.secret.Scheme+" "+c.secret.Credentials)
	}
}

// moved notes a delivery that went well.
func (p *Push) moved(c *config, cursor string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Cursor, c.Begun, c.Since, c.attempts, c.dirty = cursor, true, time.Time{}, 0, true
}

// failed counts a failure, and reports whether that was the last one: then it is written down.
func (p *Push) failed(ctx context.Context, c *config, why error) (given bool) {
	p.mu.Lock()
	c.attempts++
	if c.Since.IsZero() {
		c.Since, c.dirty = time.Now().UTC(), true
	}
	n, at := c.attempts, c.progress
	p.mu.Unlock()
	log := p.log.With("task", c.Task, "config", c.ID, "host", c.Host, "attempt", n, "error", why)
	if n < p.opts.Attempts && time.Since(at.Since) < p.opts.GiveUpAfter {
		if n == 1 {
			log.Warn("a push notification was not delivered: it is tried again")
		} else {
			log.Debug("a push notification was not delivered")
		}
		return false
	}
	at.Ended, at.EndedAt = endedGaveUp, time.Now().UTC()
	if err := p.write(ctx, gaveUpSchema, &gaveUpNote{progress: at, Host: c.Host, Reason: why.Error(), Attempts: n}); err != nil {
		p.log.Warn("cannot write that a push configuration is given up", "task", c.Task, "config", c.ID, "error", err)
		return false // once more, then
	}
	log.Error("push notifications are given up", "since", at.Since)
	return true
}

// end writes that all was delivered.
func (p *Push) end(ctx context.Context, c *config) error {
	at := p.at(c)
	at.Ended, at.EndedAt = endedDelivered, time.Now().UTC()
	err := p.write(ctx, cursorSchema, &cursorNote{[]progress{at}})
	if err != nil && ctx.Err() == nil {
		p.log.Warn("cannot write that a push configuration has ended", "task", c.Task, "config", c.ID, "error", err)
	}
	return err
}

// gate lets some in at once, and of one owner at most a quarter of them.
type gate struct {
	all, each int

	mu      sync.Mutex // guards the fields below
	in      int
	by      map[string]int
	changed chan struct{} // closed when somebody leaves
}

func newGate(all int) *gate {
	return &gate{all: all, each: cmp.Or(all/4, 1), by: map[string]int{}, changed: make(chan struct{})}
}

func (g *gate) enter(ctx context.Context, owner string) error {
	for {
		g.mu.Lock()
		if g.in < g.all && g.by[owner] < g.each {
			g.in++
			g.by[owner]++
			g.mu.Unlock()
			return nil
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (g *gate) leave(owner string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.in--
	if g.by[owner]--; g.by[owner] == 0 {
		delete(g.by, owner)
	}
	close(g.changed)
	g.changed = make(chan struct{})
}
