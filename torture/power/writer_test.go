package power

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
	world  *world
	id     string
	group  int
	season int // of its conversation,
	n      int // and which one of the season that is
	said   []*ledger.Said
	open   *ledger.Said // the last one, while it has no answer
	turns  map[string]int64

	found, conflicts, refused int // retries that have found their first, keys that were taken, and refusals of what came too late
}

func (w *writer) name() string { return w.id }

func (w *writer) step(c *caller) (done bool, err error) {
	m, _ := w.world.look()
	if w.open != nil {
		return false, w.send(c, w.open)
	}
	if m.over {
		return true, nil
	}
	if w.season != m.season {
		w.season, w.n = m.season, 0
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
	return false, w.send(c, w.open)
}

// compose makes the next message; turn is the one that it names, if any.
func (w *writer) compose(turn int64) *ledger.Said {
	key := fmt.Sprintf("%s-%d", w.id, len(w.said))
	payload, err := json.Marshal(parley.Message{Text: key + " <&> \u00e9 " + strings.Repeat(".", rand.IntN(400))})
	if err != nil {
		panic(err) // a text always encodes
	}
	m := &ledger.Said{Params: parley.SendMessageParams{
		ConversationID: conversationID(w.season, w.group, w.n), Payload: payload, Finality: parley.FinalityTurn, Turn: turn, ClientRequestID: key,
	}}
	w.said = append(w.said, m)
	return m
}

// begin notes a call that sends a message.
func (w *world) begin(by string, m *ledger.Said) *history.Call {
	m.Sent++
	return w.recorder.Begin(m.Op(by))
}

// send sends a message that has no answer yet.
func (w *writer) send(c *caller, m *ledger.Said) error {
	err := w.world.say(c, w.id, m)
	switch {
	case err == nil:
		w.open = nil
		w.turns[m.Params.ConversationID] = max(w.turns[m.Params.ConversationID], m.Turn)
	case errors.Is(err, parley.ErrConversationClosed):
		w.open = nil
		if w.season == w.world.season() && m.Params.ConversationID == conversationID(w.season, w.group, w.n) {
			w.n++ // what is said next is said elsewhere
		}
		if w.n == conversationsOf(w.group) {
			return fmt.Errorf("%s is closed, and nobody has closed it", m.Params.ConversationID)
		}
		return nil
	case m.Never:
		w.open = nil
	}
	return err
}

func (w *world) season() int {
	m, _ := w.look()
	return m.season
}

// say sends a message and notes what was answered. Its error is nil, hubproc.ErrGone, conversation_closed, internal, or what was not expected.
func (w *world) say(c *caller, by string, m *ledger.Said) error {
	var r parley.SendResult
	call := w.begin(by, m)
	err := c.Call(parley.MethodSendMessage, m.Params, &r)
	switch {
	case err == nil:
		call.Done(r.Seq)
		if r.Duplicate && m.Lost == 0 {
			return fmt.Errorf("%s was told to be a duplicate, and it was sent for the first time", m.Params.ClientRequestID)
		}
		if r.Duplicate && m.Lost == 1 && w.wasStopped(m.LostBy) {
			w.unsaid.Add(1)
		}
		m.Seq, m.Turn, m.By = r.Seq, r.Turn, c.life
		w.acked()
	case errors.Is(err, hubproc.ErrGone):
		m.Lost++
		m.LostBy = c.life
		if w.wasStopped(c.life) {
			w.cutOff.Add(1)
		}
	case errors.Is(err, parley.ErrOutcomeUnknown):
		m.Lost++
		return hubproc.ErrGone
	case errors.Is(err, parley.ErrConversationClosed):
		call.Closed()
		w.shut.Add(1)
		m.Never = true // were it there, it would have been found
	case errors.Is(err, parley.ErrUnavailable), errors.Is(err, parley.ErrInternal):
		call.Refused()
		m.Never = m.Lost == 0
		return away(err)
	}
	return err
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

// again sends an old message once more: it must find the first one, however old that is.
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
	case errors.Is(err, parley.ErrUnavailable), errors.Is(err, parley.ErrInternal):
		call.Refused()
	}
	return away(err)
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
	return away(err)
}

// late names a turn that has ended, and must be refused.
func (w *writer) late(c *caller) error {
	turn := w.turns[conversationID(w.season, w.group, w.n)]
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
		call.Closed()
		return nil
	case err == nil:
		return fmt.Errorf("%s was taken in turn %d, which had ended", m.Params.ClientRequestID, turn)
	case errors.Is(err, parley.ErrUnavailable), errors.Is(err, parley.ErrInternal):
		call.Refused()
	}
	return away(err)
}

// away gives hubproc.ErrGone for the answers of a hub that is about to end.
func away(err error) error {
	if errors.Is(err, parley.ErrUnavailable) || errors.Is(err, parley.ErrOutcomeUnknown) {
		return hubproc.ErrGone
	}
	return err
}
