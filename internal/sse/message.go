// Package sse writes text/event-stream as the HTML standard defines it (section 9.2, server-sent
// events). The reader of package ssetest returns what Append wrote byte for byte, if the data has
// no carriage return.
//
//	b = sse.Append(b, sse.Message{ID: "7", Data: event})
package sse

import (
	"bytes"
	"strconv"
)

// MediaType is that of a stream.
const MediaType = "text/event-stream"

// Message is one message of a stream.
type Message struct {
	// ID is the cursor to come back with. As written, empty says nothing of it; as read, it is the
	// last that the stream named.
	ID string
	// Name is the event's; empty is that of a browser's onmessage.
	Name string
	// Data is what it says.
	Data []byte
}

// Append writes a message. ID and Name must have no line breaks, and ID no NUL. Each line of Data
// has a line of its own. Without data it only moves the cursor: readers give no message for it.
func Append(b []byte, m Message) []byte {
	if m.Name != "" {
		b = appendField(b, "event", m.Name)
	}
	if m.ID != "" {
		b = appendField(b, "id", m.ID)
	}
	if m.Data != nil {
		for line := range bytes.SplitSeq(m.Data, []byte{'\n'}) {
			b = appendField(b, "data", line)
		}
	}
	return append(b, '\n')
}

func appendField[T string | []byte](b []byte, name string, value T) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, '\n')
}

// AppendRetry tells a reader how many milliseconds to wait before it comes back.
func AppendRetry(b []byte, ms int64) []byte {
	return append(strconv.AppendInt(append(b, "retry: "...), ms, 10), '\n', '\n')
}

// AppendComment writes what readers pass over: a sign of life.
func AppendComment(b []byte) []byte { return append(b, ":\n\n"...) }

// maxSeq is the largest integer that every JSON reader holds exactly.
const maxSeq = 1<<53 - 1

// ParseSeq reads a seq as Append's callers write it: in decimal, without sign, spaces or leading
// zeros, at most 2^53-1.
func ParseSeq(s string) (seq int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > maxSeq || s != strconv.FormatInt(n, 10) {
		return 0, false
	}
	return n, true
}
