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

// MediaType is the media type of a stream.
const MediaType = "text/event-stream"

// Message is one message of a stream.
type Message struct {
	// ID is the cursor for the next connection. A writer leaves it empty to keep the cursor. A reader
	// sets it to the last id of the stream.
	ID string
	// Name is the event name. Browsers pass an empty name to onmessage.
	Name string
	// Data is the content of the message.
	Data []byte
}

// Append writes a message. ID and Name must have no line breaks, and ID no NUL. Each line of Data
// becomes a data line. A message without data only moves the cursor, and readers do not return it.
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

// AppendRetry sets the time in milliseconds that a reader waits before it reconnects.
func AppendRetry(b []byte, ms int64) []byte {
	return append(strconv.AppendInt(append(b, "retry: "...), ms, 10), '\n', '\n')
}

// AppendComment writes a comment, which readers ignore, as a keepalive.
func AppendComment(b []byte) []byte { return append(b, ":\n\n"...) }

// maxSeq is the largest integer that every JSON reader represents exactly.
const maxSeq = 1<<53 - 1

// ParseSeq parses a seq in the form of Append's callers: decimal, without sign, spaces or leading
// zeros, at most 2^53-1.
func ParseSeq(s string) (seq int64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > maxSeq || s != strconv.FormatInt(n, 10) {
		return 0, false
	}
	return n, true
}
