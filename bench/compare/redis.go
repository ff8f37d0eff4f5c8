package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// redisServer is the redis-server of the system.
type redisServer struct {
	text string

	proc    *process
	addr    string
	version string
	spread  int // streams that appends are spread over
}

const (
	redisFan = "fan" // the channel of the fan-out
	redisOne = "one" // the stream of the replay
)

func (s *redisServer) about() About {
	return About{Name: "redis", Version: s.version, Durable: "appendonly yes, appendfsync always; fan-out by pub/sub, which keeps nothing"}
}

func (s *redisServer) process() *process { return s.proc }

func (s *redisServer) start(ctx context.Context, dir string) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("%w: redis-server is not installed (apt-get install redis-server)", errMissing)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.proc, err = program{path: path, args: redisArgs(port), dir: dir, stop: syscall.SIGTERM}.start()
	if err != nil {
		return err
	}
	return s.proc.ready(ctx, s.look)
}

// redisArgs makes each write durable, and leaves out what would only disturb the measurement:
// snapshots, rewrites of the file, and the end of subscribers who are behind.
func redisArgs(port int) []string {
	return []string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--daemonize", "no", "--maxclients", strconv.Itoa(redisClients),
		"--appendonly", "yes", "--appendfsync", "always",
		"--save", "", "--auto-aof-rewrite-percentage", "0",
		"--client-output-buffer-limit", "pubsub 0 0 0",
	}
}

// redisClients is how many connections it takes; its default is just too few for 10,000
// subscribers.
const redisClients = 12_000

// look asks how it is set.
func (s *redisServer) look(ctx context.Context) error {
	l, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	got, err := redisCall(l, "CONFIG", "GET", "append*")
	if err != nil {
		return err
	}
	settings := strings.Fields(got)
	if redisSetting(settings, "appendonly") != "yes" || redisSetting(settings, "appendfsync") != "always" {
		return fmt.Errorf("redis is set %q: expected appendonly yes and appendfsync always", settings)
	}
	info, err := redisCall(l, "INFO", "server")
	_, rest, _ := strings.Cut(info, "redis_version:")
	s.version, _, _ = strings.Cut(rest, "\r")
	return err
}

// redisSetting returns a value of an answer of CONFIG GET, in which lengths separate names and
// values.
func redisSetting(fields []string, name string) string {
	for i := range len(fields) - 2 {
		if fields[i] == name {
			return fields[i+2]
		}
	}
	return ""
}

func (s *redisServer) dial(ctx context.Context) (*line, error) { return dial(ctx, s.addr, hearRedis) }

// prepare has nothing to do: a stream is made by its first entry.
func (s *redisServer) prepare(_ context.Context, n int) error {
	s.spread = n
	return nil
}

func redisSpread(i int) string { return "c-" + strconv.Itoa(i) }

func (s *redisServer) appender(ctx context.Context, _, window int) (*lane, error) {
	return s.lane(ctx, window, func() string { return redisSpread(rand.IntN(s.spread)) })
}

// lane adds entries of one field.
func (s *redisServer) lane(ctx context.Context, window int, stream func() string) (*lane, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return newLane(l, window, func(b []byte, _ int) []byte {
		return appendCommand(b, "XADD", stream(), "*", "d", s.text)
	}), nil
}

func (s *redisServer) appended(ctx context.Context) (int, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return 0, err
	}
	defer l.close()
	sum := 0
	for i := range s.spread {
		got, err := redisCall(l, "XLEN", redisSpread(i))
		if err != nil {
			return 0, err
		}
		n, _ := leadingInt([]byte(got[1:]))
		sum += n
	}
	return sum, nil
}

func (s *redisServer) mostSubscribers() int { return redisClients - 100 }

func (s *redisServer) subscriber(ctx context.Context, _ int) (*line, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := redisCall(l, "SUBSCRIBE", redisFan); err != nil {
		l.close()
		return nil, err
	}
	l.hear = hearRedisEvents
	return l, nil
}

func (s *redisServer) publisher(ctx context.Context) (*lane, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return newLane(l, publishWindow, func(b []byte, _ int) []byte {
		return appendCommand(b, "PUBLISH", redisFan,
			s.text)
	}), nil
}

func (s *redisServer) fill(ctx context.Context, n int) error {
	l, err := s.lane(ctx, fillWindow, func() string { return redisOne })
	if err != nil {
		return err
	}
	defer l.close()
	return l.times(n)
}

func (s *redisServer) readers() []reader {
	return []reader{{name: "redis XRANGE 1000", open: s.dial, read: rangeAll}}
}

// redisPage is COUNT of XRANGE.
const redisPage = 1000

// rangeAll reads page after page of XRANGE.
func rangeAll(l *line) (int, error) {
	defer func() { l.hear = hearRedis }()
	n, from := 0, "-"
	for {
		if err := l.write(appendCommand(nil, "XRANGE", redisOne, from, "+", "COUNT", strconv.Itoa(redisPage))); err != nil {
			return n, err
		}
		got, last, err := rangePage(l)
		if n += got; err != nil || got < redisPage {
			return n, err
		}
		from = "(" + last
	}
}

// rangePage hears one entry after the other, so that a page that comes in pieces is not looked at
// again from its beginning.
func rangePage(l *line) (n int, last string, err error) {
	l.hear = hearRedisCount
	head, err := l.await(answer)
	if err != nil {
		return 0, "", err
	}
	n, _ = leadingInt(head[1:])
	l.hear = hearRedis
	var entry []byte
	for range n {
		if entry, err = l.await(answer); err != nil {
			return 0, "", err
		}
	}
	parts := strings.SplitN(string(entry), "\r\n", 4) // *2, $length, id
	if n > 0 && len(parts) < 4 {
		return 0, "", errors.New("an entry without an id")
	}
	if n > 0 {
		last = parts[2]
	}
	return n, last, nil
}
