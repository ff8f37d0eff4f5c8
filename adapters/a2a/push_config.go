package a2a

import (
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// The notes in which configurations are kept.
const (
	configSchema  = "a2a.push.config.v1"
	deletedSchema = "a2a.push.deleted.v1"
	cursorSchema  = "a2a.push.cursor.v1"
	gaveUpSchema  = "a2a.push.gaveup.v1"
	begunSchema   = "a2a.push.begun.v1" // what stands before it was copied
)

// config is a push configuration. Another with the same owner, task and id takes its place.
type config struct {
	about
	secret *secret // nil: it was sealed with another key

	// The rest is guarded by the Push.
	progress
	attempts int    // since a delivery went well
	dirty    bool   // progress is not written
	stop     func() // ends its delivery; nil while there is none
}

// about is what does not change.
type about struct {
	Owner  string     `json:"owner"`
	Task   a2a.TaskID `json:"task"`
	ID     string     `json:"id"`
	Agent  string     `json:"agent"`
	Legacy bool       `json:"legacy,omitempty"` // made in 0.3
	Host   string     `json:"host"`
	At     time.Time  `json:"at"`
	Sealed []byte     `json:"sealed"`
}

// progress is how far it has come.
type progress struct {
	Ref string `json:"ref"` // names the configuration in notes
	// Cursor is the id of the update that was delivered last, or, while Begun is false, of the task with which it begins.
	Cursor string `json:"cursor"`
	Begun  bool   `json:"begun,omitempty"`
	// Since is when the first attempt failed after one went well.
	Since time.Time `json:"since,omitzero"`
	// Ended says why it has ended, and EndedAt when.
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
		about
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

// binding is what a secret is sealed for.
func (a *about) binding(ref string) string {
	b, err := json.Marshal([]string{configSchema, ref, a.Owner, string(a.Task), a.ID, a.Agent})
	if err != nil {
		panic("a2a: strings do not encode: " + err.Error())
	}
	return string(b)
}

// take folds a note. The pen is held.
func (p *Push) take(n *parley.Note) error {
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
			p.moveLocked(at)
		}
	case gaveUpSchema:
		var d gaveUpNote
		if err := json.Unmarshal(n.Data, &d); err != nil {
			return err
		}
		p.moveLocked(d.progress)
	}
	return nil
}

// addLocked adds a configuration, in the place of one with the same name.
func (p *Push) addLocked(n *configNote) {
	for _, old := range p.owned[n.Owner] {
		if old.Task == n.Task && old.ID == n.ID {
			p.dropLocked(old)
		}
	}
	if n.Ended != "" && time.Since(n.EndedAt) > p.pace.kept {
		return
	}
	c := &config{about: n.about, progress: n.progress}
	secret, err := p.seal.open(c.binding(c.Ref), c.Sealed)
	if err == nil {
		c.secret = secret
	}
	p.byRef[c.Ref] = c
	if p.owned[c.Owner] == nil {
		p.owned[c.Owner] = map[string]*config{}
	}
	p.owned[c.Owner][c.Ref] = c
}

// moveLocked notes how far a configuration has come. What is known here is as new, unless the log is being read.
func (p *Push) moveLocked(at progress) {
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
	p.crowdLocked(c.Owner)
}

// crowdLocked forgets the one that has ended first, where an owner has more of such than may be delivered.
func (p *Push) crowdLocked(owner string) {
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

// dropLocked forgets a configuration, and ends its delivery.
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

// findLocked gives the configurations of a task, or of one id.
func (p *Push) findLocked(owner string, task a2a.TaskID, id string) (out []*config) {
	for _, c := range p.owned[owner] {
		if c.Task == task && (id == "" || c.ID == id) && c.secret != nil {
			out = append(out, c)
		}
	}
	return out
}
