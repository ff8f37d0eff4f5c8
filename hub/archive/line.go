package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// Version is the version of backups that this package writes and reads.
const Version = 1

// Bounds of lines in bytes, including the line feed.
const (
	maxEventLine      = parley.MaxEventBytes + 1<<10
	maxAttachmentLine = (parley.MaxAttachmentBytes+2)/3*4 + 1<<10
)

// Header is the first line of a backup.
type Header struct {
	Version int `json:"parleyBackup"`
	// HubVersion is the version of the program, and At the start of the backup.
	HubVersion string           `json:"hubVersion"`
	At         parley.Timestamp `json:"at"`
	// Position is the number of events that the log had at the start of the backup.
	Position journal.Position `json:"position"`
}

// Trailer is the last line of a backup.
type Trailer struct {
	End           bool  `json:"end"`
	Records       int64 `json:"records"`
	Conversations int64 `json:"conversations"`
	// SHA256 is the hash of all bytes before this line, in lower-case hex.
	SHA256 string `json:"sha256"`
}

// eventLine is an event of a conversation. A parsed one refers to the bytes of the line.
type eventLine struct {
	conversation string
	seq          int64
	hash         journal.Hash
	data         []byte
}

// attachmentLine is a file, or marks a missing one.
type attachmentLine struct {
	hash    journal.Hash
	size    int64
	data    []byte
	missing bool
}

// The first bytes of a line, which identify its kind.
var (
	headerStart     = []byte(`{"parleyBackup":`)
	attachmentStart = []byte(`{"attachment":"`)
	eventStart      = []byte(`{"conversationId":"`)
	trailerStart    = []byte(`{"end":`)
)

// missingEnd is the end of the line of a missing file.
var missingEnd = []byte(`,"missing":true}` + "\n")

func (l *eventLine) append(b []byte) []byte {
	b = append(b, eventStart...)
	b = append(b, l.conversation...) // nothing has to be escaped: see validID
	b = append(b, `","seq":`...)
	b = strconv.AppendInt(b, l.seq, 10)
	b = append(b, `,"hash":"`...)
	b = hex.AppendEncode(b, l.hash[:])
	b = append(b, `","event":`...)
	b = append(b, l.data...)
	return append(b, "}\n"...)
}

func (l *attachmentLine) append(b []byte) []byte {
	b = append(b, attachmentStart...)
	b = hex.AppendEncode(b, l.hash[:])
	b = append(b, `","size":`...)
	b = strconv.AppendInt(b, l.size, 10)
	if l.missing {
		return append(b, missingEnd...)
	}
	b = append(b, `,"data":"`...)
	b = base64.StdEncoding.AppendEncode(b, l.data)
	return append(b, "\"}\n"...)
}

// encodeLine returns a header or a trailer as a line.
func encodeLine(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(b, '\n'), err
}

// validID reports whether an id can be written: printable ASCII without what JSON escapes.
func validID(id string) bool {
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return id != "" && len(id) <= journal.MaxNameBytes
}

var errNotWritten = errors.New("not written as an archive writes it")

// parseEvent parses a line that begins with eventStart, but not the event in it.
func parseEvent(line []byte) (l eventLine, err error) {
	id, rest, ok := bytes.Cut(line[len(eventStart):], []byte(`","seq":`))
	if l.conversation = string(id); !ok || !validID(l.conversation) {
		return eventLine{}, errNotWritten
	}
	seq, rest, ok := bytes.Cut(rest, []byte(`,"hash":"`))
	if !ok || !parseNumber(seq, &l.seq) {
		return eventLine{}, errNotWritten
	}
	hash, rest, ok := bytes.Cut(rest, []byte(`","event":`))
	if !ok || !parseHash(hash, &l.hash) {
		return l, errNotWritten
	}
	if l.data, ok = bytes.CutSuffix(rest, []byte("}\n")); !ok {
		return l, errNotWritten
	}
	return l, nil
}

// parseAttachment parses a line that begins with attachmentStart, and checks the hash of the file.
func parseAttachment(line []byte) (l attachmentLine, err error) {
	hash, rest, ok := bytes.Cut(line[len(attachmentStart):], []byte(`","size":`))
	if !ok || !parseHash(hash, &l.hash) {
		return attachmentLine{}, errNotWritten
	}
	number, ok := bytes.CutSuffix(rest, missingEnd)
	if l.missing = ok; !ok {
		number, rest, ok = bytes.Cut(rest, []byte(`,"data":"`))
	}
	if !ok || !parseNumber(number, &l.size) {
		return attachmentLine{}, errNotWritten
	}
	if l.missing {
		return l, nil
	}
	return parseFile(l, rest)
}

// parseFile parses the rest of the line of an attachment, from its data on.
func parseFile(l attachmentLine, rest []byte) (attachmentLine, error) {
	text, ok := bytes.CutSuffix(rest, []byte("\"}\n"))
	if !ok || bytes.ContainsAny(text, "\r\n") { // the decoder would skip them
		return attachmentLine{}, errNotWritten
	}
	var err error
	l.data, err = base64.StdEncoding.Strict().AppendDecode(nil, text)
	switch {
	case err != nil:
		return attachmentLine{}, errNotWritten
	case int64(len(l.data)) != l.size:
		return attachmentLine{}, fmt.Errorf("the file has %d bytes, the line says %d", len(l.data), l.size)
	case sha256.Sum256(l.data) != l.hash:
		return attachmentLine{}, errors.New("the file has another hash than the line says")
	}
	return l, nil
}

// parseObject parses a header or a trailer. It must be encoded as encodeLine does.
func parseObject(line []byte, into any) error {
	if err := json.Unmarshal(line, into); err != nil {
		return errNotWritten
	}
	again, err := encodeLine(into)
	if err != nil || !bytes.Equal(again, line) {
		return errNotWritten
	}
	return nil
}

// parseNumber parses decimal digits as strconv writes them.
func parseNumber(b []byte, n *int64) bool {
	v, err := strconv.ParseInt(string(b), 10, 64)
	*n = v
	return err == nil && v >= 0 && strconv.FormatInt(v, 10) == string(b)
}

// parseHash parses lower-case hex.
func parseHash(b []byte, h *journal.Hash) bool {
	if len(b) != hex.EncodedLen(len(h)) || bytes.ContainsAny(b, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(h[:], b)
	return err == nil
}
