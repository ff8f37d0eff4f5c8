package cluster

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/torture/ledger"
)

// closer closes the conversations of a group, one after another, while others speak in them, and another one tries the same.
type closer struct {
	world *world
	id    string
	group int
	n     int          // which one is closed next
	open  *ledger.Said // the closing message, while it has no answer
	said  []*ledger.Said
}

func newCloser(w *world, group, i int) *closer {
	return &closer{world: w, id: closerID(group, i), group: group}
}

func (e *closer) name() string { return e.id }

func (e *closer) step(c *caller) (done bool, err error) {
	id := conversationID(e.group, e.n)
	changed := e.world.wasChanged() // taken before what it tells of is looked at
	last := e.world.look() >= closing
	length := e.world.knows(id)
	switch {
	case e.open != nil:
		return false, e.send(c)
	case last && length == 0: // all that there are are closed
		return true, nil
	case length == 0:
		<-changed
		return false, nil
	case last, length >= lengthOf(e.group, e.n):
		key := fmt.Sprintf("%s-%d", e.id, len(e.said))
		e.open = &ledger.Said{Params: parley.SendMessageParams{
			ConversationID: id, Payload: []byte(`{"text":"the end"}`), Finality: parley.FinalityConversation, ClientRequestID: key,
		}}
		e.said = append(e.said, e.open)
		return false, e.send(c)
	}
	return false, c.away(e.world.wait(c, e.id, id))
}

// lengthOf is how long a conversation is when it is closed: both closers of a group find the same.
func lengthOf(group, n int) int64 { return leastLength + int64(23*group+41*n)%leastLength }

func (e *closer) send(c *caller) error {
	err := e.world.say(c, e.id, e.open)
	switch {
	case err == nil:
	case errors.Is(err, parley.ErrConversationClosed): // the other one was first
	case e.open.Never: // another message under another key
		e.open = nil
		return err
	default:
		return err
	}
	e.open = nil
	e.n++
	return nil
}
