package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/torture/hubproc"
	"github.com/parleyhub/parley/torture/ledger"
)

// writer says numbered messages in the conversations of a group, one after another, each under a key of its own.
type writer struct {
	world *world
	id    string
	group int
	n     int // which conversation of the group
	said  []*ledger.Said
	open  *ledger.Said     // the last one, while it has no answer
	turns map[string]int64 // the last turn of its own

	found, conflicts, refused int // retries that have found their first, keys that were taken, and refusals of what came too late
}

func (w *writer) name() string { return w.id }

func (w *writer) step(c *caller) (done bool, err error) {
	if w.open != nil {
		return false, w.send(c)
	}
	if w.world.look() >= over {
		return true, nil
	}
	if err := w.world.create(c, w.group, w.n); err != nil {
		return false, err
	}
	switch rand.IntN(24) {
	case 0:
		return false, w.again(c)
	case 1:
		return false, w.other(c)
	case 2:
		return false, w.late(c)
	}
	w.open = w.compose(0)
	return false, w.send(c)
}

// compose makes the next message; turn is the one that it names, if any.
func (w *writer) compose(turn int64) *ledger.Said {
	key := fmt.Sprintf("%s-%d", w.id, len(w.said))
	payload, err := json.Marshal(parley.Message{Text: key + " <&> \u00e9 " + strings.Repeat(".", rand.IntN(400))})
	if err != nil {
		panic(err) // a text always encodes
	}
	m := &ledger.Said{Params: parley.SendMessageParams{
		ConversationID: conversationID(w.group, w.n), Payload: payload, Finality: parley.FinalityTurn, Turn: turn, ClientRequestID: key,
	}}
	w.said = append(w.said, m)
	return m
}

// send sends the message that has no answer yet.
func (w *writer) send(c *caller) error {
	m := w.open
	err := w.world.say(c, w.id, m)
	switch {
	case err == nil:
		w.open = nil
		w.turns[m.Params.ConversationID] = max(w.turns[m.Params.ConversationID], m.Turn)
	case errors.Is(err, parley.ErrConversationClosed):
		w.open = nil
		if m.Params.ConversationID == conversationID(w.group, w.n) {
			w.n++
		}
		return nil
	case m.Never:
		w.open = nil
	}
	return err
}

// begin notes a call that sends a message.
func (w *world) begin(by string, m *ledger.Said) *history.Call {
	m.Sent++
	return w.recorder.Begin(m.Op(by))
}

// givesUp is how often a message is given up that was refused because the servers are away: it must never be there.
const givesUp = 4

// turnedAway reports whether a hub has refused a call because of the servers or of itself: nothing of it is written.
func turnedAway(err error) bool {
	return errors.Is(err, parley.ErrUnavailable) || errors.Is(err, parley.ErrStorageFull) || errors.Is(err, parley.ErrInternal)
}

// say sends a message and notes what was answered. Its error is nil, hubproc.ErrGone, conversation_closed, or what was not expected.
func (w *world) say(c *caller, by string, m *ledger.Said) error {
	var r parley.SendResult
	id, key := m.Params.ConversationID, m.Params.ClientRequestID
	call := w.begin(by, m)
	err := c.Call(parley.MethodSendMessage, m.Params, &r)
	switch {
	case err == nil:
		w.tell(id, r.Seq)
		call.Done(r.Seq)
		if r.Duplicate && m.Lost == 0 {
			return fmt.Errorf("%s of %s was told to be a duplicate, and whenever it was sent before it was refused (%d times)", key, id, m.Sent-1)
		}
		m.Seq, m.Turn, m.By = r.Seq, r.Turn, c.hub
		w.acks.Add(1)
	case errors.Is(err, hubproc.ErrGone), errors.Is(err, parley.ErrOutcomeUnknown):
		m.Lost++
		return hubproc.ErrGone
	case errors.Is(err, parley.ErrConversationClosed):
		m.Never = true // were it there, it would have been found
		return w.closed(c, call, id, err)
	case turnedAway(err):
		call.Refused()
		m.Never = m.Lost == 0 && rand.IntN(givesUp) == 0
		return c.away(err)
	}
	return err
}

// closed notes that a call was refused because of a close. Where that stands the hub is asked first, so that others can show it: else they read what was true before.
func (w *world) closed(c *caller, call *history.Call, id string, refusal error) error {
	w.shut.Add(1)
	var snap parley.Snapshot
	if err := c.Call(parley.MethodGetConversation, parley.GetConversationParams{ConversationID: id}, &snap); err != nil {
		if err := c.away(err); !errors.Is(err, hubproc.ErrGone) {
			return err
		}
		return refusal
	}
	if snap.Status != parley.StatusClosed {
		return fmt.Errorf("%s refuses because of a close, and says then that it is %s", id, snap.Status)
	}
	w.tell(id, snap.LatestSeq)
	call.Closed()
	return refusal
}

// acknowledged chooses one of the messages that were.
func (w *writer) acknowledged() *ledger.Said {
	for range 8 {
		if len(w.said) == 0 {
			return nil
		}
		if m := w.said[rand.IntN(len(w.said))]; m.Seq > 0 {
			return m
		}
	}
	return nil
}

// again sends an old message once more: it must find the first one, however old that is, and at whichever hub.
func (w *writer) again(c *caller) error {
	m := w.acknowledged()
	if m == nil {
		return nil
	}
	var r parley.SendResult
	call := w.world.begin(w.id, m)
	err := c.Call(parley.MethodSendMessage, m.Params, &r)
	switch {
	case err == nil && (!r.Duplicate || r.Seq != m.Seq || r.Turn != m.Turn):
		return fmt.Errorf("%s has seq %d, turn %d; said again it was answered %+v", m.Params.ClientRequestID, m.Seq, m.Turn, r)
	case err == nil:
		call.Done(r.Seq)
		w.found++
		return nil
	case turnedAway(err):
		call.Refused()
	}
	return c.away(err)
}

// other sends something else under an old key, which must be refused. It is no part of the history: under its key stands another message.
func (w *writer) other(c *caller) error {
	m := w.acknowledged()
	if m == nil {
		return nil
	}
	params := m.Params
	params.Payload = json.RawMessage(`{"text":"something else"}`)
	err := c.Call(parley.MethodSendMessage, params, &parley.SendResult{})
	switch {
	case errors.Is(err, parley.ErrIdempotencyConflict):
		w.conflicts++
		return nil
	case err == nil:
		return fmt.Errorf("%s has seq %d; something else under its key was taken", m.Params.ClientRequestID, m.Seq)
	}
	return c.away(err)
}

// late names a turn that has ended, and must be refused.
func (w *writer) late(c *caller) error {
	id := conversationID(w.group, w.n)
	turn := w.turns[id]
	if turn == 0 {
		return nil
	}
	m := w.compose(turn)
	m.Never = true // whatever is answered: the turn has ended
	call := w.world.begin(w.id, m)
	err := c.Call(parley.MethodSendMessage, m.Params, &parley.SendResult{})
	switch {
	case errors.Is(err, parley.ErrTurnClosed):
		call.Refused()
		w.refused++
		return nil
	case errors.Is(err, parley.ErrConversationClosed):
		if err := w.world.closed(c, call, id, nil); err != nil {
			return err
		}
		return nil
	case err == nil:
		return fmt.Errorf("%s was taken in turn %d, which had ended", m.Params.ClientRequestID, turn)
	case turnedAway(err):
		call.Refused()
	}
	return c.away(err)
}
