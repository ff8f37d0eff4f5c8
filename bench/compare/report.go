package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Report is what a comparison measured.
type Report struct {
	Servers []About `json:"servers"`
	// LeftOut says what was not compared, and why.
	LeftOut []string `json:"leftOut,omitempty"`
	Size    int      `json:"size"`
	Rounds  int      `json:"rounds"`
	Slice   string   `json:"slice"`
	Before  Machine  `json:"before"`
	After   Machine  `json:"after"`
	Rows    []Row    `json:"rows"`
}

// Row is the same work done by each.
type Row struct {
	Name string `json:"name"`
	// Times: the ratios are those of each side over the first, and not the other way round.
	Times bool   `json:"times,omitempty"`
	Sides []Side `json:"sides"`
}

// Side is what one server did: appends, deliveries, or events read.
type Side struct {
	Name      string `json:"name"`
	Ops       int    `json:"ops"`
	PerSecond Spread `json:"perSecond"`
	// P50Ms and P99Ms are medians over the rounds; 0 where single operations are not timed.
	P50Ms float64 `json:"p50Ms,omitempty"`
	P99Ms float64 `json:"p99Ms,omitempty"`
	// ServerCPUus is CPU time of all processes of the server per operation, in microseconds.
	ServerCPUus float64 `json:"serverCpuUs"`
	// ClientCPUus is that of the client, which shares the machine: whose client is lean looks better
	// here than elsewhere.
	ClientCPUus float64 `json:"clientCpuUs"`
	// Ratio is the first side's rate over this one's, round by round, or with Times this one's over
	// the first's; the first has none.
	Ratio *Spread `json:"ratio,omitempty"`
}

// about notes a server that takes part.
func (r *Report) about(a About) {
	if !slices.Contains(r.Servers, a) {
		r.Servers = append(r.Servers, a)
	}
}

func (r *Report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *Report) text(w io.Writer) {
	for _, a := range r.Servers {
		fmt.Fprintf(w, "%-18s %s: %s\n", a.Name, a.Version, a.Durable)
	}
	for _, said := range r.LeftOut {
		fmt.Fprintln(w, said)
	}
	fmt.Fprintf(w, "%d bytes of text, %d rounds of %s each\n", r.Size, r.Rounds, r.Slice)
	for _, row := range r.Rows {
		row.text(w)
	}
	fmt.Fprintf(w, "\nfsync %.0f /s before, %.0f /s after (4 KiB appends on the same disk); load %s before, %s after\n",
		r.Before.Fsync, r.After.Fsync, r.Before.Load, r.After.Load)
}

func (row Row) text(w io.Writer) {
	ratio := row.Sides[0].Name + " / it"
	if row.Times {
		ratio = "it / " + row.Sides[0].Name
	}
	fmt.Fprintf(w, "\n%-24s %9s  %-19s %8s %8s %9s %9s  %s\n", row.Name, "/s", "range", "p50 ms", "p99 ms", "server us",
		"client us", ratio)
	for _, s := range row.Sides {
		rates := fmt.Sprintf("%.0f - %.0f", s.PerSecond.Low, s.PerSecond.High)
		fmt.Fprintf(w, "%-24s %9.0f  %-19s %8s %8s %9.2f %9.2f  %s\n", s.Name, s.PerSecond.Median, rates,
			milliseconds(s.P50Ms), milliseconds(s.P99Ms), s.ServerCPUus, s.ClientCPUus, s.Ratio)
	}
}

func milliseconds(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", ms)
}

// String is empty for nil.
func (s *Spread) String() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%.2f (%.2f - %.2f)", s.Median, s.Low, s.High)
}
