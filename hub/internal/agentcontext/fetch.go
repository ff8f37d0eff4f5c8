package agentcontext

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
)

// Bounds for all context selectors of one agent. limits.MaxFetchScan bounds each conversation.
const (
	maxConversations  = 1_000 // the newest ones of the workspaces
	maxWorkspaceScan  = 10 * limits.MaxFetchScan
	maxCompared       = 2_000 // the last matches of one vector selector
	maxFetchPage      = 512   // events of the log in memory, and about their bytes
	maxFetchPageBytes = 4 << 20
)

// match is an event that matches a selector.
type match struct {
	conversation string
	seq          int64
	at           parley.Timestamp
	value        json.RawMessage // nil if there is certainly no room for it
	size         int             // of the value
	text         string          // to compare
}

// collector collects the matches of one context selector.
type collector struct {
	index   int
	fetch   parley.Fetch
	room    int     // in the context, in bytes
	matches []match // the newest first
	err     error   // why there are no matches
}

// limit returns how many matches the collector keeps.
func (c *collector) limit() int {
	switch c.fetch.Method {
	case parley.FetchRecent:
		return c.fetch.Limit
	case parley.FetchVector:
		return maxCompared
	}
	return 1
}

// isComplete reports whether the collector keeps no match as old as at.
func (c *collector) isComplete(at parley.Timestamp) bool {
	return c.err != nil || len(c.matches) >= c.limit() && c.matches[c.limit()-1].at > at
}

// addMatches adds the matches of one conversation, the newest first, and keeps the newest of all.
// It drops values for which there is no room, whatever is dropped of other selectors.
func (c *collector) addMatches(more []match) {
	c.matches = append(c.matches, more...)
	slices.SortStableFunc(c.matches, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.conversation, a.conversation), cmp.Compare(b.seq, a.seq))
	})
	if n := c.limit(); len(c.matches) > n {
		clear(c.matches[n:])
		c.matches = c.matches[:n]
	}
	size := 0
	for i := range c.matches {
		if size += c.matches[i].size; size > c.room && i > 0 {
			c.matches[i].value = nil
		}
	}
}

// logReader reads the events of one conversation, the last first, for some collectors.
type logReader struct {
	b            *builder
	conversation string
	state        *fold.State // nil if it is unknown
	collectors   []*collector
	schemas      [][]byte  // of the selectors, if each has one
	matches      [][]match // in the conversation, by collector, and the size of their values
	sizes        []int
	left         int // events that may still be read
}

func (b *builder) newLogReader(conversation string, state *fold.State, all []*collector, left int) *logReader {
	r := &logReader{b: b, conversation: conversation, state: state, collectors: all, left: min(left, limits.MaxFetchScan)}
	r.matches, r.sizes = make([][]match, len(all)), make([]int, len(all))
	for _, c := range all {
		name := b.Agent.Set.Subscriptions.Selectors[c.index].SchemaName
		if name == "" {
			r.schemas = nil
			break
		}
		r.schemas = append(r.schemas, eventdata.Encode(name))
	}
	return r
}

// collect reads backward from the event at end, and adds the matches to the collectors. Frames are
// the last events in memory. Older events are read from the journal by pages, and without a lock.
func (r *logReader) collect(ctx context.Context, end int64, frames []conv.Frame) error {
	if err := r.readBackward(ctx, end, frames); err != nil {
		return err
	}
	for i, c := range r.collectors {
		c.addMatches(r.matches[i])
	}
	return nil
}

func (r *logReader) readBackward(ctx context.Context, end int64, frames []conv.Frame) error {
	for _, frame := range slices.Backward(frames) {
		if r.left <= 0 || frame.Seq != end {
			break
		}
		if isDone, err := r.matchEvent(frame.Data); isDone || err != nil {
			return err
		}
		end--
	}
	page := int64(64)
	for end > 0 && r.left > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(page, end, int64(r.left))
		events, fits, err := r.readPage(end-n, end)
		if err != nil {
			return err
		}
		if !fits {
			page = max(page/4, 1)
			continue
		}
		page = min(2*page, maxFetchPage)
		for _, data := range slices.Backward(events) {
			if isDone, err := r.matchEvent(data); isDone || err != nil {
				return err
			}
		}
		end -= n
	}
	return nil
}

// readPage reads the events after a seq up to end. Events that no collector matches are nil. It
// reports that the page does not fit if the others exceed maxFetchPageBytes.
func (r *logReader) readPage(after, end int64) (events [][]byte, fits bool, err error) {
	whole, size := end-after, 0
	for after < end {
		records, err := r.b.service.opts.Engine.Journal().Read(r.conversation, after, int(end-after), 1<<20)
		if err == nil && len(records) == 0 {
			err = errors.New("nothing there, before the head")
		}
		if err != nil {
			return nil, false, fmt.Errorf("read %s after %d: %w", r.conversation, after, err)
		}
		for _, record := range records {
			after = record.Seq
			if !mayBeEntry(record.Data) || !mayHaveSchema(record.Data, r.schemas) {
				events = append(events, nil)
				continue
			}
			events = append(events, record.Data)
			if size += len(record.Data); size > maxFetchPageBytes && whole > 1 {
				return nil, false, nil
			}
		}
	}
	return events, true, nil
}

// matchEvent matches one event, which is nil if no collector matches it. It reports whether no
// collector needs an older event.
func (r *logReader) matchEvent(data []byte) (isDone bool, err error) {
	r.left--
	if data == nil || !mayBeEntry(data) || !mayHaveSchema(data, r.schemas) {
		return false, nil
	}
	e, err := decodeEntry(data)
	if err != nil {
		return false, fmt.Errorf("decode an event of %s: %w", r.conversation, err)
	}
	if e == nil || !e.isVisible(r.state, eventdata.Viewer{ID: r.b.AgentID}) {
		return false, nil
	}
	isDone = true
	for i, c := range r.collectors {
		if len(r.matches[i]) >= c.limit() || c.isComplete(e.At) {
			continue
		}
		if r.b.Agent.Set.Matches(c.index, &e.fields) {
			r.addMatch(i, c, e)
		}
		isDone = isDone && len(r.matches[i]) >= c.limit()
	}
	return isDone, nil
}

func (r *logReader) addMatch(i int, c *collector, e *entry) {
	found := match{conversation: r.conversation, seq: e.Seq, at: e.At}
	isTrigger := func(t parley.SessionTrigger) bool { return t.Seq == e.Seq }
	switch {
	case c.fetch.Method != parley.FetchVector:
		if found.value, c.err = e.encodeValue(r.b.Agent.Set, c.index); c.err != nil {
			return
		}
		found.size = len(found.value)
		if r.sizes[i] += found.size; r.sizes[i] > c.room && len(r.matches[i]) > 0 {
			found.value = nil // see addMatches
		}
	case r.conversation == r.b.ConversationID && slices.ContainsFunc(r.b.Triggers, isTrigger):
		return // the context has it already
	default:
		found.text = e.textToCompare()
	}
	r.matches[i] = append(r.matches[i], found)
}

// fetch reads the log for all context selectors, and returns their collectors by the index of the
// selector.
func (b *builder) fetch(ctx context.Context, state *fold.State, frames []conv.Frame) (map[int]*collector, error) {
	all := make(map[int]*collector)
	var here, inWorkspaces []*collector
	for i := range b.Agent.Set.Subscriptions.Selectors {
		sel := &b.Agent.Set.Subscriptions.Selectors[i]
		if !b.isFetched(i) || sel.FetchOf().Method == parley.FetchEventData {
			continue
		}
		c := &collector{index: i, fetch: sel.FetchOf(), room: b.Agent.Set.Subscriptions.ContextBytes()}
		all[i] = c
		if sel.Workspace() {
			inWorkspaces = append(inWorkspaces, c)
		} else {
			here = append(here, c)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if len(here) > 0 {
		r := b.newLogReader(b.ConversationID, state, here, limits.MaxFetchScan)
		setError(here, r.collect(bounded, state.Seq, frames))
	}
	if len(inWorkspaces) > 0 {
		setError(inWorkspaces, b.fetchFromWorkspaces(bounded, inWorkspaces))
	}
	return all, ctx.Err()
}

// setError sets the error of collectors that have none.
func setError(collectors []*collector, err error) {
	for _, c := range collectors {
		c.err = cmp.Or(c.err, err)
	}
}
