package hub

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
)

// maxErrorBytes bounds what is told of an error of one source.
const maxErrorBytes = 256

// build puts the context together.
func (f *feeding) build(ctx context.Context) (*parley.GetContextResult, error) {
	out := &parley.GetContextResult{Triggers: []int64{}, Sources: []parley.ContextSource{}}
	s, frames, err := f.stands()
	if err != nil {
		return nil, err
	}
	f.given = slices.DeleteFunc(f.given, func(t parley.SessionTrigger) bool { return t.Seq > s.Seq }) // decided, and not committed yet
	for _, t := range f.given {
		out.Triggers = append(out.Triggers, t.Seq)
	}
	if out.LatestSeq = s.Seq; f.set == nil {
		return out, nil
	}
	slots := f.slots()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.hub.conv.Draining():
		return nil, conv.ErrDraining
	}
	o := &object{bound: f.set.Subscriptions.ContextBytes()}
	trigger, err := f.triggersInto(o)
	if err != nil {
		return nil, err
	}
	wants, err := f.fetch(ctx, &s, frames)
	if err == nil {
		err = f.compare(ctx, wants, trigger)
	}
	if err != nil {
		return nil, err
	}
	for i := range f.set.Subscriptions.Selectors {
		if f.fetches(i) {
			o.portions = append(o.portions, f.portion(i, wants[i], trigger))
		}
	}
	o.shrink()
	for _, p := range o.portions {
		out.Sources = append(out.Sources, p.source)
	}
	out.Context = o.encode()
	out.Bytes = len(out.Context)
	return out, nil
}

// slots are those of which it takes one while it is put together.
func (f *feeding) slots() chan struct{} {
	all := f.set.Subscriptions.Selectors
	for i := range all {
		if f.fetches(i) && all[i].FetchOf().Method == parley.FetchVector {
			return f.hub.contexts.likening
		}
	}
	return f.hub.contexts.building
}

// stands gives the conversation in which the selectors look, as it stands, and its last events as memory has them.
func (f *feeding) stands() (fold.State, []conv.Frame, error) {
	c, err := f.hub.conv.Pin(f.at)
	if err != nil {
		return fold.State{}, nil, err
	}
	defer f.hub.conv.Unpin(c)
	s, frames := c.Recent()
	return s, frames, nil
}

// triggersInto puts what has woken the agent into o, as far as there may be room for it, and gives the last of it; nil where nothing has.
func (f *feeding) triggersInto(o *object) (last *remark, err error) {
	size := 0
	for i := len(f.given) - 1; i >= 0 && size <= o.bound; i-- {
		r, err := f.remarkAt(f.at, f.given[i].Seq)
		if err != nil {
			return nil, err
		}
		t := f.triggerOf(r, f.given[i])
		if last == nil {
			last, o.trigger = r, t
		}
		o.triggers = append(o.triggers, fold.Encode(t))
		size += len(o.triggers[len(o.triggers)-1])
	}
	slices.Reverse(o.triggers)
	return last, nil
}

// triggerOf tells of an event that has woken the agent: its data by the hints of the selector that has matched it, as far as the agent still has that.
func (f *feeding) triggerOf(r *remark, given parley.SessionTrigger) *parley.ContextTrigger {
	t := &parley.ContextTrigger{
		ConversationID: f.at, Seq: r.Seq, Type: r.Type, From: r.From, At: r.At, SchemaName: r.seen.Schema, Tags: r.seen.Tags, Text: r.text, Data: r.seen.Data,
	}
	i, all := given.Selector, f.set.Subscriptions.Selectors
	if i < 0 || i >= len(all) || !all[i].Trigger() || !f.set.Matches(i, &r.seen) { // it says otherwise by now
		i = f.set.Wakes(&r.seen, given.Workspace)
	}
	if i < 0 || len(t.Data) == 0 {
		return t
	}
	if data, err := f.set.Apply(i, t.Data); err == nil {
		t.Data = data
	}
	return t
}

// portion is what selector i brings.
func (f *feeding) portion(i int, w *want, trigger *remark) *portion {
	sel := &f.set.Subscriptions.Selectors[i]
	fetch := sel.FetchOf()
	p := &portion{key: fold.Encode(sel.ContextKey()), source: parley.ContextSource{Key: sel.ContextKey(), Selector: i, Fetch: fetch.Method, Events: []parley.Cause{}}}
	p.list = fetch.Method == parley.FetchRecent || fetch.Method == parley.FetchVector
	if fetch.Method == parley.FetchVector {
		p.source.Embedder = f.hub.contexts.embedder.Name()
	}
	if w == nil { // event_data
		w = &want{index: i}
		if trigger != nil && f.set.Matches(i, &trigger.seen) {
			v, err := trigger.value(f.set, i)
			w.found, w.err = []found{{conversation: f.at, seq: trigger.Seq, value: v}}, err
		}
	}
	if w.err != nil {
		p.source.Error = toldOf(w.err)
		return p
	}
	if fetch.Method == parley.FetchRecent {
		slices.Reverse(w.found) // the oldest first
	}
	for _, e := range w.found {
		if e.value == nil {
			p.source.Dropped++
			continue
		}
		p.add(e.value, f.cause(&e))
	}
	return p
}

// cause names an event: its conversation where that is another.
func (f *feeding) cause(e *found) parley.Cause {
	if e.conversation == f.at {
		return parley.Cause{Seq: e.seq}
	}
	return parley.Cause{ConversationID: e.conversation, Seq: e.seq}
}

// toldOf is what is told of an error.
func toldOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errFetchTime
	}
	return policy.Cut(err.Error(), maxErrorBytes)
}

// portion is a member of the context.
type portion struct {
	source parley.ContextSource
	key    json.RawMessage
	list   bool
	gone   bool // there is no room even for its name
	values []json.RawMessage
	size   int // of the values
}

func (p *portion) add(v json.RawMessage, c parley.Cause) {
	p.values = append(p.values, v)
	p.source.Events = append(p.source.Events, c)
	p.size += len(v)
}

// drop leaves out the least valuable: of recent ones the oldest, of similar ones the least similar.
func (p *portion) drop() {
	i := len(p.values) - 1
	if p.source.Fetch == parley.FetchRecent {
		i = 0
	}
	p.size -= len(p.values[i])
	p.values = slices.Delete(p.values, i, i+1)
	p.source.Events = slices.Delete(p.source.Events, i, i+1)
	p.source.Dropped++
}

// bytes is how long it is written: `,"key":value`.
func (p *portion) bytes() int {
	n := 2 + len(p.key)
	switch {
	case p.gone:
		return 0
	case p.list:
		return n + 2 + p.size + max(len(p.values)-1, 0)
	case len(p.values) == 0:
		return n + len("null")
	}
	return n + p.size
}

func (p *portion) append(b []byte) []byte {
	if p.gone {
		return b
	}
	b = append(append(append(b, ','), p.key...), ':')
	switch {
	case p.list:
		return appendList(b, p.values)
	case len(p.values) == 0:
		return append(b, "null"...)
	}
	return append(b, p.values[0]...)
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
