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
		Seq: f.seq, Turn: f.turn, Type: f.typ, From: f.from, At: parley.Timestamp(f.at), Finality: f.finality,
		Outcome: f.outcome,
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
	switch a := c.Do.(type) {
	case *fold.Message:
		return fact{
			turn: m.turn(), typ: parley.TypeMessage, from: c.From, finality: a.Finality, outcome: a.Outcome,
			payload: string(a.Payload), key: c.Key,
		}
	case *fold.Trace:
		return fact{turn: m.turn(), typ: parley.TypeTrace, from: c.From, payload: string(a.Payload), key: c.Key}
	case *fold.AddAttachment:
		f := a.Attachment
		return fact{
			typ: parley.TypeSystem, kind: parley.KindAttachmentAdded, from: c.From, file: f.SHA256, fileSize: f.Size,
			payload: fmt.Sprintf(`{"kind":"attachment_added","sha256":%q,"size":%d,"name":%q}`, f.SHA256, f.Size, f.Name),
		}
	}
	note := c.Do.(*fold.Note).Note
	payload := `{"kind":"note","schema":"` + note.Schema + `"`
	for i, tag := range note.Tags {
		if i == 0 {
			payload += `,"tags":[`
		} else {
			payload += `,`
		}
		payload += `"` + tag + `"`
	}
	if len(note.Tags) > 0 {
		payload += `]`
	}
	payload += `,"data":` + string(note.Data) + `}`
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
	switch c.Do.(type) {
	case *fold.Message, *fold.Trace, *fold.Note:
	default:
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
	if do, ok := c.Do.(*fold.Create); ok {
		return m.create(&c, do.Params)
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
	switch do := c.Do.(type) {
	case *fold.Message:
		if a.err = m.refusal(&c, do.Turn, do); a.err == nil {
			m.speak(&a, &c)
		}
	case *fold.Trace:
		if a.err = m.refusal(&c, do.Turn, &fold.Message{}); a.err == nil {
			m.speak(&a, &c)
		}
	case *fold.Delta:
		if a.err = m.refusal(&c, do.Turn, &fold.Message{}); a.err == nil {
			a.turn = do.Turn
		}
	case *fold.Note:
		if m.seat(c.From) == nil {
			a.err = parley.ErrForbidden
			return a
		}
		m.speak(&a, &c)
	case *fold.AddAttachment:
		if a.err = m.attachRefusal(&c, do.Attachment); a.err == nil {
			m.speak(&a, &c)
		}
	case *fold.OfferAttachment:
		a.err = m.attachRefusal(&c, do.Attachment)
	case *fold.AddParticipant:
		m.addParticipant(&a, &c, *do.Participant)
	case *fold.Close:
		m.close(&a, &c, do.Outcome)
	case *fold.StartChild, *fold.EndChild, *fold.Callback:
		m.children(&a, &c)
	}
	return a
}

func (m *model) refuseClosed(a answer, c *fold.Command) answer {
	switch c.Do.(type) {
	case *fold.Tick, *fold.EndChild, *fold.Callback:
	default:
		a.err = parley.ErrConversationClosed
	}
	return a
}

// refusal is the order of section 3, after the close.
func (m *model) refusal(c *fold.Command, turn int64, said *fold.Message) error {
	switch {
	case m.seat(c.From) == nil:
		return parley.ErrForbidden
	case turn > 0 && turn < m.turn():
		return parley.ErrTurnClosed
	case !m.mayTakeFloor(c.From):
		return parley.ErrNotYourTurn
	case turn > m.turn():
		return parley.ErrTurnConflict
	case said.AfterSeq != nil && *said.AfterSeq > int64(len(m.log)):
		return parley.ErrCursorAhead
	}
	for _, f := range m.log {
		if said.AfterSeq != nil && f.speech() && f.seq > *said.AfterSeq && f.from != c.From && f.from != parley.HubID {
			return parley.ErrTurnConflict
		}
	}
	for _, h := range said.Refers {
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
	var file *parley.System
	switch do := c.Do.(type) {
	case *fold.AddAttachment:
		file = do.Attachment
	case *fold.OfferAttachment:
		file = do.Attachment
	}
	if file == nil || m.seat(c.From) == nil {
		return answer{}, false
	}
	if file.SHA256 == "" { // it may be one that is there: by its size, where that is known
		ok := slices.ContainsFunc(m.log, func(f fact) bool {
			return f.file != "" && (file.Size == 0 || file.Size == f.fileSize)
		})
		return answer{}, ok
	}
	if f := m.file(file.SHA256); f != nil {
		return answer{seq: f.seq, duplicate: true}, true
	}
	return answer{}, false
}

func (m *model) attachRefusal(c *fold.Command, file *parley.System) error {
	switch {
	case m.seat(c.From) == nil:
		return parley.ErrForbidden
	case file.Size > m.limits().MaxBytes:
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

func (m *model) addParticipant(a *answer, c *fold.Command, p parley.Participant) {
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
	m.append(a, c, fact{typ: parley.TypeSystem, from: parley.HubID, kind: parley.KindParticipantAdded, participant: p,
		added: c.From})
	if private != "" {
		m.append(a, c, fact{typ: parley.TypeSystem, from: parley.HubID, kind: parley.KindParticipantPrivate,
			private: private})
	}
}

func (m *model) close(a *answer, c *fold.Command, outcome *parley.Outcome) {
	p := m.seat(c.From)
	if !c.Admin && c.From != m.by && (p == nil || p.Kind != parley.KindHuman) {
		a.err = parley.ErrForbidden
		return
	}
	o := parley.Outcome{Status: parley.OutcomeCompleted, Reason: "closed"}
	if outcome != nil {
		o = *outcome
	}
	m.hubClose(a, c, o)
}

func (m *model) create(c *fold.Command, q *parley.CreateConversationParams) answer {
	if !m.exists() {
		m.params, m.by = *q, c.From
		var a answer
		m.append(&a, c, fact{typ: parley.TypeSystem, from: parley.HubID, kind: parley.KindConversationCreated, key: c.Key})
		for _, p := range q.Participants {
			if p.Private != "" {
				m.append(&a, c, fact{typ: parley.TypeSystem, from: parley.HubID, kind: parley.KindParticipantPrivate,
					private: p.Private})
			}
		}
		return a
	}
	if c.Key == "" || c.Key != m.log[0].key || c.From != m.by {
		return answer{err: parley.ErrAlreadyExists}
	}
	if asJSON(q) != asJSON(&m.params) {
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

// guidance is section 7, without reason and rules.
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
