package a2a

import (
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// The schemas of the notes with configurations.
const (
	configSchema   = "a2a.push.config.v1"
	deletedSchema  = "a2a.push.deleted.v1"
	cursorSchema   = "a2a.push.cursor.v1"
	gaveUpSchema   = "a2a.push.gaveup.v1"
	completeSchema = "a2a.push.begun.v1" // the notes before it are complete copies
)

// config is a push configuration. Another one with the same owner, task and id replaces it.
type config struct {
	configIdentity
	secret *secret // nil if it was encrypted with another key

	// The rest is guarded by the Push.
	progress
	attempts int    // since the last successful delivery
	dirty    bool   // progress is not written
	stop     func() // ends its delivery; nil if none exists
}

// configIdentity is the part that does not change.
type configIdentity struct {
	Owner  string     `json:"owner"`
	Task   a2a.TaskID `json:"task"`
	ID     string     `json:"id"`
	Agent  string     `json:"agent"`
	Legacy bool       `json:"legacy,omitempty"` // created in 0.3
	Host   string     `json:"host"`
	At     time.Time  `json:"at"`
	Sealed []byte     `json:"sealed"`
}

// progress is the state of the delivery.
type progress struct {
	Ref string `json:"ref"` // identifies the configuration in notes
	// Cursor is the id of the last delivered update, or, while Begun is false, of the task with which
	// the delivery begins.
	Cursor string `json:"cursor"`
	Begun  bool   `json:"begun,omitempty"`
	// Since is the time of the first failed attempt after the last success.
	Since time.Time `json:"since,omitzero"`
	// Ended is the reason for the end, and EndedAt its time.
	Ended   string    `json:"ended,omitempty"`
	EndedAt time.Time `json:"endedAt,omitzero"`
}

// The values of progress.Ended.
const (
	endedDelivered = "delivered"
	endedGaveUp    = "gave up"
)

// The data of notes.
type (
	configNote struct {
		configIdentity
		progress
	}
	deletedNote struct {
		Ref string `json:"ref"`
	}
	cursorNote struct {
		Cursors []progress `json:"cursors"`
	}
	gaveUpNote struct {
		progress
		Host     string `json:"host"`
		Reason   string `json:"reason"`
		Attempts int    `json:"attempts"`
	}
)

// binding returns the additional data that binds a secret to its configuration.
func (a *configIdentity) binding(ref string) string {
	b, err := json.Marshal([]string{configSchema, ref, a.Owner, string(a.Task), a.ID, a.Agent})
	if err != nil {
		panic("a2a: strings do not encode: " + err.Error())
	}
	return string(b)
}

// applyNote folds a note. The caller must hold writeLock.
func (p *Push) applyNote(n *parley.Note) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n.Schema {
	case configSchema:
		var c configNote
		if err := json.Unmarshal(n.Data, &c); err != nil {
			return err
		}
		p.addLocked(&c)
	case deletedSchema:
		var d deletedNote
		if err := json.Unmarshal(n.Data, &d); err != nil {
			return err
		}
		if c := p.byRef[d.Ref]; c != nil {
			p.dropLocked(c)
		}
	case cursorSchema:
		var d cursorNote
		if err := json.Unmarshal(n.Data, &d); err != nil {
			return err
		}
		for _, at := range d.Cursors {
			p.setProgressLocked(at)
		}
	case gaveUpSchema:
		var d gaveUpNote
		if err := json.Unmarshal(n.Data, &d); err != nil {
			return err
		}
		p.setProgressLocked(d.progress)
	}
	return nil
}

// addLocked adds a configuration and replaces one with the same name.
func (p *Push) addLocked(n *configNote) {
	for _, old := range p.owned[n.Owner] {
		if old.Task == n.Task && old.ID == n.ID {
			p.dropLocked(old)
		}
	}
	if n.Ended != "" && time.Since(n.EndedAt) > p.pace.kept {
		return
	}
	c := &config{configIdentity: n.configIdentity, progress: n.progress}
	secret, err := p.sealer.open(c.binding(c.Ref), c.Sealed)
	if err == nil {
		c.secret = secret
	}
	p.byRef[c.Ref] = c
	if p.owned[c.Owner] == nil {
		p.owned[c.Owner] = map[string]*config{}
	}
	p.owned[c.Owner][c.Ref] = c
}

// setProgressLocked sets the state of a delivery. During a delivery, the state in memory is newer,
// so only an end is applied.
func (p *Push) setProgressLocked(at progress) {
	c := p.byRef[at.Ref]
	if c == nil {
		return
	}
	if at.Ended != "" || c.stop == nil {
		c.progress = at
	}
	if c.Ended == "" {
		return
	}
	if time.Since(c.EndedAt) > p.pace.kept {
		p.dropLocked(c)
		return
	}
	p.limitEndedLocked(c.Owner)
}

// limitEndedLocked drops the configuration of an owner that ended first, if there are too many.
func (p *Push) limitEndedLocked(owner string) {
	var first *config
	n := 0
	for _, c := range p.owned[owner] {
		if c.Ended == "" {
			continue
		}
		n++
		if first == nil || c.EndedAt.Before(first.EndedAt) {
			first = c
		}
	}
	if n > p.opts.MaxPerOwner {
		p.dropLocked(first)
	}
}

// dropLocked removes a configuration, and ends its delivery.
func (p *Push) dropLocked(c *config) {
	if c.stop != nil {
		c.stop()
	}
	delete(p.byRef, c.Ref)
	delete(p.owned[c.Owner], c.Ref)
	if len(p.owned[c.Owner]) == 0 {
		delete(p.owned, c.Owner)
	}
}

// findLocked returns the configurations of a task, or the one with an id.
func (p *Push) findLocked(owner string, task a2a.TaskID, id string) (out []*config) {
	for _, c := range p.owned[owner] {
		if c.Task == task && (id == "" || c.ID == id) && c.secret != nil {
			out = append(out, c)
		}
	}
	return out
}
