package archive

// Inside the package because what must be shown is that each line has one way of writing, which no caller sees.

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

// FuzzLine: whatever is taken as a line is written as it was read, byte for byte.
func FuzzLine(f *testing.F) {
	data := []byte("a file")
	event := eventLine{conversation: "c-1", seq: 7, hash: journal.Genesis("x"), data: []byte(`{"seq":7}`)}
	f.Add(event.append(nil))
	f.Add((&attachmentLine{hash: sha256.Sum256(data), size: int64(len(data)), data: data}).append(nil))
	f.Add((&attachmentLine{hash: journal.Hash{1}, size: 7, missing: true}).append(nil))
	f.Add([]byte(`{"parleyBackup":1,"hubVersion":"v<1>","at":"2026-01-01T00:00:00.000Z","position":3}` + "\n"))
	f.Add([]byte(`{"end":true,"records":1,"conversations":1,"sha256":""}` + "\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		_, _ = Check(bytes.NewReader(line), nil) // does not panic
		var again []byte
		var err error
		switch {
		case bytes.HasPrefix(line, eventStart):
			var l eventLine
			if l, err = parseEvent(line); err == nil {
				again = l.append(nil)
			}
		case bytes.HasPrefix(line, attachmentStart):
			var l attachmentLine
			if l, err = parseAttachment(line); err == nil {
				again = l.append(nil)
			}
		default:
			return // parseObject compares by itself
		}
		if err == nil && !bytes.Equal(again, line) {
			t.Errorf("read %q, written %q", line, again)
		}
	})
}
