package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"

	"github.com/coder/websocket"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// The routes of a bare server besides its echo.
const (
	bareListen = "listen" // a socket that gets what is ordered by shout
	bareShout  = "shout"  // orders of frames to all that listen
	barePages  = "pages"  // orders of frames to the one who orders
	bareHold   = "hold"   // a socket that says nothing
)

// ServeBare is the bare transport that a hub is compared with, until ctx ends. It answers each
// frame with itself, or writes frames that were made once to as many sockets as listen. It does
// nothing that a hub's door could leave out: one buffer a connection, used again and again, no
// deadline on a call, no queue.
func ServeBare(ctx context.Context, ready func(url string) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b := &bare{}
	mux := http.NewServeMux()
	mux.HandleFunc("/", echo)
	mux.HandleFunc("/"+bareListen, b.listen)
	mux.HandleFunc("/"+bareShout, func(w http.ResponseWriter, r *http.Request) { orders(w, r, b.shout) })
	mux.HandleFunc("/"+barePages, func(w http.ResponseWriter, r *http.Request) {
		orders(w, r, func(o *prepared, c net.Conn) error { return o.write(c) })
	})
	mux.HandleFunc("/"+bareHold, hold)
	s := &http.Server{Handler: mux}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if err := ready("ws://" + l.Addr().String() + "/"); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// echo answers each frame with itself. Frames that arrive together are answered with one write.
func echo(w http.ResponseWriter, r *http.Request) {
	t := &tap{ResponseWriter: w}
	c, err := accept(t, r)
	if err != nil {
		return
	}
	defer c.CloseNow()
	var buf []byte
	for {
		kind, in, err := c.Reader(context.Background())
		if err != nil {
			return
		}
		if buf, err = wire.ReadAll(in, buf[:0]); err != nil {
			return
		}
		t.conn.gathering = t.reader.Buffered() > 0
		if err := c.Write(context.Background(), kind, buf); err != nil {
			return
		}
	}
}

func accept(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err == nil {
		c.SetReadLimit(parley.MaxFrameBytes)
	}
	return c, err
}

// bare is a set of sockets that listen.
type bare struct {
	mu    sync.Mutex // guards the fields below
	conns []net.Conn
	kept  []*websocket.Conn // keeps conns reachable: an unreachable one closes its connection
}

// listen adds a socket. It does not read from it. The lock is held during the handshake, so that a
// client that has its answer receives all later frames.
func (b *bare) listen(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &tap{ResponseWriter: w}
	c, err := accept(t, r)
	if err != nil {
		return
	}
	b.conns = append(b.conns, t.conn.Conn)
	b.kept = append(b.kept, c)
}

// orders carries out what one socket orders, one after another.
func orders(w http.ResponseWriter, r *http.Request, do func(*prepared, net.Conn) error) {
	t := &tap{ResponseWriter: w}
	c, err := accept(t, r)
	if err != nil {
		return
	}
	defer c.CloseNow()
	var last prepared
	for {
		_, b, err := c.Read(context.Background())
		if err != nil {
			return
		}
		var o Order
		if json.Unmarshal(b, &o) != nil {
			return
		}
		last.prepare(o)
		if err := do(&last, t.conn.Conn); err != nil {
			return
		}
	}
}

// shout writes what was ordered to all that listen, each processor to a part of them.
func (b *bare) shout(o *prepared, _ net.Conn) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	parts := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for p := range parts {
		part := b.conns[p*len(b.conns)/parts : (p+1)*len(b.conns)/parts]
		wg.Go(func() { o.writeAll(part) })
	}
	wg.Wait()
	return nil
}

// prepared is an order with its frames ready.
type prepared struct {
	order  Order
	frames []byte // of one write
	each   int    // bytes of one frame with its head
}

// prepare makes the frames, unless the last order had the same.
func (p *prepared) prepare(o Order) {
	if o.Bytes != p.order.Bytes || o.PerWrite != p.order.PerWrite {
		frame := serverFrame(o.Bytes)
		p.frames, p.each = nil, len(frame)
		for range max(1, o.PerWrite) {
			p.frames = append(p.frames, frame...)
		}
	}
	p.order = o
}

// pieces returns the contents of the writes in order.
func (p *prepared) pieces(yield func([]byte) bool) {
	perWrite := max(1, p.order.PerWrite)
	for left := p.order.Frames; left > 0; left -= perWrite {
		if !yield(p.frames[:min(left, perWrite)*p.each]) {
			return
		}
	}
}

func (p *prepared) write(c net.Conn) error {
	for piece := range p.pieces {
		if _, err := c.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes a piece to each of conns before the next.
func (p *prepared) writeAll(conns []net.Conn) {
	for piece := range p.pieces {
		for _, c := range conns {
			c.Write(piece) // one that is gone is missed by who counts
		}
	}
}

// hold keeps a socket with as little as Go allows: one goroutine, which waits for a few bytes. It
// is no WebSocket but by its handshake.
func hold(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	go func() {
		defer conn.Close()
		_, err := io.WriteString(conn,
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		var few [64]byte
		for err == nil {
			_, err = conn.Read(few[:])
		}
	}()
}
