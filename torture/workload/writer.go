package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/torture/ledger"
)

// givesUp: one of so many refused messages is not sent again. It must never be in the log.
const givesUp = 4

// writer sends numbered messages to the conversations of a group, one after another, each under its
// own key.
type writer struct {
	world *World
	id    string
	group int
	n     int // the conversation of the group
	said  []*ledger.Said
	open  *ledger.Said     // the last message, while it has no answer
	turns map[string]int64 // the last turn of the writer, by conversation

	// Repetitions that found their first message, refused uses of a taken key, and refused messages
	// to a turn that was over.
	found, conflicts, refused int
}

func (w *writer) Name() string { return w.id }

func (w *writer) Step(c *Caller) (done bool, err error) {
	if w.open != nil {
		return false, w.send(c)
	}
	if w.world.Stage() >= Over {
		return true, nil
	}
	if err := w.world.create(c, w.group, w.n); err != nil {
		return false, err
	}
	switch rand.IntN(24) {
	case 0:
		return false, w.repeat(c)
	case 1:
		return false, w.reuseKey(c)
	case 2:
		return false, w.sendLate(c)
	}
	w.open = w.compose(0)
	return false, w.send(c)
}

// compose returns the next message, for a turn if that is not 0.
func (w *writer) compose(turn int64) *ledger.Said {
	key := fmt.Sprintf("%s-%d", w.id, len(w.said))
	payload, err := json.Marshal(parley.Message{Text: key + " <&> \u00e9 " + strings.Repeat(".", rand.IntN(400))})
	if err != nil {
		panic(err) // a text always encodes
	}
	m := &ledger.Said{Params: parley.SendMessageParams{
		ConversationID: ConversationID(w.group, w.n), Payload: payload, Finality: parley.FinalityTurn, Turn: turn,
		ClientRequestID: key,
	}}
	w.said = append(w.said, m)
	return m
}

// send sends the message that has no answer yet.
func (w *writer) send(c *Caller) error {
	m := w.open
	err := w.world.send(c, w.id, m)
	switch {
	case err == nil:
		w.open = nil
		w.turns[m.Params.ConversationID] = max(w.turns[m.Params.ConversationID], m.Turn)
	case errors.Is(err, parley.ErrConversationClosed):
		w.open = nil
		w.n++
		return nil
	case m.Never:
		w.open = nil
	}
	return err
}

// begin records a call that sends a message.
func (w *World) begin(by string, m *ledger.Said) *history.Call {
	m.Sent++
	return w.recorder.Begin(m.Op(by))
}

// isRefusal reports whether a hub refused a call because of its log or of itself, without writing
// any of it.
func isRefusal(err error) bool {
	return errors.Is(err, parley.ErrUnavailable) || errors.Is(err, parley.ErrStorageFull) ||
		errors.Is(err, parley.ErrInternal)
}

// send sends a message and records the answer. It returns hubproc.ErrGone, conversation_closed, or
// an unexpected error.
func (w *World) send(c *Caller, by string, m *ledger.Said) error {
	var r parley.SendResult
	id, key := m.Params.ConversationID, m.Params.ClientRequestID
	call := w.begin(by, m)
	err := c.Call(methods.SendMessage, m.Params, &r)
	switch {
	case err == nil:
		w.Note(id, r.Seq)
		call.Done(r.Seq)
		if r.Duplicate && m.Lost == 0 {
			return fmt.Errorf("%s of %s was acknowledged as a duplicate, but its %d earlier attempts were refused",
				key, id, m.Sent-1)
		}
		m.Seq, m.Turn, m.By, m.Found = r.Seq, r.Turn, c.Hub, r.Duplicate
		w.acks.Add(1)
	case errors.Is(err, hubproc.ErrGone):
		m.Lost++
		m.LostBy = c.Hub
	case errors.Is(err, parley.ErrOutcomeUnknown):
		m.Lost++
		return hubproc.ErrGone
	case errors.Is(err, parley.ErrConversationClosed):
		m.Never = true // a message in the log would be a duplicate
		return w.noteClosed(c, call, id, err)
	case isRefusal(err):
		call.Refused()
		m.Never = m.Lost == 0 && rand.IntN(givesUp) == 0
		return c.Away(err)
	}
	return err
}

// noteClosed records that a call was refused because the conversation is closed. With several hubs
// it first asks for the seq of the close, because only a reader that names it must see it.
func (w *World) noteClosed(c *Caller, call *history.Call, id string, refusal error) error {
	w.shut.Add(1)
	if w.OneHub {
		call.Closed()
		return refusal
	}
	var snap parley.Snapshot
	if err := c.Call(methods.GetConversation, parley.GetConversationParams{ConversationID: id}, &snap); err != nil {
		if err := c.Away(err); !errors.Is(err, hubproc.ErrGone) {
			return err
		}
		return refusal
	}
	if snap.Status != parley.StatusClosed {
		return fmt.Errorf("%s refuses messages because it is closed, but its status is %s", id, snap.Status)
	}
	w.Note(id, snap.LatestSeq)
	call.Closed()
	return refusal
}

// acknowledged returns one of the acknowledged messages, or nil.
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

// repeat sends an old message again. The hub must find the first one, whatever its age.
func (w *writer) repeat(c *Caller) error {
	m := w.acknowledged()
	if m == nil {
		return nil
	}
	var r parley.SendResult
	call := w.world.begin(w.id, m)
	err := c.Call(methods.SendMessage, m.Params, &r)
	switch {
	case err == nil && (!r.Duplicate || r.Seq != m.Seq || r.Turn != m.Turn):
		return fmt.Errorf("%s has seq %d, turn %d; the answer to its repetition is %+v",
			m.Params.ClientRequestID, m.Seq, m.Turn, r)
	case err == nil:
		call.Done(r.Seq)
		w.found++
		return nil
	case isRefusal(err):
		call.Refused()
	}
	return c.Away(err)
}

// reuseKey sends another message under an old key, which must be refused. The history does not have
// it, because the key belongs to another message there.
func (w *writer) reuseKey(c *Caller) error {
	m := w.acknowledged()
	if m == nil {
		return nil
	}
	params := m.Params
	params.Payload = json.RawMessage(`{"text":"something else"}`)
	err := c.Call(methods.SendMessage, params, &parley.SendResult{})
	switch {
	case errors.Is(err, parley.ErrIdempotencyConflict):
		w.conflicts++
		return nil
	case err == nil:
		return fmt.Errorf("%s has seq %d, but another message under its key was accepted", m.Params.ClientRequestID, m.Seq)
	}
	return c.Away(err)
}

// sendLate sends a message to a turn that is over, which must be refused.
func (w *writer) sendLate(c *Caller) error {
	id := ConversationID(w.group, w.n)
	turn := w.turns[id]
	if turn == 0 {
		return nil
	}
	m := w.compose(turn)
	m.Never = true // whatever the answer is: the turn is over
	call := w.world.begin(w.id, m)
	err := c.Call(methods.SendMessage, m.Params, &parley.SendResult{})
	switch {
	case errors.Is(err, parley.ErrTurnClosed):
		call.Refused()
		w.refused++
		return nil
	case errors.Is(err, parley.ErrConversationClosed):
		return w.world.noteClosed(c, call, id, nil)
	case err == nil:
		return fmt.Errorf("%s was accepted in turn %d, which was over", m.Params.ClientRequestID, turn)
	case isRefusal(err):
		call.Refused()
	}
	return c.Away(err)
}
