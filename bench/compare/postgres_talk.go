package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
)

// dialPostgres connects as the user of the cluster, who needs no password.
func dialPostgres(ctx context.Context, addr string) (*line, error) {
	l, err := dial(ctx, addr, hearPostgres)
	if err != nil {
		return nil, err
	}
	const version = 3 << 16
	b := binary.BigEndian.AppendUint32(make([]byte, 4), version)
	b = append(b, "user\x00"+postgresUser+"\x00database\x00"+postgresUser+"\x00\x00"...)
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	if _, err := l.ask(b); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// hearPostgres finds the first message. What answers a request is that the server is ready for the
// next one; an answer to a query with one row is given whole only by postgresCell.
func hearPostgres(b []byte) (message, error) {
	if len(b) < 5 {
		return message{}, nil
	}
	m := message{size: 1 + int(binary.BigEndian.Uint32(b[1:])), slot: oldest}
	switch b[0] {
	case 'Z':
		m.kind = answer
	case 'A':
		m.kind = event
	case 'D':
		m.kind = row
	case 'E':
		if m.size > len(b) {
			return message{}, nil
		}
		return m, fmt.Errorf("refused: %s", bytes.ReplaceAll(b[5:m.size-1], []byte{0}, []byte(" ")))
	}
	return m, nil
}

// hearPostgresRows takes rows as events, and their end as the end.
func hearPostgresRows(b []byte) (message, error) {
	m, err := hearPostgres(b)
	switch m.kind {
	case row:
		m.kind = event
	case answer:
		m.kind = end
	}
	return m, err
}

// appendMessage appends a message of a client.
func appendMessage(b []byte, kind byte, body ...string) []byte {
	n := 4
	for _, s := range body {
		n += len(s)
	}
	b = binary.BigEndian.AppendUint32(append(b, kind), uint32(n))
	for _, s := range body {
		b = append(b, s...)
	}
	return b
}

// postgresDo runs a statement.
func postgresDo(l *line, sql string) error {
	if _, err := l.ask(appendMessage(nil, 'Q', sql, "\x00")); err != nil {
		return fmt.Errorf("%.80s: %w", sql, err)
	}
	return nil
}

// postgresCell runs a query of one row with one column.
func postgresCell(l *line, sql string) (string, error) {
	if err := l.write(appendMessage(nil, 'Q', sql, "\x00")); err != nil {
		return "", err
	}
	b, err := l.await(row)
	if err != nil {
		return "", fmt.Errorf("%s: %w", sql, err)
	}
	const head = 1 + 4 + 2 + 4 // kind, size, columns, size of the column
	cell := string(b[head:])
	_, err = l.await(answer)
	return cell, err
}

// postgresPrepare makes the statement that appendExecute runs.
func postgresPrepare(l *line, sql string) error {
	b := appendMessage(nil, 'P', "s\x00", sql, "\x00\x00\x00")
	if _, err := l.ask(appendMessage(b, 'S')); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

// appendExecute runs the prepared statement in its own transaction. Parameters and results are
// binary.
func appendExecute(b []byte, params ...string) []byte {
	at := len(b)
	b = append(b, "B\x00\x00\x00\x00\x00s\x00\x00\x01\x00\x01"...) // no portal name, s, one format: binary
	b = binary.BigEndian.AppendUint16(b, uint16(len(params)))
	for _, p := range params {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	b = append(b, "\x00\x01\x00\x01"...)
	binary.BigEndian.PutUint32(b[at+1:], uint32(len(b)-at-1))
	b = append(b, "E\x00\x00\x00\x09\x00\x00\x00\x00\x00"...)
	return append(b, "S\x00\x00\x00\x04"...)
}
