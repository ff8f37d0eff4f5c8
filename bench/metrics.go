package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// memory is what a process holds.
type memory struct {
	anonKiB int64 // resident, and of no file
	// Of the Go runtime, by the hub's metrics.
	heapBytes  float64
	stackBytes float64
	goroutines float64
}

// settleLimit bounds the wait for stable memory.
const settleLimit = 30 * time.Second

func checkSettle(d time.Duration) error {
	if d < 10*time.Millisecond || d > settleLimit {
		return fmt.Errorf("settle: %s: expected 10ms to %s", d, settleLimit)
	}
	return nil
}

// settle waits until the memory of a process changes by less than one percent for some time. It
// returns the KiB that do not belong to files.
func settle(ctx context.Context, pid int, still time.Duration) (int64, error) {
	last, since := residentKiB(pid, false), time.Now()
	for end := since.Add(settleLimit); time.Now().Before(end) && time.Since(since) < still; {
		if err := sleep(ctx, still/8); err != nil {
			return 0, err
		}
		now := residentKiB(pid, false)
		if diff := now - last; diff*100 > last || diff*100 < -last {
			last, since = now, time.Now()
		}
	}
	return residentKiB(pid, false), nil
}

// memoryOf settles, and asks a hub for its metrics.
func memoryOf(ctx context.Context, hub *Child, still time.Duration) (m memory, err error) {
	if m.anonKiB, err = settle(ctx, hub.pid(), still); err != nil {
		return m, err
	}
	target := hub.Target()
	values, err := target.metrics(ctx)
	m.heapBytes, m.stackBytes, m.goroutines = values["go_memstats_heap_alloc_bytes"],
		values["go_memstats_stack_inuse_bytes"], values["go_goroutines"]
	return m, err
}

// metrics returns the metrics of a hub without labels.
func (t *Target) metrics(ctx context.Context) (map[string]float64, error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimSuffix(u.Path, "/rpc") + "/metrics"
	u.Scheme = map[string]string{"ws": "http", "wss": "https", "http": "http", "https": "https"}[u.Scheme]
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+t.Token)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.TLS, DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", u.Path, resp.Status)
	}
	values := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil && name != "#" {
			values[name] = v
		}
	}
	return values, lines.Err()
}
