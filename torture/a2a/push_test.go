package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
)

const (
	// flushed is longer than a cursor may take until it is in the log.
	flushed = 5500 * time.Millisecond
	// pushEnd bounds what comes after the last kill: pauses between attempts grow.
	pushEnd = 3 * time.Minute
	// deliveriesBetween is the number of deliveries between two kills.
	deliveriesBetween = 40
)

// TestPush kills hubs, separate adapters and webhooks while updates are delivered. Every update of
// each task must be delivered at least once, and in order.
func TestPush(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		name := "in the hub"
		if apart {
			name = "apart"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testPush(t, newWorld(t, apart, true))
		})
	}
}

func testPush(t *testing.T, w *world) {
	hook := &webhook{addr: hubproc.LowAddress(t), got: map[string][]string{}}
	hook.open(t)
	defer hook.close()
	tasks := map[string]*reader{}
	for i, d := range dialects {
		r := &reader{dialect: d, base: w.base(), agent: "ann", message: fmt.Sprintf("push-%d", i)}
		a, err := d.do(t.Context(), r.base, &ask{op: opSend, message: r.message, text: "tell", config: "c", hook: "http://" +
			hook.addr + "/" + r.message, returnAtOnce: true, token: hubproc.Token, agent: r.agent})
		if err != nil {
			t.Fatal(err)
		}
		raw, f := d.result(a.status, a.body)
		if f != nil {
			t.Fatal(f)
		}
		v, err := d.read(raw)
		if err != nil || v.Task == nil {
			t.Fatalf("%s: %.300s: %v", d.name, raw, err)
		}
		r.task = v.Task.ID
		tasks[r.message] = r
	}
	for n := range *pushKills {
		before := hook.count()
		waitFor(t, pushEnd, "deliveries between two kills", func() bool { return hook.count() >= before+deliveriesBetween })
		hook.close()
		down := rand.N(2 * time.Second)
		if n%5 == 0 {
			down = flushed // all that was not delivered is not in the log
		}
		time.Sleep(down)
		w.kill(2 + 3*(n%2)) // both
		hook.open(t)
	}
	w.teller.hush()
	j := &judge{t: t, world: w}
	ended := func() bool {
		for name := range tasks {
			if !hook.ended(name) {
				return false
			}
		}
		return true
	}
	// The backlog is delivered as fast as this machine can; the test only requires progress. A webhook
	// receives the full history of long tasks, so this may take minutes.
	last := time.Now().Add(5 * pushEnd)
	for told, end := hook.count(), time.Now().Add(pushEnd); !ended() && time.Now().Before(end) &&
		time.Now().Before(last); time.Sleep(retryPause) {
		if n := hook.count(); n > told {
			told, end = n, time.Now().Add(pushEnd)
		}
	}
	delivered, repeated := 0, 0
	for name, r := range tasks {
		n, again := j.deliveries(r, hook.of(name))
		delivered, repeated = delivered+n, repeated+again
	}
	hook.close() // so that nothing is counted any more
	t.Logf("%d kills, the webhook refused or lost %d of %d deliveries: %d updates of %d tasks delivered, %d of them again", *pushKills, hook.failed, hook.failed+delivered, delivered-repeated, len(tasks), repeated)
	promise.ID(19).Kept(t, promise.Tried{
		Faults: 2**pushKills + hook.failed, Operations: delivered, Unknown: hook.failed,
		Violations: max(j.violations, promise.Broken(t)), Figure: fmt.Sprintf("%d deliveries, %d of them again", delivered,
			repeated),
	})
}

// webhook receives deliveries. It can be killed. It refuses some deliveries, and loses the answers
// of others.
type webhook struct {
	addr   string
	server *http.Server
	done   chan struct{}

	mu     sync.Mutex // guards the fields below
	got    map[string][]string
	all    int
	failed int
	down   bool
}

func (h *webhook) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	h.server, h.done = &http.Server{Handler: h}, make(chan struct{})
	h.mu.Lock()
	h.down = false
	h.mu.Unlock()
	go func() { defer close(h.done); _ = h.server.Serve(l) }()
}

func (h *webhook) close() {
	h.mu.Lock()
	h.down = true
	h.mu.Unlock()
	_ = h.server.Close()
	<-h.done
}

func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	how := rand.IntN(100)
	switch {
	case err != nil || h.down:
		panic(http.ErrAbortHandler)
	case how == 0:
		h.failed++
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	h.got[name] = append(h.got[name], string(body))
	h.all++
	if how == 1 {
		h.failed++
		panic(http.ErrAbortHandler) // it has it, and the other side does not know
	}
}

func (h *webhook) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all
}

func (h *webhook) of(name string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got[name]
}

// ended reports whether the end of a task was delivered.
func (h *webhook) ended(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.got[name]
	if len(all) == 0 {
		return false
	}
	var last struct {
		Update struct {
			Status status `json:"status"`
		} `json:"statusUpdate"`
		Status status `json:"status"`
	}
	return json.Unmarshal([]byte(all[len(all)-1]), &last) == nil &&
		(last.Update.Status.terminal() || last.Status.terminal())
}

// deliveries compares the deliveries to a webhook with a stream of the whole task.
func (j *judge) deliveries(r *reader, got []string) (delivered, repeated int) {
	j.t.Helper()
	d := dialects[0]
	at := r.task[strings.LastIndexByte(r.task, '.')+1:]
	first, whole, err := replay(j.t.Context(), d, j.world.base(), r.agent, r.task, at)
	if err != nil {
		j.t.Fatal(err)
	}
	order := map[string]int{}
	most := 0
	for i, g := range append([]given{first}, whole...) {
		order[plain(j.t, d, g.said, r.dialect.legacy)], most = i, i
	}
	next := 0
	for n, body := range got {
		i, is := order[plain(j.t, r.dialect, body, r.dialect.legacy)]
		switch {
		case !is:
			j.broken("%s: delivery %d is no update of %s: %.400s", r.message, n, r.task, body)
		case i > next && !r.dialect.legacy, i > next+1:
			j.broken("%s: delivery %d is update %d of %s, and %d was not told before", r.message, n, i, r.task, next)
		case i < next:
			repeated++
		}
		next = max(next, i+1)
		delivered++
	}
	if next <= most {
		j.broken("%s: %d updates of %d were told", r.message, next, most+1)
	}
	return delivered, repeated
}

// plain returns the common content of the two forms of an update. In 0.3 a task is delivered, and
// its status identifies the update.
func plain(t *testing.T, d *dialect, body string, legacy bool) string {
	t.Helper()
	if legacy {
		var v struct {
			status
			told
			Outer status `json:"status"`
		}
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(errors.Join(fmt.Errorf("%s: %.300s", d.name, body), err))
		}
		s := v.Outer
		switch {
		case v.Task != nil:
			s = v.Task.Status
		case v.Update != nil:
			s = v.Update.Status
		case v.Artifact != nil:
			return "artifact"
		}
		return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(s.State), "_", "-"), "task-state-") + " " + s.text()
	}
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%s: %.300s: %v", d.name, body, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
