package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// IdleOptions of a run of Idle.
type IdleOptions struct {
	Place
	// Sockets that are open, each subscribed to one of so many conversations.
	Sockets       int
	Conversations int
	// GOGC is how much garbage the hub may have, in hundredths of what it holds, while it is looked at
	// what sockets hold. The less, the nearer is its memory to that, and the more it collects.
	GOGC int
	// Settle is how long memory must not change for.
	Settle time.Duration
}

func (o IdleOptions) check() error {
	switch {
	case o.Sockets < 1 || o.Sockets > maxSubscribers:
		return fmt.Errorf("sockets: %d: expected 1 to %d", o.Sockets, maxSubscribers)
	case o.Conversations < 1 || o.Conversations > 100_000:
		return fmt.Errorf("conversations: %d: expected 1 to 100000", o.Conversations)
	case o.GOGC < 1 || o.GOGC > 10_000:
		return fmt.Errorf("GOGC: %d: expected 1 to 10000", o.GOGC)
	}
	return checkSettle(o.Settle)
}

// IdleReport is the result of Idle. Memory is the size after it has become stable.
type IdleReport struct {
	Sockets       int    `json:"sockets"`
	Conversations int    `json:"conversations"`
	Journal       string `json:"journal"`
	GOGC          int    `json:"gogc"`
	// Connect is of sockets connected, authenticated and subscribed, to a hub as it is; and
	// AsItIsKiBPerSocket is its memory for each, with the garbage of connecting.
	Connect            Rate    `json:"connect"`
	AsItIsKiBPerSocket float64 `json:"asItIsKibPerSocket"`
	// The others are of a hub that collects garbage early. KiBPerSocket is resident memory, less that
	// of the hub without the sockets; of it, HeapKiBPerSocket is what is allocated, garbage too, and
	// StackKiBPerSocket stacks.
	KiBPerSocket        float64 `json:"kibPerSocket"`
	HeapKiBPerSocket    float64 `json:"heapKibPerSocket"`
	StackKiBPerSocket   float64 `json:"stackKibPerSocket"`
	GoroutinesPerSocket float64 `json:"goroutinesPerSocket"`
	// EmptyKiB is the resident memory of the hub without the sockets.
	EmptyKiB int64 `json:"emptyKib"`
	// BareKiBPerSocket is that of sockets with a goroutine that waits for 64 bytes, and nothing else.
	BareKiBPerSocket float64 `json:"bareKibPerSocket"`
	// Ratio is that of the two.
	Ratio float64 `json:"ratio"`
	Machine
}

// Idle runs the benchmark: what a socket costs that is authenticated and subscribed, and on which
// nothing happens.
func Idle(ctx context.Context, o IdleOptions, progress func(string)) (*IdleReport, error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	r := &IdleReport{Sockets: o.Sockets, Conversations: o.Conversations, Journal: o.journal(), GOGC: o.GOGC}
	place := o.Place
	place.bareEnv = o.environment()
	return r, place.set(ctx, &r.Machine, func(s *stage) error {
		progress(fmt.Sprintf("connecting %d sockets", o.Sockets))
		asItIs, err := s.measureIdle(ctx, s.self, &o)
		if err != nil {
			return err
		}
		r.Connect, r.AsItIsKiBPerSocket = asItIs.connect, asItIs.kib
		s.self.Stop()
		hub, err := StartHub(ctx, HubOptions{Memory: o.Memory, Dir: filepath.Join(s.dir, "early"), Env: o.environment()})
		if err != nil {
			return err
		}
		defer hub.Stop()
		progress("the same with a hub that collects garbage early")
		early, err := s.measureIdle(ctx, hub, &o)
		if err != nil {
			return err
		}
		r.EmptyKiB = early.emptyKiB
		r.KiBPerSocket, r.HeapKiBPerSocket, r.StackKiBPerSocket, r.GoroutinesPerSocket = early.kib, early.heap, early.stack,
			early.goroutines
		progress(fmt.Sprintf("connecting %d bare sockets", o.Sockets))
		return s.measureHeld(ctx, &o, r)
	})
}

func (o IdleOptions) environment() []string { return []string{fmt.Sprintf("GOGC=%d", o.GOGC)} }

// held is what sockets of one hub were measured to hold, each, in KiB.
type held struct {
	connect          Rate
	emptyKiB         int64
	kib, heap, stack float64
	goroutines       float64
}

func (s *stage) measureIdle(ctx context.Context, hub *Child, o *IdleOptions) (h held, err error) {
	target := hub.Target()
	ids, err := makeConversations(ctx, &target, o.Conversations)
	if err != nil {
		return h, err
	}
	empty, err := memoryOf(ctx, hub, o.Settle)
	if err != nil {
		return h, err
	}
	use := startUsage(&target)
	sockets, err := subscribeAll(ctx, &target, ids, o.Sockets)
	if err != nil {
		return h, err
	}
	defer closeSockets(sockets)
	use.stop()
	full, err := memoryOf(ctx, hub, o.Settle)
	if err != nil {
		return h, err
	}
	if err := stillOpen(ctx, &target, o.Sockets); err != nil {
		return h, err
	}
	each := func(full, empty float64) float64 { return (full - empty) / float64(o.Sockets) }
	return held{
		connect: use.rate(o.Sockets, nil), emptyKiB: empty.anonKiB,
		kib:        each(float64(full.anonKiB), float64(empty.anonKiB)),
		heap:       each(full.heapBytes, empty.heapBytes) / 1024,
		stack:      each(full.stackBytes, empty.stackBytes) / 1024,
		goroutines: each(full.goroutines, empty.goroutines),
	}, nil
}

// stillOpen checks that a hub has all subscriptions.
func stillOpen(ctx context.Context, hub *Target, want int) error {
	values, err := hub.metrics(ctx)
	if err != nil {
		return err
	}
	if got := int(values["parley_subscribers"]); got != want {
		return fmt.Errorf("the hub has %d subscriptions, expected %d", got, want)
	}
	return nil
}

// subscribeAll connects n sockets, subscribes each to one of ids, and lets them answer pings.
func subscribeAll(ctx context.Context, t *Target, ids []string, n int) ([]*socket, error) {
	return openAll(ctx, n, func(ctx context.Context, i int) (*socket, error) {
		s, err := t.dial(ctx, "")
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, s.close)
		defer stop()
		if err := subscribeTo(s, ids[i%len(ids)]); err != nil {
			s.close()
			return nil, err
		}
		s.rest()
		return s, nil
	})
}

// measureHeld measures sockets of the bare server.
func (s *stage) measureHeld(ctx context.Context, o *IdleOptions, r *IdleReport) error {
	pid := s.bare.PID
	empty, err := settle(ctx, pid, o.Settle)
	if err != nil {
		return err
	}
	sockets, err := dialAll(ctx, &s.bare, bareHold, o.Sockets)
	if err != nil {
		return err
	}
	defer closeSockets(sockets)
	full, err := settle(ctx, pid, o.Settle)
	if err != nil {
		return err
	}
	r.BareKiBPerSocket = float64(full-empty) / float64(o.Sockets)
	if r.BareKiBPerSocket > 0 {
		r.Ratio = r.KiBPerSocket / r.BareKiBPerSocket
	}
	return nil
}
