package main

import (
	"bytes"
	"strings"
	"testing"
)

func given(t *testing.T) *Figures {
	t.Helper()
	f, err := read(bytes.NewReader(figures))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestPlanCarries: a plan carries its load by the measured figures, and a plan with one log less
// does not.
func TestPlanCarries(t *testing.T) {
	for _, conversations := range []int{1000, 1_000_000, 20_000_000} {
		f := given(t)
		f.Load.Conversations = conversations
		p := plan(f)
		if carries := float64(p.Logs) * p.LogCarries; carries < p.Peak {
			t.Errorf("%d conversations: %d logs carry %f of %f events", conversations, p.Logs, carries, p.Peak)
		}
		if p.Logs > 1 && float64(p.Logs-1)*p.LogCarries >= p.Peak {
			t.Errorf("%d conversations: %d logs are one too many", conversations, p.Logs)
		}
		if p.Hubs < 1+int(f.Machines.HubsToSpare) {
			t.Errorf("%d conversations: %d hubs", conversations, p.Hubs)
		}
	}
}

// TestSimulationAgrees: the simulation is close to the calculation, and repeatable with the same
// seed. With too few logs it reports that.
func TestSimulationAgrees(t *testing.T) {
	f := given(t)
	p := plan(f)
	s := simulate(f, p, 60, 1)
	if s != simulate(f, p, 60, 1) {
		t.Error("the same seed gives something else")
	}
	if s.Most < s.Mean || s.Most > 1.2*s.Mean || s.Fullest > 1.01 || s.OverSeconds != 0 {
		t.Errorf("simulated: %+v", s)
	}
	f.Measured.EventsPerSecondOfALog.Value /= 4
	few := *p
	few.LogCarries /= 4
	if s := simulate(f, &few, 60, 1); s.OverSeconds == 0 {
		t.Errorf("logs that carry a quarter are enough: %+v", s)
	}
}

// TestFiguresAreHeld: a figure that cannot be is refused by name.
func TestFiguresAreHeld(t *testing.T) {
	for change, want := range map[string]string{
		`"conversations": 1000000`: "conversations", `"useAtMost": 0.6`: "useAtMost", `"peakToMean": 3`: "peakToMean",
	} {
		name, _, _ := strings.Cut(change, ":")
		text := strings.Replace(string(figures), change, name+": -1", 1)
		if _, err := read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
	if _, err := read(strings.NewReader(`{"lode": {}}`)); err == nil {
		t.Error("an unknown member is taken")
	}
}

// TestRun prints everything.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-conversations", "5000", "-seconds", "5"}, &out); err != nil ||
		!strings.Contains(out.String(), "cost of 1,000 conversations") {
		t.Errorf("%v: %s", err, &out)
	}
	if err := run([]string{"-seconds", "0"}, &out); err == nil {
		t.Error("no seconds are taken")
	}
}
