package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// MCPOptions of a run of MCP.
type MCPOptions struct {
	// Conns are how many connections there are, one measurement for each number.
	Conns []int
	// Size is that of the text of a message, in bytes.
	Size int
	// Duration is how long each of them is measured; calls over WebSocket get the same.
	Duration time.Duration
	// Memory runs the hub without a disk.
	Memory bool
	// Dir is where the log is put for the time of the run; empty means the directory for temporary
	// files.
	Dir string
}

// Bounds of MCP: the adapter takes so many requests of one token at once.
const (
	maxMCPConns = 200
	maxMCPText  = 16 << 10
)

func (o MCPOptions) check() error {
	switch {
	case o.Duration < 100*time.Millisecond:
		return fmt.Errorf("duration: %s: expected at least 100ms", o.Duration)
	case o.Size < 1 || o.Size > maxMCPText:
		return fmt.Errorf("size: %d: expected 1 to %d bytes", o.Size, maxMCPText)
	case len(o.Conns) == 0:
		return fmt.Errorf("connections: there are no numbers: expected some from 1 to %d", maxMCPConns)
	}
	for _, n := range o.Conns {
		if n < 1 || n > maxMCPConns {
			return fmt.Errorf("connections: %d: expected 1 to %d", n, maxMCPConns)
		}
	}
	return nil
}

// MCPReport is what a run of MCP measured.
type MCPReport struct {
	Journal string `json:"journal"`
	Size    int    `json:"size"`
	// Rows has one for each number of connections.
	Rows []MCPRow `json:"rows"`

	Machine
}

// MCPRow is one row: post_message over HTTP beside sendMessage over WebSocket, one call at a time
// on each connection, to the same hub.
type MCPRow struct {
	Conns int  `json:"conns"`
	MCP   Rate `json:"mcp"`
	Send  Rate `json:"send"`
	// Ratio is calls of post_message per second over those of sendMessage.
	Ratio Spread `json:"ratio"`
}

// MCP measures calls of post_message over HTTP, in the revision of the Model Context Protocol
// without sessions. Slices alternate with the same number of connections that call sendMessage over
// WebSocket. The hub is a separate process. progress receives a description of each step.
func MCP(ctx context.Context, o MCPOptions, progress func(string)) (report *MCPReport, err error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	dir, err := os.MkdirTemp(o.Dir, "parley-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &MCPReport{Journal: Place{Memory: o.Memory}.journal(), Size: o.Size}
	if err := r.before(dir); err != nil {
		return nil, err
	}
	for i, n := range o.Conns {
		progress(fmt.Sprintf("%d connections, post_message for %s and sendMessage as long, in turns", n, o.Duration))
		row, err := measureMCP(ctx, o, filepath.Join(dir, fmt.Sprint(i)), n)
		if err != nil {
			return nil, fmt.Errorf("%d connections: %w", n, err)
		}
		r.Rows = append(r.Rows, row)
	}
	return r, r.after(dir)
}

// measureMCP starts a hub and measures it.
func measureMCP(ctx context.Context, o MCPOptions, dir string, n int) (MCPRow, error) {
	hub, err := StartHub(ctx, HubOptions{Memory: o.Memory, Dir: dir, Env: []string{"PARLEY_MCP=true"}})
	if err != nil {
		return MCPRow{}, err
	}
	defer hub.Stop()
	tools, calls := &side{target: hub.Target()}, &side{target: hub.Target()}
	defer tools.Close()
	defer calls.Close()
	for i := range 2 * n {
		s, err := dialStream(ctx, hub)
		if err != nil {
			return MCPRow{}, fmt.Errorf("connection %d: %w", i, err)
		}
		sender, err := newSender(s, fmt.Sprintf("mcp-%d", i), o.Size)
		if err != nil {
			return MCPRow{}, err
		}
		if i%2 == 0 {
			calls.workers = append(calls.workers, sender)
			continue
		}
		sender.close()
		tools.workers = append(tools.workers, newPoster(ctx, hub, sender.conversation, o.Size))
	}
	rates, err := alternate(ctx, o.Duration, tools.slice, calls.slice)
	if err != nil {
		return MCPRow{}, err
	}
	return MCPRow{Conns: n, MCP: Middle(rates[0]), Send: Middle(rates[1]), Ratio: Ratios(rates[0], rates[1])}, nil
}
