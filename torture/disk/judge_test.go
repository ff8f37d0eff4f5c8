//go:build linux

package disk

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/promise"
)

// tally counts what was compared with the promises.
type tally struct {
	faults, acked, refused, unknown int
	// found is the number of unknown outcomes that were in the log, and shown the number of events
	// that subscribers received.
	found, shown, retries, violations int
}

func (s *tally) add(o tally) {
	s.faults += o.faults
	s.acked += o.acked
	s.refused += o.refused
	s.unknown += o.unknown
	s.found += o.found
	s.shown += o.shown
	s.retries += o.retries
	s.violations += o.violations
}

// tried is what a promise was tried with, to which so many operations were held.
func (s *tally) tried(operations int) promise.Tried {
	return promise.Tried{Faults: s.faults, Operations: operations, Unknown: s.unknown, Violations: s.violations}
}

// judge compares the recorded answers with a log.
type judge struct {
	t     *testing.T
	after string // the fault, for messages
	tally
}

func (j *judge) String() string { return j.after }

func (j *judge) wrong(format string, args ...any) {
	j.t.Helper()
	j.violations++
	j.t.Errorf("after "+j.after+": "+format, args...)
}

// log is what a conversation holds.
type log struct {
	raw  []string           // by seq - 1
	seqs map[string][]int64 // by name of an utterance
}

// read reads a conversation and checks that its seqs have no gap, and that each utterance says what
// its key says.
func (j *judge) read(c *caller, conversation string, ws []*writer) *log {
	j.t.Helper()
	want := make(map[string]*utterance)
	for _, w := range ws {
		for _, a := range w.appends {
			want[a.name()] = a
		}
	}
	l := &log{seqs: make(map[string][]int64)}
	for _, e := range c.tail(j.t, conversation, 0) {
		l.raw = append(l.raw, string(e.Raw()))
		if int64(len(l.raw)) != e.Seq {
			j.t.Fatalf("%s: seq %d follows %d", conversation, e.Seq, len(l.raw)-1)
		}
		name, text := nameOf(e)
		if name == "" {
			continue
		}
		if a := want[name]; a == nil || a.text != text {
			j.wrong("%s: seq %d says other than was sent under %s", conversation, e.Seq, name)
		}
		l.seqs[name] = append(l.seqs[name], e.Seq)
	}
	return l
}

// nameOf finds the utterance that an event is.
func nameOf(e parley.Event) (name, text string) {
	if m, err := e.Message(); e.Type == parley.TypeMessage && err == nil {
		return e.ClientRequestID, m.Text
	}
	if s, err := e.System(); err == nil && s.Kind == parley.KindAttachmentAdded {
		return s.SHA256, ""
	}
	return "", ""
}

// compare compares the answers to a writer with the log.
func (j *judge) compare(w *writer, l *log) {
	for _, a := range w.appends {
		seqs := l.seqs[a.name()]
		switch a.outcome {
		case unsent:
			if len(seqs) > 0 {
				j.wrong("%s was never sent and is at %d", a.key, seqs)
			}
		case acked:
			j.acked++
			if len(seqs) != 1 || seqs[0] != a.seq {
				j.wrong("%s was acknowledged at %d and is at %d", a.key, a.seq, seqs)
			}
		case refused:
			j.refused++
			if len(seqs) > 0 {
				j.wrong("%s was refused (%v) and is at %d", a.key, a.err, seqs)
			}
		case unknown:
			j.unknown++
			j.found += len(seqs)
			if len(seqs) > 1 {
				j.wrong("%s, of which nothing is known, is there more than once, at %d", a.key, seqs)
			}
		}
	}
}

// saw compares the events of subscribers with the logs.
func (j *judge) saw(events []shown, logs map[string]*log) {
	for _, s := range events {
		j.shown++
		if raw := logs[s.conversation].raw; int64(len(raw)) < s.seq || raw[s.seq-1] != s.raw {
			j.wrong("%s: a subscriber was told an event at %d that is not in the log", s.conversation, s.seq)
		}
	}
}

// retry repeats all appends: those in the log are recognized, and the others are appended now.
func (j *judge) retry(h *hubproc.Hub, w *writer, l *log) {
	c, err := dial(h, w.id)
	if err != nil {
		j.t.Fatal(err)
	}
	defer c.Close()
	for _, a := range w.appends {
		if a.outcome == unsent {
			continue
		}
		j.retries++
		seq, duplicate, err := w.send(c, a)
		seqs := l.seqs[a.name()]
		switch {
		case err != nil:
			j.wrong("the retry of %s: %v", a.key, err)
		case duplicate != (len(seqs) > 0) || len(seqs) > 0 && seq != seqs[0]:
			j.wrong("the retry of %s gives seq %d (duplicate: %t), and the log had it at %d", a.key, seq, duplicate, seqs)
		}
	}
}

// files reads the files that the log has.
func (j *judge) files(c *caller, w *writer, l *log) {
	for _, a := range w.appends {
		if a.file == nil || len(l.seqs[a.name()]) == 0 {
			continue
		}
		var r parley.GetAttachmentResult
		err := c.Call(methods.GetAttachment, parley.GetAttachmentParams{ConversationID: w.conversation, SHA256: a.name()}, &r)
		if err != nil || string(r.Data) != string(a.file) {
			j.wrong("the file %s is in the log and reads as %d bytes, %v", a.key, len(r.Data), err)
		}
	}
}

// all holds everything to the hub that was started again on the same files, retries, and looks once
// more.
func (j *judge) all(h *hubproc.Hub, ws []*writer, told []shown) {
	j.t.Helper()
	c, err := dial(h, admin)
	if err != nil {
		j.t.Fatal(err)
	}
	defer c.Close()
	logs := make(map[string]*log)
	for _, id := range conversations {
		logs[id] = j.read(c, id, ws)
	}
	j.saw(told, logs)
	for _, w := range ws {
		j.compare(w, logs[w.conversation])
		j.files(c, w, logs[w.conversation])
		j.retry(h, w, logs[w.conversation])
	}
	for _, w := range ws {
		l := j.read(c, w.conversation, ws)
		j.files(c, w, l)
		for _, a := range w.appends {
			if n := len(l.seqs[a.name()]); a.outcome != unsent && n != 1 {
				j.wrong("%s is in the log %d times after its retry", a.key, n)
			}
		}
	}
}
