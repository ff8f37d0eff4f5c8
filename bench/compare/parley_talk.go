package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// What frames of a hub begin with.
var (
	parleyAnswer   = []byte(`{"jsonrpc":"2.0","id":`)
	parleyResult   = []byte(`,"result":{`)
	parleyEvent    = []byte(`{"jsonrpc":"2.0","method":"event",`)
	parleyCaughtUp = []byte(`{"jsonrpc":"2.0","method":"caught_up",`)
	parleyNotice   = []byte(`{"jsonrpc":"2.0","method":`)
)

// hearParley finds the first frame. The slot of an answer is its whole id.
func hearParley(b []byte) (message, error) {
	op, size, text := cutFrame(b)
	m := message{size: size}
	switch {
	case size == 0:
	case op == pingFrame:
		m.kind = ping
	case op == pongFrame:
	case op == closeFrame:
		return m, closedBy(text)
	case op != textFrame:
		return m, fmt.Errorf("a frame that begins with %#x: expected whole text frames", op)
	case bytes.HasPrefix(text, parleyAnswer):
		id, rest := leadingInt(text[len(parleyAnswer):])
		if !bytes.HasPrefix(rest, parleyResult) {
			return m, fmt.Errorf("refused: %.300s", text)
		}
		m.kind, m.slot = answer, id
	case bytes.HasPrefix(text, parleyEvent):
		m.kind = event
	case bytes.HasPrefix(text, parleyCaughtUp):
		m.kind = end
	case !bytes.HasPrefix(text, parleyNotice):
		return m, fmt.Errorf("unexpected frame: %.300s", text)
	}
	return m, nil
}

// leadingInt reads the digits that b begins with.
func leadingInt(b []byte) (n int, rest []byte) {
	for len(b) > 0 && '0' <= b[0] && b[0] <= '9' {
		n, b = 10*n+int(b[0]-'0'), b[1:]
	}
	return n, b
}

// parleyCall makes one call and decodes its result.
func parleyCall(l *line, method string, params, result any) error {
	b, err := json.Marshal(params)
	if err != nil {
		return err
	}
	frame := fmt.Appendf(beginFrame(nil), `{"jsonrpc":"2.0","id":0,"method":"%s","params":%s}`, method, b)
	said, err := l.ask(endFrame(frame, 0))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	_, _, text := cutFrame(said)
	return json.Unmarshal(text, &struct {
		Result any `json:"result"`
	}{result})
}
