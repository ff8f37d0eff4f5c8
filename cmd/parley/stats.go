package main

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
)

func (a *app) statsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "stats",
		Short: "show what the hub has counted since it was started",
		Long: `stats shows what the hub has counted since it was started, and how it stands. It needs a token with scope admin.

The same numbers are at /metrics for Prometheus, with the same token.`,
		Args: cobra.NoArgs,
	}
	return a.does(c, func(ctx context.Context, _ []string) error {
		client, err := a.dial(ctx, "")
		if err != nil {
			return err
		}
		defer client.Close()
		n, err := call(ctx, a, client.Stats, &parley.StatsParams{})
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			return a.out.json(n)
		}
		return a.statsTable(n)
	})
}

func (a *app) statsTable(n *parley.Stats) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("hub", "%s, %s, up %s", clean(n.Version), clean(string(n.State)), (time.Duration(n.UptimeMs) * time.Millisecond).Round(time.Second))
	row("events", "%s, %s, %d system; %s answered", count(n.EventsAppended[parley.TypeMessage], "message"),
		count(n.EventsAppended[parley.TypeTrace], "trace"), n.EventsAppended[parley.TypeSystem], count(n.Duplicates, "duplicate"))
	row("appends", "%s", durationsText(&n.Append))
	row("log", "%s on disk, %s in memory, %d open", bytesText(n.JournalBytes), count(n.ConversationsLoaded, "conversation"), n.ConversationsOpen)
	row("turns", "%s", durationsText(&n.Turns))
	row("waits", "%s", durationsText(&n.ClaimWaits))
	row("claims", "%d taken, %s; ended: %s", n.ClaimsTaken, count(n.Offers, "offer"), countsText(n.ClaimsEnded))
	row("executors", "%d, with %s", n.Executors, count(n.Claims, "claim"))
	row("subscribers", "%d; the one furthest behind %s, all together %s", n.Subscribers, count(n.MaxLag, "event"), count(n.SumLag, "event"))
	row("connections", "%s (%d without a token), %s, %s under way",
		count(n.Sockets, "socket"), n.PendingSockets, count(n.Streams, "stream"), count(n.Requests, "request"))
	row("received", "%s in %s", bytesText(n.Received.Bytes), count(n.Received.Frames, "frame"))
	row("sent", "%s in %s", bytesText(n.Sent.Bytes), count(n.Sent.Frames, "frame"))
	row("refused", "%s; %s, %s", countsText(n.Refusals), count(n.LoginsRefused, "login"), count(n.ConnectionsRefused, "connection"))
	return w.Flush()
}

// durationsText tells how long things took, by the buckets of the histogram.
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

// countsText gives what was counted by name, the most frequent first; what never was is left out.
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
		texts[i] = fmt.Sprintf("%d %s", counts[name], clean(string(name)))
	}
	return cmp.Or(strings.Join(texts, ", "), "nothing")
}

// bytesText gives a size in the largest unit of which there is one.
func bytesText(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	v, unit := float64(n), "bytes"
	for len(units) > 0 && v >= 1024 {
		v, unit, units = v/1024, units[0], units[1:]
	}
	if unit == "bytes" {
		return count(n, "byte")
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
