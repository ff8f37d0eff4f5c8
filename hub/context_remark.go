package hub

import (
	"bytes"
	"encoding/json"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/selector"
)

// remark is an event that context selectors look at: a note, or a message with which a participant has ended a turn or the conversation.
type remark struct {
	parley.Event
	text string
	seen selector.Event
}

// remarkIn decodes an event of the log; nil where it is none that selectors look at.
func remarkIn(data []byte) (*remark, error) {
	r := &remark{}
	if err := r.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	switch {
	case r.Type == parley.TypeMessage && r.Finality.Final() && r.From != parley.HubID:
		m, err := r.Message()
		if err != nil {
			return nil, err
		}
		r.text = m.Text
		r.seen = selector.Event{Type: r.Type, Schema: m.Schema, Tags: m.Tags, Data: m.Data}
	case r.Type == parley.TypeSystem:
		sys, err := r.System()
		if err != nil || sys.Kind != parley.KindNote {
			return nil, err
		}
		r.seen = selector.Event{Type: r.Type, Schema: sys.Schema, Tags: sys.Tags, Data: sys.Data}
	default:
		return nil, nil
	}
	return r, nil
}

// counts reports whether the remark counts for a viewer of a conversation in a state: it was not withdrawn. Notes never are.
func (r *remark) counts(s *fold.State, v fold.Viewer) bool {
	return v.Sees(fold.MetaOf(&r.Event)) && (s == nil || r.Type != parley.TypeMessage || !s.IsWithdrawn(r.Seq))
}

// value is what a selector brings of the remark: the data by its hints or, where there is none, the text.
func (r *remark) value(set *selector.Set, i int) (json.RawMessage, error) {
	if len(r.seen.Data) == 0 {
		return fold.Encode(struct {
			Text string `json:"text"`
		}{r.text}), nil
	}
	v, err := set.Apply(i, r.seen.Data)
	if err != nil {
		return nil, err
	}
	return fold.Compact(v)
}

// maxComparedBytes is how much of a text is compared.
const maxComparedBytes = 8 << 10

// compared is the text by which the remark is found: its words, and its data.
func (r *remark) compared() string {
	if len(r.seen.Data) == 0 {
		return policy.Cut(r.text, maxComparedBytes)
	}
	if r.text == "" {
		return policy.Cut(string(r.seen.Data), maxComparedBytes)
	}
	return policy.Cut(r.text+"\n"+string(r.seen.Data), maxComparedBytes)
}

// The beginnings of what the hub itself has written, by which most events are known without being decoded.
var (
	typeTrace   = []byte(`"type":"trace"`)
	typeSystem  = []byte(`"type":"system"`)
	kindMember  = []byte(`"payload":{"kind":"`)
	kindOfNotes = []byte(`note"`)
	noFinality  = []byte(`"finality":"none"`)
	fromMember  = []byte(`"from":"`)
)

// canBeRemark reports whether an event of the log may be one that selectors look at. What it lets pass is decoded.
func canBeRemark(data []byte) bool {
	head, rest, ok := bytes.Cut(data, fromMember) // what stands before are numbers and the type
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

// mayName reports whether an event of the log may have one of some schemas; none given, it may.
func mayName(data []byte, schemas [][]byte) bool {
	if schemas == nil || bytes.IndexByte(data, '\\') >= 0 { // it may be written in another way
		return true
	}
	for _, s := range schemas {
		if bytes.Contains(data, s) {
			return true
		}
	}
	return false
}
