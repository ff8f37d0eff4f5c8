package power

import (
	"bytes"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/torture/ledger"
)

// judge holds what was told against the log.
type judge struct {
	*ledger.Ledger
	files int // that were held against it
}

// judge reads every conversation and holds all that the users know against it.
func (w *world) judge() *judge {
	w.t.Helper()
	c := w.audit()
	defer c.Close()
	logs := map[string][]parley.Event{}
	for _, id := range w.ids {
		logs[id] = readLog(w.t, c, id)
	}
	j := &judge{Ledger: ledger.New(w.t, logs)}
	for _, a := range w.writers {
		j.Hold(a.id, a.said)
	}
	for _, a := range w.closers {
		j.Hold(a.id, a.said)
	}
	j.HoldStrangers()
	for _, r := range w.readers {
		j.HoldSeen(4, r.id, r.seen)
	}
	j.HoldHistory(w.recorder.Ops())
	for _, u := range w.bringer {
		j.holdFiles(c, u)
	}
	return j
}

// readLog reads a whole log.
func readLog(t *testing.T, c *caller, id string) []parley.Event {
	t.Helper()
	var log []parley.Event
	for {
		var page parley.TailResult
		err := c.Call(parley.MethodTail, parley.TailParams{ConversationID: id, SinceSeq: int64(len(log)), Limit: parley.MaxPage}, &page)
		if err != nil {
			t.Fatalf("%s since %d: %v", id, len(log), err)
		}
		log = append(log, page.Events...)
		if page.NextSeq >= page.LatestSeq {
			return log
		}
	}
}

// holdFiles looks for each file that was acknowledged: its event where it was told to be, and all of its bytes.
func (j *judge) holdFiles(c *caller, u *uploader) {
	for _, f := range u.files {
		if f.seq == 0 {
			continue
		}
		j.files++
		log := j.Logs[f.conversation]
		if f.seq > int64(len(log)) || !bytes.Contains(log[f.seq-1].Payload, []byte(f.sha256)) {
			j.Broke(1, "%s: file %s was acknowledged as seq %d by hub %d, and the log does not say so", f.conversation, f.sha256, f.seq, f.life)
			continue
		}
		if err := f.whole(c); err != nil {
			j.Broke(1, "%s: file acknowledged as seq %d by hub %d: %v", f.conversation, f.seq, f.life, err)
		}
	}
}
