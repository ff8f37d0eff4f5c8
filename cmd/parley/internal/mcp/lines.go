package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/parleyhub/parley/adapters/mcp"
)

// maxLine bounds a message on stdin.
const maxLine = 16 << 20

// lineFilter passes on the lines that are messages. It answers other lines with an error and keeps
// reading, so that no input ends the calls that are under way.
type lineFilter struct {
	in      *bufio.Reader
	answers io.Writer // gets a line with each Write
	refused func()    // hears of the first line that was refused

	rest []byte // of the line that is handed on

	good, bad atomic.Int64 // lines so far
}

// Read hands on a line or a part of one.
func (r *lineFilter) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := r.readLine()
		if err != nil {
			return 0, err
		}
		if err := r.acceptLine(line); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close does nothing: the input is not this reader's.
func (r *lineFilter) Close() error { return nil }

// readLine reads a line, also a last one that does not end. Of one that is too long there is only
// so much that it shows.
func (r *lineFilter) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		default:
			return line, nil
		}
	}
}

// acceptLine keeps a line to be handed on, or answers it.
func (r *lineFilter) acceptLine(line []byte) error {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if refusal := mcp.RefuseID(line); refusal != nil {
		_, err := r.answers.Write(append(refusal, '\n'))
		return err
	}
	wrong := checkLine(line)
	if wrong == nil {
		r.good.Add(1)
		r.rest = append(line, '\n')
		return nil
	}
	if r.bad.Add(1) == 1 {
		r.refused()
	}
	if wrong.Error.Code == 0 {
		return nil
	}
	text, err := json.Marshal(wrong)
	if err == nil {
		_, err = r.answers.Write(append(text, '\n'))
	}
	return err
}

// lineRefusal is the answer to a line that is no message. One without a code is not sent.
type lineRefusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// checkLine says what is wrong with a line; nil if nothing is. What seems to be an answer is never
// answered: two sides could go on like that for ever.
func checkLine(line []byte) *lineRefusal {
	r := &lineRefusal{Version: "2.0", ID: json.RawMessage("null")}
	if len(line) > maxLine || !json.Valid(line) {
		r.Error.Code, r.Error.Message = jsonrpc.CodeParseError,
			"Parse error: expected a message of JSON in one line of at most 16 MiB"
		return r
	}
	_, err := jsonrpc.DecodeMessage(line)
	if err == nil {
		return nil
	}
	var m struct {
		ID, Method, Result, Error json.RawMessage
	}
	_ = json.Unmarshal(line, &m) // other JSON values have none of these members
	if m.Method == nil && (m.Result != nil || m.Error != nil) {
		return r
	}
	if id := any(nil); m.ID != nil && json.Unmarshal(m.ID, &id) == nil {
		if _, err := jsonrpc.MakeID(id); err == nil {
			r.ID = m.ID
		}
	}
	r.Error.Code, r.Error.Message = jsonrpc.CodeInvalidRequest,
		"Invalid request: expected one message of JSON-RPC 2.0 a line, and no batch"
	return r
}
