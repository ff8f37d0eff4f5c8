package a2a

import (
	"github.com/parleyhub/parley"
)

// tape is a ledger and what the methods need besides of the log that it was made of.
type tape struct {
	ledger *ledger
	owner  string
	seen   int64            // the last seq that was looked at
	turn   int64            // the open turn, else the next
	bytes  int              // of what was taken
	said   map[string]int64 // where the owner's messages are, by their keys
}

func newTape(owner string, p *place) *tape {
	return &tape{ledger: newLedger(owner, p.room, p.conversation, p.context), owner: owner, turn: 1, said: map[string]int64{}}
}

// take folds the next event.
func (t *tape) take(e *parley.Event, floor bool) []update {
	updates := t.ledger.take(e, floor)
	t.seen = e.Seq
	t.bytes += len(e.Raw()) + 64
	switch e.Type {
	case parley.TypeSystem:
		if s, err := e.System(); err == nil && s.Kind == parley.KindTurnEnded {
			t.turn = s.Turn + 1
		}
	case parley.TypeMessage:
		t.turn = e.Turn
		if e.Finality.Final() {
			t.turn++
		}
	}
	if e.Type == parley.TypeMessage && e.From == t.owner && e.ClientRequestID != "" {
		t.said[e.ClientRequestID] = e.Seq
	}
	return updates
}
