package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// pipe is a line whose server is the test. Its buffer is small at first.
func pipe(t *testing.T, hear func([]byte) (message, error)) (*line, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	l, err := dial(t.Context(), listener.Addr().String(), hear)
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.close(); server.Close() })
	l.buf = make([]byte, 16)
	return l, server
}

// frame is a text frame of a server.
func frame(text string) string {
	if len(text) < 126 {
		return "\x81" + string(byte(len(text))) + text
	}
	return "\x81\x7e" + string([]byte{byte(len(text) >> 8), byte(len(text))}) + text
}

func postgresMessage(kind byte, body string) string { return string(appendMessage(nil, kind, body)) }

var said = []struct {
	name string
	hear func([]byte) (message, error)
	text string
	want []message // without sizes
}{
	{"parley", hearParley,
		frame(`{"jsonrpc":"2.0","id":17,"result":{"seq":2}}`) + "\x89\x02hi" + "\x8a\x00" +
			frame(`{"jsonrpc":"2.0","method":"event","params":{"event":{"text":"`+strings.Repeat("x", 500)+`"}}}`) +
			frame(`{"jsonrpc":"2.0","method":"caught_up","params":{}}`) +
			frame(`{"jsonrpc":"2.0","method":"guidance","params":{}}`),
		[]message{{kind: answer, slot: 17}, {kind: ping}, {kind: other}, {kind: event}, {kind: end}, {kind: other}}},
	{"nats", hearNATS,
		"MSG r.3.12 1 26\r\n{\"stream\":\"S\",\"seq\":10000}\r\nPING\r\nMSG fan 2 5\r\nhello\r\nMSG one 3 $JS.ACK.x 0\r\n\r\n+OK\r\n",
		[]message{{kind: answer, slot: 12}, {kind: ping}, {kind: event}, {kind: event}, {kind: other}}},
	{"redis", hearRedis,
		"$15\r\n1526919030474-0\r\n:3\r\n*2\r\n$1\r\na\r\n*1\r\n$-1\r\n*0\r\n+OK\r\n",
		slices.Repeat([]message{{kind: answer, slot: oldest}}, 5)},
	{"redis pub/sub", hearRedisEvents,
		"*3\r\n$7\r\nmessage\r\n$3\r\nfan\r\n$5\r\nhello\r\n*3\r\n$9\r\nsubscribe\r\n$3\r\nfan\r\n:1\r\n",
		[]message{{kind: event, slot: oldest}, {kind: other, slot: oldest}}},
	{"postgres", hearPostgres,
		postgresMessage('2', "") + postgresMessage('D', "\x00\x01\x00\x00\x00\x011") +
			postgresMessage('C', "INSERT 0 1\x00") + postgresMessage('Z', "I") +
			postgresMessage('A', "\x00\x00\x00\x01fan\x00hello\x00"),
		[]message{{slot: oldest}, {kind: row, slot: oldest}, {slot: oldest}, {kind: answer, slot: oldest},
			{kind: event, slot: oldest}}},
}

// TestHearInPieces cuts what servers say anywhere: it is understood alike, and all of it.
func TestHearInPieces(t *testing.T) {
	for _, s := range said {
		for cut := range len(s.text) {
			var got []message
			rest := ""
			for _, piece := range []string{s.text[:cut], s.text[cut:]} {
				rest += piece
				for {
					m, err := s.hear([]byte(rest))
					if err != nil {
						t.Fatalf("%s, cut at %d: %v", s.name, cut, err)
					}
					if rest == "" || m.size == 0 || m.size > len(rest) {
						break
					}
					rest = rest[m.size:]
					m.size = 0
					got = append(got, m)
				}
			}
			if !slices.Equal(got, s.want) || rest != "" {
				t.Fatalf("%s, cut at %d: %+v, and %q is left: expected %+v", s.name, cut, got, rest, s.want)
			}
		}
	}
}

// TestHearRefusals: a refusal is not an answer.
func TestHearRefusals(t *testing.T) {
	for _, s := range []struct {
		hear func([]byte) (message, error)
		text string
	}{
		{hearParley, frame(`{"jsonrpc":"2.0","id":17,"error":{"code":4290}}`)},
		{hearParley, "\x88\x06\x03\xe9gone"},
		{hearParley, "\x01\x02{}"},
		{hearParley, frame(`{"id":1,"result":{}}`)},
		{hearNATS, "MSG r.3.12 1 28\r\n{\"error\":{\"code\":503,\"x\":1}}\r\n"},
		{hearNATS, "-ERR 'Slow Consumer'\r\n"},
		{hearNATS, "HMSG r.3.1 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"},
		{hearRedis, "-MISCONF Errors writing to the AOF file\r\n"},
		{hearPostgres, postgresMessage('E', "SERROR\x00Mno\x00\x00")},
		{hearUpgrade, "HTTP/1.1 403 Forbidden\r\n\r\n"},
	} {
		if m, err := s.hear([]byte(s.text)); err == nil {
			t.Errorf("%q is %+v: expected an error", s.text, m)
		}
	}
}

// TestCountMissesNothing: a subscriber must have all, and no more.
func TestCountMissesNothing(t *testing.T) {
	const one = "MSG fan 2 1\r\nx\r\n"
	for _, n := range []int{4, 5, 6} {
		l, server := pipe(t, hearNATS)
		go func() {
			server.Write([]byte(strings.Repeat(one, n)))
			server.Close()
		}()
		l.buf = make([]byte, 1<<10) // the surplus must have arrived to be noticed
		if err := l.count(5); (err == nil) != (n == 5) {
			t.Errorf("%d of 5 came: %v", n, err)
		}
	}
}

// TestPingsAreAnswered while something else is awaited.
func TestPingsAreAnswered(t *testing.T) {
	l, server := pipe(t, hearParley)
	l.pong = appendPong
	got := make(chan []byte, 1)
	go func() {
		server.Write([]byte("\x89\x02hi"))
		pong := make([]byte, 8)
		n, _ := server.Read(pong)
		got <- pong[:n]
		server.Write([]byte(frame(`{"jsonrpc":"2.0","id":0,"result":{}}`)))
	}()
	if _, err := l.await(answer); err != nil {
		t.Fatal(err)
	}
	if pong := <-got; string(pong) != "\x8a\x82\x00\x00\x00\x00hi" {
		t.Errorf("%q: expected a masked pong of the same text", pong)
	}
}

// TestFrames: a server decodes the frames that the client encodes.
func TestFrames(t *testing.T) {
	for _, n := range []int{0, 1, 125, 126, 127, 600, 65535} {
		text := strings.Repeat("x", n)
		before := "before"
		b := append(beginFrame([]byte(before)), text...)
		b = endFrame(b, len(before))
		b = b[len(before):]
		head := 6
		if n >= 126 {
			head = 8
		}
		if b[0] != textFrame || b[1]&masked == 0 || string(b[head:]) != text {
			t.Errorf("%d bytes are framed as %.20q", n, b)
		}
		b[1] &^= masked // a frame of a server has no mask
		if n < 126 && int(b[1]) != n {
			t.Errorf("%d bytes are framed as %d", n, b[1])
		}
	}
}

// TestLaneKeepsItsWindow: a lane has never more in flight than its window, and waits for every
// answer.
func TestLaneKeepsItsWindow(t *testing.T) {
	const window, calls = 4, 50
	l, server := pipe(t, hearRedis)
	asked := 0
	lane := newLane(l, window, func(b []byte, slot int) []byte {
		asked++
		return fmt.Appendf(b, "%d\n", slot)
	})
	done := make(chan error, 1)
	go func() { done <- lane.times(calls) }()
	answered, open := 0, 0
	buf := make([]byte, 64)
	for answered < calls {
		n, err := server.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if open += strings.Count(string(buf[:n]), "\n"); open > window {
			t.Fatalf("%d calls in flight: expected at most %d", open, window)
		}
		answers := 1 + answered%open // some, and later the rest
		server.Write([]byte(strings.Repeat("+OK\r\n", answers)))
		answered, open = answered+answers, open-answers
		for open > 0 && calls-answered <= open {
			server.Write([]byte("+OK\r\n"))
			answered, open = answered+1, open-1
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if asked != calls || len(lane.took) != calls {
		t.Errorf("%d calls and %d answers: expected %d", asked, len(lane.took), calls)
	}
}

// TestEachStopsAtTheFirstError: the others do not wait for ever.
func TestEachStopsAtTheFirstError(t *testing.T) {
	var lines []*line
	for range 3 {
		l, _ := pipe(t, hearRedis)
		lines = append(lines, l)
	}
	broken := errors.New("broken")
	err := each(t.Context(), lines, func(l *line) error {
		if l == lines[1] {
			return broken
		}
		_, err := l.await(answer)
		return err
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v: expected %v", err, broken)
	}
}

// TestSpread: the median of an even number is in the middle.
func TestSpread(t *testing.T) {
	if got := spreadOf([]float64{3, 1, 2}); got != (Spread{2, 1, 3}) {
		t.Errorf("%+v", got)
	}
	if got := spreadOf([]float64{4, 1, 2, 3}); got != (Spread{2.5, 1, 4}) {
		t.Errorf("%+v", got)
	}
}

// TestRatiosAreOfTheSameRound: what slowed a round down slowed both sides.
func TestRatiosAreOfTheSameRound(t *testing.T) {
	sampleOf := func(ops int) sample { return sample{ops: ops, elapsed: time.Second} }
	first := &side{name: "a", samples: []sample{sampleOf(100), sampleOf(10), sampleOf(100)}}
	second := &side{name: "b", samples: []sample{sampleOf(50), sampleOf(5), sampleOf(25)}}
	if got := *second.report(first, false).Ratio; got != (Spread{2, 2, 4}) {
		t.Errorf("%+v: expected 2 (2 - 4)", got)
	}
	if got := *second.report(first, true).Ratio; got != (Spread{0.5, 0.25, 0.5}) {
		t.Errorf("%+v times the first: expected 0.5 (0.25 - 0.5)", got)
	}
}
