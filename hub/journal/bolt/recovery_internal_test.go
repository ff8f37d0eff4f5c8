package bolt

// White-box: from outside a log cannot be given with two kinds of damage in one piece of its end.

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

// Of several records that do not follow the one before, the first is named.
func TestFollowsNamesTheFirst(t *testing.T) {
	t.Parallel()
	const n = 1000
	for _, c := range []struct {
		chain, order []int // records whose hash and whose seq are wrong
		want         journal.Position
		what         string
	}{
		{},
		{chain: []int{0}, want: 1, what: "hash chain"},
		{chain: []int{n - 1}, want: n, what: "hash chain"},
		{chain: []int{100, 500, 900}, want: 101, what: "hash chain"},
		{chain: []int{900}, order: []int{500}, want: 501, what: "seq after 71"},
		{chain: []int{499}, order: []int{500}, want: 500, what: "hash chain"},
		{chain: []int{500}, order: []int{500}, want: 501, what: "seq after 71"},
		{order: []int{0}, want: 1, what: "seq after 0"},
	} {
		records := chain(n, 7)
		for _, i := range c.chain {
			records[i].Data = []byte("another")
		}
		for _, i := range c.order {
			records[i].Seq += 2
		}
		j, err := Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(follow(j.index, records), j.Close())
		var damage *journal.DamageError
		switch {
		case c.what == "" && err != nil:
			t.Errorf("whole records: %v", err)
		case c.what != "" && (!errors.As(err, &damage) || damage.Position != c.want || damage.What != c.what):
			t.Errorf("hash %v, seq %v: %v, want %s at %d", c.chain, c.order, err, c.what, c.want)
		}
	}
}

// follow checks records as catchUp does, some at a time.
func follow(x *index, records []journal.Record) error {
	c := newChains()
	var err error
	for len(records) > 0 && err == nil {
		page := records[:min(len(records), 90)]
		var heads []journal.Head
		heads, err = x.follows(page)
		c.put(block{heads, page})
		if err == nil {
			x.publish(page, nil, tail{position: page[len(page)-1].Position})
		}
		records = records[len(page):]
	}
	return cmp.Or(c.close(), err)
}

// chain returns records, of some conversations in turns, as they are in a log.
func chain(n, conversations int) []journal.Record {
	heads := make(map[string]journal.Head)
	var records []journal.Record
	for i := range n {
		id := fmt.Sprint("c", i%conversations)
		h := heads[id]
		if h.Seq == 0 {
			h.Hash = journal.Genesis(id)
		}
		data := fmt.Append(nil, "event ", i)
		h = journal.Head{Seq: h.Seq + 1, Hash: h.Hash.Next(data)}
		heads[id] = h
		records = append(records, journal.Record{Position: journal.Position(i + 1), Conversation: id, Seq: h.Seq, Hash: h.Hash, Data: data})
	}
	return records
}
