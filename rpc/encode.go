package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// appendJSON encodes v without HTML escapes, so that stored bytes inside of it stay as they are.
func appendJSON(b []byte, v any) ([]byte, error) {
	w := bytes.NewBuffer(b)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return b, err
	}
	return bytes.TrimSuffix(w.Bytes(), []byte{'\n'}), nil
}

// appendWire is appendJSON for what cannot fail.
func appendWire(b []byte, v any) []byte {
	out, err := appendJSON(b, v)
	if err != nil {
		panic(fmt.Sprintf("rpc: encode %T: %v", v, err))
	}
	return out
}

// appendFailure makes the reply of a refused call; without id it is null.
func appendFailure(b []byte, id string, e parley.WireError) []byte {
	return append(appendWire(wire.AppendErrorHead(b, id), e), '}')
}

// appendNotification makes a notification.
func appendNotification(b []byte, method string, params any) []byte {
	return append(appendWire(wire.AppendNotificationHead(b, method), params), '}')
}

// appendEventHead begins an event notification; hub.Item.Tail ends it.
func appendEventHead(b []byte, subscriptionID string) []byte {
	b = append(wire.AppendNotificationHead(b, parley.NotifyEvent), `{"subscriptionId":"`...)
	b = append(b, subscriptionID...)
	return append(b, `",`...)
}

func appendSendResult(b []byte, r parley.SendResult) []byte {
	b = appendInt(b, `{"seq":`, r.Seq)
	b = appendInt(b, `,"turn":`, r.Turn)
	if r.ClaimID != "" {
		b = appendWire(append(b, `,"claimId":`...), r.ClaimID)
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

// eventsTrailer is room for what most often follows an array of events in its answer.
const eventsTrailer = 128

// appendEvents writes stored events as an array.
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

func appendTail(b []byte, events [][]byte, nextSeq, latestSeq int64) []byte {
	b = appendEvents(append(b, `{"events":`...), events)
	b = appendInt(b, `,"nextSeq":`, nextSeq)
	b = appendInt(b, `,"latestSeq":`, latestSeq)
	return append(b, '}')
}

// appendSnapshot encodes a snapshot with stored events in the place of its empty list. The place is found from the end: after
// it come digits only.
func appendSnapshot(b []byte, s *parley.Snapshot, events [][]byte) ([]byte, error) {
	return splice(b, s, `"events":[],"nextSeq":`, `"events":`, events)
}

// appendUpdates does the same for getUpdates, whose first member is the list.
func appendUpdates(b []byte, u *parley.GetUpdatesResult, events [][]byte) ([]byte, error) {
	return splice(b, u, `{"messages":[],`, `{"messages":`, events)
}

// splice encodes v and puts events in place of the empty list in the last occurrence of mark, which begins with head.
func splice(b []byte, v any, mark, head string, events [][]byte) ([]byte, error) {
	encoded, err := appendJSON(nil, v)
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
