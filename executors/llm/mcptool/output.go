package mcptool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	maxLine   = 1 << 10   // bytes of a line that is logged
	maxLogged = 256 << 10 // bytes of one stream of a connection that are logged
)

// lines logs the output of a command line by line. It has one writing goroutine.
type lines struct {
	log  *slog.Logger
	hide secrets
	text string // of the log entries
	part []byte
	took int
}

// Write never fails.
func (l *lines) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && l.took <= maxLogged {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		l.took += len(b) - len(rest)
		l.part = append(l.part, line[:min(len(line), maxLine-len(l.part))]...)
		b = rest
		if whole {
			l.flush()
		}
	}
	return n, nil
}

func (l *lines) flush() {
	if text := strings.ToValidUTF8(strings.TrimRight(string(l.part), "\r"), "\uFFFD"); text != "" {
		l.log.Info(l.text, "line", l.hide.text(text))
	}
	l.part = l.part[:0]
	if l.took > maxLogged {
		l.log.Warn("the limit of logged lines is reached; further lines are not logged", "stream", l.text)
	}
}

// messages is the stdout of a command without the lines that are not JSON-RPC messages: banners,
// log lines, and JSON of other kinds. It logs these lines, as a reader of stderr does.
type messages struct {
	from    *bufio.Reader
	skipped *lines
	rest    []byte // of the current message
}

func newMessages(from io.Reader, skipped *lines) *messages {
	return &messages{from: bufio.NewReaderSize(from, 64<<10), skipped: skipped}
}

// Read reads messages, each with the end of its line.
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.readLine()
		if message := messageIn(line); len(message) > 0 {
			m.rest = append(message, '\n')
			break
		}
		m.skip(line)
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

var errLongMessage = fmt.Errorf("the server sent a message of more than %d bytes", MaxMessage)

// readLine reads a line. It returns only the beginning of a line that is longer than a message may
// be. It fails if that line looks like a message, because a call may wait for it.
func (m *messages) readLine() ([]byte, error) {
	var line []byte
	length, marked := 0, false
	for {
		part, err := m.from.ReadSlice('\n')
		length += len(part)
		marked = marked || bytes.Contains(part, []byte(`"jsonrpc"`))
		switch {
		case length <= MaxMessage:
			line = append(line, part...)
		case len(line) > maxLine:
			line = bytes.Clone(line[:maxLine])
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if length > MaxMessage && marked && bytes.IndexAny(trimLine(line), "{[") == 0 {
			return line, errLongMessage
		}
		return line, err
	}
}

func (m *messages) skip(line []byte) {
	if line = trimLine(line); len(line) > 0 {
		_, _ = m.skipped.Write(append(bytes.Clone(line), '\n')) // never fails
	}
}

// around matches text around a message that is not part of it: white space, byte order marks, NUL,
// and escape sequences for terminals, such as the title that npm sets.
var around = regexp.MustCompile(`^(?:\s|\x{FEFF}|\x00|\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\))+`)

func trimLine(line []byte) []byte {
	return bytes.TrimRight(line[len(around.Find(line)):], " \t\r\n\x00")
}

// messageIn returns the message in a line, or nil. It returns the messages of a batch on one line
// each, because the SDK ends a connection whose server sends two batches of notifications.
func messageIn(line []byte) []byte {
	line = trimLine(line)
	if len(line) == 0 || line[0] != '[' {
		return oneMessage(line)
	}
	var all []json.RawMessage
	if json.Unmarshal(line, &all) != nil {
		return nil
	}
	var kept [][]byte
	for _, one := range all {
		if message := oneMessage(one); message != nil {
			kept = append(kept, message)
		}
	}
	return bytes.Join(kept, []byte{'\n'})
}

func oneMessage(line []byte) []byte {
	if len(line) == 0 || line[0] != '{' {
		return nil
	}
	if _, err := jsonrpc.DecodeMessage(line); err == nil {
		return line
	}
	return brokenAnswer(line)
}

// brokenAnswer returns an error for the call of an answer that is not valid, such as one whose
// error is a text. Without it the call would wait for another answer.
func brokenAnswer(line []byte) []byte {
	var answer struct {
		Version string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  json.RawMessage `json:"method"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(line, &answer) != nil || answer.Version != "2.0" || answer.Method != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(answer.ID)
	if err != nil || !id.IsValid() {
		return nil
	}
	text := "the answer is not valid JSON-RPC"
	if len(answer.Error) > 0 {
		text += ", its error is " + string(answer.Error[:min(len(answer.Error), maxLine)])
	}
	b, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code: jsonrpc.CodeInternalError, Message: strings.ToValidUTF8(text, "")}})
	if err != nil {
		return nil
	}
	return b
}
