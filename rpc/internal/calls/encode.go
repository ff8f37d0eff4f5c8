package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// AppendJSON encodes v without HTML escapes, so that stored bytes in it do not change.
func AppendJSON(b []byte, v any) ([]byte, error) {
	w := bytes.NewBuffer(b)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return b, err
	}
	return bytes.TrimSuffix(w.Bytes(), []byte{'\n'}), nil
}

// MustAppendJSON is AppendJSON for values that always encode.
func MustAppendJSON(b []byte, v any) []byte {
	out, err := AppendJSON(b, v)
	if err != nil {
		panic(fmt.Sprintf("calls: encode %T: %v", v, err))
	}
	return out
}

// AppendFailure appends the answer to a refused call. Without an id, the id is null.
func AppendFailure(b []byte, id string, e parley.WireError) []byte {
	return append(MustAppendJSON(wire.AppendErrorHead(b, id), e), '}')
}

// AppendNotification appends a notification.
func AppendNotification(b []byte, method string, params any) []byte {
	return append(MustAppendJSON(wire.AppendNotificationHead(b, method), params), '}')
}

// AppendEventHead appends the first part of an event notification; hub.Item.Tail is the rest.
func AppendEventHead(b []byte, subscriptionID string) []byte {
	b = append(wire.AppendNotificationHead(b, methods.NotifyEvent), `{"subscriptionId":"`...)
	b = append(b, subscriptionID...)
	return append(b, `",`...)
}

func appendSendResult(b []byte, r parley.SendResult) []byte {
	b = appendInt(b, `{"seq":`, r.Seq)
	b = appendInt(b, `,"turn":`, r.Turn)
	if r.ClaimID != "" {
		b = MustAppendJSON(append(b, `,"claimId":`...), r.ClaimID)
	}
	return appendDuplicate(b, r.Duplicate)
}

func appendSeqResult(b []byte, r parley.SeqResult) []byte {
	return appendDuplicate(appendInt(b, `{"seq":`, r.Seq), r.Duplicate)
}

func appendDuplicate(b []byte, duplicate bool) []byte {
	if duplicate {
		return append(b, `,"duplicate":true}`...)
	}
	return append(b, '}')
}

func appendInt(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}

// eventsTrailer is room for the members that most often follow the events of an answer.
const eventsTrailer = 128

// appendEvents appends stored events as an array.
func appendEvents(b []byte, events [][]byte) []byte {
	size := len("[]") + eventsTrailer
	for _, e := range events {
		size += len(e) + len(",")
	}
	b = append(slices.Grow(b, size), '[')
	for i, e := range events {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e...)
	}
	return append(b, ']')
}

// AppendTail appends a page of events.
func AppendTail(b []byte, events [][]byte, nextSeq, latestSeq int64) []byte {
	b = appendEvents(append(b, `{"events":`...), events)
	b = appendInt(b, `,"nextSeq":`, nextSeq)
	b = appendInt(b, `,"latestSeq":`, latestSeq)
	return append(b, '}')
}

// appendSnapshot encodes a snapshot with stored events in place of its empty list. It searches for the
// list from the end, because only digits follow it.
func appendSnapshot(b []byte, s *parley.Snapshot, events [][]byte) ([]byte, error) {
	return appendSpliced(b, s, `"events":[],"nextSeq":`, `"events":`, events)
}

// appendUpdates is appendSnapshot for getUpdates, whose first member is the list.
func appendUpdates(b []byte, u *parley.GetUpdatesResult, events [][]byte) ([]byte, error) {
	return appendSpliced(b, u, `{"messages":[],`, `{"messages":`, events)
}

// appendSpliced encodes v with events in place of the empty list in the last occurrence of mark, which
// begins with head.
func appendSpliced(b []byte, v any, mark, head string, events [][]byte) ([]byte, error) {
	encoded, err := AppendJSON(nil, v)
	if err != nil {
		return b, err
	}
	at := 0
	if mark[0] != '{' {
		at = bytes.LastIndex(encoded, []byte(mark))
	}
	if at < 0 || !bytes.HasPrefix(encoded[at:], []byte(mark)) {
		return b, fmt.Errorf("%T has no empty list of events", v)
	}
	at += len(head)
	b = append(b, encoded[:at]...)
	b = appendEvents(b, events)
	return append(b, encoded[at+len("[]"):]...), nil
}
