package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// natsInboxes begins the subjects of answers; the last part is the slot. All other subjects are of
// events.
const natsInboxes = "r."

var (
	natsMessage = []byte("MSG ")
	natsHeaders = []byte("HMSG ")
	natsPing    = []byte("PING\r\n")
	natsError   = []byte("-ERR")
	natsRefused = []byte(`"error":{`)
)

// hearNATSGreeting reads the greeting of a server and the answer to the first command.
func hearNATSGreeting(b []byte) (message, error) {
	head := bytes.IndexByte(b, '\n') + 1
	m := message{size: head, slot: oldest}
	switch {
	case head == 0:
	case bytes.HasPrefix(b, natsError):
		return m, fmt.Errorf("refused: %s", b[:head])
	case bytes.HasPrefix(b, []byte("INFO ")), bytes.HasPrefix(b, []byte("PONG")):
		m.kind = answer
	}
	return m, nil
}

// hearNATS finds the first message of the protocol.
func hearNATS(b []byte) (message, error) {
	head := bytes.IndexByte(b, '\n') + 1
	switch {
	case head == 0:
		return message{}, nil
	case bytes.HasPrefix(b, natsMessage):
		return hearDelivery(b, head)
	case bytes.HasPrefix(b, natsPing):
		return message{size: head, kind: ping}, nil
	// only a no responders answer has headers: other messages here have none
	case bytes.HasPrefix(b, natsError), bytes.HasPrefix(b, natsHeaders):
		return message{}, fmt.Errorf("refused: %.300s", b)
	}
	return message{size: head}, nil
}

// hearDelivery finds "MSG subject sid [reply] size", and what follows.
func hearDelivery(b []byte, head int) (message, error) {
	first := bytes.TrimRight(b[len(natsMessage):head], "\r\n")
	n, _ := leadingInt(first[bytes.LastIndexByte(first, ' ')+1:])
	m := message{size: head + n + 2, kind: event}
	if m.size > len(b) || !bytes.HasPrefix(first, []byte(natsInboxes)) {
		return m, nil
	}
	if bytes.Contains(b[head:m.size], natsRefused) {
		return m, fmt.Errorf("refused: %.300s", b[head:m.size])
	}
	subject, _, _ := bytes.Cut(first, []byte(" "))
	m.kind = answer
	m.slot, _ = leadingInt(subject[bytes.LastIndexByte(subject, '.')+1:])
	return m, nil
}

// natsCall makes one request to JetStream on a line that hears natsCalls, and decodes the answer.
func natsCall(l *line, subject, body string, result any) error {
	said, err := l.ask(fmt.Appendf(nil, "PUB %s %s.0 %d\r\n%s\r\n", subject, natsCalls, len(body), body))
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	_, payload, found := bytes.Cut(said, []byte("\r\n"))
	if !found {
		return errors.New("an answer without a payload")
	}
	return json.Unmarshal(payload, result)
}
