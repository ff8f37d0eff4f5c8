package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveNATS { // the child that is the NATS server
		exit(runNATS(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// tiny is a comparison that shows nothing but that it works.
var tiny = Options{
	Servers: names, Rounds: 2, Slice: 300 * time.Millisecond, Size: 500,
	Shapes: []Shape{{1, 1}, {8, 1}, {4, 16}}, Conversations: 20,
	Subscribers: []int{30}, Deliveries: 3000, Events: 2345,
}

// TestCompare does all of it with whatever is installed.
func TestCompare(t *testing.T) {
	o := tiny
	o.Dir = openDir(t)
	r, err := compare(t.Context(), o, "all", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	servers := takePart(t, r.LeftOut)
	want := []string{"append 1 x 1", "append 8 x 1", "append 4 x 16", "fan-out to 30", "replay of 2345"}
	for i, row := range r.Rows {
		if i >= len(want) || row.Name != want[i] {
			t.Errorf("row %d is %q: expected %q", i, row.Name, want)
		}
		checkRow(t, row, servers)
	}
	if len(r.Rows) != len(want) {
		t.Errorf("%d rows: expected %d", len(r.Rows), len(want))
	}
	var text, asJSON bytes.Buffer
	r.text(&text)
	if err := r.json(&asJSON); err != nil || !json.Valid(asJSON.Bytes()) {
		t.Errorf("expected JSON: %v", err)
	}
	t.Logf("\n%s", text.String())
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v: expected an empty directory when all is done", left, err)
	}
}

// checkRow expects each server in a row, in its turn, with something done.
func checkRow(t *testing.T, row Row, servers []string) {
	t.Helper()
	var seen []string
	for i, s := range row.Sides {
		name, _, _ := strings.Cut(s.Name, " ")
		seen = append(seen, name)
		if s.Ops < 2 || s.PerSecond.Low <= 0 || s.PerSecond.Low > s.PerSecond.Median ||
			s.PerSecond.Median > s.PerSecond.High {
			t.Errorf("%s: %+v: expected something done, and its median in its range", row.Name, s)
		}
		if (s.Ratio == nil) != (i == 0) {
			t.Errorf("%s: %s has ratio %v: expected one but for the first", row.Name, s.Name, s.Ratio)
		}
		if timed := strings.HasPrefix(row.Name, "append"); timed != (s.P99Ms > 0) {
			t.Errorf("%s: %s has p99 %v ms: expected one for appends only", row.Name, s.Name, s.P99Ms)
		}
	}
	if seen = slices.Compact(seen); !slices.Equal(seen, servers) {
		t.Errorf("%s: %q took part: expected %q", row.Name, seen, servers)
	}
}

// takePart is who is not left out. With CI=true that must be all.
func takePart(t *testing.T, leftOut []string) []string {
	t.Helper()
	found := slices.Clone(names)
	for _, said := range leftOut {
		if os.Getenv("CI") == "true" {
			t.Error(said)
		}
		found = slices.DeleteFunc(found, func(name string) bool { return strings.Contains(said, name) })
	}
	if len(found)+len(leftOut) != len(names) {
		t.Errorf("%q take part, and %q: expected all in one of them", found, leftOut)
	}
	return found
}

// openDir is a temporary directory that PostgreSQL's user comes into.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "parley-compare-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestHubs: hubs with one log, one on bbolt, and the servers by themselves take their turns, and
// hold in the end what they have acknowledged.
func TestHubs(t *testing.T) {
	o := tiny
	o.Dir, o.Shapes, o.Hubs, o.Keepers = openDir(t), []Shape{{8, 1}}, []int{1, 2}, []int{1, 3}
	r, err := compare(t.Context(), o, hubsName, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	r.text(&text)
	t.Logf("\n%s", text.String())
	for i, want := range []string{"append 8 x 1, R1", "append 8 x 1, R3"} {
		if i >= len(r.Rows) || r.Rows[i].Name != want || !r.Rows[i].Times {
			t.Fatalf("row %d: expected %s of %+v", i, want, r.Rows)
		}
		var seen []string
		for k, s := range r.Rows[i].Sides {
			seen = append(seen, s.Name)
			if s.Ops < 2 || s.PerSecond.Low <= 0 || s.P99Ms <= 0 || s.ServerCPUus <= 0 || (s.Ratio == nil) != (k == 0) {
				t.Errorf("%s: %+v: expected something done", want, s)
			}
		}
		if !slices.Equal(seen, []string{"jetstream", "1 hub", "2 hubs", "1 hub on bbolt"}) {
			t.Errorf("%s: %q took part", want, seen)
		}
	}
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v: expected an empty directory when all is done", left, err)
	}
}

// TestMissingProgramIsLeftOut finds no redis-server, and compares what is there. (PostgreSQL is
// found without PATH.)
func TestMissingProgramIsLeftOut(t *testing.T) {
	path, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(path))
	o := tiny
	o.Dir, o.Servers, o.Rounds, o.Shapes = openDir(t), []string{"nats", "redis"}, 1, []Shape{{1, 1}}
	r, err := compare(t.Context(), o, "append", t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	want := "left out: redis-server is not installed (apt-get install redis-server)"
	if len(r.LeftOut) != 1 || r.LeftOut[0] != want || len(r.Rows) != 1 || len(r.Rows[0].Sides) != 1 {
		t.Errorf("%+v: expected one row of nats, and %q", r, want)
	}
}

// TestLaxRedisIsRefused: a server whose acknowledgements are not durable is not compared.
func TestLaxRedisIsRefused(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("redis-server is not installed")
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	args := redisArgs(port)
	args[slices.Index(args, "always")] = "everysec"
	s := &redisServer{addr: fmt.Sprintf("127.0.0.1:%d", port)}
	s.proc, err = program{path: path, args: args, dir: t.TempDir(), stop: syscall.SIGTERM}.start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.proc.end()
	refused := s.proc.ready(t.Context(), func(ctx context.Context) error {
		err := s.look(ctx)
		if err != nil && strings.Contains(err.Error(), "everysec") {
			return nil
		}
		return cmp.Or(err, errors.New("taken as durable"))
	})
	if refused != nil {
		t.Errorf("expected a refusal of everysec: %v", refused)
	}
}
