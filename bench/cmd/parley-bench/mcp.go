package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/bench"
)

func (a *app) mcpCommand() *cobra.Command {
	var o bench.MCPOptions
	var p benchPlace
	c := &cobra.Command{
		Use:   "mcp",
		Short: "post_message over the Model Context Protocol, beside sendMessage over WebSocket",
		Long: `mcp starts a hub with --mcp as a process of its own. Connections call post_message at /mcp, one call at a time on each, in the revision of the protocol that
has no sessions; in the same run, in turns, as many connections call sendMessage over WebSocket. Each call is timed from its request to its answer, which means durable.
All of it shares this machine.`,
	}
	c.Flags().IntSliceVar(&o.Conns, "conns", []int{1, 8, 64},
		"how many connections there are, one measurement for each number")
	c.Flags().IntVar(&o.Size, "size", 500, "bytes of text in a message")
	c.Flags().DurationVar(&o.Duration, "duration", 3*time.Second,
		"how long each number is measured; sendMessage gets the same")
	p.add(c)
	return benchDoes(a, c, &p, func(ctx context.Context) (*bench.MCPReport, error) {
		o.Memory, o.Dir = p.Memory, p.Dir
		return bench.MCP(ctx, o, a.err.line)
	}, a.showMCP)
}

func (a *app) showMCP(r *bench.MCPReport) {
	for _, row := range r.Rows {
		a.out.linef("mcp         %9.0f /s   p50 %6.2f ms   p99 %6.2f ms   post_message on %d connections, %s, server CPU %.0f us a call",
			row.MCP.PerSecond, row.MCP.P50Ms, row.MCP.P99Ms, row.Conns, durability(r.Journal), row.MCP.ServerCPUus)
		a.out.linef("websocket   %9.0f /s   p50 %6.2f ms   p99 %6.2f ms   sendMessage on as many, server CPU %.0f us a call",
			row.Send.PerSecond, row.Send.P50Ms, row.Send.P99Ms, row.Send.ServerCPUus)
		a.out.linef("ratio       %s", row.Ratio)
	}
	a.showMachine(&r.Machine)
}
