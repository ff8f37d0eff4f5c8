package workload

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/torture/ledger"
)

// closer closes the conversations of a group, one after another, while others write to them and
// another closer tries the same.
type closer struct {
	world *World
	id    string
	group int
	n     int          // the conversation that it closes next
	open  *ledger.Said // the closing message, while it has no answer
	said  []*ledger.Said
}

func (e *closer) Name() string { return e.id }

func (e *closer) Step(c *Caller) (done bool, err error) {
	id := ConversationID(e.group, e.n)
	changed := e.world.Changed()
	last := e.world.Stage() >= Closing
	length := e.world.Known(id)
	switch {
	case e.open != nil:
		return false, e.send(c)
	case last && length == 0: // all conversations are closed
		return true, nil
	case length == 0:
		<-changed
		return false, nil
	case last, length >= e.length():
		e.open = &ledger.Said{Params: parley.SendMessageParams{
			ConversationID: id, Payload: []byte(`{"text":"the end"}`), Finality: parley.FinalityConversation,
			ClientRequestID: fmt.Sprintf("%s-%d", e.id, len(e.said)),
		}}
		e.said = append(e.said, e.open)
		return false, e.send(c)
	}
	return false, c.Away(e.world.Wait(c, e.id, id, length))
}

// length is the length at which all closers of the group close the conversation.
func (e *closer) length() int64 {
	least := e.world.Length(e.group)
	return least + int64(23*e.group+41*e.n)%least
}

func (e *closer) send(c *Caller) error {
	err := e.world.send(c, e.id, e.open)
	switch {
	case err == nil, errors.Is(err, parley.ErrConversationClosed): // by this one, or by another closer
		e.open = nil
		e.n++
		return nil
	case e.open.Never: // refused; the next attempt has another key
		e.open = nil
	}
	return err
}
