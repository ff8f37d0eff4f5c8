// Package stats has the command stats, which prints the counters of a hub.
//
//	root.AddCommand(stats.NewCommand(app))
package stats

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// NewCommand returns the command stats.
func NewCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "stats",
		Short: "show the counters and the state of the hub",
		Long: `stats shows the counters of the hub since its start, and its state. It needs a token with scope
admin.

The same numbers are at /metrics for Prometheus, with the same token.`,
		Args: cobra.NoArgs,
	}
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		client, err := a.Dial(ctx, "")
		if err != nil {
			return err
		}
		defer client.Close()
		n, err := cli.Call(ctx, a, client.Stats, &parley.StatsParams{})
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(n)
		}
		return printTable(a, n)
	})
}

func printTable(a *cli.App, n *parley.Stats) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("hub", "%s, %s, up %s", cli.Clean(n.Version), cli.Clean(string(n.State)),
		(time.Duration(n.UptimeMs) * time.Millisecond).Round(time.Second))
	row("events", "%s, %s, %d system; %s answered", cli.Count(n.EventsAppended[parley.TypeMessage], "message"),
		cli.Count(n.EventsAppended[parley.TypeTrace], "trace"), n.EventsAppended[parley.TypeSystem],
		cli.Count(n.Duplicates, "duplicate"))
	row("appends", "%s", durationsText(&n.Append))
	row("log", "%s on disk, %s in memory, %d open", bytesText(n.JournalBytes),
		cli.Count(n.ConversationsLoaded, "conversation"), n.ConversationsOpen)
	row("turns", "%s", durationsText(&n.Turns))
	row("waits", "%s", durationsText(&n.ClaimWaits))
	row("claims", "%d taken, %s; ended: %s", n.ClaimsTaken, cli.Count(n.Offers, "offer"), countsText(n.ClaimsEnded))
	row("executors", "%d, with %s", n.Executors, cli.Count(n.Claims, "claim"))
	row("subscribers", "%d; the one furthest behind %s, all together %s", n.Subscribers, cli.Count(n.MaxLag, "event"),
		cli.Count(n.SumLag, "event"))
	row("connections", "%s (%d without a token), %s, %s under way",
		cli.Count(n.Sockets, "socket"), n.PendingSockets, cli.Count(n.Streams, "stream"), cli.Count(n.Requests, "request"))
	row("received", "%s in %s", bytesText(n.Received.Bytes), cli.Count(n.Received.Frames, "frame"))
	row("sent", "%s in %s", bytesText(n.Sent.Bytes), cli.Count(n.Sent.Frames, "frame"))
	row("refused", "%s; %s, %s", countsText(n.Refusals), cli.Count(n.LoginsRefused, "login"),
		cli.Count(n.ConnectionsRefused, "connection"))
	return w.Flush()
}

// durationsText describes durations by the buckets of the histogram.
func durationsText(d *parley.Durations) string {
	if d.Count == 0 {
		return "none"
	}
	return fmt.Sprintf("%d; half of them %s, 99 of 100 %s", d.Count, quantile(d, 50), quantile(d, 99))
}

// quantile is the bound under which that many percent are.
func quantile(d *parley.Durations, percent int64) string {
	for i, n := range d.Buckets {
		if n*100 >= d.Count*percent {
			return fmt.Sprintf("within %g ms", d.BoundsMs[i])
		}
	}
	if len(d.BoundsMs) == 0 {
		return "not known"
	}
	return fmt.Sprintf("over %g ms", d.BoundsMs[len(d.BoundsMs)-1])
}

// countsText returns counters by name, the most frequent first, without zeros.
func countsText[K ~string](counts map[K]int64) string {
	var names []K
	for name, n := range counts {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y K) int { return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y)) })
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = fmt.Sprintf("%d %s", counts[name], cli.Clean(string(name)))
	}
	return cmp.Or(strings.Join(texts, ", "), "nothing")
}

// bytesText returns a size in its largest whole unit.
func bytesText(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	v, unit := float64(n), "bytes"
	for len(units) > 0 && v >= 1024 {
		v, unit, units = v/1024, units[0], units[1:]
	}
	if unit == "bytes" {
		return cli.Count(n, "byte")
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
