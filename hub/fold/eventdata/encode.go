// Package eventdata encodes events, and reads from one event what does not depend on its conversation: its readers,
// the labels that it adds, and the ids and hashes in it. Everything in it is a pure function.
//
//	b = eventdata.AppendEvent(b, &e)
//	if viewer.Sees(eventdata.MetaOf(&e)) { ... }
package eventdata

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// AppendEvent appends the canonical encoding of e, the same bytes as parley's Event.Encode for a
// compact payload. These bytes are stored and sent.
func AppendEvent(b []byte, e *parley.Event) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	if e.Turn != 0 {
		b = append(b, `,"turn":`...)
		b = strconv.AppendInt(b, e.Turn, 10)
	}
	b = append(b, `,"type":"`...)
	b = append(b, e.Type...)
	b = append(b, `","from":"`...)
	b = append(b, e.From...) // ids have nothing to escape
	b = append(b, `","at":"`...)
	b = e.At.Time().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, '"')
	if e.Finality != "" {
		b = append(b, `,"finality":"`...)
		b = append(b, e.Finality...)
		b = append(b, '"')
	}
	if e.Outcome != nil {
		b = append(b, `,"outcome":{"status":"`...)
		b = append(b, e.Outcome.Status...)
		b = append(b, '"')
		if e.Outcome.Reason != "" {
			b = append(b, `,"reason":`...)
			b = appendString(b, e.Outcome.Reason)
		}
		b = append(b, '}')
	}
	if e.TurnHint != nil {
		b = append(b, `,"turnHint":{"next":"`...)
		b = append(b, e.TurnHint.Next...) // an id
		b = append(b, `"}`...)
	}
	b = append(b, `,"payload":`...)
	b = append(b, e.Payload...)
	if e.ClientRequestID != "" {
		b = append(b, `,"clientRequestId":`...)
		b = appendString(b, e.ClientRequestID)
	}
	if e.Cause != nil {
		b = append(b, `,"cause":{`...)
		if e.Cause.ConversationID != "" {
			b = append(b, `"conversationId":"`...)
			b = append(b, e.Cause.ConversationID...) // an id
			b = append(b, `",`...)
		}
		b = append(b, `"seq":`...)
		b = strconv.AppendInt(b, e.Cause.Seq, 10)
		b = append(b, '}')
	}
	if e.Hops != 0 {
		b = append(b, `,"hops":`...)
		b = strconv.AppendInt(b, int64(e.Hops), 10)
	}
	if e.Traceparent != "" {
		b = append(b, `,"traceparent":"`...)
		b = append(b, e.Traceparent...) // hex and dashes
		b = append(b, '"')
	}
	return append(b, '}')
}

// appendString appends s as a JSON string, without HTML escapes.
func appendString(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(b, Encode(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// Encode returns the JSON of v without HTML escapes. It panics for a value that has no JSON.
func Encode(v any) json.RawMessage {
	var buf rawBuffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // callers pass structs of strings, numbers and checked JSON
	}
	return json.RawMessage(buf[:len(buf)-1])
}

type rawBuffer []byte

func (b *rawBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
