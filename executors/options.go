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

// Options are for Run. Nil and the zero value are useful.
type Options struct {
	// Mode says how turns are found; empty, push.
	Mode parley.ExecutorMode
	// Agents are the names of the agents that are served, at most 64; nil, the client's own id, or none where there are Blueprints. In pull mode the client's
	// own seats are served, whatever the name of the agent that sits there.
	Agents []string
	// Blueprints are the deterministic agents that are run, at most 256: the agent given to Run is called for the turns of their sessions too. They need
	// the mode push.
	Blueprints []parley.Blueprint
	// Labels are what sessions may demand of this executor, at most 32.
	Labels map[string]string
	// Registered is told by which names the agents of Blueprints are found, each time that the hub has taken them; nil, nobody is. It is not called twice
	// at once, and should not block: Run waits for it in the end.
	Registered func(*parley.RegisterBlueprintsResult)
	// ExecutorID tells this process from others that run the same agents; empty, a random one, but for Internal.
	ExecutorID string
	// Capacity bounds the turns that are worked on at once; 0, 16.
	Capacity int
	// Accept chooses among conversations; nil, all. A turn that is not accepted is left to other executors.
	Accept func(conversationID string) bool

	// TurnTimeout bounds the work on one turn, waits for approvals included; 0, only the conversation's maxClaimMs does, which bounds it always, those not included.
	TurnTimeout time.Duration
	// Grace is how long an agent that has returned from a turn of which it has said a part may still say its final message, and how long it may go on when
	// its ctx has ended; 0, 2 s.
	Grace time.Duration
	// GraceMs is how long the hub lets the claims stand when it has lost this executor, 100 to 600,000. Where it is given, the ctx of the agents ends too when
	// the hub cannot be reached for as long; a hub that was started again in the meantime would have let them stand. 0: with Blueprints 180,000; else 5,000 at the
	// hub, and agents work on until they learn that their claim is lost.
	GraceMs int64
	watches bool // GraceMs was given, or there are Blueprints
	// Drain is how long the turns under way may take when ctx ends, before they are given back; 0, 10 s; negative, no time.
	Drain time.Duration

	// MinBackoff and MaxBackoff bound the jittered pause after an error; 0, 250 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration
	// PollEvery is how often pull mode looks for new conversations; 0, 1 s.
	PollEvery time.Duration
	// Logger hears of turns (debug), and of errors and panics of the agent (warn and error); nil, nobody.
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

// grace is GraceMs.
func (o *Options) grace() time.Duration { return time.Duration(o.GraceMs) * time.Millisecond }

// pauses are the growing, jittered pauses between attempts at something that fails.
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

// pause sleeps for d, or until ctx ends and then gives its cause.
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
