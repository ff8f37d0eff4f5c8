package fold_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// append adds a fact and numbers and dates it.
func (m *model) append(a *answer, c *fold.Command, f fact) {
	f.at = m.now(c)
	f.seq = int64(len(m.log)) + 1
	if f.counts() {
		f.size = encodedSize(f)
	}
	if len(a.add) == 0 {
		a.seq, a.turn = f.seq, f.turn
	}
	m.log = append(m.log, f)
	a.add = append(a.add, f)
}

// encodedSize is that of the root package's encoder, which is another one than fold's.
func encodedSize(f fact) int {
	e := parley.Event{
		Seq: f.seq, Turn: f.turn, Type: f.typ, From: f.from, At: parley.Timestamp(f.at), Finality: f.finality, Outcome: f.outcome,
		Payload: json.RawMessage(f.payload), ClientRequestID: f.key,
	}
	b, err := e.Encode()
	if err != nil {
		panic(err)
	}
	return len(b)
}

func (m *model) hubClose(a *answer, c *fold.Command, o parley.Outcome) {
	m.append(a, c, fact{
		turn: m.turn(), typ: parley.TypeMessage, from: parley.HubID, finality: parley.FinalityConversation, outcome: &o,
	})
}

// draft is the caller's event.
func (m *model) draft(c *fold.Command) fact {
	switch c.Verb {
	case fold.Message:
		return fact{
			turn: m.turn(), typ: parley.TypeMessage, from: c.From, finality: c.Finality, outcome: c.Outcome,
			payload: string(c.Payload), key: c.Key,
		}
	case fold.Trace:
		return fact{turn: m.turn(), typ: parley.TypeTrace, from: c.From, payload: string(c.Payload), key: c.Key}
	case fold.AddAttachment:
		return fact{
			typ: parley.TypeSystem, kind: parley.KindAttachmentAdded, from: c.From, file: c.Attachment.SHA256, fileSize: c.Attachment.Size,
			payload: fmt.Sprintf(`{"kind":"attachment_added","sha256":%q,"size":%d,"name":%q}`, c.Attachment.SHA256, c.Attachment.Size, c.Attachment.Name),
		}
	}
	payload := `{"kind":"note","schema":"` + c.Note.Schema + `"`
	for i, tag := range c.Note.Tags {
		if i == 0 {
			payload += `,"tags":[`
		} else {
			payload += `,`
		}
		payload += `"` + tag + `"`
	}
	if len(c.Note.Tags) > 0 {
		payload += `]`
	}
	payload += `,"data":` + string(c.Note.Data) + `}`
	return fact{typ: parley.TypeSystem, kind: parley.KindNote, from: c.From, payload: payload, key: c.Key}
}

func sameRequest(a, b fact) bool {
	outcome := func(o *parley.Outcome) parley.Outcome {
		if o == nil {
			return parley.Outcome{}
		}
		return *o
	}
	return a.typ == b.typ && a.payload == b.payload && a.finality == b.finality && outcome(a.outcome) == outcome(b.outcome)
}

// known answers from section 11.
func (m *model) known(c *fold.Command) (answer, bool) {
	if c.Key == "" {
		return answer{}, false
	}
	if c.Verb != fold.Message && c.Verb != fold.Trace && c.Verb != fold.Note {
		return answer{}, false
	}
	for _, f := range m.log[1:] {
		if f.from != c.From || f.key != c.Key {
			continue
		}
		if !sameRequest(f, m.draft(c)) {
			return answer{err: parley.ErrIdempotencyConflict}, true
		}
		return answer{seq: f.seq, turn: f.turn, duplicate: true}, true
	}
	return answer{}, false
}

// do answers a command and moves on.
func (m *model) do(c fold.Command) answer {
	if c.Verb == fold.Create {
		return m.create(&c)
	}
	if a, ok := m.known(&c); ok {
		return a
	}
	if a, ok := m.attached(&c); ok {
		return a
	}
	var a answer
	if m.closed() {
		return m.refuseClosed(a, &c)
	}
	if due, reason := m.due(); due > 0 && m.now(&c) >= due {
		m.hubClose(&a, &c, parley.Outcome{Status: parley.OutcomeCanceled, Reason: reason})
		return m.refuseClosed(a, &c)
	}
	switch c.Verb {
	case fold.Message, fold.Trace, fold.Delta:
		if a.err = m.refusal(&c); a.err != nil {
			return a
		}
		if c.Verb == fold.Delta {
			a.turn = c.Turn
			return a
		}
		m.speak(&a, &c)
	case fold.Note:
		if m.seat(c.From) == nil {
			a.err = parley.ErrForbidden
			return a
		}
		m.speak(&a, &c)
	case fold.AddAttachment, fold.OfferAttachment:
		if a.err = m.attachRefusal(&c); a.err == nil && c.Verb == fold.AddAttachment {
			m.speak(&a, &c)
		}
	case fold.AddParticipant:
		m.addParticipant(&a, &c)
	case fold.Close:
		m.close(&a, &c)
	case fold.StartChild, fold.EndChild, fold.Callback:
		m.children(&a, &c)
	}
	return a
}

func (m *model) refuseClosed(a answer, c *fold.Command) answer {
	if c.Verb != fold.Tick && c.Verb != fold.EndChild && c.Verb != fold.Callback {
		a.err = parley.ErrConversationClosed
	}
	return a
}

// refusal is the order of section 3, after the close.
func (m *model) refusal(c *fold.Command) error {
	switch {
	case m.seat(c.From) == nil:
		return parley.ErrForbidden
	case c.Turn > 0 && c.Turn < m.turn():
		return parley.ErrTurnClosed
	case !m.mayTakeFloor(c.From):
		return parley.ErrNotYourTurn
	case c.Turn > m.turn():
		return parley.ErrTurnConflict
	case c.AfterSeq != nil && *c.AfterSeq > int64(len(m.log)):
		return parley.ErrCursorAhead
	}
	for _, f := range m.log {
		if c.AfterSeq != nil && f.speech() && f.seq > *c.AfterSeq && f.from != c.From && f.from != parley.HubID {
			return parley.ErrTurnConflict
		}
	}
	for _, h := range c.Refers {
		if m.file(h.String()) == nil {
			return parley.ErrValidationFailed
		}
	}
	return nil
}

// file is the fact that added one.
func (m *model) file(hash string) *fact {
	for i, f := range m.log {
		if f.file == hash {
			return &m.log[i]
		}
	}
	return nil
}

// attached answers for a file that was added, whatever else holds.
func (m *model) attached(c *fold.Command) (answer, bool) {
	if c.Verb != fold.AddAttachment && c.Verb != fold.OfferAttachment || m.seat(c.From) == nil {
		return answer{}, false
	}
	if c.Attachment.SHA256 == "" { // it may be one that is there: by its size, where that is known
		ok := slices.ContainsFunc(m.log, func(f fact) bool {
			return f.file != "" && (c.Attachment.Size == 0 || c.Attachment.Size == f.fileSize)
		})
		return answer{}, ok
	}
	if f := m.file(c.Attachment.SHA256); f != nil {
		return answer{seq: f.seq, duplicate: true}, true
	}
	return answer{}, false
}

func (m *model) attachRefusal(c *fold.Command) error {
	switch {
	case m.seat(c.From) == nil:
		return parley.ErrForbidden
	case c.Attachment.Size > m.limits().MaxBytes:
		return parley.ErrTooLarge
	}
	return nil
}

func (m *model) speak(a *answer, c *fold.Command) {
	m.append(a, c, m.draft(c))
	if !m.closed() {
		m.closeAtLimit(a, c)
	}
}

func (m *model) closeAtLimit(a *answer, c *fold.Command) {
	turns, events, bytes := m.counts()
	l := m.limits()
	reason := ""
	switch {
	case l.MaxTurns > 0 && turns >= l.MaxTurns:
		reason = "max_turns"
	case events >= l.MaxEvents:
		reason = "max_events"
	case bytes >= l.MaxBytes:
		reason = "max_bytes"
	default:
		return
	}
	m.hubClose(a, c, parley.Outcome{Status: parley.OutcomeCanceled, Reason: reason})
}

func (m *model) addParticipant(a *answer, c *fold.Command) {
	p := *c.Participant
	if !c.Admin && c.From != m.by {
		a.err = parley.ErrForbidden
		return
	}
	if there := m.seat(p.ID); there != nil {
		if there.Kind != p.Kind || there.Role != p.Role || m.privateOf(p.ID) != p.Private {
			a.err = parley.ErrAlreadyExists
			return
		}
		a.duplicate, a.seq = true, 1
		for _, f := range m.log {
			if f.participant.ID == p.ID {
				a.seq = f.seq
			}
		}
		return
	}
	private := p.Private
	p.Private = ""
	m.append(a, c, fact{typ: parley.TypeSystem, from: parley.HubID, kind: parley.KindParticipantAdded, participant: p, added: c.From})
	if private != "" {
		m.append(a, c, fact{typ: parley.TypeSystem, from: parley.HubID, kind: parley.KindParticipantPrivate, private: private})
	}
}

func (m *model) close(a *answer, c *fold.Command) {
	p := m.seat(c.From)
	if !c.Admin && c.From != m.by && (p == nil || p.Kind != parley.KindHuman) {
		a.err = parley.ErrForbidden
		return
	}
	o := parley.Outcome{Status: parley.OutcomeCompleted, Reason: "closed"}
	if c.Outcome != nil {
		o = *c.Outcome
	}
	m.hubClose(a, c, o)
}

func (m *model) create(c *fold.Command) answer {
	if !m.exists() {
		m.params, m.by = *c.Create, c.From
		var a answer
		m.append(&a, c, fact{typ: parley.TypeSystem, from: parley.HubID, kind: parley.KindConversationCreated, key: c.Key})
		for _, p := range c.Create.Participants {
			if p.Private != "" {
				m.append(&a, c, fact{typ: parley.TypeSystem, from: parley.HubID, kind: parley.KindParticipantPrivate, private: p.Private})
			}
		}
		return a
	}
	if c.Key == "" || c.Key != m.log[0].key || c.From != m.by {
		return answer{err: parley.ErrAlreadyExists}
	}
	if asJSON(c.Create) != asJSON(&m.params) {
		return answer{err: parley.ErrIdempotencyConflict}
	}
	return answer{seq: 1, duplicate: true}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// guidance is section 7, but for reason and rules.
func (m *model) guidance(id string) parley.Guidance {
	g := parley.Guidance{Kind: parley.Wait, Turn: m.turn()}
	if m.closed() {
		g.Kind = parley.Closed
		return g
	}
	g.Speaker = m.speaker()
	g.DeadlineMs, _ = m.due()
	if m.seat(id) != nil && m.mayTakeFloor(id) {
		g.Kind, g.Action = parley.MaySpeak, parley.StartTurn
		if _, _, open := m.open(); open {
			g.Action = parley.ContinueTurn
		}
	}
	return g
}
