package agentcontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/selector"
)

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

// readEntry reads the entry at a seq of a conversation.
func (b *builder) readEntry(conversation string, seq int64) (*entry, error) {
	event, err := b.readEvent(conversation, seq)
	if err != nil {
		return nil, err
	}
	if event == nil {
		return nil, fmt.Errorf("read %s after %d: nothing there", conversation, seq-1)
	}
	e, err := newEntry(event)
	if err == nil && e == nil {
		err = fmt.Errorf("event %d of %s is neither note nor message", seq, conversation)
	}
	return e, err
}

// readEvent reads the event at a seq of a conversation. It returns nil if it is missing.
func (b *builder) readEvent(conversation string, seq int64) (*parley.Event, error) {
	records, err := b.service.opts.Engine.Journal().Read(conversation, seq-1, 1, 1)
	if err != nil {
		return nil, fmt.Errorf("read %s after %d: %w", conversation, seq-1, err)
	}
	if len(records) == 0 {
		return nil, nil
	}
	event := &parley.Event{}
	return event, event.UnmarshalJSON(records[0].Data)
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
