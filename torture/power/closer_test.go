package power

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/torture/ledger"
)

// closer closes conversations of a group while others speak in them, and another one tries the same.
type closer struct {
	world  *world
	id     string
	group  int
	season int
	n      int          // which one is closed next
	after  int64        // how long it is by then
	length int64        // how long it was
	open   *ledger.Said // the closing message, while it has no answer
	said   []*ledger.Said
}

func (e *closer) name() string { return e.id }

func (e *closer) step(c *caller) (done bool, err error) {
	m, changed := e.world.look()
	switch {
	case e.open != nil:
		return false, e.send(c)
	case m.over:
		return true, nil
	case e.season != m.season:
		e.season, e.n = m.season, 0
		e.next()
	case e.n == closes: // until there is more to close
		<-changed
		return false, nil
	}
	if e.length, err = e.world.wait(c, e.id, conversationID(e.season, e.group, e.n), min(e.length, e.after)); err != nil {
		return false, away(err)
	}
	if e.length < e.after {
		return false, nil
	}
	key := fmt.Sprintf("%s-%d", e.id, len(e.said))
	e.open = &ledger.Said{Params: parley.SendMessageParams{
		ConversationID: conversationID(e.season, e.group, e.n), Payload: []byte(`{"text":"the end"}`), Finality: parley.FinalityConversation, ClientRequestID: key,
	}}
	e.said = append(e.said, e.open)
	return false, e.send(c)
}

// next makes ready for the next conversation. Both closers of a group find the same length.
func (e *closer) next() { e.after, e.length = 20+int64(37*e.season+23*e.group+41*e.n)%100, 0 }

func (e *closer) send(c *caller) error {
	err := e.world.say(c, e.id, e.open)
	switch {
	case err == nil:
	case errors.Is(err, parley.ErrConversationClosed): // the other one was first
	case e.open.Never: // refused by a hub that stops: another message under another key
		e.open = nil
		return err
	default:
		return err
	}
	e.open = nil
	e.n++
	e.next()
	return nil
}
