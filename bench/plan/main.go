// Plan calculates what carries a load: how many logs, hubs and NATS servers, how much disk and
// money. It takes figures, measured where there is a command for them, and prints each line with
// its formula; then it simulates a peak.
//
//	go run ./bench/plan [-figures FILE] [-conversations N] [-seconds N] [-seed N]
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
)

//go:embed figures.json
var figures []byte

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	set := flag.NewFlagSet("plan", flag.ContinueOnError)
	file := set.String("figures", "", "file of figures (default: those of figures.json)")
	conversations := set.Int("conversations", 0, "conversations at once, instead of those of the file")
	seconds := set.Int("seconds", 60, "how much of a peak is simulated")
	seed := set.Uint64("seed", 1, "of the simulation")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *seconds < 1 || *seconds > 3600 {
		return fmt.Errorf("-seconds %d: expected 1 to 3600", *seconds)
	}
	text := figures
	if *file != "" {
		var err error
		if text, err = os.ReadFile(*file); err != nil {
			return err
		}
	}
	f, err := read(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("figures: %w", err)
	}
	if *conversations > 0 {
		f.Load.Conversations = *conversations
	}
	p := plan(f)
	fmt.Fprintf(out, "%d conversations at once, one event in %.0f s of each\n\n", f.Load.Conversations,
		f.Load.SecondsBetweenEvents)
	for _, r := range p.Rows {
		fmt.Fprintf(out, "%-36s %14s %-9s %s\n", r.What, number(r.Value), r.Unit, r.Formula)
	}
	s := simulate(f, p, *seconds, *seed)
	fmt.Fprintf(out, "\nsimulated: %d s of the peak, conversations to logs by hash\n", s.Seconds)
	fmt.Fprintf(out, "  a log has %s events in a second on average, %s in 999 of 1,000 seconds at most, %s ever\n",
		number(s.Mean), number(s.P999), number(s.Most))
	fmt.Fprintf(out, "  the fullest log has %.3f times its share of conversations; %d seconds of a log had more than was measured\n", s.Fullest, s.OverSeconds)
	fmt.Fprintln(out, "\nwhat a part carries, measured or assumed; machines, load and prices are assumed:")
	for _, m := range []struct {
		name string
		Figure
	}{
		{"eventsPerSecondOfALog", f.Measured.EventsPerSecondOfALog},
		{"appliedPerSecondOfAHub", f.Measured.AppliedPerSecondOfAHub},
		{"cpuMicrosecondsOfAnAppend", f.Measured.CPUMicrosecondsOfAnAppend},
		{"cpuMicrosecondsOfADelivery", f.Measured.CPUMicrosecondsOfADelivery},
		{"bytesOfMemoryOfASocket", f.Measured.BytesOfMemoryOfASocket},
		{"bytesOnDiskOfAnEvent", f.Measured.BytesOnDiskOfAnEvent},
		{"eventsPerSecondOfAStream", f.Measured.EventsPerSecondOfAStream},
	} {
		fmt.Fprintf(out, "  %-28s %10s  %s\n", m.name, number(m.Value), m.From)
	}
	return nil
}

func number(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
