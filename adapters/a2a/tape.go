package a2a

import (
	"github.com/parleyhub/parley"
)

// foldState is a taskFold with the other data of the log that the methods need.
type foldState struct {
	tasks    *taskFold
	owner    string
	seen     int64            // the last folded seq
	turn     int64            // the current turn, otherwise the next one
	bytes    int              // size of the folded events
	postedAt map[string]int64 // seqs of the messages of the owner, by key
}

func newFoldState(owner string, p *conversationInfo) *foldState {
	return &foldState{tasks: newTaskFold(owner, p.room, p.conversation, p.context), owner: owner, turn: 1,
		postedAt: map[string]int64{}}
}

// fold folds the next event.
func (t *foldState) fold(e *parley.Event, floor bool) []update {
	updates := t.tasks.fold(e, floor)
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
		t.postedAt[e.ClientRequestID] = e.Seq
	}
	return updates
}
