package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// Bounds of what the context selectors of one agent look at together, beside parley.MaxFetchScan.
const (
	// maxConversations is how many conversations of its workspaces are looked at, the newest first, and maxWorkspaceScan how many of their events.
	maxConversations = 1_000
	maxWorkspaceScan = 10 * parley.MaxFetchScan
	// maxCompared is how many matching events one vector selector compares: the last ones.
	maxCompared = 2_000
	// A page of the log is at most maxFetchPage events, and about maxFetchPageBytes.
	maxFetchPage      = 512
	maxFetchPageBytes = 4 << 20
)

// found is an event that a selector has found.
type found struct {
	conversation string
	seq          int64
	at           parley.Timestamp
	value        json.RawMessage // nil where there is no room for it in any case
	size         int             // of the value
	text         string          // to be compared
}

// compare orders by time, then by conversation and seq.
func (a *found) compare(b *found) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.conversation, b.conversation), cmp.Compare(a.seq, b.seq))
}

// want is what one context selector looks for.
type want struct {
	index int
	fetch parley.Fetch
	room  int     // in the context, in bytes
	found []found // the newest first
	err   error   // why it is of no use
}

// most is how many events it takes.
func (w *want) most() int {
	switch w.fetch.Method {
	case parley.FetchRecent:
		return w.fetch.Limit
	case parley.FetchVector:
		return maxCompared
	}
	return 1
}

// done reports whether nothing as old as at, or older, is of use to it any more.
func (w *want) done(at parley.Timestamp) bool {
	return w.err != nil || len(w.found) >= w.most() && w.found[w.most()-1].at > at
}

// add takes what was found in one conversation, the newest first, and keeps the newest of all.
func (w *want) add(more []found) {
	w.found = append(w.found, more...)
	slices.SortStableFunc(w.found, func(a, b found) int { return b.compare(&a) })
	if n := w.most(); len(w.found) > n {
		clear(w.found[n:])
		w.found = w.found[:n]
	}
	w.free()
}

// free lets go of values for which there is no room, whatever is dropped of the others.
func (w *want) free() {
	size := 0
	for i := range w.found {
		if size += w.found[i].size; size > w.room && i > 0 {
			w.found[i].value = nil
		}
	}
}

// scan looks at the events of one conversation for some wants.
type scan struct {
	f            *feeding
	conversation string
	state        *fold.State // nil where it is not known
	wants        []*want
	schemas      [][]byte  // of the wants, where all have one
	own          [][]found // of the conversation, for each want, and the size of their values
	sizes        []int
	left         int // events that may be looked at
}

// newScan begins to look. The state, if it is there, is that of the conversation.
func (f *feeding) newScan(conversation string, s *fold.State, wants []*want, left int) *scan {
	x := &scan{f: f, conversation: conversation, state: s, wants: wants, left: min(left, parley.MaxFetchScan)}
	x.own, x.sizes = make([][]found, len(wants)), make([]int, len(wants))
	for _, w := range wants {
		name := f.set.Subscriptions.Selectors[w.index].SchemaName
		if name == "" {
			x.schemas = nil
			break
		}
		x.schemas = append(x.schemas, fold.Encode(name))
	}
	return x
}

// run looks backwards from the event at end. Frames are the last events of it, as memory has them; what is older is read from the journal, page by page, without a lock.
func (x *scan) run(ctx context.Context, end int64, frames []conv.Frame) error {
	for len(frames) > 0 && x.left > 0 {
		last := frames[len(frames)-1]
		frames = frames[:len(frames)-1]
		if last.Seq != end {
			break
		}
		over, err := x.look(last.Data)
		if over || err != nil {
			return x.end(err)
		}
		end--
	}
	page := int64(64)
	for end > 0 && x.left > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(page, end, int64(x.left))
		records, fits, err := x.read(end-n, end)
		if err != nil {
			return err
		}
		if !fits {
			page = max(page/4, 1)
			continue
		}
		page = min(2*page, maxFetchPage)
		for _, data := range slices.Backward(records) {
			over, err := x.look(data)
			if over || err != nil {
				return x.end(err)
			}
		}
		end -= n
	}
	return x.end(nil)
}

// read gives the events after one seq up to another, in order; nil for each that no want can match. It does not fit where they are too large to be kept at once.
func (x *scan) read(after, end int64) (events [][]byte, fits bool, err error) {
	whole, size := end-after, 0
	for after < end {
		records, err := x.f.hub.journal.Read(x.conversation, after, int(end-after), 1<<20)
		if err != nil {
			return nil, false, fmt.Errorf("read %s after %d: %w", x.conversation, after, err)
		}
		if len(records) == 0 {
			return nil, false, fmt.Errorf("read %s after %d: nothing there, before the head", x.conversation, after)
		}
		for _, r := range records {
			after = r.Seq
			if !canBeRemark(r.Data) || !mayName(r.Data, x.schemas) {
				events = append(events, nil)
				continue
			}
			events = append(events, r.Data)
			if size += len(r.Data); size > maxFetchPageBytes && whole > 1 {
				return nil, false, nil
			}
		}
	}
	return events, true, nil
}

// look has the wants look at one event, which may be nil for one that none matches; over says that they need no older one.
func (x *scan) look(data []byte) (over bool, err error) {
	x.left--
	if data == nil || !canBeRemark(data) || !mayName(data, x.schemas) {
		return false, nil
	}
	r, err := remarkIn(data)
	if err != nil {
		return false, fmt.Errorf("decode an event of %s: %w", x.conversation, err)
	}
	if r == nil || !r.counts(x.state, x.f.viewer) {
		return false, nil
	}
	over = true
	for i, w := range x.wants {
		if len(x.own[i]) >= w.most() || w.done(r.At) {
			continue
		}
		if x.f.set.Matches(w.index, &r.seen) {
			x.take(i, w, r)
		}
		over = over && len(x.own[i]) >= w.most()
	}
	return over, nil
}

// take notes an event that a want has found.
func (x *scan) take(i int, w *want, r *remark) {
	e := found{conversation: x.conversation, seq: r.Seq, at: r.At}
	switch {
	case w.fetch.Method != parley.FetchVector:
		if e.value, w.err = r.value(x.f.set, w.index); w.err != nil {
			return
		}
		e.size = len(e.value)
		if x.sizes[i] += e.size; x.sizes[i] > w.room && len(x.own[i]) > 0 {
			e.value = nil // see free
		}
	case x.f.woken(x.conversation, r.Seq):
		return // it is as similar as can be, and there already
	default:
		e.text = r.compared()
	}
	x.own[i] = append(x.own[i], e)
}

// end gives the wants what was found.
func (x *scan) end(err error) error {
	if err != nil {
		return err
	}
	for i, w := range x.wants {
		w.add(x.own[i])
	}
	return nil
}

// woken reports whether an event is one of those that have woken the agent.
func (f *feeding) woken(conversation string, seq int64) bool {
	return conversation == f.at && slices.ContainsFunc(f.given, func(t parley.SessionTrigger) bool { return t.Seq == seq })
}

// fetch has the context selectors look, those of the conversation and those of the workspaces, and gives what each wants by its index.
func (f *feeding) fetch(ctx context.Context, s *fold.State, frames []conv.Frame) (map[int]*want, error) {
	all := make(map[int]*want)
	var here, there []*want
	for i := range f.set.Subscriptions.Selectors {
		sel := &f.set.Subscriptions.Selectors[i]
		if !f.fetches(i) || sel.FetchOf().Method == parley.FetchEventData {
			continue
		}
		w := &want{index: i, fetch: sel.FetchOf(), room: f.set.Subscriptions.ContextBytes()}
		all[i] = w
		if sel.Workspace() {
			there = append(there, w)
		} else {
			here = append(here, w)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	if len(here) > 0 {
		fails(here, f.newScan(f.at, s, here, parley.MaxFetchScan).run(bounded, s.Seq, frames))
	}
	if len(there) > 0 {
		fails(there, f.fetchWorkspaces(bounded, there))
	}
	return all, ctx.Err()
}

// fetches reports whether selector i is one whose values are brought.
func (f *feeding) fetches(i int) bool {
	sel := &f.set.Subscriptions.Selectors[i]
	return !sel.Trigger() && (f.may == nil || f.may(sel))
}

// fails makes an error that of some wants.
func fails(wants []*want, err error) {
	for _, w := range wants {
		if w.err == nil {
			w.err = err
		}
	}
}

// fetchWorkspaces looks at the conversations of the workspaces that were granted, those that were made last first.
func (f *feeding) fetchWorkspaces(ctx context.Context, wants []*want) error {
	ids, err := f.conversations(ctx)
	if err != nil {
		return err
	}
	left := maxWorkspaceScan
	for _, id := range ids {
		if left <= 0 {
			return nil
		}
		head, err := f.hub.journal.Head(id)
		if err != nil {
			return fmt.Errorf("head of %s: %w", id, err)
		}
		x := f.newScan(id, nil, wants, left)
		before := x.left
		if err := x.run(ctx, head.Seq, nil); err != nil {
			return err
		}
		left -= before - x.left
	}
	return nil
}

// conversations gives those of the workspaces that the token of the runner grants and the caller's is for, the newest first: no sessions, and none of the hub's own, for they have no workspace.
func (f *feeding) conversations(ctx context.Context) ([]string, error) {
	var rows []journal.Listed
	for _, w := range f.workspaces {
		more, err := f.labeled(ctx, w)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	slices.SortFunc(rows, func(a, b journal.Listed) int { return cmp.Compare(b.Position, a.Position) })
	rows = slices.CompactFunc(rows, func(a, b journal.Listed) bool { return a.Conversation == b.Conversation })
	var ids []string
	for _, r := range rows[:min(len(rows), maxConversations)] {
		ids = append(ids, r.Conversation)
	}
	return ids, nil
}
