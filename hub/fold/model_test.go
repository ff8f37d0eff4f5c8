package fold_test

import (
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// fact is one event as the model keeps it.
type fact struct {
	seq, turn      int64
	typ            parley.EventType
	from, kind     string // kind is that of a system event
	at             int64
	finality       parley.Finality
	outcome        *parley.Outcome
	key, payload   string
	size           int
	participant    parley.Participant
	private, added string
	file           string // the hash of one that was added
	fileSize       int64
	child          fold.Child // that is started or ended
	status         parley.SessionStatus
	told           []string // sessions whose callbacks are sent
}

func (f *fact) speech() bool { return f.typ != parley.TypeSystem }
func (f *fact) final() bool {
	return f.finality == parley.FinalityTurn || f.finality == parley.FinalityConversation
}

// model implements sections 6 to 11 of protocol.md in the simplest way: a list of facts, and queries that read all of
// it.
type model struct {
	params parley.CreateConversationParams
	by     string
	log    []fact
}

// answer is what the model expects of a command.
type answer struct {
	err       error
	seq, turn int64
	duplicate bool
	add       []fact
}

func (m *model) exists() bool { return len(m.log) > 0 }

func (m *model) closed() bool {
	return slices.ContainsFunc(m.log, func(f fact) bool { return f.finality == parley.FinalityConversation })
}

// open returns the open turn and its owner, or false.
func (m *model) open() (turn int64, owner string, ok bool) {
	for i := len(m.log) - 1; i >= 0; i-- {
		f := m.log[i]
		if !f.speech() {
			continue
		}
		if f.final() {
			return 0, "", false
		}
		return f.turn, f.from, true
	}
	return 0, "", false
}

// turn is the open turn, else the next; after close, the last.
func (m *model) turn() int64 {
	var last int64
	for _, f := range m.log {
		last = max(last, f.turn)
	}
	if _, _, open := m.open(); open || m.closed() {
		return last
	}
	return last + 1
}

func (m *model) seats() []parley.Participant {
	var out []parley.Participant
	for _, p := range m.params.Participants {
		p.Private = ""
		out = append(out, p)
	}
	for _, f := range m.log {
		if f.kind == parley.KindParticipantAdded {
			out = append(out, f.participant)
		}
	}
	return out
}

func (m *model) seat(id string) *parley.Participant {
	for _, p := range m.seats() {
		if p.ID == id {
			return &p
		}
	}
	return nil
}

// privateOf is the private text of a seat.
func (m *model) privateOf(id string) string {
	for _, p := range m.params.Participants {
		if p.ID == id {
			return p.Private
		}
	}
	for i, f := range m.log {
		if f.participant.ID == id && i+1 < len(m.log) {
			return m.log[i+1].private // of that seat, if it is one: nothing else follows in the same commit
		}
	}
	return ""
}

// lastSpeaker closed the last turn that a participant closed.
func (m *model) lastSpeaker() string {
	who := ""
	for _, f := range m.log {
		if f.speech() && f.final() && f.from != parley.HubID {
			who = f.from
		}
	}
	return who
}

// speaker has the floor; empty is anyone.
func (m *model) speaker() string {
	if _, owner, ok := m.open(); ok {
		return owner
	}
	if by := m.calledBack(); by != "" {
		return by
	}
	last := m.lastSpeaker()
	if last == "" && m.params.StartsWith != "" {
		return m.params.StartsWith
	}
	if m.params.Policy != nil && m.params.Policy.Kind == parley.PolicyOpen {
		return ""
	}
	seats := m.seats()
	for i, p := range seats {
		if p.ID == last {
			return seats[(i+1)%len(seats)].ID
		}
	}
	return seats[0].ID
}

func (m *model) mayTakeFloor(id string) bool {
	return m.speaker() == "" || m.speaker() == id
}

func (m *model) limits() parley.Limits {
	var l parley.Limits
	if m.params.Limits != nil {
		l = *m.params.Limits
	}
	if l.MaxEvents == 0 {
		l.MaxEvents = 100_000
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = 256 << 20
	}
	return l
}

func (f *fact) counts() bool {
	return f.kind == parley.KindSessionStarted || f.from != parley.HubID &&
		(f.speech() || f.kind == parley.KindNote || f.kind == parley.KindAttachmentAdded)
}

func (m *model) counts() (turns, events, bytes int64) {
	for _, f := range m.log {
		if f.counts() {
			events++
			bytes += int64(f.size) + f.fileSize
		}
		if f.speech() && f.final() && f.from != parley.HubID {
			turns++
		}
	}
	return turns, events, bytes
}

func (m *model) due() (int64, string) {
	if !m.exists() || m.closed() {
		return 0, ""
	}
	active := m.log[0].at
	for _, f := range m.log {
		if f.counts() || f.kind == parley.KindSessionEnded {
			active = f.at
		}
	}
	var due int64
	reason := ""
	if ms := m.limits().DeadlineMs; ms > 0 {
		due, reason = m.log[0].at+ms, "deadline"
	}
	if ms := m.limits().IdleTimeoutMs; ms > 0 && (due == 0 || active+ms < due) {
		due, reason = active+ms, "idle_timeout"
	}
	return due, reason
}

func (m *model) now(c *fold.Command) int64 {
	now := int64(c.Now)
	for _, f := range m.log {
		now = max(now, f.at)
	}
	return now
}
