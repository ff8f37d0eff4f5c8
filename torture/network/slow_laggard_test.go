package network

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// laggardConfig is the input of a process of bad subscribers. It prints the number of ready ones,
// waits for a laggardGoal, and prints a laggardFate of each.
type laggardConfig struct {
	URL     string `json:"url"`
	N       int    `json:"n"`
	Trickle bool   `json:"trickle"` // they read a byte a second; else nothing
}

// laggardGoal is how far they are to come in the end.
type laggardGoal struct {
	Live    int64 `json:"live"`
	Backlog int64 `json:"backlog"`
}

// laggardFate is what became of one.
type laggardFate struct {
	Failed    string           `json:"failed,omitempty"`
	Dropped   bool             `json:"dropped"`
	CloseCode int              `json:"closeCode"`
	Then      []seen           `json:"then"` // when it was dropped
	Now       []seen           `json:"now"`  // after its return
	Goal      map[string]int64 `json:"goal"`
}

// laggard is a bad subscriber. What it does not read stays with the hub: between the two there is
// little room.
type laggard struct {
	peer      *peer
	trickle   atomic.Bool
	histories map[string]*history // by conversation
	of        map[string]*history // by subscription
	ended     chan error          // of its reader, if it has one
}

func runLaggards(config []byte, told *bufio.Scanner, say *json.Encoder) error {
	var c laggardConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	all := make([]*laggard, c.N)
	for i := range all {
		all[i] = &laggard{histories: map[string]*history{slowLive: newHistory(slowLive), slowBacklog: newHistory(slowBacklog)}}
		if err := all[i].begin(c.URL, c.Trickle); err != nil {
			return err
		}
	}
	if err := say.Encode(len(all)); err != nil {
		return err
	}
	var goal laggardGoal
	if err := order(told, &goal); err != nil {
		return err
	}
	goals := map[string]int64{slowLive: goal.Live, slowBacklog: goal.Backlog}
	fates := make([]laggardFate, c.N)
	var wg sync.WaitGroup
	for i, l := range all {
		wg.Go(func() { fates[i] = l.recover(c.URL, goals) })
	}
	wg.Wait()
	for _, f := range fates {
		if err := say.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

// begin subscribes to what all read, catches up, and then asks for the backlog and reads no more,
// or a byte a second.
func (l *laggard) begin(url string, trickle bool) error {
	if err := l.connect(url, &wire.DialOptions{HTTPClient: l.narrowClient()}, slowLive); err != nil {
		return err
	}
	for caughtUp := false; !caughtUp; {
		n, err := l.peer.next()
		if err != nil {
			return err
		}
		if err := l.take(n); err != nil {
			return err
		}
		caughtUp = n.Method == methods.NotifyCaughtUp
	}
	l.trickle.Store(trickle)
	if err := l.peer.Ask(methods.Subscribe, parley.SubscribeParams{ConversationID: slowBacklog}); err != nil {
		return err
	}
	if trickle {
		l.ended = make(chan error, 1)
		go func() { l.ended <- l.read() }()
	}
	return nil
}

// connect subscribes to conversations, each from its cursor.
func (l *laggard) connect(url string, o *wire.DialOptions, conversations ...string) (err error) {
	if l.peer, err = dial(url, "reader", o); err != nil {
		return err
	}
	l.of = map[string]*history{}
	for _, c := range conversations {
		id, err := l.peer.subscribe(c, l.histories[c])
		if err != nil {
			return err
		}
		l.of[id] = l.histories[c]
	}
	return nil
}

// recover reads on to the end of the connection, and gets the rest on another.
func (l *laggard) recover(url string, goals map[string]int64) (f laggardFate) {
	l.trickle.Store(false)
	f.Goal = goals
	var err error
	if l.ended != nil {
		err = <-l.ended
	} else {
		err = l.read()
	}
	f.Dropped, f.CloseCode, f.Then = errors.Is(err, hubproc.ErrGone), wire.CloseCode(l.peer.Ended), l.seen()
	l.peer.Close()
	if err := l.connect(url, nil, slowLive, slowBacklog); err != nil {
		f.Failed = err.Error()
		return f
	}
	defer l.peer.Close()
	for l.histories[slowLive].last() < goals[slowLive] || l.histories[slowBacklog].last() < goals[slowBacklog] {
		n, err := l.peer.next()
		if err == nil {
			err = l.take(n)
		}
		if err != nil {
			f.Failed = err.Error()
			break
		}
	}
	f.Now = l.seen()
	return f
}

func (l *laggard) seen() []seen {
	return []seen{l.histories[slowLive].seen(slowLive), l.histories[slowBacklog].seen(slowBacklog)}
}

// read reads to the end of the connection. The answer to the request for the backlog, its second
// subscription, comes in between.
func (l *laggard) read() error {
	for {
		n, err := l.peer.next()
		if err != nil {
			return err
		}
		if err := l.take(n); err != nil {
			return err
		}
	}
}

func (l *laggard) take(n *note) error {
	if n.Method != methods.NotifyEvent {
		return nil
	}
	h := l.of[n.Params.SubscriptionID]
	if h == nil {
		h = l.histories[slowBacklog] // whose answer was passed over
		l.of[n.Params.SubscriptionID] = h
	}
	return h.take(n.Params.Event)
}

// What a narrow connection takes: as one over a real network, and not the megabytes of loopback.
const (
	narrowBuffer  = 4 << 10
	narrowSegment = 1400
)

// narrowClient creates connections with small buffers, which deliver one byte per second while l
// trickles.
func (l *laggard) narrowClient() *http.Client {
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		outer := raw.Control(func(fd uintptr) {
			err = errors.Join(
				syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, narrowBuffer),
				syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, narrowSegment))
		})
		return errors.Join(err, outer)
	}}
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn,
		error) {
		c, err := d.DialContext(ctx, network, addr)
		return &tricklingConn{Conn: c, trickle: &l.trickle}, err
	}}}
}

// tricklingConn returns a byte a second while it trickles.
type tricklingConn struct {
	net.Conn
	trickle *atomic.Bool
}

func (c *tricklingConn) Read(b []byte) (int, error) {
	if !c.trickle.Load() {
		return c.Conn.Read(b)
	}
	time.Sleep(time.Second)
	return c.Conn.Read(b[:min(len(b), 1)])
}
