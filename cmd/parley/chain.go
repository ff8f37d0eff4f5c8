package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// exportLine is a line of an export (protocol.md section 5). Event is the stored bytes.
type exportLine struct {
	ConversationID string          `json:"conversationId"`
	Seq            int64           `json:"seq"`
	Hash           string          `json:"hash"`
	Event          json.RawMessage `json:"event"`
}

// encode gives the one way in which the line is written.
func (l *exportLine) encode() []byte {
	id, _ := json.Marshal(l.ConversationID) // a string always encodes
	return fmt.Appendf(nil, `{"conversationId":%s,"seq":%d,"hash":"%s","event":%s}`+"\n", id, l.Seq, l.Hash, l.Event)
}

// chain is the hash chain of one conversation as far as it was followed.
type chain struct {
	id   string
	head journal.Head
}

func newChain(id string) *chain {
	return &chain{id: id, head: journal.Head{Hash: journal.Genesis(id)}}
}

// next adds an event and gives its line.
func (c *chain) next(event []byte, closes bool) exportLine {
	c.head = journal.Head{Seq: c.head.Seq + 1, Hash: c.head.Hash.Next(event), Final: closes}
	return exportLine{ConversationID: c.id, Seq: c.head.Seq, Hash: c.headHash(), Event: event}
}

func (c *chain) headHash() string { return hex.EncodeToString(c.head.Hash[:]) }

// exportReport is what a check of an export counted.
type exportReport struct {
	Events        int64          `json:"events"`
	Conversations []exportedHead `json:"conversations"`
}

// exportedHead is the end of a conversation in an export. Compare it with headHash of a snapshot to know that nothing was cut off.
type exportedHead struct {
	ConversationID string `json:"conversationId"`
	Seq            int64  `json:"seq"`
	HeadHash       string `json:"headHash"`
	Closed         bool   `json:"closed"`
}

// exportVerifier recomputes the chains of an export, line by line.
type exportVerifier struct {
	chains map[string]*chain
	order  []*chain
	events int64
}

// errExport says which line of an export is not what was written, and why.
var errExport = errors.New("the export is not what was written")

// verifyExport reads an export and checks every line of it. It names the first wrong one.
func verifyExport(r io.Reader) (exportReport, error) {
	v := &exportVerifier{chains: map[string]*chain{}}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return v.report(), nil
		}
		if err != nil && err != io.EOF {
			return exportReport{}, err
		}
		if err := v.check(line); err != nil {
			return exportReport{}, fmt.Errorf("%w: line %d: %w", errExport, n, err)
		}
	}
}

func (v *exportVerifier) check(line []byte) error {
	var l exportLine
	if err := json.Unmarshal(line, &l); err != nil {
		return fmt.Errorf("not a line of an export: %w", err)
	}
	if !bytes.Equal(l.encode(), line) {
		return fmt.Errorf("conversation %q, seq %d: not written as an export writes it", l.ConversationID, l.Seq)
	}
	c := v.chains[l.ConversationID]
	if c == nil {
		c = newChain(l.ConversationID)
		v.chains[l.ConversationID] = c
		v.order = append(v.order, c)
	}
	return v.follow(c, l)
}

func (v *exportVerifier) follow(c *chain, l exportLine) error {
	where := fmt.Sprintf("conversation %q, seq %d", l.ConversationID, l.Seq)
	if c.head.Final {
		return fmt.Errorf("%s: stands after the closing event", where)
	}
	if l.Seq != c.head.Seq+1 {
		return fmt.Errorf("%s: expected seq %d", where, c.head.Seq+1)
	}
	var e parley.Event
	if err := json.Unmarshal(l.Event, &e); err != nil {
		return fmt.Errorf("%s: not an event: %w", where, err)
	}
	if e.Seq != l.Seq {
		return fmt.Errorf("%s: the event says seq %d", where, e.Seq)
	}
	if want := c.next(l.Event, e.Closes()); want.Hash != l.Hash {
		return fmt.Errorf("%s: hash chain: the line says %.12s, its event gives %.12s", where, l.Hash, want.Hash)
	}
	v.events++
	return nil
}

func (v *exportVerifier) report() exportReport {
	r := exportReport{Events: v.events, Conversations: []exportedHead{}}
	for _, c := range v.order {
		r.Conversations = append(r.Conversations, exportedHead{c.id, c.head.Seq, c.headHash(), c.head.Final})
	}
	return r
}
