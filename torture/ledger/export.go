package ledger

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
)

// Logs are conversations as a hub or an export has them.
type Logs struct {
	Events map[string][]parley.Event
	// Heads are the hashes of the last events, in hexadecimal.
	Heads map[string]string
}

// NewLogs returns logs without a conversation.
func NewLogs() *Logs {
	return &Logs{Events: map[string][]parley.Event{}, Heads: map[string]string{}}
}

// ReadExport reads the output of parley log export. It leaves out the hub's own logs and all lines
// that are no event, such as the torn last line of an export that failed.
func ReadExport(out []byte) (*Logs, error) {
	l := NewLogs()
	for text := range bytes.Lines(out) {
		var line struct {
			ConversationID string          `json:"conversationId"`
			Hash           string          `json:"hash"`
			Event          json.RawMessage `json:"event"`
		}
		if json.Unmarshal(text, &line) != nil || line.Event == nil || strings.HasPrefix(line.ConversationID, "~") {
			continue
		}
		var e parley.Event
		if err := json.Unmarshal(line.Event, &e); err != nil {
			return l, err
		}
		l.Events[line.ConversationID] = append(l.Events[line.ConversationID], e)
		l.Heads[line.ConversationID] = line.Hash
	}
	return l, nil
}

// Export verifies the log in a data directory of a hub that ended, and returns its conversations.
func Export(t testing.TB, program hubproc.Program, data string) map[string][]parley.Event {
	t.Helper()
	t.Log(strings.TrimSpace(program.Run(t, "log", "verify", "--data", data)))
	l, err := ReadExport([]byte(program.Run(t, "log", "export", "--data", data)))
	if err != nil {
		t.Fatal(err)
	}
	return l.Events
}

// Has reports whether a message is at the seq of its acknowledgement.
func (l *Logs) Has(author string, m *Said) bool {
	log := l.Events[m.Params.ConversationID]
	if m.Seq > int64(len(log)) {
		return false
	}
	e := &log[m.Seq-1]
	return e.Seq == m.Seq && e.From == author && e.ClientRequestID == m.Params.ClientRequestID
}
