package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/coder/websocket"

	"github.com/parleyhub/parley"
)

// ServeEcho answers each WebSocket frame with itself until ctx ends: the bare transport that an append is compared with. It does
// nothing that the hub's door could leave out: one reused buffer a connection, no deadline on each call.
func ServeEcho(ctx context.Context, ready func(url string) error) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: http.HandlerFunc(echo)}
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

func echo(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(parley.MaxFrameBytes)
	var buf []byte
	for {
		kind, in, err := c.Reader(context.Background())
		if err != nil {
			return
		}
		if buf, err = readInto(buf[:0], in); err != nil {
			return
		}
		if err := c.Write(context.Background(), kind, buf); err != nil {
			return
		}
	}
}

// readInto appends everything of r to buf.
func readInto(buf []byte, r io.Reader) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}
