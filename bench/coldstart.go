package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// ColdstartOptions of a run of Coldstart.
type ColdstartOptions struct {
	// Events that the log has at least, spread over so many conversations at random, none of them
	// closed.
	Events        int
	Conversations int
	// Size is the length of a message's text in bytes.
	Size int
	// Rounds is how often each start is measured.
	Rounds int
	// Unindexed is how many new events there are when the hub is killed, if they come before the
	// journal brings its index up to date: 1 to MaxUnindexed.
	Unindexed int
	// Settle is how long memory must not change for.
	Settle time.Duration
	// Keep is the directory of the log, which the next run uses again. If it is empty, the log is
	// temporary.
	Keep string
}

func (o ColdstartOptions) check() error {
	if o.Events < 1 || o.Events > 1_000_000_000 {
		return fmt.Errorf("events: %d: expected 1 to 1000000000", o.Events)
	}
	if o.Unindexed < 1 || o.Unindexed > MaxUnindexed {
		return fmt.Errorf("unindexed: %d: expected 1 to %d", o.Unindexed, MaxUnindexed)
	}
	return errors.Join(o.load(nil).check(), checkRounds(o.Rounds), checkSettle(o.Settle))
}

// load fills the log.
func (o ColdstartOptions) load(acked *atomic.Int64) LoadOptions {
	return LoadOptions{Conns: 64, InFlight: max(1, min(16, pipelinedBytes/max(1, o.Size))), Size: o.Size,
		Conversations: o.Conversations, acked: acked}
}

// ColdstartReport is what a run of Coldstart measured.
type ColdstartReport struct {
	Events        int   `json:"events"`
	Conversations int   `json:"conversations"`
	LogBytes      int64 `json:"logBytes"`
	// FillPerSecond is how fast the log was made; 0 where it was there.
	FillPerSecond float64 `json:"fillPerSecond,omitempty"`
	// Empty is the start of a hub with one conversation and nothing in it, Clean that with the log
	// after an orderly end, and Killed that after kill -9 under load.
	Empty  Start `json:"empty"`
	Clean  Start `json:"clean"`
	Killed Start `json:"killed"`
	// UnindexedEvents are about how many events were new since the last change of the index when the
	// hub was killed.
	UnindexedEvents Spread `json:"unindexedEvents"`
	Machine
}

// Start is how long a hub takes to start: from its exec until it takes calls, and until a first
// append is durable and acknowledged.
type Start struct {
	ReadyMs  Spread `json:"readyMs"`
	AppendMs Spread `json:"appendMs"`
	// MemoryKiB is resident memory that is no file's when that append is acknowledged, and SettledKiB
	// when it does not change any more.
	MemoryKiB  Spread `json:"memoryKib"`
	SettledKiB int64  `json:"settledKib"`

	ready, appended, memory []float64
}

func (s *Start) fill() {
	s.ReadyMs, s.AppendMs, s.MemoryKiB = SpreadOf(s.ready), SpreadOf(s.appended), SpreadOf(s.memory)
}

// filled describes a log in a file beside it, so that the next run can use the log.
type filled struct {
	Events        int      `json:"events"`
	Size          int      `json:"size"`
	Conversations []string `json:"conversations"`
}

// cold is a run of Coldstart.
type cold struct {
	options  *ColdstartOptions
	dir      string
	filled   filled
	report   *ColdstartReport
	progress func(string)
}

// Coldstart runs the benchmark. The log is made by appends over sockets, so that it is as a hub
// makes it.
func Coldstart(ctx context.Context, o ColdstartOptions, progress func(string)) (r *ColdstartReport, err error) {
	if err := o.check(); err != nil {
		return nil, &OptionsError{err}
	}
	c := &cold{options: &o, dir: o.Keep, report: &ColdstartReport{}, progress: progress}
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "parley-bench-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	} else if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	empty, err := os.MkdirTemp(c.dir, "empty-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(empty)) }()
	if err := c.report.before(c.dir); err != nil {
		return nil, err
	}
	if err := c.run(ctx, empty); err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	return c.report, c.report.after(c.dir)
}

func (c *cold) data() string { return filepath.Join(c.dir, "log") }

func (c *cold) run(ctx context.Context, empty string) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	one, err := c.makeOne(ctx, empty)
	if err != nil {
		return err
	}
	r := c.report
	var tails []float64
	for i := range c.options.Rounds {
		c.progress(fmt.Sprintf("round %d of %d", i+1, c.options.Rounds))
		last := i == c.options.Rounds-1
		if err := c.start(ctx, empty, one, &r.Empty, last); err != nil {
			return fmt.Errorf("empty: %w", err)
		}
		if err := c.start(ctx, c.data(), c.filled.Conversations[0], &r.Clean, last); err != nil {
			return fmt.Errorf("after an orderly end: %w", err)
		}
		tail, err := c.crash(ctx)
		if err != nil {
			return fmt.Errorf("before kill: %w", err)
		}
		tails = append(tails, float64(tail))
		if err := c.start(ctx, c.data(), c.filled.Conversations[0], &r.Killed, last); err != nil {
			return fmt.Errorf("after kill: %w", err)
		}
	}
	r.Empty.fill()
	r.Clean.fill()
	r.Killed.fill()
	r.UnindexedEvents = SpreadOf(tails)
	info, err := os.Stat(filepath.Join(c.data(), "log.db"))
	if err != nil {
		return err
	}
	r.Events, r.Conversations, r.LogBytes = c.filled.Events, len(c.filled.Conversations), info.Size()
	return c.note()
}

// start starts a hub, appends once, and ends it.
func (c *cold) start(ctx context.Context, dir, conversation string, s *Start, last bool) error {
	begin := time.Now()
	hub, err := StartHub(ctx, HubOptions{Dir: dir})
	if err != nil {
		return err
	}
	defer hub.Stop()
	ready := time.Since(begin)
	target := hub.Target()
	k, err := target.dial(ctx, "")
	if err != nil {
		return err
	}
	defer k.close()
	if err := k.post(conversation, int(begin.UnixMicro()), 1, c.options.Size); err != nil {
		return err
	}
	appended := time.Since(begin)
	s.memory = append(s.memory, float64(residentKiB(hub.pid(), false)))
	s.ready = append(s.ready, float64(ready.Microseconds())/1000)
	s.appended = append(s.appended, float64(appended.Microseconds())/1000)
	if last {
		s.SettledKiB, err = settle(ctx, hub.pid(), c.options.Settle)
	}
	return err
}

// makeOne makes a log with one conversation.
func (c *cold) makeOne(ctx context.Context, dir string) (string, error) {
	hub, err := StartHub(ctx, HubOptions{Dir: dir})
	if err != nil {
		return "", err
	}
	defer hub.Stop()
	target := hub.Target()
	ids, err := makeConversations(ctx, &target, 1)
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// prepare makes the log, unless it is there.
func (c *cold) prepare(ctx context.Context) error {
	if c.found() {
		c.progress(fmt.Sprintf("found %d events in %s", c.filled.Events, c.dir))
		return nil
	}
	hub, err := StartHub(ctx, HubOptions{Dir: c.data()})
	if err != nil {
		return err
	}
	defer hub.Stop()
	target := hub.Target()
	c.filled = filled{Size: c.options.Size}
	if c.filled.Conversations, err = makeConversations(ctx, &target, c.options.Conversations); err != nil {
		return err
	}
	c.progress(fmt.Sprintf("writing %d events", c.options.Events))
	load, err := newLoad(ctx, target, c.options.load(nil), c.filled.Conversations)
	if err != nil {
		return err
	}
	defer load.Close()
	begin := time.Now()
	for c.filled.Events < c.options.Events {
		rate, err := load.slice(ctx, fillSlice)
		if err != nil {
			return err
		}
		c.filled.Events += rate.Ops
	}
	c.report.FillPerSecond = float64(c.filled.Events) / time.Since(begin).Seconds()
	return c.note()
}

func (c *cold) noteFile() string { return filepath.Join(c.dir, "filled.json") }

// found looks for a log that an earlier run has left.
func (c *cold) found() bool {
	b, err := os.ReadFile(c.noteFile())
	if err != nil || json.Unmarshal(b, &c.filled) != nil {
		return false
	}
	return c.filled.Events >= c.options.Events && c.filled.Size == c.options.Size &&
		len(c.filled.Conversations) == c.options.Conversations
}

func (c *cold) note() error {
	b, err := json.Marshal(c.filled)
	if err != nil {
		return err
	}
	return os.WriteFile(c.noteFile(), b, 0o600)
}
