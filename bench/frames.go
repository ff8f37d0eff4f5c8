package bench

import (
	"bytes"
	"strconv"
)

// What frames of a hub begin with, and what is looked for in them. They are not decoded: the client shares the machine with what is measured.
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

// numberAfter gives the number that follows mark in frame, -1 if there is none.
func numberAfter(frame, mark []byte) int64 {
	at := bytes.Index(frame, mark)
	if at < 0 {
		return -1
	}
	return leadingNumber(frame[at+len(mark):])
}

// leadingNumber gives the number that b begins with, -1 if there is none.
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

// answerID gives the id of an answer, -1 if it is no number.
func answerID(frame []byte) int64 {
	if !bytes.HasPrefix(frame, answerStart) {
		return numberAfter(frame[:min(len(frame), within)], []byte(`"id":`))
	}
	return leadingNumber(frame[len(answerStart):])
}
