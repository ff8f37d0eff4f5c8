package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lastAnswers is how long calls that are under way at the end of stdin have to be answered.
const lastAnswers = time.Second

// drainingTransport reports the end of its input once every call was answered, or lastAnswers after
// it.
type drainingTransport struct{ protocol.Transport }

// Connect connects.
func (t drainingTransport) Connect(ctx context.Context) (protocol.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	return &drainingConn{Connection: c, none: closedChannel()}, err
}

type drainingConn struct {
	protocol.Connection

	mu   sync.Mutex // guards the fields below
	open int
	none chan struct{} // closed while open is 0
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Read counts calls.
func (c *drainingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.settle(ctx)
		return m, err
	}
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.IsCall() {
		c.mu.Lock()
		if c.open++; c.open == 1 {
			c.none = make(chan struct{})
		}
		c.mu.Unlock()
	}
	return m, err
}

// Write counts answers.
func (c *drainingConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		if c.open--; c.open == 0 {
			close(c.none)
		}
		c.mu.Unlock()
	}
	return err
}

// settle waits for the last answers.
func (c *drainingConn) settle(ctx context.Context) {
	c.mu.Lock()
	none := c.none
	c.mu.Unlock()
	timer := time.NewTimer(lastAnswers)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	case <-ctx.Done():
	}
}
