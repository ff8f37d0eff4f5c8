package network

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// history is what one reader has seen of one conversation, over all its connections. It keeps the
// hash chain of the protocol: two histories of the same length and hash are the same events with
// the same bytes.
type history struct {
	mu     sync.Mutex // guards the fields below
	seq    int64
	hash   [sha256.Size]byte
	wrong  []string // events that were skipped or came again; the first of them
	wrongs int
}

func newHistory(conversation string) *history {
	return &history{hash: sha256.Sum256([]byte(conversation))}
}

// take adds an event, as the bytes that came.
func (h *history) take(raw []byte) error {
	var e struct {
		Seq int64 `json:"seq"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("an event %.100q: %w", raw, err)
	}
	h.add(e.Seq, raw)
	return nil
}

func (h *history) add(seq int64, raw []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if seq != h.seq+1 {
		h.wrongs++
		if len(h.wrong) < 5 {
			h.wrong = append(h.wrong, fmt.Sprintf("seq %d after %d", seq, h.seq))
		}
	}
	h.seq = seq
	sum := sha256.New()
	sum.Write(h.hash[:])
	sum.Write(raw)
	sum.Sum(h.hash[:0])
}

// last is the seq of its last event: where the reader continues.
func (h *history) last() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

// seen is a history as printed by a process.
type seen struct {
	Conversation string   `json:"conversation"`
	Seq          int64    `json:"seq"`
	Hash         string   `json:"hash"`
	Wrongs       int      `json:"wrongs,omitempty"`
	Wrong        []string `json:"wrong,omitempty"`
}

func (h *history) seen(conversation string) seen {
	h.mu.Lock()
	defer h.mu.Unlock()
	return seen{conversation, h.seq, hex.EncodeToString(h.hash[:]), h.wrongs, h.wrong}
}

// record is what the hub's log holds of one conversation, with the hash after each event.
type record struct {
	conversation string
	events       []parley.Event
	hashes       []string // after event i+1
}

func (l *record) last() int64 { return int64(len(l.events)) }

// readLog reads a conversation from beginning to end by tail, and holds its hash to what the hub
// says of it.
func readLog(url, conversation string) (*record, error) {
	p, err := dial(url, "auditor", nil)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	l, h := &record{conversation: conversation}, newHistory(conversation)
	for {
		var page parley.TailResult
		if err := p.Call(methods.Tail, parley.TailParams{ConversationID: conversation, SinceSeq: h.last(), Limit: parley.MaxPage}, &page); err != nil {
			return nil, err
		}
		for _, e := range page.Events {
			h.add(e.Seq, e.Raw())
			l.events, l.hashes = append(l.events, e), append(l.hashes, h.seen("").Hash)
		}
		if h.last() >= page.LatestSeq {
			break
		}
	}
	if h.wrongs > 0 {
		return nil, fmt.Errorf("%s: the log itself has %v", conversation, h.wrong)
	}
	var snap parley.Snapshot
	if err := p.Call(methods.GetConversation, parley.GetConversationParams{ConversationID: conversation, SinceSeq: h.last()}, &snap); err != nil {
		return nil, err
	}
	if want := l.hashes[len(l.hashes)-1]; snap.LatestSeq == l.last() && snap.HeadHash != want {
		return nil, fmt.Errorf("%s: the hub says that its hash is %s, its events make it %s", conversation, snap.HeadHash,
			want)
	}
	return l, nil
}

// differs describes the first difference between the events of a reader and the log up to the
// reader's cursor, or returns "".
func (l *record) differs(s seen) string {
	switch {
	case s.Wrongs > 0:
		return fmt.Sprintf("%d events skipped or repeated: %v", s.Wrongs, s.Wrong)
	case s.Seq > l.last():
		return fmt.Sprintf("it has seq %d, the log ends at %d", s.Seq, l.last())
	case s.Seq > 0 && l.hashes[s.Seq-1] != s.Hash:
		return fmt.Sprintf("its %d events are not those of the log", s.Seq)
	}
	return ""
}
