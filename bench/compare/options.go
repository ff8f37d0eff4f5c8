package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options of a comparison.
type Options struct {
	// Servers are the names of those that take part.
	Servers []string
	// Rounds is how often each of them has its turn, and Slice how long a turn is measured.
	Rounds int
	Slice  time.Duration
	// Size is the length of a text in bytes.
	Size int
	// Shapes of the appends, which go to one of Conversations each, at random.
	Shapes        []Shape
	Conversations int
	// Subscribers is a number for each row of the fan-out, and Deliveries how many one burst makes.
	Subscribers []int
	Deliveries  int
	// Events are replayed.
	Events int
	// Hubs are numbers of hubs that have one log, and Keepers numbers of NATS servers that keep it,
	// each of them all of it.
	Hubs    []int
	Keepers []int
	// Dir is where all data is put for the time of the run; empty means the directory for temporary
	// files.
	Dir string
	// Parley is the path of the program; empty: it is built from the tree.
	Parley string

	fills bool // appends are only made to be read
}

// Shape is how appends are made.
type Shape struct {
	Conns int `json:"conns"`
	// Window is how many calls are in flight on each connection.
	Window int `json:"window"`
}

func (s Shape) String() string { return fmt.Sprintf("%d x %d", s.Conns, s.Window) }

// Bounds of the options.
const (
	maxConns    = 256 // PostgreSQL has a process for each
	maxWindow   = 64  // a hub takes no more calls at once on one socket
	maxSize     = 7000
	maxEvents   = 900_000 // a conversation has at most a million
	maxPerBurst = 100_000
	maxHubs     = 16
)

// publishWindow and fillWindow are how many calls a publisher, and who fills a log, has in flight.
const (
	publishWindow = 64
	fillWindow    = 64
)

func (o *Options) check() error {
	switch {
	case o.Rounds < 1 || o.Rounds > 100:
		return fmt.Errorf("rounds: %d: expected 1 to 100", o.Rounds)
	case o.Slice < 10*time.Millisecond || o.Slice > time.Minute:
		return fmt.Errorf("slice: %s: expected 10ms to 1m", o.Slice)
	case o.Size < 1 || o.Size > maxSize:
		return fmt.Errorf("size: %d: expected 1 to %d", o.Size, maxSize)
	case o.Conversations < 1 || o.Conversations > 100_000:
		return fmt.Errorf("conversations: %d: expected 1 to 100000", o.Conversations)
	case o.Events < 1 || o.Events > maxEvents:
		return fmt.Errorf("events: %d: expected 1 to %d", o.Events, maxEvents)
	case len(o.Servers) == 0:
		return errors.New("servers: empty list")
	}
	for _, name := range o.Servers {
		if !slices.Contains(names, name) {
			return fmt.Errorf("servers: %s: expected some of %s", name, strings.Join(names, ", "))
		}
	}
	for _, n := range o.Hubs {
		if n < 1 || n > maxHubs {
			return fmt.Errorf("hubs: %d: expected 1 to %d", n, maxHubs)
		}
	}
	for _, n := range o.Keepers {
		if n != 1 && n != 3 && n != 5 {
			return fmt.Errorf("keepers: %d: expected 1, 3 or 5", n)
		}
	}
	for _, n := range o.Subscribers {
		if n < 1 || n > 50_000 || o.Deliveries < n || o.Deliveries/n > maxPerBurst {
			return fmt.Errorf("subscribers: %d, deliveries: %d: expected at least one for each, at most %d", n, o.Deliveries,
				maxPerBurst)
		}
	}
	return nil
}

// parseShapes reads "1,64,256,64x16".
func parseShapes(s string) ([]Shape, error) {
	var all []Shape
	for _, one := range strings.Split(s, ",") {
		conns, window, pipelined := strings.Cut(one, "x")
		if !pipelined {
			window = "1"
		}
		n, err1 := strconv.Atoi(conns)
		w, err2 := strconv.Atoi(window)
		if errors.Join(err1, err2) != nil || n < 1 || n > maxConns || w < 1 || w > maxWindow {
			return nil, fmt.Errorf("conns: %q: expected 1 to %d, and with x what is in flight on each, 1 to %d", one, maxConns,
				maxWindow)
		}
		all = append(all, Shape{n, w})
	}
	return all, nil
}

// parseNumbers reads "100,1000".
func parseNumbers(s string) ([]int, error) {
	var all []int
	for _, one := range strings.Split(s, ",") {
		n, err := strconv.Atoi(one)
		if err != nil {
			return nil, fmt.Errorf("%q: expected numbers with commas between", s)
		}
		all = append(all, n)
	}
	return all, nil
}
