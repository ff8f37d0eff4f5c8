package journaltest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"pgregory.net/rapid"
)

// model is the expected content of the journal.
type model struct {
	conversations map[string]*modelConversation
	labels        map[string][]string
}

type modelConversation struct {
	events []string
	final  bool
	labels []string
}

// testModel compares random batches, reopenings and crashes with maps.
func testModel(t *testing.T, f Factory) {
	rapid.Check(t, func(rt *rapid.T) {
		j := f.Open(t)
		m := &model{conversations: make(map[string]*modelConversation), labels: make(map[string][]string)}
		rt.Repeat(map[string]func(*rapid.T){
			"batches": func(rt *rapid.T) { m.batches(rt, j) },
			"read":    func(rt *rapid.T) { m.read(rt, j) },
			"reopen":  func(*rapid.T) { j = f.Reopen(t, j) },
			"crash":   func(*rapid.T) { j = f.Crash(t, j) },
			"":        func(rt *rapid.T) { m.check(rt, j) },
		})
		CheckInvariants(t, j)
		if err := j.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

var modelID = rapid.SampledFrom([]string{"a", "b", "c", "~hub"})

// batches submits some batches at once. Each is decided after those before it.
func (m *model) batches(rt *rapid.T, j journal.Journal) {
	var wg sync.WaitGroup
	n := rapid.IntRange(1, 6).Draw(rt, "n")
	errs := make([]error, n)
	wants := make([]error, n)
	for i := range n {
		b := journal.Batch{
			Conversation: modelID.Draw(rt, "id"), Final: rapid.IntRange(0, 9).Draw(rt, "final") == 0,
			Labels: rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, 2).Draw(rt, "labels"),
		}
		for k := range rapid.IntRange(1, 40).Draw(rt, "events") {
			b.Events = append(b.Events, fmt.Appendf(nil, "%s %d %d", b.Conversation, i, k))
		}
		if c := m.conversations[b.Conversation]; c != nil {
			b.After = int64(len(c.events))
		}
		b.After += int64(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(rt, "wrong"))
		wants[i] = m.apply(b)
		wg.Add(1)
		b.Done = func(_ journal.Head, err error) { errs[i] = err; wg.Done() }
		j.Submit(b)
	}
	wg.Wait()
	for i, err := range errs {
		if fmt.Sprint(err) != fmt.Sprint(wants[i]) {
			rt.Fatalf("batch %d: %v, want %v", i, err, wants[i])
		}
	}
}

func (m *model) apply(b journal.Batch) error {
	c := m.conversations[b.Conversation]
	if c == nil {
		c = &modelConversation{}
	}
	if c.final {
		return journal.ErrFinal
	}
	if int64(len(c.events)) != b.After {
		return &journal.MovedError{Conversation: b.Conversation, Expected: b.After,
			Head: journal.Head{Seq: int64(len(c.events))}}
	}
	if len(c.events) == 0 {
		m.conversations[b.Conversation] = c
		m.labels[""] = append(m.labels[""], b.Conversation)
	}
	for _, e := range b.Events {
		c.events = append(c.events, string(e))
	}
	c.final = b.Final
	for _, l := range b.Labels {
		if !slices.Contains(c.labels, l) {
			c.labels = append(c.labels, l)
			m.labels[l] = append(m.labels[l], b.Conversation)
		}
	}
	return nil
}

func (m *model) read(rt *rapid.T, j journal.Journal) {
	id := modelID.Draw(rt, "id")
	after := rapid.Int64Range(0, 200).Draw(rt, "after")
	limit := rapid.IntRange(1, 300).Draw(rt, "limit")
	var events []string
	if c := m.conversations[id]; c != nil {
		events = c.events
	}
	from := min(int(after), len(events))
	want := events[from:min(from+limit, len(events))]
	got, err := j.Read(id, after, limit, 1<<20)
	if err != nil || len(got) != len(want) {
		rt.Fatalf("read %s after %d limit %d: %d records, %v, want %d", id, after, limit, len(got), err, len(want))
	}
	for i, r := range got {
		if string(r.Data) != want[i] || r.Seq != after+int64(i)+1 {
			rt.Fatalf("read %s after %d: %+v, want %q", id, after, r, want[i])
		}
	}
}

func (m *model) check(rt *rapid.T, j journal.Journal) {
	var open []string
	for id, c := range m.conversations {
		h, err := j.Head(id)
		if err != nil || h.Seq != int64(len(c.events)) || h.Final != c.final {
			rt.Fatalf("head of %s: %+v, %v, want %d, %t", id, h, err, len(c.events), c.final)
		}
		if !c.final {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	if got, err := j.Open("", 100); err != nil || fmt.Sprint(got) != fmt.Sprint(open) {
		rt.Fatalf("open: %v, %v, want %v", got, err, open)
	}
	for _, label := range []string{"", "x", "y"} {
		rows, err := j.Labeled(label, 0, 100)
		var got []string
		for _, r := range rows {
			got = append(got, r.Conversation)
		}
		if err != nil || !slices.Equal(got, m.labels[label]) {
			rt.Fatalf("labeled %q: %v, %v, want %v", label, got, err, m.labels[label])
		}
		checkBefore(rt, j, label, rows)
	}
	if h, err := j.Head("never"); err != nil || h != (journal.Head{}) {
		rt.Fatalf("head of nothing: %+v, %v", h, err)
	}
}

// checkBefore reads a label backwards from a random position; rows is the whole list.
func checkBefore(rt *rapid.T, j journal.Journal, label string, rows []journal.Listed) {
	var before journal.Position // the end
	end := rapid.IntRange(0, len(rows)).Draw(rt, "end")
	if end < len(rows) {
		before = rows[end].Position
	}
	limit := rapid.IntRange(1, 10).Draw(rt, "limit")
	want := slices.Clone(rows[max(0, end-limit):end])
	slices.Reverse(want)
	if got, err := j.LabeledBefore(label, before, limit); err != nil || !slices.Equal(got, want) {
		rt.Fatalf("labeled %q before %d, limit %d: %v, %v, want %v", label, before, limit, got, err, want)
	}
}
