package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A2AOptions of a run of A2A.
type A2AOptions struct {
	// Conns are how many connections there are, one measurement for each number.
	Conns []int
	// Size is that of the text of a message, in bytes.
	Size int
	// Duration is how long each of them is measured; the other server gets the same.
	Duration time.Duration
	// Memory runs the hub without a disk.
	Memory bool
	// Dir is where the log is put for the time of the run; empty means the directory for temporary
	// files.
	Dir string
	// Server is the command of this program that serves the other echo.
	Server string
}

func (o A2AOptions) check() error {
	return MCPOptions{Conns: o.Conns, Size: o.Size, Duration: o.Duration}.check() // the same bounds
}

// A2AReport is what a run of A2A measured.
type A2AReport struct {
	Journal string `json:"journal"`
	Size    int    `json:"size"`
	// Rows has one for each number of connections.
	Rows []A2ARow `json:"rows"`

	Machine
}

// A2ARow is one row: the hub's agent echo beside that of another server.
type A2ARow struct {
	Conns int `json:"conns"`
	// Send is of messages that are sent until their answer, and SendRatio those of the hub per second
	// over those of the other.
	Send      A2APair `json:"send"`
	SendRatio Spread  `json:"sendRatio"`
	// First is of streams: the times are from the request to the first event, and each is read to its
	// end. FirstRatio is the median of the hub over that of the other.
	First      A2APair `json:"first"`
	FirstRatio Spread  `json:"firstRatio"`
}

// A2APair is one thing measured of both.
type A2APair struct {
	Hub   Rate `json:"hub"`
	Other Rate `json:"other"`
}

// A2A measures messages to an echo agent over JSON-RPC of A2A 1.0, each in a new context. Slices to
// a hub, which stores the messages, alternate with slices to a minimal server. Both are separate
// processes. progress receives a description of each step.
func A2A(ctx context.Context, o A2AOptions, progress func(string)) (report *A2AReport, err error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	dir, err := os.MkdirTemp(o.Dir, "parley-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &A2AReport{Journal: Place{Memory: o.Memory}.journal(), Size: o.Size}
	if err := r.before(dir); err != nil {
		return nil, err
	}
	for i, n := range o.Conns {
		progress(fmt.Sprintf("%d connections, a hub and another server for %s each, in turns, answers and then streams", n,
			o.Duration))
		row, err := measureA2A(ctx, o, filepath.Join(dir, fmt.Sprint(i)), n)
		if err != nil {
			return nil, fmt.Errorf("%d connections: %w", n, err)
		}
		r.Rows = append(r.Rows, *row)
	}
	return r, r.after(dir)
}

// measureA2A starts a hub and a minimal server, and measures both.
func measureA2A(ctx context.Context, o A2AOptions, dir string, n int) (*A2ARow, error) {
	hub, err := StartHub(ctx, HubOptions{Memory: o.Memory, Dir: dir, Env: []string{"PARLEY_A2A=true"}})
	if err != nil {
		return nil, err
	}
	defer hub.Stop()
	other, err := startChild(ctx, "", nil, o.Server)
	if err != nil {
		return nil, err
	}
	defer other.Stop()
	u, err := url.Parse(hub.URL)
	if err != nil {
		return nil, err
	}
	row := &A2ARow{Conns: n}
	for _, streams := range []bool{false, true} {
		a, b := &side{target: hub.Target()}, &side{target: other.Target()}
		for i := range n {
			a.workers = append(a.workers, newTalker(ctx, "http://"+u.Host+"/a2a/echo", fmt.Sprintf("a%v%d", streams, i), o.Size,
				streams))
			b.workers = append(b.workers, newTalker(ctx, other.URL, fmt.Sprintf("b%v%d", streams, i), o.Size, streams))
		}
		rates, err := alternate(ctx, o.Duration, a.slice, b.slice)
		a.Close()
		b.Close()
		if err != nil {
			return nil, err
		}
		pair := A2APair{Hub: Middle(rates[0]), Other: Middle(rates[1])}
		if streams {
			row.First, row.FirstRatio = pair, medianRatios(rates[0], rates[1])
			continue
		}
		row.Send, row.SendRatio = pair, Ratios(rates[0], rates[1])
	}
	return row, nil
}

// medianRatios compares the medians of times that were measured in turns.
func medianRatios(a, b []Rate) Spread {
	var all []float64
	for i := range min(len(a), len(b)) {
		if b[i].P50Ms > 0 {
			all = append(all, a[i].P50Ms/b[i].P50Ms)
		}
	}
	return SpreadOf(all)
}

// talker sends messages over A2A, one after another on one connection.
type talker struct {
	ctx       context.Context // of the run
	url, name string
	text      string
	method    string
	streams   bool
	http      *http.Transport

	n    int
	body []byte
	took []time.Duration
}

func newTalker(ctx context.Context, url, name string, size int, streams bool) *talker {
	k := &talker{ctx: ctx, url: url, name: name, text: strings.Repeat("x", size), method: "SendMessage", streams: streams,
		http: &http.Transport{MaxIdleConnsPerHost: 1}}
	if streams {
		k.method = "SendStreamingMessage"
	}
	return k
}

func (k *talker) work(end time.Time) error {
	for {
		start := time.Now()
		if !start.Before(end) {
			return nil
		}
		first, err := k.talk()
		if err != nil {
			return err
		}
		k.took = append(k.took, first.Sub(start))
	}
}

// errNoEcho is an answer that does not end with the task.
var errNoEcho = errors.New("unexpected answer")

// talk sends a message, reads the whole answer, and says when its first event, or all of it, was
// there.
func (k *talker) talk() (first time.Time, err error) {
	k.n++
	k.body = fmt.Appendf(k.body[:0],
		`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"message":{"messageId":"%s-%d","role":"ROLE_USER","parts":[{"text":%q}]}}}`, k.n, k.method, k.name, k.n, k.text)
	r, err := http.NewRequestWithContext(k.ctx, http.MethodPost, k.url, bytes.NewReader(k.body))
	if err != nil {
		return first, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "A2a-Version": {"1.0"}}
	resp, err := k.http.RoundTrip(r)
	if err != nil {
		return first, err
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	var answer []byte
	for k.streams { // until the first event is whole
		line, err := in.ReadBytes('\n')
		answer = append(answer, line...)
		if err != nil {
			return first, fmt.Errorf("%w: %w", errNoEcho, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			first = time.Now()
			break
		}
	}
	rest, err := io.ReadAll(in)
	if err != nil {
		return first, err
	}
	if !k.streams {
		first = time.Now()
	}
	if answer = append(answer, rest...); resp.StatusCode != http.StatusOK ||
		!bytes.Contains(answer, []byte("TASK_STATE_COMPLETED")) {
		return first, fmt.Errorf("%w: HTTP %s: %.300s", errNoEcho, resp.Status, answer)
	}
	return first, nil
}

func (k *talker) taken() (int, []time.Duration) { return take(&k.took) }

func (k *talker) close() { k.http.CloseIdleConnections() }
