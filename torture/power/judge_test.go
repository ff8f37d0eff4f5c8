package power

import (
	"bytes"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/torture/ledger"
	"github.com/parleyhub/parley/torture/workload"
)

// judge compares what the users know with the log.
type judge struct {
	*ledger.Ledger
	files int // that were compared
}

// judge reads every conversation and compares all that the users know with it.
func (w *world) judge() *judge {
	w.t.Helper()
	c := w.audit()
	defer c.Close()
	logs := map[string][]parley.Event{}
	for id, known := range w.AllKnown() {
		log, _, err := workload.ReadLog(c, id, known)
		if err != nil {
			w.t.Fatalf("%s: %v", id, err)
		}
		logs[id] = log
	}
	j := &judge{Ledger: ledger.New(w.t, logs)}
	w.Check(j.Ledger)
	for _, u := range w.bringer {
		j.checkFiles(c, u)
	}
	return j
}

// checkFiles looks for each file that was acknowledged: its event at its seq, and all of its bytes.
func (j *judge) checkFiles(c *workload.Caller, u *uploader) {
	for _, f := range u.files {
		if f.seq == 0 {
			continue
		}
		j.files++
		log := j.Logs[f.conversation]
		if f.seq > int64(len(log)) || !bytes.Contains(log[f.seq-1].Payload, []byte(f.sha256)) {
			j.Broke(1, "%s: hub %d acknowledged file %s as seq %d, where the log has another event", f.conversation, f.life,
				f.sha256, f.seq)
			continue
		}
		if err := f.whole(c); err != nil {
			j.Broke(1, "%s: the file that hub %d acknowledged as seq %d: %v", f.conversation, f.life, f.seq, err)
		}
	}
}
