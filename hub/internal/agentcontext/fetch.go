package agentcontext

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/selector"
)

// Bounds for all context selectors of one agent. limits.MaxFetchScan bounds each conversation.
const (
	maxConversations  = 1_000 // the newest ones of the workspaces
	maxWorkspaceScan  = 10 * limits.MaxFetchScan
	maxCompared       = 2_000 // the last matches of one vector selector
	maxFetchPage      = 512   // events of the log in memory, and about their bytes
	maxFetchPageBytes = 4 << 20
)

type match struct {
	conversation string
	seq          int64
	at           parley.Timestamp
	value        json.RawMessage // nil if there is certainly no room for it
	size         int             // of the value
	text         string          // to compare
}

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

func setError(collectors []*collector, err error) {
	for _, c := range collectors {
		c.err = cmp.Or(c.err, err)
	}
}

// entry is an event that selectors can match: a note, or a message of a participant that ends a
// turn or the conversation.
type entry struct {
	*parley.Event
	text   string
	fields selector.Event
}

// decodeEntry is newEntry for an encoded event.
func decodeEntry(data []byte) (*entry, error) {
	event := &parley.Event{}
	if err := event.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return newEntry(event)
}

// newEntry returns the entry of an event, or nil if selectors cannot match the event.
func newEntry(event *parley.Event) (*entry, error) {
	e := &entry{Event: event}
	switch {
	case e.Type == parley.TypeMessage && e.Finality.Final() && e.From != parley.HubID:
		m, err := e.Message()
		if err != nil {
			return nil, err
		}
		e.text = m.Text
		e.fields = selector.Event{Type: e.Type, Schema: m.Schema, Tags: m.Tags, Data: m.Data}
	case e.Type == parley.TypeSystem:
		sys, err := e.System()
		if err != nil || sys.Kind != parley.KindNote {
			return nil, err
		}
		e.fields = selector.Event{Type: e.Type, Schema: sys.Schema, Tags: sys.Tags, Data: sys.Data}
	default:
		return nil, nil
	}
	return e, nil
}

func (b *builder) readEntry(conversation string, seq int64) (*entry, error) {
	event, err := b.service.opts.Engine.EventAt(conversation, seq)
	if err != nil {
		return nil, err
	}
	e, err := newEntry(event)
	if err == nil && e == nil {
		err = fmt.Errorf("event %d of %s is neither note nor message", seq, conversation)
	}
	return e, err
}

// isVisible reports whether a viewer sees the entry, and it was not withdrawn. The state of the
// conversation is nil if it is unknown.
func (e *entry) isVisible(state *fold.State, v eventdata.Viewer) bool {
	return v.Sees(eventdata.MetaOf(e.Event)) && (state == nil || e.Type != parley.TypeMessage || !state.IsWithdrawn(e.Seq))
}

// encodeValue returns the data by the hints of selector i, or the text of an entry without data.
func (e *entry) encodeValue(set *selector.Set, i int) (json.RawMessage, error) {
	if len(e.fields.Data) == 0 {
		return eventdata.Encode(struct {
			Text string `json:"text"`
		}{e.text}), nil
	}
	v, err := set.Apply(i, e.fields.Data)
	if err != nil {
		return nil, err
	}
	return check.Compact(v)
}

// maxTextBytes bounds the text of which a vector is made.
const maxTextBytes = 8 << 10

// textToCompare returns the text of which a vector is made: the text and the data of the entry.
func (e *entry) textToCompare() string {
	text := e.text
	if text != "" && len(e.fields.Data) > 0 {
		text += "\n"
	}
	return policy.Cut(text+string(e.fields.Data), maxTextBytes)
}

// Parts of the JSON that the hub writes. They identify most events without decoding them.
var (
	typeTrace   = []byte(`"type":"trace"`)
	typeSystem  = []byte(`"type":"system"`)
	kindMember  = []byte(`"payload":{"kind":"`)
	kindOfNotes = []byte(`note"`)
	noFinality  = []byte(`"finality":"none"`)
	fromMember  = []byte(`"from":"`)
)

// mayBeEntry reports whether decodeEntry may return an entry. It is false only if that is certain.
func mayBeEntry(data []byte) bool {
	head, rest, ok := bytes.Cut(data, fromMember) // head has numbers and the type
	if !ok || !bytes.HasPrefix(data, []byte(`{"seq":`)) {
		return true
	}
	switch {
	case bytes.Contains(head, typeTrace):
		return false
	case bytes.Contains(head, typeSystem):
		_, kind, ok := bytes.Cut(rest, kindMember)
		return !ok || bytes.HasPrefix(kind, kindOfNotes)
	}
	outer, _, ok := bytes.Cut(rest, []byte(`"payload":`))
	return !ok || !bytes.Contains(outer, noFinality)
}

// mayHaveSchema reports whether an event may have one of the encoded schemas; nil means any schema.
func mayHaveSchema(data []byte, schemas [][]byte) bool {
	isEscaped := bytes.IndexByte(data, '\\') >= 0 // then the name may be too
	return schemas == nil || isEscaped ||
		slices.ContainsFunc(schemas, func(name []byte) bool { return bytes.Contains(data, name) })
}

// maxUnsorted bounds the conversations that are checked for a workspace if any is granted.
const maxUnsorted = 100_000

// fetchFromWorkspaces reads the conversations of the granted workspaces, the newest first.
func (b *builder) fetchFromWorkspaces(ctx context.Context, collectors []*collector) error {
	rows, err := b.listConversations(ctx)
	if err != nil {
		return err
	}
	left := maxWorkspaceScan
	for _, row := range rows {
		if left <= 0 {
			return nil
		}
		id := row.Conversation
		head, err := b.service.opts.Engine.Journal().Head(id)
		if err != nil {
			return fmt.Errorf("head of %s: %w", id, err)
		}
		r := b.newLogReader(id, nil, collectors, left)
		before := r.left
		if err := r.collect(ctx, head.Seq, nil); err != nil {
			return err
		}
		left -= before - r.left
	}
	return nil
}

// listConversations returns the newest conversations of the granted workspaces that the token of
// the caller is for. Sessions and reserved conversations are in no workspace.
func (b *builder) listConversations(ctx context.Context) ([]journal.Listed, error) {
	var rows []journal.Listed
	for _, w := range b.Agent.Workspaces {
		more, err := b.listWorkspace(ctx, w)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	slices.SortFunc(rows, func(a, b journal.Listed) int { return cmp.Compare(b.Position, a.Position) })
	rows = slices.CompactFunc(rows, func(a, b journal.Listed) bool { return a.Conversation == b.Conversation })
	return rows[:min(len(rows), maxConversations)], nil
}

// listWorkspace returns at most maxConversations of one workspace, or of all for auth.AnyWorkspace.
func (b *builder) listWorkspace(ctx context.Context, workspace string) ([]journal.Listed, error) {
	label, limit := eventdata.WorkspaceLabel(workspace), maxConversations
	if workspace == auth.AnyWorkspace {
		label, limit = "", maxUnsorted
	}
	var kept []journal.Listed
	for after := journal.Position(0); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows, err := b.service.opts.Engine.Journal().Labeled(label, after, 1000)
		if err != nil {
			return nil, fmt.Errorf("list the workspace %s: %w", workspace, err)
		}
		if len(rows) == 0 {
			break
		}
		after = rows[len(rows)-1].Position
		kept = append(kept, slices.DeleteFunc(rows, func(row journal.Listed) bool {
			id := row.Conversation
			return conv.Reserved(id) || strings.HasPrefix(id, conv.SessionPrefix) || !b.Reaches(id)
		})...)
		if extra := len(kept) - limit; extra > 0 {
			kept = slices.Delete(kept, 0, extra)
		}
	}
	if workspace != auth.AnyWorkspace {
		return kept, nil
	}
	return b.keepInWorkspace(ctx, kept)
}

// keepInWorkspace returns the newest maxConversations rows that are in any workspace.
func (b *builder) keepInWorkspace(ctx context.Context, rows []journal.Listed) ([]journal.Listed, error) {
	var kept []journal.Listed
	for _, row := range slices.Backward(rows) {
		if len(kept) == maxConversations {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		created, err := b.service.opts.Engine.EventAt(row.Conversation, 1)
		if err != nil {
			return nil, err
		}
		if created.Type != parley.TypeSystem {
			continue
		}
		sys, err := created.System()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", row.Conversation, err)
		}
		if sys.Workspace != "" {
			kept = append(kept, row)
		}
	}
	return kept, nil
}
