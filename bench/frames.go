package bench

import (
	"bytes"
	"strconv"
)

// What frames of a hub begin with, and what is looked for in them. They are not decoded: the client
// shares the machine with what is measured.
var (
	eventStart  = []byte(`{"jsonrpc":"2.0","method":"event","params":`)
	answerStart = []byte(`{"jsonrpc":"2.0","id":`)
	resultMark  = []byte(`"result":{`)
	ackMark     = []byte(`"result":{"seq":`)
	caughtUp    = []byte(`{"jsonrpc":"2.0","method":"caught_up"`)
)

// within is how far into a frame marks are looked for: behind the id, which is short.
const within = 120

func hasID(frame []byte, id string) bool {
	return bytes.Contains(frame[:min(len(frame), within)], []byte(id))
}

func hasResult(frame []byte) bool { return bytes.Contains(frame[:min(len(frame), within)], resultMark) }

func acknowledges(frame []byte) bool {
	return bytes.Contains(frame[:min(len(frame), within)], ackMark)
}

func isCaughtUp(frame []byte) bool { return bytes.HasPrefix(frame, caughtUp) }

func isEvent(frame []byte) bool { return bytes.HasPrefix(frame, eventStart) }

// numberAfter returns the number after mark in frame, or -1.
func numberAfter(frame, mark []byte) int64 {
	at := bytes.Index(frame, mark)
	if at < 0 {
		return -1
	}
	return leadingNumber(frame[at+len(mark):])
}

// leadingNumber returns the number at the start of b, or -1.
func leadingNumber(b []byte) int64 {
	end := 0
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(string(b[:end]), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// answerID returns the id of an answer, or -1 if it is not a number.
func answerID(frame []byte) int64 {
	if !bytes.HasPrefix(frame, answerStart) {
		return numberAfter(frame[:min(len(frame), within)], []byte(`"id":`))
	}
	return leadingNumber(frame[len(answerStart):])
}
