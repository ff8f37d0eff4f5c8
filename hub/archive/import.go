package archive

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/journal"
)

// Imported is the result of an import.
type Imported struct {
	// Added counts the appended events, and Present those that the journal had.
	Added   int64 `json:"added"`
	Present int64 `json:"present"`
	// Conversations counts the conversations of the archive.
	Conversations int64 `json:"conversations"`
	// Attachments counts the files of the archive. Missing counts the named files of which neither
	// the archive nor the journal has an intact copy.
	Attachments int64 `json:"attachments"`
	Missing     int64 `json:"missing,omitempty"`
}

// CheckImport makes the checks of an import and writes nothing. It checks r to its end, that a hub
// accepts every event, and that each conversation continues the one of j or is a part of it. A nil
// j is an empty journal. It returns a *LineError for an invalid line.
func CheckImport(ctx context.Context, r io.Reader, j journal.Journal, o *CheckOptions) error {
	p := &planner{ctx: ctx, journal: j, conversations: map[string]*planned{}}
	if _, err := checkLines(r, o, p); err != nil {
		return err
	}
	return p.finish()
}

// planner checks events against the fold and against a journal.
type planner struct {
	ctx           context.Context
	journal       journal.Journal // may be nil
	conversations map[string]*planned
}

// planned is one conversation of an import.
type planned struct {
	state fold.State
	there journal.Head // in the journal
	head  journal.Head // in the archive
	// started has the sessions that the conversation started, and matched those that its events
	// will start.
	started, matched map[string]bool
	owed             *owed // the answer that may be the next event
}

func (p *planner) attachment(*attachmentLine) error { return p.ctx.Err() }

func (p *planner) event(l *eventLine, e *parley.Event, head journal.Head, backup bool) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if err := checkConversation(l.conversation, backup); err != nil {
		return err
	}
	if err := checkEvent(l.data, e); err != nil {
		return err
	}
	c, err := p.find(l.conversation)
	if err != nil {
		return err
	}
	if err := c.apply(l, e); err != nil {
		return err
	}
	c.head = head
	if head.Seq == c.there.Seq && head != c.there {
		return forks(c.there)
	}
	return nil
}

// find returns a conversation. The first call for it reads its head from the journal.
func (p *planner) find(id string) (*planned, error) {
	if c := p.conversations[id]; c != nil {
		return c, nil
	}
	c := &planned{state: fold.State{ID: id}}
	if p.journal != nil {
		var err error
		if c.there, err = p.journal.Head(id); err != nil {
			return nil, err
		}
	}
	p.conversations[id] = c
	return c, nil
}

func (c *planned) apply(l *eventLine, e *parley.Event) error {
	before := c.state
	after, err := before.Apply(e, len(l.data))
	switch {
	case err != nil:
	case e.Type == parley.TypeSystem:
		err = c.checkSystem(e)
	case check.AdapterConversationID(before.ID) && e.From != parley.HubID:
		err = errKept
	default:
		err = checkSpeech(&before, e)
	}
	if err == nil {
		err = c.owe(&before, e)
	}
	if err != nil { // it is not a refusal of a call, although check returned one
		return fmt.Errorf("no hub would take it: %v", err)
	}
	c.state = after
	return nil
}

func (c *planned) checkSystem(e *parley.Event) error {
	sys, err := e.System()
	if err == nil {
		err = checkSystem(&sys)
	}
	switch {
	case err != nil:
		return err
	case own(c.state.ID):
		return errors.Join(checkOwnKind(c.state.ID, &sys), checkCarries(e, nil, 0))
	case check.AdapterConversationID(c.state.ID) && !inKept[sys.Kind]:
		return errKept
	case sys.Kind == parley.KindNote && c.answers(e, &sys):
		return c.checkAnswer(&sys)
	case sys.Kind == parley.KindSessionStarted:
		if err := c.startsOnce(sys.SessionID); err != nil {
			return err
		}
	case sys.Kind == parley.KindTriggerMatched && sys.Trigger != nil:
		if err := c.matchesOnce(sys.Trigger.Wakes); err != nil {
			return err
		}
	}
	return checkKind(&c.state, e, &sys)
}

// startsOnce refuses a session that was started before and has ended. The fold checks those that
// run.
func (c *planned) startsOnce(session string) error {
	if c.started[session] {
		return fmt.Errorf("the session %.80q was started before", session)
	}
	if c.started == nil {
		c.started = map[string]bool{}
	}
	c.started[session] = true
	return nil
}

func forks(there journal.Head) error {
	return fmt.Errorf("the log has other events than the archive: at seq %d the log's hash is %.12s", there.Seq,
		hex.EncodeToString(there.Hash[:]))
}

// The reserved conversations of the hub: tokens and runners.
const (
	tokensConversation  = "~tokens"
	runnersConversation = "~runners"
)

func own(id string) bool { return id == tokensConversation || id == runnersConversation }

// inKept are the kinds in a conversation in which an adapter keeps data. It has no messages.
var (
	inKept = map[string]bool{parley.KindConversationCreated: true, parley.KindParticipantPrivate: true,
		parley.KindNote: true}
	errKept = errors.New("in a conversation that an adapter keeps there are notes and nothing else")
)

// checkConversation refuses ids that no hub creates. Reserved conversations are accepted from
// backups only. An export of one may be old: a token that was revoked since would be valid again,
// and a runner that left would return.
func checkConversation(id string, backup bool) error {
	switch {
	case strings.HasPrefix(id, "~") && !backup:
		return errors.New("a conversation of the hub's own is taken from a backup only")
	case own(id), check.AdapterConversationID(id):
		return nil
	case !parley.ValidConversationID(id):
		return errors.New("the conversation's id is not acceptable: expected 1 to 64 of A-Z a-z 0-9 _ -")
	}
	return nil
}

// finish checks the conversations of which the journal has more than the archive.
func (p *planner) finish() error {
	for id, c := range p.conversations {
		if err := c.borrowed(); err != nil {
			return fmt.Errorf("conversation %q: %w", id, err)
		}
		if c.head.Seq >= c.there.Seq {
			continue
		}
		page, err := p.journal.Read(id, c.head.Seq-1, 1, 0)
		if err != nil {
			return err
		}
		if len(page) != 1 || page[0].Hash != c.head.Hash {
			return fmt.Errorf("conversation %q, seq %d: %w", id, c.head.Seq, forks(c.there))
		}
	}
	return nil
}

// Import appends the events of r that j does not have. r has passed CheckImport with the same j,
// and no other writer uses j. After an interruption or an error, such as a full disk, the same
// import continues where the first one ended. After a full disk, conversations may be listed in
// another order than in r.
func Import(ctx context.Context, r io.Reader, j journal.Journal, o *CheckOptions) (Imported, error) {
	a := newAppender(ctx, j)
	report, err := checkLines(r, o, a)
	if err == nil {
		err = a.submit()
	}
	a.pending.Wait()
	a.imported.Added = a.added
	if failed := a.failure(); failed != nil {
		err = failed
	}
	if err != nil {
		return a.imported, err
	}
	a.imported.Conversations, a.imported.Attachments = int64(len(report.Conversations)), report.Attachments
	return a.imported, nil
}
