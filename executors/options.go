package executors

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Options are the options of Run. Nil and the zero value are ready to use.
type Options struct {
	// Mode selects how turns are found. The default is push.
	Mode parley.ExecutorMode
	// Agents are the names of the served agents, at most 64. The default is the client's own id, or
	// no name with Blueprints. Pull mode serves the client's own seats, whatever the name of their
	// agent.
	Agents []string
	// Blueprints are the agents that run sessions here, at most 256. The agent of Run is also
	// called for the turns of their sessions. They require push mode.
	Blueprints []parley.Blueprint
	// Labels are labels that sessions may require, at most 32.
	Labels map[string]string
	// Registered is called with the names of the registered agents, after each registration of
	// Blueprints. It may be nil. Calls do not overlap. It should not block, because Run waits for
	// it at the end.
	Registered func(*parley.RegisterBlueprintsResult)
	// ExecutorID distinguishes this process from others with the same agents. The default is
	// random, except for Internal.
	ExecutorID string
	// Capacity limits the turns that run concurrently. The default is 16.
	Capacity int
	// Accept selects conversations; nil selects all. Other executors may take the turns of the
	// others.
	Accept func(conversationID string) bool

	// TurnTimeout limits the work on one turn, including waits for approvals. 0 is no limit. The
	// conversation's maxClaimMs always applies, without those waits.
	TurnTimeout time.Duration
	// Grace is how long an agent may continue after the end of its ctx. It is also how long an
	// agent may still post the final message after it returned with only part of the turn posted.
	// The default is 2 s.
	Grace time.Duration
	// GraceMs is how long the hub keeps claims after it lost this executor, 100 to 600,000. If it
	// is set, the ctx of the agents also ends when the hub is unreachable for that time, although a
	// hub that restarted in the meantime would have kept the claims. The default is 180,000 with
	// Blueprints. Otherwise it is 5,000 at the hub, and agents work until they are notified of the
	// lost claim.
	GraceMs int64
	watches bool // GraceMs was set, or there are Blueprints
	// Drain is how long running turns may take after the end of ctx, before they are released. The
	// default is 10 s. Negative means no time.
	Drain time.Duration

	// MinBackoff and MaxBackoff limit the jittered pause after an error. The defaults are 250 ms
	// and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// PollEvery is how often pull mode lists conversations. The default is 1 s.
	PollEvery time.Duration
	// Logger logs turns (debug), and errors and panics of the agent (warn and error). It may be
	// nil.
	Logger *slog.Logger
}

func (o *Options) withDefaults(client parley.Client) Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Mode = cmp.Or(d.Mode, parley.ModePush)
	runs := len(d.Blueprints) > 0
	switch {
	case d.Agents == nil && runs:
		d.Agents = []string{}
	case d.Agents == nil:
		d.Agents = []string{client.AgentID()}
	}
	d.ExecutorID = cmp.Or(d.ExecutorID, "x-"+strings.ToLower(rand.Text()[:12]))
	d.Capacity = cmp.Or(d.Capacity, limits.DefaultCapacity)
	if d.Accept == nil {
		d.Accept = func(string) bool { return true }
	}
	d.Grace = cmp.Or(d.Grace, 2*time.Second)
	d.watches = runs || d.GraceMs > 0
	if runs {
		d.GraceMs = cmp.Or(d.GraceMs, limits.OfflineMs)
	}
	d.GraceMs = cmp.Or(d.GraceMs, limits.DefaultGraceMs)
	d.Drain = cmp.Or(d.Drain, 10*time.Second)
	d.MinBackoff = cmp.Or(d.MinBackoff, 250*time.Millisecond)
	d.MaxBackoff = max(cmp.Or(d.MaxBackoff, 5*time.Second), d.MinBackoff)
	d.PollEvery = cmp.Or(d.PollEvery, time.Second)
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// grace returns GraceMs as a duration.
func (o *Options) grace() time.Duration { return time.Duration(o.GraceMs) * time.Millisecond }

// pauses are growing, jittered pauses between retries.
type pauses struct {
	growing *backoff.ExponentialBackOff
	longest time.Duration
}

func (o *Options) newPauses() *pauses {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier, b.RandomizationFactor = o.MinBackoff, o.MaxBackoff, 2, 0.5
	return &pauses{b, o.MaxBackoff}
}

func (p *pauses) next() time.Duration { return min(p.growing.NextBackOff(), p.longest) }

func (p *pauses) reset() { p.growing.Reset() }

// pause sleeps for d. If ctx ends before, it returns the cause.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
