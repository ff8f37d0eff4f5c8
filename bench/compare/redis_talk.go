package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// hearRedis finds the first answer.
func hearRedis(b []byte) (message, error) {
	size := respSize(b)
	if size > 0 && b[0] == '-' {
		return message{}, fmt.Errorf("refused: %s", b[:size])
	}
	return message{size: size, kind: answer, slot: oldest}, nil
}

var redisMessage = []byte("*3\r\n$7\r\nmessage\r\n")

// hearRedisEvents finds the first message of a channel.
func hearRedisEvents(b []byte) (message, error) {
	m, err := hearRedis(b)
	if m.kind = other; bytes.HasPrefix(b, redisMessage) {
		m.kind = event
	}
	return m, err
}

// hearRedisCount finds how many elements an array has, which follow.
func hearRedisCount(b []byte) (message, error) {
	head := bytes.IndexByte(b, '\n') + 1
	if head > 0 && b[0] != '*' {
		return message{}, fmt.Errorf("refused: %.300s", b)
	}
	return message{size: head, kind: answer, slot: oldest}, nil
}

// respSize is the size of the first value, 0 when it has not come whole.
func respSize(b []byte) int {
	head := bytes.IndexByte(b, '\n') + 1
	if head == 0 {
		return 0
	}
	n, _ := leadingInt(b[1:head]) // a length of -1, for nothing, reads as 0
	switch {
	case b[0] == '$' && b[1] != '-':
		if head+n+2 > len(b) {
			return 0
		}
		return head + n + 2
	case b[0] == '*':
		return respElements(b, head, n)
	}
	return head
}

func respElements(b []byte, at, n int) int {
	for range n {
		size := respSize(b[at:])
		if size == 0 {
			return 0
		}
		at += size
	}
	return at
}

// appendCommand appends a command as an array of strings.
func appendCommand(b []byte, words ...string) []byte {
	b = append(strconv.AppendInt(append(b, '*'), int64(len(words)), 10), "\r\n"...)
	for _, w := range words {
		b = append(strconv.AppendInt(append(b, '$'), int64(len(w)), 10), "\r\n"...)
		b = append(append(b, w...), "\r\n"...)
	}
	return b
}

// redisCall makes one call and returns the raw answer.
func redisCall(l *line, words ...string) (string, error) {
	said, err := l.ask(appendCommand(nil, words...))
	if err != nil {
		return "", fmt.Errorf("%s: %w", words[0], err)
	}
	return string(said), nil
}
