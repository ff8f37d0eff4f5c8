package triggers

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/promise"
)

// slowest detects that nothing happens any more, kills of the hub included.
const slowest = 3 * time.Minute

// TestTriggersUnderKills: notes and messages wake commands and two agents that take turns, over
// many conversations, while the hub is killed again and again, and now and then the runner.
func TestTriggersUnderKills(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the kills of hubs with triggers left out")
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-triggers.seed %d", *seed)
	begun, w := time.Now(), newWorld(t)
	kills, killed := w.feedUnderKills(rand.New(rand.NewPCG(*seed, 0)))
	took := time.Since(begun)
	w.runner.Stop(t)
	w.hub.Stop(t)
	v := w.judge(killed)
	if kills < *fewest || v.matches < *count {
		t.Errorf("%d kills and %d matches, expected at least %d and %d: the run proves nothing", kills, v.matches, *fewest,
			*count)
	}
	t.Logf("%d kills of the hub, %d of the runner; %d matches: %d sessions, of which %d were interrupted, and %d turns; %d ended otherwise; in %.0f s",
		kills, killed, v.matches, v.sessions, v.interrupted, v.turns, v.otherwise, took.Seconds())
	promise.ID(23).Kept(t, promise.Tried{
		Faults: kills + killed, Operations: v.matches, Violations: promise.Broken(t),
		Figure: fmt.Sprintf("%d matches in %d conversations", v.matches, *conversations),
	})
}

// feedUnderKills posts events to all conversations under kills until every triggered run is over,
// and counts the kills.
func (w *world) feedUnderKills(rng *rand.Rand) (kills, runners int) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var said atomic.Int64
	failed := make(chan error, *conversations)
	var wg sync.WaitGroup
	for i := range *conversations {
		wg.Go(func() {
			f := &feed{world: w, id: fmt.Sprintf("case-%d", i), ledger: &ledger{}, said: &said, left: *count / *conversations}
			if err := f.run(ctx); err != nil {
				failed <- fmt.Errorf("%s: %w", f.id, err)
				cancel()
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	before := int64(-1)
	for {
		select {
		case <-done:
			close(failed)
			for err := range failed {
				w.t.Error(err)
			}
			return kills, runners
		case <-time.After(*every/2 + time.Duration(rng.Int64N(int64(*every)))): // the blow falls at random
		}
		n, gone := said.Load(), w.runner.Unreached()
		if n == before && n < int64(*count) && !gone {
			continue // all that this machine does is to come back from the last blow
		}
		before = n
		if !gone && runners < *runnerKills && said.Load() > int64(*count*(runners+1)/(*runnerKills+1)) {
			w.runner.Kill(w.t)
			runners++
			gone = true
		}
		w.hub.Kill(w.t)
		kills++
		w.startHub()
		if gone {
			w.startRunner()
		}
	}
}

// feed says what wakes the agents of one conversation.
type feed struct {
	*world
	id     string
	ledger *ledger
	since  int64
	said   *atomic.Int64
	left   int
}

func (f *feed) run(ctx context.Context) error {
	_, err := f.feeder.CreateConversation(ctx, &parley.CreateConversationParams{
		ConversationID: f.id, Policy: &parley.Policy{Kind: parley.PolicyTriggers},
		Limits: &parley.Limits{MaxWakesPerMinute: limits.MaxWakesLimit, MaxAttempts: 100},
		Participants: []parley.Participant{
			{ID: feeder, Kind: parley.KindPeer}, {ID: counter, Kind: parley.KindTool}, {ID: echo, Kind: parley.KindTool},
			{ID: turner, Kind: parley.KindAgent},
			{ID: second, Kind: parley.KindAgent},
		},
		ClientRequestID: f.id,
	})
	if err != nil {
		return err
	}
	for until := time.Now().Add(slowest); ; {
		moved, err := f.read(ctx)
		if err != nil {
			return err
		}
		open := f.ledger.open(false)
		switch {
		case moved:
			until = time.Now().Add(slowest)
		case time.Now().After(until):
			return fmt.Errorf("%d matches wait, and nothing is done any more", open)
		}
		switch {
		case f.left > 0 && open < *ahead:
			err = f.say(ctx)
		case open == 0 && len(f.ledger.wants) == 0 && f.ledger.told == nil:
			return nil
		default:
			err = f.rest(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// rest waits for the next event, some seconds at most: a client that is cut off again and again
// would wait for ever.
func (f *feed) rest(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := f.feeder.WaitForChange(short, &parley.WaitForChangeParams{ConversationID: f.id, SinceSeq: f.since,
		TimeoutMs: 5000})
	if short.Err() != nil {
		return ctx.Err()
	}
	return err
}

// read takes what is new, and reports whether anything was.
func (f *feed) read(ctx context.Context) (bool, error) {
	page, err := f.feeder.Tail(ctx, &parley.TailParams{ConversationID: f.id, SinceSeq: f.since, Limit: parley.MaxPage})
	if err != nil {
		return false, err
	}
	for i := range page.Events {
		if err := f.ledger.take(&page.Events[i]); err != nil {
			return false, err
		}
	}
	moved := page.NextSeq > f.since
	f.since = page.NextSeq
	return moved, nil
}

// say wakes turner and second, where they have nothing to do, or counter.
func (f *feed) say(ctx context.Context) error {
	f.left--
	f.said.Add(1)
	key := fmt.Sprintf("%d", f.left)
	if f.left%2 == 0 && f.ledger.open(true) == 0 {
		_, err := f.feeder.SendMessage(ctx, &parley.SendMessageParams{
			ConversationID: f.id, Payload: json.RawMessage(`{"text":"and?","schema":"` + askSchema + `"}`),
			Finality: parley.FinalityTurn, ClientRequestID: key,
		})
		return err
	}
	_, err := f.feeder.SendNote(ctx, &parley.SendNoteParams{
		ConversationID: f.id, ClientRequestID: key,
		Payload: parley.Note{Schema: workSchema, Data: json.RawMessage(fmt.Sprintf(`{"input":{"n":%d,"again":%t}}`, f.left, f.left%4 == 1))},
	})
	return err
}

// verdict counts what was judged.
type verdict struct{ matches, sessions, interrupted, turns, otherwise int }

// judge holds the log of the hub, and what the commands have noted, against what must be.
func (w *world) judge(runnersKilled int) (v verdict) {
	t := w.t
	logs, ran := w.exported(), w.ran()
	sessions := map[string]bool{}
	for i := range *conversations {
		id := fmt.Sprintf("case-%d", i)
		l := &ledger{}
		for i := range logs[id] {
			if err := l.take(&logs[id][i]); err != nil {
				t.Errorf("%s: %v", id, err)
				break
			}
		}
		w.settled(id, logs[id])
		for _, m := range l.matches {
			v.matches++
			switch {
			case m.reason != "":
				v.otherwise++
			case m.finished != 1:
				t.Errorf("%s: the match of seq %d by %s has finished %d times, expected once", id, m.seq, m.agent, m.finished)
			}
			if m.session == "" {
				continue
			}
			v.sessions++
			sessions[m.session] = true
			if err := judgeSession(m, id, logs[m.session], ran[m.session]); err != nil {
				t.Errorf("%s: %s of seq %d: %v", id, m.session, m.seq, err)
			}
			if m.ended == parley.SessionFailed {
				v.interrupted++
			}
		}
		v.turns += l.turns
	}
	w.strangers(logs, ran, sessions)
	if v.interrupted > 0 && runnersKilled == 0 {
		t.Errorf("%d commands were interrupted, and no runner was killed", v.interrupted)
	}
	return v
}

// settled: the hub itself knows of nothing that waits any more.
func (w *world) settled(id string, events []parley.Event) {
	var s fold.State
	for i := range events {
		var err error
		if s, err = s.Apply(&events[i], len(events[i].Raw())); err != nil {
			w.t.Errorf("%s: %v", id, err)
			return
		}
	}
	if len(s.Matches) > 0 {
		w.t.Errorf("%s: %d matches wait in the state of the hub, and all have ended: %+v", id, len(s.Matches), s.Matches[0])
	}
}

// judgeSession says what is wrong with the session that a match has started: it names its event,
// was claimed and closed once, and its command ran once.
func judgeSession(m *match, parent string, events []parley.Event, runs int) error {
	if len(events) == 0 {
		return fmt.Errorf("there is no such session")
	}
	s, err := events[0].System()
	if err != nil {
		return err
	}
	if r := s.Session; r == nil || r.Trigger == nil || r.Trigger.Seq != m.seq || r.Parent != parent ||
		r.Agent != m.agent || r.Hops != m.hops+1 {
		return fmt.Errorf("its record is %+v", r)
	}
	claims, finals := 0, 0
	for _, e := range events {
		if e.Closes() {
			finals++
		}
		if s, err := e.System(); e.Type == parley.TypeSystem && err == nil && s.Kind == parley.KindTurnClaimed {
			claims++
		}
	}
	switch {
	case finals != 1 || claims > 1:
		return fmt.Errorf("%d claims and %d closing messages, expected one of each", claims, finals)
	case runs > 1 || m.ended == parley.SessionCompleted && runs != 1:
		return fmt.Errorf("its command was started %d times, and it is %s", runs, m.ended)
	}
	return nil
}

// strangers: no session was started, and no command run, but those that the log of a parent names.
func (w *world) strangers(logs map[string][]parley.Event, ran map[string]int, sessions map[string]bool) {
	for id, events := range logs {
		if s, err := events[0].System(); err == nil && s.Session != nil && s.Session.Trigger != nil && !sessions[id] {
			w.t.Errorf("%s was started by seq %d of %s, and is not the one that is logged there", id, s.Session.Trigger.Seq,
				s.Session.Parent)
		}
	}
	for id := range ran {
		if !sessions[id] {
			w.t.Errorf("a command has run in %q, which nothing has woken", id)
		}
	}
}
