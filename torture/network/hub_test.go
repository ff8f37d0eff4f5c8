package network

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scraper asks for /metrics on one connection.
type scraper struct {
	client http.Client
	url    string
}

func newScraper(base string) *scraper {
	return &scraper{client: http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}, url: base + "/metrics"}
}

// scrape returns the hub's metrics; a name has its labels behind it, as
// parley_sockets{state="authenticated"}.
func (s *scraper) scrape() (map[string]float64, error) {
	req, err := http.NewRequest(http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/metrics: %s", resp.Status)
	}
	return readMetrics(resp.Body)
}

func readMetrics(r io.Reader) (map[string]float64, error) {
	all := map[string]float64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue // labels with a space in them: none that is asked for
		}
		all[name] = v
	}
	return all, lines.Err()
}

const authenticated = `parley_sockets{state="authenticated"}`

// rss is what a process holds in memory, in bytes.
func rss(t testing.TB, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("process %d has no VmRSS", pid)
	return 0
}

// sockets is how many sockets a process has open.
func sockets(t testing.TB, pid int) (n int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(dir + "/" + fd.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
