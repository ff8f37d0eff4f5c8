package agent

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// A goroutine that waits to connect while the agent is closed does not connect, because no one
// would close the connection.
func TestConnectClosed(t *testing.T) {
	t.Parallel()
	for range 20 {
		all := newServers(func(context.Context, string, parley.MCPServer) (tool.Server, error) {
			return nil, errors.New("it is connected to")
		})
		one := &server{}
		all.open["s"] = one
		one.mu.Lock() // as close does, before the goroutine waits
		got := make(chan error)
		go func() {
			_, err := all.connect(t.Context(), "s", parley.MCPServer{})
			got <- err
		}()
		for range 1000 { // until the goroutine has checked that the servers are open
			runtime.Gosched()
		}
		all.mu.Lock()
		all.closed = true
		all.mu.Unlock()
		one.mu.Unlock()
		if err := <-got; !errors.Is(err, errClosed) {
			t.Fatal(err)
		}
	}
}
