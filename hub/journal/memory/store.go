package memory

import (
	"slices"

	"github.com/parleyhub/parley/hub/journal"
)

// store is the durable content.
type store struct {
	records       []journal.Record
	conversations map[string]*conversation
	labels        map[string][]journal.Listed // under "": all conversations
	blobs         map[journal.Hash][]byte
	bytes         int64
}

type conversation struct {
	head      journal.Head
	positions []journal.Position
	labels    map[string]bool
}

func newStore() *store {
	return &store{
		conversations: make(map[string]*conversation),
		labels:        make(map[string][]journal.Listed),
		blobs:         make(map[journal.Hash][]byte),
	}
}

func (s *store) append(records []journal.Record) {
	for _, r := range records {
		r.Data, r.Labels = slices.Clone(r.Data), slices.Clone(r.Labels)
		s.records = append(s.records, r)
		s.bytes += int64(len(r.Data))
		c := s.conversations[r.Conversation]
		if c == nil {
			c = &conversation{labels: make(map[string]bool)}
			s.conversations[r.Conversation] = c
			s.list("", r)
		}
		c.head = journal.Head{Seq: r.Seq, Hash: r.Hash, Final: r.Final}
		c.positions = append(c.positions, r.Position)
		for _, l := range r.Labels {
			if !c.labels[l] {
				c.labels[l] = true
				s.list(l, r)
			}
		}
	}
}

func (s *store) list(label string, r journal.Record) {
	s.labels[label] = append(s.labels[label], journal.Listed{Conversation: r.Conversation, Position: r.Position})
}

func (s *store) page(positions []journal.Position, limit, maxBytes int) []journal.Record {
	var page []journal.Record
	bytes := 0
	for _, p := range positions[:min(len(positions), max(limit, 1))] {
		r := s.records[p-1]
		if bytes += len(r.Data); len(page) > 0 && bytes > maxBytes {
			break
		}
		r.Data, r.Labels = slices.Clone(r.Data), slices.Clone(r.Labels)
		page = append(page, r)
	}
	return page
}

func (s *store) verify() (journal.Report, error) {
	var rep journal.Report
	heads := make(map[string]journal.Head)
	for _, r := range s.records {
		h, known := heads[r.Conversation]
		if !known {
			h.Hash = journal.Genesis(r.Conversation)
			rep.Conversations++
		}
		if h.Final || r.Seq != h.Seq+1 || r.Hash != h.Hash.Next(r.Data) {
			return rep, &journal.DamageError{Position: r.Position, Conversation: r.Conversation, Seq: r.Seq, What: "hash chain"}
		}
		heads[r.Conversation] = journal.Head{Seq: r.Seq, Hash: r.Hash, Final: r.Final}
		rep.Records++
		rep.Bytes += int64(len(r.Data))
	}
	return rep, nil
}
