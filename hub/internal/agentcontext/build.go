package agentcontext

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/policy"
)

// maxErrorBytes bounds the error of one source.
const maxErrorBytes = 256

// Query is what one context is built from.
type Query struct {
	Agent          Agent
	AgentID        string // of the seat, which decides what the agent sees
	ConversationID string // that the selectors read
	// Triggers are the matches that triggered the agent in the conversation. Without any, the last
	// message of the conversation QuestionID is the question for vector search.
	Triggers   []parley.SessionTrigger
	QuestionID string
	// Reaches reports whether the token of the caller is for a conversation.
	Reaches func(conversationID string) bool
	// SkipWorkspaces leaves out the selectors that read workspaces.
	SkipWorkspaces bool
}

type builder struct {
	service *Service
	Query
}

// FetchSources builds a context and returns its sources. At the deadline it returns all sources
// with an error. It may change q.
func (s *Service) FetchSources(ctx context.Context, deadline time.Time, q *Query) ([]parley.ContextSource, error) {
	bounded, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	b := &builder{service: s, Query: *q}
	out, err := b.build(bounded)
	switch {
	case err == nil:
		return out.Sources, nil
	case bounded.Err() == nil || ctx.Err() != nil:
		return nil, err
	}
	sources := []parley.ContextSource{}
	for i := range b.Agent.Set.Subscriptions.Selectors {
		if b.isFetched(i) {
			sources = append(sources, b.newMember(i, &collector{index: i, err: errFetchTime}, nil).source)
		}
	}
	return sources, nil
}

func (b *builder) build(ctx context.Context) (*parley.GetContextResult, error) {
	out := &parley.GetContextResult{Triggers: []int64{}, Sources: []parley.ContextSource{}}
	engine := b.service.opts.Engine
	c, err := engine.Pin(b.ConversationID)
	if err != nil {
		return nil, err
	}
	state, frames := c.Recent()
	engine.Unpin(c)
	b.Triggers = slices.DeleteFunc(b.Triggers, func(t parley.SessionTrigger) bool {
		return t.Seq > state.Seq // decided, but not committed yet
	})
	for _, t := range b.Triggers {
		out.Triggers = append(out.Triggers, t.Seq)
	}
	if out.LatestSeq = state.Seq; b.Agent.Set == nil {
		return out, nil
	}
	slots := b.chooseSlots()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-engine.Draining():
		return nil, conv.ErrDraining
	}
	d := &document{bound: b.Agent.Set.Subscriptions.ContextBytes()}
	trigger, err := b.addTriggers(d)
	if err != nil {
		return nil, err
	}
	collectors, err := b.fetch(ctx, &state, frames)
	if err == nil {
		err = b.compareTexts(ctx, collectors, trigger)
	}
	if err != nil {
		return nil, err
	}
	for i := range b.Agent.Set.Subscriptions.Selectors {
		if b.isFetched(i) {
			d.members = append(d.members, b.newMember(i, collectors[i], trigger))
		}
	}
	d.shrink()
	for _, m := range d.members {
		out.Sources = append(out.Sources, m.source)
	}
	out.Context = d.encode()
	out.Bytes = len(out.Context)
	return out, nil
}

// isFetched reports whether selector i is a context selector of this build.
func (b *builder) isFetched(i int) bool {
	sel := &b.Agent.Set.Subscriptions.Selectors[i]
	return !sel.Trigger() && !(b.SkipWorkspaces && sel.Workspace())
}

// chooseSlots returns the slots for the build. Builds without vectors wait for no embedder.
func (b *builder) chooseSlots() chan struct{} {
	all := b.Agent.Set.Subscriptions.Selectors
	for i := range all {
		if b.isFetched(i) && all[i].FetchOf().Method == parley.FetchVector {
			return b.service.comparing
		}
	}
	return b.service.building
}

// addTriggers adds the last triggers to d, until they exceed its bound. It returns the last one, or
// nil without triggers.
func (b *builder) addTriggers(d *document) (last *entry, err error) {
	size := 0
	for _, match := range slices.Backward(b.Triggers) {
		if size > d.bound {
			break
		}
		e, err := b.readEntry(b.ConversationID, match.Seq)
		if err != nil {
			return nil, err
		}
		t := b.newTrigger(e, match)
		if last == nil {
			last, d.trigger = e, t
		}
		d.triggers = append(d.triggers, eventdata.Encode(t))
		size += len(d.triggers[len(d.triggers)-1])
	}
	slices.Reverse(d.triggers)
	return last, nil
}

// newTrigger describes a trigger. The hints of the selector that matched apply to its data, if the
// agent still has this selector, else those of the first trigger that matches.
func (b *builder) newTrigger(e *entry, match parley.SessionTrigger) *parley.ContextTrigger {
	t := &parley.ContextTrigger{
		ConversationID: b.ConversationID, Seq: e.Seq, Type: e.Type, From: e.From, At: e.At,
		SchemaName: e.fields.Schema, Tags: e.fields.Tags, Text: e.text, Data: e.fields.Data,
	}
	i, all := match.Selector, b.Agent.Set.Subscriptions.Selectors
	if i < 0 || i >= len(all) || !all[i].Trigger() || !b.Agent.Set.Matches(i, &e.fields) {
		i = b.Agent.Set.Wakes(&e.fields, match.Workspace)
	}
	if i < 0 || len(t.Data) == 0 {
		return t
	}
	if data, err := b.Agent.Set.Apply(i, t.Data); err == nil {
		t.Data = data
	}
	return t
}

// newMember returns the member of selector i. It has no collector if it uses the trigger.
func (b *builder) newMember(i int, c *collector, trigger *entry) *member {
	sel := &b.Agent.Set.Subscriptions.Selectors[i]
	method := sel.FetchOf().Method
	m := &member{key: eventdata.Encode(sel.ContextKey()), source: parley.ContextSource{
		Key: sel.ContextKey(), Selector: i, Fetch: method, Events: []parley.Cause{},
	}}
	m.isList = method == parley.FetchRecent || method == parley.FetchVector
	if method == parley.FetchVector {
		m.source.Embedder = b.service.opts.Embedder.Name()
	}
	if c == nil { // event_data
		c = &collector{index: i}
		if trigger != nil && b.Agent.Set.Matches(i, &trigger.fields) {
			v, err := trigger.encodeValue(b.Agent.Set, i)
			c.matches, c.err = []match{{conversation: b.ConversationID, seq: trigger.Seq, value: v}}, err
		}
	}
	if c.err != nil {
		if errors.Is(c.err, context.DeadlineExceeded) {
			c.err = errFetchTime
		}
		m.source.Error = policy.Cut(c.err.Error(), maxErrorBytes)
		return m
	}
	if method == parley.FetchRecent {
		slices.Reverse(c.matches) // the oldest first
	}
	for _, found := range c.matches {
		if found.value == nil {
			m.source.Dropped++
			continue
		}
		cause := parley.Cause{Seq: found.seq}
		if found.conversation != b.ConversationID {
			cause.ConversationID = found.conversation
		}
		m.addValue(found.value, cause)
	}
	return m
}

// document is a context before it is encoded:
//
//	{"trigger":{...}, "triggers":[...], "key":value, "key":[value, ...]}
//
// With one trigger there is no member triggers.
type document struct {
	bound    int // in bytes
	trigger  *parley.ContextTrigger
	triggers []json.RawMessage
	members  []*member
}

func (d *document) encode() json.RawMessage {
	b := append([]byte(`{"trigger":`), d.encodeTrigger()...)
	if len(d.triggers) > 1 {
		b = appendList(append(b, `,"triggers":`...), d.triggers)
	}
	for _, m := range d.members {
		b = m.appendTo(b)
	}
	return append(b, '}')
}

func (d *document) encodeTrigger() json.RawMessage {
	if d.trigger == nil {
		return json.RawMessage("null")
	}
	return eventdata.Encode(d.trigger)
}

// shrink removes parts, the least important first, until the context is within its bound:
//
//  1. the oldest or least similar element of the longest list, by its bytes, or the last such list
//  2. single values, which become null, from the last selector to the first
//  3. triggers, from the first, until only trigger is left
//  4. text and data of trigger, which is then marked as truncated, and after these its tags
//  5. members, from the last selector to the first, and after these the schema of trigger
func (d *document) shrink() {
	trigger := len(d.encodeTrigger())
	for d.encodedLen(trigger) > d.bound {
		switch {
		case d.dropElement(), d.dropValue(), d.dropTrigger():
		case d.truncateTrigger(), d.dropMember(), d.dropSchema():
			trigger = len(d.encodeTrigger())
		default:
			return
		}
	}
}

// encodedLen returns the length of encode, if trigger has the given length.
func (d *document) encodedLen(trigger int) int {
	n := len(`{"trigger":}`) + trigger
	if len(d.triggers) > 1 {
		n += len(`,"triggers":[]`) + len(d.triggers) - 1
		for _, t := range d.triggers {
			n += len(t)
		}
	}
	for _, m := range d.members {
		n += m.encodedLen()
	}
	return n
}

func (d *document) dropElement() bool {
	var longest *member
	for _, m := range d.members {
		if m.isList && len(m.values) > 0 && (longest == nil || m.size >= longest.size) {
			longest = m
		}
	}
	if longest != nil {
		longest.dropValue()
	}
	return longest != nil
}

func (d *document) dropValue() bool {
	for _, m := range slices.Backward(d.members) {
		if !m.isList && m.size > len("null") {
			m.dropValue()
			return true
		}
	}
	return false
}

func (d *document) dropTrigger() bool {
	if len(d.triggers) < 2 {
		return false
	}
	d.triggers = d.triggers[1:]
	return true
}

func (d *document) truncateTrigger() bool {
	t := d.trigger
	switch {
	case t == nil:
		return false
	case t.Text != "" || len(t.Data) > 0:
		t.Text, t.Data, t.Truncated = "", nil, true
	case len(t.Tags) > 0:
		t.Tags, t.Truncated = nil, true
	default:
		return false
	}
	return true
}

func (d *document) dropMember() bool {
	for _, m := range slices.Backward(d.members) {
		if !m.isDropped {
			m.isDropped = true
			return true
		}
	}
	return false
}

func (d *document) dropSchema() bool {
	if d.trigger == nil || d.trigger.SchemaName == "" {
		return false
	}
	d.trigger.SchemaName, d.trigger.Truncated = "", true
	return true
}

// member is the member of a document that one context selector fills.
type member struct {
	source    parley.ContextSource
	key       json.RawMessage
	isList    bool
	isDropped bool // not even the key is encoded
	values    []json.RawMessage
	size      int // of the values
}

func (m *member) addValue(v json.RawMessage, c parley.Cause) {
	m.values = append(m.values, v)
	m.source.Events = append(m.source.Events, c)
	m.size += len(v)
}

// dropValue removes the least important value: the oldest recent one, or the least similar one.
func (m *member) dropValue() {
	i := len(m.values) - 1
	if m.source.Fetch == parley.FetchRecent {
		i = 0
	}
	m.size -= len(m.values[i])
	m.values = slices.Delete(m.values, i, i+1)
	m.source.Events = slices.Delete(m.source.Events, i, i+1)
	m.source.Dropped++
}

// encodedLen returns the length of `,"key":value`.
func (m *member) encodedLen() int {
	n := 2 + len(m.key)
	switch {
	case m.isDropped:
		return 0
	case m.isList:
		return n + 2 + m.size + max(len(m.values)-1, 0)
	case len(m.values) == 0:
		return n + len("null")
	}
	return n + m.size
}

func (m *member) appendTo(b []byte) []byte {
	if m.isDropped {
		return b
	}
	b = append(append(append(b, ','), m.key...), ':')
	switch {
	case m.isList:
		return appendList(b, m.values)
	case len(m.values) == 0:
		return append(b, "null"...)
	}
	return append(b, m.values[0]...)
}

func appendList(b []byte, values []json.RawMessage) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
