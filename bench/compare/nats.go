package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"

	nats "github.com/nats-io/nats-server/v2/server"
)

// natsServer is nats-server as a library, run by this program as a child. Appends and the replay go
// through JetStream, the fan-out through core NATS.
type natsServer struct {
	text string
	// lax leaves syncs to JetStream's default, for runs in which only reading is measured.
	lax bool

	proc   *process
	addr   string
	copies int // of each message, on so many servers; 0 is 1
	spread int // subjects that appends are spread over
	filled int // messages of natsOne
}

const (
	// natsSpread is the stream of all subjects of the appends, natsOne that of the replay.
	natsSpread = "SPREAD"
	natsOne    = "ONE"
	// natsFan is the subject of the fan-out, which is in no stream.
	natsFan = "fan"
	// natsCalls is the inbox of a line that makes calls.
	natsCalls = natsInboxes + "call"
)

func (s *natsServer) about() About {
	durable := "JetStream on file, sync_interval always, one replica; fan-out by core NATS, which keeps nothing"
	if s.lax {
		durable = "in the replay JetStream was filled with its default sync, which is not durable: only reading is measured"
	}
	return About{Name: "nats", Version: nats.VERSION, Durable: durable}
}

func (s *natsServer) process() *process { return s.proc }

func (s *natsServer) start(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.proc, err = program{
		path: self, args: []string{serveNATS, strconv.Itoa(port), dir, strconv.FormatBool(!s.lax)}, stop: syscall.SIGTERM,
	}.start()
	if err != nil {
		return err
	}
	return s.proc.ready(ctx, func(ctx context.Context) error {
		l, err := s.dial(ctx, natsCalls)
		if err != nil {
			return err
		}
		defer l.close()
		return natsCall(l, "$JS.API.INFO", "", &struct{}{})
	})
}

// dial connects, and hears what comes for the inbox.
func (s *natsServer) dial(ctx context.Context, inbox string) (*line, error) {
	l, err := dial(ctx, s.addr, hearNATSGreeting)
	if err != nil {
		return nil, err
	}
	if _, err = l.await(answer); err == nil {
		_, err = l.ask(fmt.Appendf(nil,
			"CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true}\r\nSUB %s.* 1\r\nPING\r\n",
			inbox))
	}
	if err != nil {
		l.close()
		return nil, err
	}
	l.hear = hearNATS
	l.pong = func(b, _ []byte) []byte { return append(b, "PONG\r\n"...) }
	return l, nil
}

// createStream makes a stream on file.
func (s *natsServer) createStream(ctx context.Context, name, subjects string) error {
	l, err := s.dial(ctx, natsCalls)
	if err != nil {
		return err
	}
	defer l.close()
	config := fmt.Sprintf(`{"name":"%s","subjects":["%s"],"storage":"file","retention":"limits","discard":"old","num_replicas":%d,"max_consumers":-1,"max_msgs":-1,"max_bytes":-1}`,
		name, subjects, max(s.copies, 1))
	return natsCall(l, "$JS.API.STREAM.CREATE."+name, config, &struct{}{})
}

func (s *natsServer) prepare(ctx context.Context, n int) error {
	s.spread = n
	return s.createStream(ctx, natsSpread, "c.*")
}

func (s *natsServer) appender(ctx context.Context, i, window int) (*lane, error) {
	return s.lane(ctx, i, window, func(b []byte) []byte {
		return strconv.AppendInt(append(b, "c."...), int64(rand.IntN(s.spread)), 10)
	})
}

// lane publishes and waits for the acknowledgement of the stream, which comes to the inbox of the
// slot.
func (s *natsServer) lane(ctx context.Context, i, window int, subject func([]byte) []byte) (*lane, error) {
	inbox := natsInboxes + strconv.Itoa(i)
	l, err := s.dial(ctx, inbox)
	if err != nil {
		return nil, err
	}
	return newLane(l, window, func(b []byte, slot int) []byte {
		b = append(subject(append(b, "PUB "...)), ' ')
		b = append(append(b, inbox...), '.')
		b = append(strconv.AppendInt(b, int64(slot), 10), ' ')
		return s.appendPayload(b)
	}), nil
}

// appendPayload appends the end of a PUB, and the text.
func (s *natsServer) appendPayload(b []byte) []byte {
	b = append(strconv.AppendInt(b, int64(len(s.text)), 10), "\r\n"...)
	return append(append(b, s.text...), "\r\n"...)
}

func (s *natsServer) appended(ctx context.Context) (int, error) {
	l, err := s.dial(ctx, natsCalls)
	if err != nil {
		return 0, err
	}
	defer l.close()
	var got struct {
		State struct {
			Messages int `json:"messages"`
		} `json:"state"`
	}
	err = natsCall(l, "$JS.API.STREAM.INFO."+natsSpread, "", &got)
	return got.State.Messages, err
}

func (s *natsServer) mostSubscribers() int { return 60_000 }

func (s *natsServer) subscriber(ctx context.Context, i int) (*line, error) {
	l, err := s.dial(ctx, natsInboxes+strconv.Itoa(i))
	if err != nil {
		return nil, err
	}
	l.hear = hearNATSGreeting // until the server has heard of the subscription
	_, err = l.ask([]byte("SUB " + natsFan + " 2\r\nPING\r\n"))
	l.hear = hearNATS
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (s *natsServer) publisher(ctx context.Context) (*lane, error) {
	l, err := s.dial(ctx, natsCalls)
	if err != nil {
		return nil, err
	}
	p := newLane(l, 1, func(b []byte, _ int) []byte { return s.appendPayload(append(b, "PUB "+natsFan+" "...)) })
	p.mute = true
	return p, nil
}

func (s *natsServer) fill(ctx context.Context, n int) error {
	if err := s.createStream(ctx, natsOne, "one"); err != nil {
		return err
	}
	l, err := s.lane(ctx, 0, fillWindow, func(b []byte) []byte { return append(b, "one"...) })
	if err != nil {
		return err
	}
	defer l.close()
	s.filled = n
	return l.times(n)
}

func (s *natsServer) readers() []reader {
	return []reader{{
		name: "nats push consumer",
		open: func(ctx context.Context) (*line, error) { return s.dial(ctx, natsCalls) },
		read: s.consumeAll,
	}}
}

// consumeAll reads a stream by an ordinary push consumer without acknowledgements. Nothing comes
// before there is a subscription.
func (s *natsServer) consumeAll(l *line) (int, error) {
	config := fmt.Sprintf(`{"stream_name":"%s","config":{"deliver_subject":"deliver","deliver_policy":"all","ack_policy":"none","replay_policy":"instant","mem_storage":true}}`, natsOne)
	var made struct {
		Name string `json:"name"`
	}
	if err := natsCall(l, "$JS.API.CONSUMER.CREATE."+natsOne, config, &made); err != nil {
		return 0, err
	}
	if err := l.write([]byte("SUB deliver 3\r\n")); err != nil {
		return 0, err
	}
	if err := l.count(s.filled); err != nil {
		return 0, err
	}
	if err := l.write([]byte("UNSUB 3\r\n")); err != nil {
		return 0, err
	}
	return s.filled, natsCall(l, "$JS.API.CONSUMER.DELETE."+natsOne+"."+made.Name, "", &struct{}{})
}
