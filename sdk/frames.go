package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/sourcegraph/jsonrpc2"
)

// frameField carries a request that is encoded already past jsonrpc2 to WriteObject.
const frameField = "frame"

// frames is the stream under jsonrpc2.Conn. It keeps bytes as they are in both directions, which jsonrpc2 would not: it encodes
// requests with <, > and & escaped, and takes the params of notifications apart and sorts their members, so that neither the payload of
// a message nor an event would be what its author wrote.
type frames struct {
	stream *wire.Stream
	link   *link
	out    *jsonrpc2.Request // what WriteObject is about to write; jsonrpc2 sends one at a time
	buf    []byte            // of the last frame read
}

var _ jsonrpc2.ObjectStream = (*frames)(nil)

// next is called by jsonrpc2 before WriteObject, on the same goroutine.
func (f *frames) next(r *jsonrpc2.Request, _ *jsonrpc2.Response) { f.out = r }

// WriteObject sends the frame that the request carries.
func (f *frames) WriteObject(any) error {
	if f.out == nil || len(f.out.ExtraFields) != 1 {
		return errors.New("sdk: only requests are sent to a hub")
	}
	frame, ok := f.out.ExtraFields[0].Value.([]byte)
	if !ok {
		return errors.New("sdk: a request without its frame")
	}
	f.out = nil
	return f.stream.WriteFrame(frame)
}

// ReadObject takes notifications to their feeds and gives the next response to jsonrpc2. An error ends the link.
func (f *frames) ReadObject(v any) error {
	for {
		frame, err := f.stream.ReadFrame(f.buf)
		if err != nil {
			f.link.end()
			return err
		}
		f.buf = frame
		if cap(frame) > 64<<10 {
			f.buf = nil // one large page is no reason to hold on to its buffer
		}
		f.link.heard.Store(int64(time.Since(f.link.born)))
		method, params, err := notification(frame)
		if err == nil && method == "" {
			err = json.Unmarshal(frame, v)
			if err == nil {
				return nil
			}
		}
		if err == nil {
			err = f.link.notify(method, params)
		}
		if err != nil {
			f.link.end()
			return fmt.Errorf("a frame of the hub: %w", err)
		}
	}
}

// Close ends the connection.
func (f *frames) Close() error { return f.stream.Close() }

// notification gives method and params of a notification; the method is empty when the frame is a response.
func notification(frame []byte) (string, json.RawMessage, error) {
	if bytes.HasPrefix(frame, []byte(`{"jsonrpc":"2.0","id":`)) {
		return "", nil, nil // how our hub begins a response; any other order is as good, but must be looked at
	}
	var n struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	err := json.Unmarshal(frame, &n)
	return n.Method, n.Params, err
}

// encode gives params as JSON: raw members as they are but compact, no HTML escapes.
func encode(params any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(params); err != nil {
		return nil, parley.Refuse(parley.ErrInvalidParams, err.Error(), "values that encode to JSON")
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}

// requestFrame builds a request. What the hub could only answer without an id, or by closing the socket, is refused here with the
// error that the hub would give.
func requestFrame(id uint64, method string, body []byte) ([]byte, error) {
	b := make([]byte, 0, len(body)+96)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"method":"`...)
	b = append(b, method...)
	b = append(b, `","params":`...)
	b = append(b, body...)
	b = append(b, '}')
	switch {
	case len(b) > parley.MaxFrameBytes:
		return nil, parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("the request has %d bytes", len(b)),
			fmt.Sprintf("at most %d", parley.MaxFrameBytes))
	case !utf8.Valid(b):
		return nil, parley.Refuse(parley.ErrParse, "the request is not UTF-8", "UTF-8")
	case depth(b) > parley.MaxDepth:
		return nil, parley.Refuse(parley.ErrParse, "the request nests too deep", fmt.Sprintf("at most %d levels", parley.MaxDepth))
	}
	return b, nil
}

// depth is how deep valid JSON nests.
func depth(b []byte) int {
	deepest, level, inString := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
