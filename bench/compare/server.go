package main

import (
	"context"
	"errors"
	"strings"
)

// server is one of the compared servers. Each is a separate process on the loopback interface, with
// its data in a directory of the run. Its settings make every acknowledged write durable.
type server interface {
	// about is known once it has started.
	about() About
	// start starts it with its data in dir, and makes sure that it is set as about says. An error that
	// is errMissing leaves it out.
	start(ctx context.Context, dir string) error
	// process is nil before start.
	process() *process

	// prepare makes n conversations, or what takes their place.
	prepare(ctx context.Context, n int) error
	// appender opens a lane whose requests append to one of them at random.
	appender(ctx context.Context, i, window int) (*lane, error)
	// appended counts all that is stored in them.
	appended(ctx context.Context) (int, error)

	// mostSubscribers is how many it can take.
	mostSubscribers() int
	// subscriber opens a line on which all comes that publisher publishes from now on, as events.
	subscriber(ctx context.Context, i int) (*line, error)
	publisher(ctx context.Context) (*lane, error)

	// fill makes one conversation of n events.
	fill(ctx context.Context, n int) error
	// readers are the ways to read it from its beginning.
	readers() []reader
}

// reader reads the events that fill created.
type reader struct {
	name string
	// open connects. read reads all events once, and returns their number.
	open func(ctx context.Context) (*line, error)
	read func(l *line) (int, error)
}

// About says what a server is and what its acknowledgement means.
type About struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Durable says how it is set so that what is acknowledged is on disk.
	Durable string `json:"durable"`
}

// errMissing: a server cannot be compared on this machine, which is no fault.
var errMissing = errors.New("left out")

// names of the servers, in the order in which they take turns.
var names = []string{"parley", "nats", "redis", "postgres"}

func newServer(name string, o *Options) server {
	text := strings.Repeat("x", o.Size)
	switch name {
	case "parley":
		return &parleyServer{program: o.Parley, text: text}
	case "nats":
		return &natsServer{text: text, lax: o.fills}
	case "redis":
		return &redisServer{text: text}
	case "postgres":
		return &postgresServer{text: text}
	}
	return nil
}
