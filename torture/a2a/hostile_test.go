package a2a

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/sse"
)

// TestOddRequests checks that unusual but valid requests are answered, and invalid ones are refused
// with a reason.
func TestOddRequests(t *testing.T) {
	w := newWorld(t, false, false)
	message := `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"tell 1"}]}`
	old := `{"kind":"message","messageId":"o","role":"user","parts":[{"kind":"text","text":"tell 1"}]}`
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for _, c := range []struct {
		name, version, media, method, params string
		status                               int
		want                                 string
	}{
		{"version 99.0", "99.0", "application/json", "SendMessage", `{"message":` + message + `}`, 200, `-32009`},
		{"no version, names of 1.0", "", "application/json", "SendMessage", `{"message":` + message + `}`, 200,
			`TASK_STATE_COMPLETED`},
		{"no version, names of 0.3", "", "application/json", "message/send", `{"message":` + old + `}`, 200, `"kind":"task"`},
		{"names of 0.3 in 1.0", "1.0", "application/json", "message/send", `{"message":` + old + `}`, 200, `-32601`},
		{"a patch", "1.0.7", "application/json", "SendMessage", `{"message":` + message + `}`, 200, `TASK_STATE_COMPLETED`},
		{"snake_case", "1.0", "application/json", "ListTasks", `{"page_size":1,"include_artifacts":true}`, 200,
			`"pageSize":1`},
		{"unknown members", "1.0", "application/json", "ListTasks", `{"colour":"blue"}`, 200, `"totalSize"`},
		{"no JSON", "1.0", "text/plain", "ListTasks", `{}`, 200, `-32005`},
		{"deep", "1.0", "application/json", "ListTasks", `{"x":` + deep + `}`, 200, `-32700`},
	} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.base(),
			strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, c.method, c.params)))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", c.media)
		if c.version != "" {
			q.Header.Set("A2A-Version", c.version)
		}
		q.Header.Set("Authorization", "Bearer "+hubproc.Token)
		q.Header.Set("Parley-Agent", "ann")
		r, err := whole(q)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.status != c.status || !strings.Contains(string(r.body), c.want) {
			t.Errorf("%s: HTTP %d %.300s, want %d and %s", c.name, r.status, r.body, c.status, c.want)
		}
	}
}

// TestHugeBody checks that a body that is too large is refused before it is read.
func TestHugeBody(t *testing.T) {
	w := newWorld(t, false, false)
	for _, length := range []string{"Content-Length: 1000000000", "Transfer-Encoding: chunked"} {
		c, err := net.Dial("tcp", w.door())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
		fmt.Fprintf(c, "POST /a2a/%s HTTP/1.1\r\nHost: %s\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n%s\r\n\r\n", tellerName, w.door(), length)
		written := make(chan struct{})
		go func() {
			defer close(written)
			piece := []byte("10000\r\n" + strings.Repeat(" ", 64<<10) + "\r\n")
			for err := error(nil); err == nil && length[0] == 'T'; _, err = c.Write(piece) {
			}
		}()
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", length, err)
		}
		_ = a.Body.Close()
		_ = c.Close()
		<-written
		if a.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %s", length, a.Status)
		}
	}
}

// TestManyStreams checks that one token has a limited number of streams. Further streams are
// refused with an error, and other callers are served, even next to bodies that never arrive.
// Closed streams free their places.
func TestManyStreams(t *testing.T) {
	const asked, atMost, slow = 300, 256, 50
	w := newWorld(t, false, false)
	begin := &ask{op: opSend, message: "m", text: "wait", returnAtOnce: true, token: hubproc.Token, agent: "ann"}
	v, err := dialects[0].read(mustDo(t, dialects[0], w.base(), begin))
	if err != nil {
		t.Fatal(err)
	}
	for range slow {
		c, err := net.Dial("tcp", w.door())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /a2a/%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{", tellerName, w.door())
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var open, refused atomic.Int64
	var g errgroup.Group
	for range asked {
		g.Go(func() error {
			q, err := dialects[0].request(ctx, w.base(), &ask{op: opSubscribe, task: v.Task.ID, token: hubproc.Token, agent: "ann"})
			if err != nil {
				return err
			}
			q.Header.Set("Accept", sse.MediaType)
			resp, err := lonely.Do(q)
			if err != nil {
				return err
			}
			if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
				refused.Add(1)
				return resp.Body.Close()
			}
			open.Add(1)
			go func() { defer resp.Body.Close(); _, _ = io.Copy(io.Discard, resp.Body) }()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if open.Load() > atMost || open.Load()+refused.Load() != asked || open.Load() < atMost/2 {
		t.Errorf("%d streams are open and %d were refused, of %d; expected %d at most", open.Load(), refused.Load(), asked,
			atMost)
	}
	other := &ask{op: opSend, message: "n", text: "tell 1"}
	start := time.Now()
	if raw := mustDo(t, dialects[0], w.base(), other); !strings.Contains(string(raw), "COMPLETED") {
		t.Errorf("beside them: %.300s", raw)
	}
	t.Logf("%d streams open, %d refused; another's message was answered after %s", open.Load(), refused.Load(),
		time.Since(start).Round(time.Millisecond))
	stop()
	waitFor(t, 20*time.Second, "room for a stream", func() bool {
		end, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		q, err := dialects[0].request(end, w.base(), &ask{op: opSubscribe, task: v.Task.ID, token: hubproc.Token, agent: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := lonely.Do(q)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.Header.Get("Content-Type") == sse.MediaType
	})
}

// TestBusyStreams: many streams of a task in which much happens leave the others of their token
// room: another one begins, and brings all of its task.
func TestBusyStreams(t *testing.T) {
	const within = 3 * time.Minute
	w := newWorld(t, false, false)
	begin := &ask{op: opSend, message: "m", text: "tell", returnAtOnce: true, token: hubproc.Token, agent: "ann"}
	v, err := dialects[0].read(mustDo(t, dialects[0], w.base(), begin))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var read sync.WaitGroup
	defer read.Wait()
	defer stop()
	var heard atomic.Int64
	for range *streams {
		resp := openStream(ctx, t, w, &ask{op: opSubscribe, task: v.Task.ID, token: hubproc.Token, agent: "ann"})
		read.Go(func() {
			defer resp.Body.Close()
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "data:") {
					heard.Add(1)
				}
			}
		})
	}
	words, before, start := w.teller.words.Load(), heard.Load(), time.Now()
	waitFor(t, streamEnd, "words", func() bool { return w.teller.words.Load() > words+300 })
	rate := float64(heard.Load()-before) / time.Since(start).Seconds()
	end, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	start = time.Now()
	other := openStream(end, t, w, &ask{op: opStream, message: "n", text: "tell 1", token: hubproc.Token, agent: "ann"})
	began := time.Since(start)
	defer other.Body.Close()
	raw, err := io.ReadAll(other.Body)
	if err != nil || !strings.Contains(string(raw), "COMPLETED") {
		t.Errorf("another stream of the token has brought, after %s, %.300s: %v", time.Since(start), raw, err)
	}
	t.Logf("%d streams were told %.0f updates a second; another began after %s and was over after %s", *streams, rate,
		began.Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
}

// openStream opens a stream, and waits for its beginning.
func openStream(ctx context.Context, t *testing.T, w *world, a *ask) *http.Response {
	t.Helper()
	q, err := dialects[0].request(ctx, w.base(), a)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept", sse.MediaType)
	start := time.Now()
	resp, err := lonely.Do(q)
	if err != nil {
		t.Fatalf("no stream after %s: %v", time.Since(start).Round(time.Millisecond), err)
	}
	if media := resp.Header.Get("Content-Type"); media != sse.MediaType {
		raw, _ := io.ReadAll(resp.Body)
		t.Fatalf("no stream: %s %.300s", resp.Status, raw)
	}
	return resp
}

// mostListed is in how many contexts a list looks.
const mostListed = 1000

// TestManyTasks: a participant begins many tasks, each in its own context. As many as a list looks
// at are listed, each once; all can be had by their ids, the first too.
func TestManyTasks(t *testing.T) {
	w := newWorld(t, false, false)
	var g errgroup.Group
	g.SetLimit(16)
	ids := make([]string, *many)
	start := time.Now()
	for n := range *many {
		g.Go(func() error {
			for {
				a, err := dialects[0].do(t.Context(), w.base(), &ask{op: opSend, message: fmt.Sprint("m", n), text: "tell 1",
					returnAtOnce: true, token: hubproc.Token, agent: "ann"})
				if err != nil {
					return err
				}
				raw, f := dialects[0].result(a.status, a.body)
				if f == nil {
					v, err := dialects[0].read(raw)
					if err == nil {
						ids[n] = v.Task.ID
					}
					return err
				}
				if !f.passes() {
					return f
				}
				if err := pause(t.Context(), retryPause); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	w.settle(ids) // a task that moves while the pages are read may be on none of them
	listed, pages, slowest := map[string]bool{}, 0, time.Duration(0)
	for page := ""; ; pages++ {
		at := time.Now()
		var list struct {
			Tasks []struct {
				ID string `json:"id"`
			} `json:"tasks"`
			Next  string `json:"nextPageToken"`
			Total int    `json:"totalSize"`
		}
		if err := json.Unmarshal(mustDo(t, dialects[0], w.base(), &ask{op: opList, page: page, token: hubproc.Token, agent: "ann"}), &list); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(at))
		for _, x := range list.Tasks {
			if listed[x.ID] {
				t.Errorf("%s is listed twice", x.ID)
			}
			listed[x.ID] = true
		}
		if page = list.Next; page == "" {
			break
		}
	}
	if want := min(*many, mostListed); len(listed) != want {
		t.Errorf("%d tasks are listed, expected %d of %d", len(listed), want, *many)
	}
	for n := 0; n < *many; n += max(*many/100, 1) {
		if raw := mustDo(t, dialects[0], w.base(), &ask{op: opGet, task: ids[n], token: hubproc.Token, agent: "ann"}); !strings.Contains(string(raw), ids[n]) {
			t.Errorf("task %d: %.300s", n, raw)
		}
	}
	t.Logf("%d tasks begun in %s, listed in %d pages, the slowest after %s", *many, took.Round(time.Millisecond), pages+1,
		slowest.Round(time.Millisecond))
}

// settle waits until tasks end.
func (w *world) settle(ids []string) {
	w.t.Helper()
	var g errgroup.Group
	g.SetLimit(16)
	for _, id := range ids {
		g.Go(func() error { return w.ended(id) })
	}
	if err := g.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

// ended waits until a task ends.
func (w *world) ended(id string) error {
	for {
		a, err := dialects[0].do(w.t.Context(), w.base(), &ask{op: opGet, task: id, token: hubproc.Token, agent: "ann"})
		if err != nil {
			return err
		}
		raw, f := dialects[0].result(a.status, a.body)
		if f != nil && !f.passes() {
			return f
		}
		if f == nil {
			var task struct {
				Status status `json:"status"`
			}
			if err := json.Unmarshal(raw, &task); err != nil || task.Status.terminal() {
				return err
			}
		}
		if err := pause(w.t.Context(), retryPause); err != nil {
			return err
		}
	}
}

// TestPrivateWebhooks: nothing of this machine or its network is called because a caller says so.
func TestPrivateWebhooks(t *testing.T) {
	needInHub(t, 19)
	w := &world{t: t, dir: t.TempDir(), addr: hubproc.LowAddress(t)}
	w.args = []string{"--listen", w.addr, "--a2a", "--a2a-agent", tellerName}
	w.startHub()
	w.teller = newTeller(t, w.ws())
	v, err := dialects[0].read(mustDo(t, dialects[0], w.base(),
		&ask{op: opSend, message: "m", text: "tell", returnAtOnce: true, token: hubproc.Token, agent: "ann"}))
	if err != nil {
		t.Fatal(err)
	}
	called := newTarget(t, nil)
	_, port, _ := net.SplitHostPort(called.addr)
	for i, url := range []string{
		"http://127.0.0.1:PORT/", "http://[::1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/",
		"http://169.254.169.254/latest/meta-data", "http://10.0.0.1:8080/", "http://192.168.1.1:8080/",
		"http://100.64.0.1:8080/",
		"http://0.0.0.0:PORT/", "http://[::]:PORT/", "http://2130706433:PORT/", "http://0x7f.1:PORT/", "http://127.1:PORT/",
		"http://[64:ff9b::7f00:1]:PORT/", "http://localhost:PORT/", "http://localhost.:PORT/",
		"file:///etc/passwd", "gopher://127.0.0.1:PORT/", "http://user:pass@127.0.0.1:PORT/", "//127.0.0.1:PORT/", "http://",
		"",
	} {
		url = strings.ReplaceAll(url, "PORT", port)
		a, err := dialects[0].do(t.Context(), w.base(), &ask{op: opPushCreate, task: v.Task.ID, config: fmt.Sprint("c", i),
			hook: url, token: hubproc.Token, agent: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		_, f := dialects[0].result(a.status, a.body)
		byName := strings.Contains(url, "localhost") // is refused at the latest when it was resolved
		if f == nil && !byName || f != nil && f.code != -32602 {
			t.Errorf("%q: %v", url, f)
		}
	}
	words := w.teller.words.Load()
	waitFor(t, 20*time.Second, "words", func() bool { return w.teller.words.Load() > words+200 })
	if n := called.calls.Load(); n > 0 {
		t.Errorf("this machine was called %d times", n)
	}
}

// TestRedirects: a webhook that sends elsewhere has not taken the update, and elsewhere is not
// called.
func TestRedirects(t *testing.T) {
	w := newWorld(t, false, false)
	elsewhere := newTarget(t, nil)
	hook := newTarget(t, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://"+elsewhere.addr+"/", http.StatusTemporaryRedirect)
	})
	mustDo(t, dialects[0], w.base(), &ask{op: opSend, message: "m", text: "tell 1", config: "c", hook: "http://" +
		hook.addr + "/", token: hubproc.Token, agent: "ann"})
	waitFor(t, 20*time.Second, "a second attempt", func() bool { return hook.calls.Load() > 1 })
	if n := elsewhere.calls.Load(); n > 0 {
		t.Errorf("the redirect was followed %d times", n)
	}
}

// target counts who calls it.
type target struct {
	addr  string
	calls atomic.Int64
}

func newTarget(t *testing.T, answer http.HandlerFunc) *target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &target{addr: l.Addr().String()}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.calls.Add(1)
		if answer != nil {
			answer(w, r)
		}
	})}
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() { _ = s.Close(); served.Wait() })
	return x
}
