package conversation

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
	"github.com/parleyhub/parley/internal/limits"
)

// limitFlags are the limits of a conversation as flags.
type limitFlags struct {
	counts        map[string]*int64
	durations     map[string]*time.Duration
	attempts      int
	hops, wakes   int
	onTurnTimeout string
	stopWhen      string
}

// limitFlag is a limit that is a number.
type limitFlag struct {
	flag, doc string
	field     func(*parley.Limits) *int64
}

var countFlags = []limitFlag{
	{"max-turns", "close it after this number of turns", func(l *parley.Limits) *int64 { return &l.MaxTurns }},
	{"max-events", "close it after this number of messages, traces, notes and files (default: 100000)",
		func(l *parley.Limits) *int64 { return &l.MaxEvents }},
	{"max-bytes", "close it after this number of bytes of events (default: 268435456)",
		func(l *parley.Limits) *int64 { return &l.MaxBytes }},
	{"max-autonomous-turns", "number of turns without a person after which a person gets the turn",
		func(l *parley.Limits) *int64 { return &l.MaxAutonomousTurns }},
}

var durationFlags = []limitFlag{
	{"idle-timeout", "close it after this time without messages",
		func(l *parley.Limits) *int64 { return &l.IdleTimeoutMs }},
	{"deadline", "close it this long after its creation", func(l *parley.Limits) *int64 { return &l.DeadlineMs }},
	{"turn-timeout",
		"time that an agent keeps a turn without renewing it; if set, it applies to people too (default: 1m)",
		func(l *parley.Limits) *int64 { return &l.TurnTimeoutMs }},
	{"max-claim", "time limit of one attempt, even if renewed (default: ten times --turn-timeout)",
		func(l *parley.Limits) *int64 { return &l.MaxClaimMs }},
	{"claim-window", "time for which a turn is offered to one executor only (default: 2s)",
		func(l *parley.Limits) *int64 { return &l.ClaimWindowMs }},
}

func (f *limitFlags) addTo(c *cobra.Command) {
	flags := c.Flags()
	f.counts, f.durations = map[string]*int64{}, map[string]*time.Duration{}
	for _, l := range countFlags {
		f.counts[l.flag] = flags.Int64(l.flag, 0, l.doc)
	}
	for _, l := range durationFlags {
		f.durations[l.flag] = flags.Duration(l.flag, 0, l.doc)
	}
	flags.IntVar(&f.attempts, "max-attempts", 0, "number of failed attempts at one turn (default: 3)")
	flags.IntVar(&f.hops, "max-hops", 0,
		fmt.Sprintf("longest chain of runs that trigger each other (default: %d)", parley.DefaultMaxHops))
	flags.IntVar(&f.wakes, "max-wakes-per-minute", 0,
		fmt.Sprintf("runs per minute that the events of one agent may trigger for one agent (default: %d)",
			limits.DefaultMaxWakesPerMinute))
	flags.StringVar(&f.onTurnTimeout, "on-turn-timeout", "",
		"action for a turn that was not taken, or failed too often: reoffer, skip or close (default: reoffer)")
	flags.StringVar(&f.stopWhen, "stop-when", "", "CEL expression; close it if the expression is true after a message")
}

// apply puts the limits that were given over those of a file. The hub knows their upper bounds.
func (f *limitFlags) apply(s *scenario.Scenario, given func(flag string) bool) error {
	var l parley.Limits
	if s.Limits != nil {
		l = *s.Limits
	}
	before := l
	for _, c := range countFlags {
		if given(c.flag) && *f.counts[c.flag] < 1 {
			return exit.Usagef("--%s %d: expected 1 or more", c.flag, *f.counts[c.flag])
		}
		*c.field(&l) = cmp.Or(*f.counts[c.flag], *c.field(&l))
	}
	for _, n := range []struct {
		flag string
		n    int
	}{{"max-attempts", f.attempts}, {"max-hops", f.hops}, {"max-wakes-per-minute", f.wakes}} {
		if given(n.flag) && n.n < 1 {
			return exit.Usagef("--%s %d: expected 1 or more", n.flag, n.n)
		}
	}
	for _, d := range durationFlags {
		if given(d.flag) && *f.durations[d.flag] < time.Millisecond {
			return exit.Usagef("--%s %s: expected 1ms or longer", d.flag, *f.durations[d.flag])
		}
		*d.field(&l) = cmp.Or(f.durations[d.flag].Milliseconds(), *d.field(&l))
	}
	l.MaxAttempts, l.StopWhen = cmp.Or(f.attempts, l.MaxAttempts), cmp.Or(f.stopWhen, l.StopWhen)
	l.MaxHops, l.MaxWakesPerMinute = cmp.Or(f.hops, l.MaxHops), cmp.Or(f.wakes, l.MaxWakesPerMinute)
	if l.OnTurnTimeout = cmp.Or(parley.TurnTimeout(f.onTurnTimeout), l.OnTurnTimeout); !l.OnTurnTimeout.Valid() {
		return exit.Usagef("--on-turn-timeout %s: expected reoffer, skip or close", f.onTurnTimeout)
	}
	if l != before {
		s.Limits = &l
	}
	return nil
}
