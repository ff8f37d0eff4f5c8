package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Opcodes of RFC 6455, of frames that are whole.
const (
	textFrame  = 0x80 | 1
	closeFrame = 0x80 | 8
	pingFrame  = 0x80 | 9
	pongFrame  = 0x80 | 10
)

// masked says that a frame has a mask. That of this client is zero: it costs the client nothing,
// and the server as much as any.
const masked = 0x80

// beginFrame leaves room for the head of a frame of 126 to 65535 bytes, whose payload is then
// appended.
func beginFrame(b []byte) []byte { return append(b, 0, 0, 0, 0, 0, 0, 0, 0) }

const frameHead = 8

// endFrame writes the head of the frame that begins at from.
func endFrame(b []byte, from int) []byte {
	n := len(b) - from - frameHead
	if n < 126 {
		copy(b[from+6:], b[from+frameHead:])
		b = b[:len(b)-2]
		b[from], b[from+1] = textFrame, masked|byte(n)
		return b
	}
	b[from], b[from+1] = textFrame, masked|126
	binary.BigEndian.PutUint16(b[from+2:], uint16(n))
	return b
}

// cutFrame finds the first frame of a server: its opcode, its whole size, and its payload. Size 0:
// it has not come whole.
func cutFrame(b []byte) (op byte, size int, payload []byte) {
	if len(b) < 2 {
		return 0, 0, nil
	}
	n, at := int(b[1]), 2
	switch {
	case n == 126 && len(b) >= 4:
		n, at = int(binary.BigEndian.Uint16(b[2:])), 4
	case n == 127 && len(b) >= 10:
		n, at = int(binary.BigEndian.Uint64(b[2:])), 10
	case n >= 126:
		return 0, 0, nil
	}
	if len(b)-at < n {
		return 0, 0, nil
	}
	return b[0], at + n, b[at : at+n]
}

// appendPong answers a ping, whose payload is under 126 bytes.
func appendPong(b, ping []byte) []byte {
	_, _, payload := cutFrame(ping)
	b = append(b, pongFrame, masked|byte(len(payload)), 0, 0, 0, 0)
	return append(b, payload...)
}

func closedBy(payload []byte) error {
	if len(payload) < 2 {
		return errors.New("the server has closed the connection")
	}
	return fmt.Errorf("the server has closed the connection: %d %s", binary.BigEndian.Uint16(payload), payload[2:])
}

// dialWebSocket connects and upgrades. header has lines that end with \r\n.
func dialWebSocket(ctx context.Context, addr, path, header string, hear func([]byte) (message, error)) (*line, error) {
	l, err := dial(ctx, addr, hearUpgrade)
	if err != nil {
		return nil, err
	}
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n%s\r\n", path, addr, header)
	if _, err := l.ask([]byte(request)); err != nil {
		l.close()
		return nil, err
	}
	l.hear, l.pong = hear, appendPong
	return l, nil
}

// hearUpgrade finds the answer to the handshake.
func hearUpgrade(b []byte) (message, error) {
	head, _, whole := strings.Cut(string(b), "\r\n\r\n")
	if !whole {
		return message{}, nil
	}
	if !strings.HasPrefix(head, "HTTP/1.1 101 ") {
		return message{}, fmt.Errorf("handshake refused: %.300s", b)
	}
	return message{size: len(head) + 4, kind: answer, slot: oldest}, nil
}
