package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/ledger"
	"github.com/parleyhub/parley/torture/workload"
)

// auditor is the agent that reads the logs at the end.
const auditor = "auditor"

// verdict compares the answers of each hub with the log, and the hubs with each other.
type verdict struct {
	*ledger.Ledger
	w        *world
	followed int // events that subscribers received
	compared int // events of other hubs, and of an export, that were compared with those of the first
	turns    int // how often a subscriber continued from its cursor
}

// judge reads every conversation at every hub, and compares all that the users know with it.
func judge(w *world) *verdict {
	w.c.t.Helper()
	j := w.c.agree(w.AllKnown())
	j.w = w
	w.Check(j.Ledger)
	for _, s := range w.subscribers {
		j.holdSubscriber(s)
	}
	return j
}

// agree compares the conversations of each hub with those of the other hubs and with an export, and
// verifies the log.
func (c *cluster) agree(known map[string]int64) *verdict {
	c.t.Helper()
	first := c.logsAt(1, known)
	j := &verdict{Ledger: ledger.New(c.t, first.Events)}
	for hub := 2; hub <= hubs; hub++ {
		j.compare(fmt.Sprintf("hub %d", hub), first, c.logsAt(hub, known))
	}
	verified, err := c.run("log", "verify", "--data", c.journal)
	if err != nil {
		j.Broke(1, "the log does not verify: %v", err)
	}
	c.t.Logf("log verify: %s", bytes.TrimSpace(verified))
	exported, err := c.export()
	if err != nil {
		j.Broke(1, "the log cannot be exported: %v", err)
	}
	j.compare("an export", first, exported)
	return j
}

// holdSubscriber: it was given all events of its group, each once and in order.
func (j *verdict) holdSubscriber(s *subscriber) {
	for _, wrong := range s.wrong {
		j.Broke(9, "%s: %s", s.id, wrong)
	}
	j.HoldSeen(9, s.id, s.seen)
	j.turns += s.turns
	for id, log := range j.Logs {
		if !strings.HasPrefix(id, fmt.Sprintf("g%d-", s.group)) {
			continue
		}
		j.followed += len(s.seen[id])
		if len(s.seen[id]) != len(log) {
			j.Broke(9, "%s: %s was given %d events, and there are %d", id, s.id, len(s.seen[id]), len(log))
		}
	}
}

// compare compares the answers of a hub with those of the first hub: they must have the same bytes
// and the same head hash.
func (j *verdict) compare(who string, first, other *ledger.Logs) {
	if len(first.Events) != len(other.Events) {
		j.Broke(1, "hub 1 has %d conversations, and %s %d", len(first.Events), who, len(other.Events))
	}
	for id, log := range first.Events {
		same := other.Events[id]
		if len(same) != len(log) || first.Heads[id] != other.Heads[id] {
			j.Broke(1, "%s: hub 1 has %d events, hash %s, and %s %d, hash %s", id, len(log), first.Heads[id], who, len(same),
				other.Heads[id])
			continue
		}
		for i := range log {
			if !bytes.Equal(log[i].Raw(), same[i].Raw()) {
				j.Broke(1, "%s: seq %d is %.300s at hub 1, and %.300s at %s", id, i+1, log[i].Raw(), same[i].Raw(), who)
				break
			}
		}
		j.compared += len(log)
	}
}

// logsAt reads all conversations, of which someone knows that they have events up to a seq, at one
// hub.
func (c *cluster) logsAt(hub int, known map[string]int64) *ledger.Logs {
	c.t.Helper()
	l := ledger.NewLogs()
	start := time.Now()
	for {
		err := c.readAll(l, hub, known)
		if err == nil {
			break
		}
		c.t.Logf("hub %d, after the last fault, after %.1f s: %v", hub, time.Since(start).Seconds(), err)
		if !errors.Is(err, hubproc.ErrGone) || time.Since(start) > backTime {
			c.t.Fatalf("hub %d cannot be read", hub)
		}
	}
	return l
}

// readAll reads the conversations that l does not have yet.
func (c *cluster) readAll(l *ledger.Logs, hub int, known map[string]int64) error {
	to, err := c.Dial(hub, auditor)
	if err != nil {
		return err
	}
	defer to.Close()
	for id, seq := range known {
		if l.Events[id] != nil {
			continue
		}
		log, head, err := workload.ReadLog(to, id, seq)
		if err != nil {
			return fmt.Errorf("%s: %w", id, c.away(err))
		}
		l.Events[id], l.Heads[id] = log, head
	}
	return nil
}

// export returns an export of the log. With an error it is the part before that.
func (c *cluster) export() (*ledger.Logs, error) {
	out, err := c.run("log", "export", "--data", c.journal)
	l, bad := ledger.ReadExport(out)
	return l, errors.Join(err, bad)
}

// tell prints the summary of a run.
func (j *verdict) tell(took, worst time.Duration) {
	j.w.c.t.Helper()
	j.w.c.t.Logf("%d appends acknowledged by three hubs, %d answers lost, %d refused for good, %d reads, %d conversations closed, %d calls judged; %d events compared; "+
		"subscribers went on from their cursors %d times; slowest to be well again %.1f s; all in %.0f s",
		j.Acked, j.Lost, j.Never, j.w.Reads(), j.Closed, j.Ops, j.compared, j.turns, worst.Seconds(), took.Seconds())
}

// kept reports the promises.
func (j *verdict) kept(faults int) {
	j.w.c.t.Helper()
	if j.turns == 0 {
		j.w.c.t.Error("no subscriber continued from its cursor: the run proves too little")
	}
	j.w.Kept(j.Ledger, faults, 0, fmt.Sprintf("%d appends to three hubs", j.Acked))
	j.Kept(9, promise.Tried{Faults: faults, Operations: j.followed})
}
