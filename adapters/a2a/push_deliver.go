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

// maxPushAnswer limits the part of a response that is read and discarded.
const maxPushAnswer = 64 << 10

// errEnded means that everything is delivered.
var errEnded = errors.New("the task ended, and every update was delivered")

// deliverConfig delivers a configuration until it or ctx ends.
func (p *Push) deliverConfig(ctx context.Context, c *config) {
	defer p.stopDelivery(c)
	for fails := 0; ; {
		before := p.progressOf(c).Cursor
		err := p.follow(ctx, c)
		moved := p.progressOf(c).Cursor != before
		switch {
		case ctx.Err() != nil, errors.Is(err, errGivenUp):
			return
		case errors.Is(err, errEnded):
			if p.recordEnd(ctx, c) == nil {
				return
			}
		case isPermanent(err):
			if p.recordFailure(ctx, c, err) {
				return
			}
		case err == nil && moved: // the task waits for its caller: continue from there
			fails = 0
			continue
		case err != nil:
			p.log.Debug("cannot follow a task for its push notifications", "task", c.Task, "config", c.ID, "error", err)
		}
		if moved {
			fails = 0
		}
		if sleep(ctx, p.pace.pause(fails)) != nil {
			return
		}
		fails++
	}
}

// isPermanent reports whether an error means that the task can never be read.
func isPermanent(err error) bool {
	for _, is := range []error{errAgentGone, a2a.ErrTaskNotFound, parley.ErrNotFound, parley.ErrForbidden,
		parley.ErrUnauthenticated} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

var (
	errAgentGone = errors.New("the agent is no longer published")
	errGivenUp   = errors.New("given up")
)

// stopDelivery records that a configuration has no running delivery.
func (p *Push) stopDelivery(c *config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.stop()
	c.stop = nil
}

func (p *Push) progressOf(c *config) progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.progress
}

// follow delivers the updates of one stream of the task.
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
	from := p.progressOf(c)
	for u, err := range p.server.subscribe(ctx, f.caller, &a2a.SubscribeToTaskRequest{ID: c.Task}, from.Cursor) {
		if errors.Is(err, a2a.ErrUnsupportedOperation) {
			return f.deliverEnded(ctx)
		}
		if err == nil {
			err = f.deliverOnce(ctx, u)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// delivery is the delivery of one stream of a task.
type delivery struct {
	push   *Push
	config *config
	caller *caller
	began  bool
	task   *a2a.Task // as it is after the last update, for 0.3
}

// deliverOnce delivers an update, unless an earlier stream delivered it.
func (f *delivery) deliverOnce(ctx context.Context, u update) error {
	at := f.push.progressOf(f.config)
	first := !f.began
	f.began = true
	if t, ok := u.event.(*a2a.Task); ok {
		f.task = t
	} else {
		f.task = applyUpdate(f.task, f.config.Task, u.event)
	}
	if first && at.Begun && u.id == at.Cursor {
		return nil
	}
	return f.send(ctx, u)
}

// deliverEnded delivers a task that ended before its stream began.
func (f *delivery) deliverEnded(ctx context.Context) error {
	t, err := f.currentTask(ctx)
	if err != nil {
		return err
	}
	if !t.Status.State.Terminal() {
		return fmt.Errorf("task %s has no stream but has not ended", t.ID)
	}
	at := f.push.progressOf(f.config)
	if at.Begun {
		return errEnded
	}
	f.task = t
	return f.send(ctx, update{at.Cursor, t})
}

func (f *delivery) currentTask(ctx context.Context) (*a2a.Task, error) {
	return f.push.server.get(ctx, f.caller, &a2a.GetTaskRequest{ID: f.config.Task})
}

// send delivers an update and advances the cursor.
func (f *delivery) send(ctx context.Context, u update) error {
	ended := terminal(u.event)
	body, err := f.body(ctx, u.event, ended)
	if err != nil {
		return err
	}
	if err := f.push.deliver(ctx, f.config, body); err != nil {
		return err
	}
	f.push.recordSuccess(f.config, u.id)
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

// body returns the body of a notification. In 0.3 that is the task after the update.
func (f *delivery) body(ctx context.Context, e a2a.Event, ended bool) ([]byte, error) {
	if !f.config.Legacy {
		return json.Marshal(a2a.StreamResponse{Event: e})
	}
	task := f.task
	if ended || task == nil { // with all messages
		var err error
		if task, err = f.currentTask(ctx); err != nil {
			return nil, err
		}
	}
	return json.Marshal(a2av0.FromV1Task(task))
}

// deliver retries until the response is successful, ctx ends, or the limits are reached.
func (p *Push) deliver(ctx context.Context, c *config, body []byte) error {
	for n := 0; ; n++ {
		wait, err := p.post(ctx, c, body)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if given := p.recordFailure(ctx, c, err); given {
			return errGivenUp
		}
		if err := sleep(ctx, max(p.pace.pause(n), min(wait, p.pace.longest))); err != nil {
			return err
		}
	}
}

// pause returns the time to wait after n failures and one more. It doubles each time, and is chosen
// at random from its upper half, so that not all deliveries return at once.
func (p *pace) pause(n int) time.Duration {
	d := p.longest
	if n < 20 {
		d = min(p.first<<n, p.longest)
	}
	return d/2 + rand.N(d/2+1)
}

// post makes one attempt. wait is the delay that the receiver requests.
func (p *Push) post(ctx context.Context, c *config, body []byte) (wait time.Duration, err error) {
	if err := p.limiter.enter(ctx, c.Owner); err != nil {
		return 0, err
	}
	defer p.limiter.leave(c.Owner)
	ctx, cancel := context.WithTimeout(ctx, p.pace.timeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.secret.URL, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("not a URL")
	}
	c.setHeaders(q.Header)
	a, err := p.http.Do(q)
	if err != nil {
		return 0, egress.Reason(err)
	}
	defer a.Body.Close()
	_, _ = io.CopyN(io.Discard, a.Body, maxPushAnswer) // so that the connection can be reused
	if a.StatusCode >= 200 && a.StatusCode < 300 {
		return 0, nil
	}
	if s, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && s > 0 {
		wait = time.Duration(min(s, 3600)) * time.Second
	}
	return wait, fmt.Errorf("the response has status %d", a.StatusCode)
}

func (c *config) setHeaders(h http.Header) {
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

// recordSuccess advances the cursor after a successful delivery.
func (p *Push) recordSuccess(c *config, cursor string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Cursor, c.Begun, c.Since, c.attempts, c.dirty = cursor, true, time.Time{}, 0, true
}

// recordFailure counts a failure, and reports whether the limits are reached. In that case it
// writes the end to the log.
func (p *Push) recordFailure(ctx context.Context, c *config, why error) (given bool) {
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
			log.Warn("push notification failed and will be retried")
		} else {
			log.Debug("push notification failed again")
		}
		return false
	}
	at.Ended, at.EndedAt = endedGaveUp, time.Now().UTC()
	if err := p.write(ctx, gaveUpSchema, &gaveUpNote{progress: at, Host: c.Host, Reason: why.Error(),
		Attempts: n}); err != nil {
		p.log.Warn("cannot record the end of failed push notifications", "task", c.Task, "config", c.ID, "error", err)
		return false // the next failure tries again
	}
	log.Error("push notifications have failed too often and end", "since", at.Since)
	return true
}

// recordEnd records that everything was delivered.
func (p *Push) recordEnd(ctx context.Context, c *config) error {
	at := p.progressOf(c)
	at.Ended, at.EndedAt = endedDelivered, time.Now().UTC()
	err := p.write(ctx, cursorSchema, &cursorNote{[]progress{at}})
	if err != nil && ctx.Err() == nil {
		p.log.Warn("cannot record the end of a push configuration", "task", c.Task, "config", c.ID, "error", err)
	}
	return err
}

// limiter limits the concurrent deliveries; one owner has at most a quarter of them.
type limiter struct {
	all, each int

	mu      sync.Mutex // guards the fields below
	total   int
	byOwner map[string]int
	changed chan struct{} // closed and replaced on each leave
}

func newLimiter(all int) *limiter {
	return &limiter{all: all, each: cmp.Or(all/4, 1), byOwner: map[string]int{}, changed: make(chan struct{})}
}

func (g *limiter) enter(ctx context.Context, owner string) error {
	for {
		g.mu.Lock()
		if g.total < g.all && g.byOwner[owner] < g.each {
			g.total++
			g.byOwner[owner]++
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

func (g *limiter) leave(owner string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.total--
	if g.byOwner[owner]--; g.byOwner[owner] == 0 {
		delete(g.byOwner, owner)
	}
	close(g.changed)
	g.changed = make(chan struct{})
}
