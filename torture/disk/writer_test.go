//go:build linux

package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
)

// outcome is the result of an append for its caller.
type outcome int

// The outcomes.
const (
	unsent  outcome = iota
	acked           // it is in the log at seq
	refused         // it is not in the log and never will be
	unknown         // no one knows
)

// utterance is a message, or a file where it has one.
type utterance struct {
	key  string // the idempotency key of a message, the name of a file
	text string
	file []byte

	outcome outcome
	seq     int64
	err     error // of a refusal, or of one that is unknown
}

// writer makes its appends in one conversation, one after another.
type writer struct {
	id, conversation string
	appends          []*utterance
}

// newWriter plans n appends.
func newWriter(id, conversation string, n int) *writer {
	w := &writer{id: id, conversation: conversation}
	for i := range n {
		w.appends = append(w.appends, newUtterance(id, i))
	}
	return w
}

// newUtterance returns the nth append of a writer: every tenth is a file, and every eighth is a
// message of several pages.
func newUtterance(writer string, n int) *utterance {
	a := &utterance{key: fmt.Sprintf("%s-%d", writer, n)}
	switch {
	case n%10 == 5:
		a.file = []byte(strings.Repeat(a.key+" ", 500))
	case n%8 == 4:
		a.text = a.key + strings.Repeat(".", 40<<10)
	default:
		a.text = a.key + strings.Repeat(".", 200)
	}
	return a
}

// name is what the append is found by in the log.
func (a *utterance) name() string {
	if a.file == nil {
		return a.key
	}
	sum := sha256.Sum256(a.file)
	return hex.EncodeToString(sum[:])
}

// send calls append and returns the seq, and whether the event was already in the log.
func (w *writer) send(c *caller, a *utterance) (seq int64, duplicate bool, err error) {
	if a.file != nil {
		var r parley.PutAttachmentResult
		err = c.Call(methods.PutAttachment, parley.PutAttachmentParams{ConversationID: w.conversation, Data: a.file, Name: a.key}, &r)
		return r.Seq, r.Duplicate, err
	}
	payload, err := json.Marshal(parley.Message{Text: a.text})
	if err != nil {
		return 0, false, err
	}
	var r parley.SendResult
	err = c.Call(methods.SendMessage, parley.SendMessageParams{
		ConversationID: w.conversation, Payload: payload, Finality: parley.FinalityTurn, ClientRequestID: a.key,
	}, &r)
	return r.Seq, r.Duplicate, err
}

// do appends and records the outcome.
func (w *writer) do(c *caller, a *utterance) outcome {
	a.seq, _, a.err = w.send(c, a)
	switch {
	case a.err == nil:
		a.outcome = acked
	case errors.Is(a.err, hubproc.ErrGone), errors.Is(a.err, parley.ErrOutcomeUnknown):
		a.outcome = unknown
	default:
		a.outcome = refused
	}
	return a.outcome
}

// work appends until next returns false or the connection is lost. failed notifies all writers of
// the first unknown outcome. From then on, the hub must acknowledge no append that was sent later.
func (w *writer) work(h *hubproc.Hub, failed *atomic.Bool, next func(do func()) bool) error {
	c, err := dial(h, w.id)
	if err != nil {
		if errors.Is(err, parley.ErrUnavailable) || errors.Is(err, hubproc.ErrGone) {
			return nil // ended before this writer came
		}
		return err
	}
	defer c.Close()
	for _, a := range w.appends {
		var late bool
		if !next(func() { late = failed.Load(); w.do(c, a) }) {
			return nil
		}
		if late && a.outcome == acked {
			return fmt.Errorf("%s was acknowledged after an outcome was unknown", a.key)
		}
		if a.outcome == unknown {
			failed.Store(true)
		}
		if errors.Is(a.err, hubproc.ErrGone) {
			return nil
		}
	}
	return nil
}

// always lets every append be made.
func always(do func()) bool {
	do()
	return true
}
