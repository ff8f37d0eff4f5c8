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

// Imported is what an import did.
type Imported struct {
	// Added counts events that were appended, Present those that the journal had already.
	Added   int64 `json:"added"`
	Present int64 `json:"present"`
	// Conversations counts those of the archive.
	Conversations int64 `json:"conversations"`
	// Attachments counts files of the archive; Missing those that events name and that neither has whole.
	Attachments int64 `json:"attachments"`
	Missing     int64 `json:"missing,omitempty"`
}

// CheckImport is what an import does before it writes anything: it checks r to its end, that a hub takes every event, and that each conversation
// continues, or is a part of, what j has. j nil is an empty journal. It names what is wrong in a *LineError.
func CheckImport(ctx context.Context, r io.Reader, j journal.Journal, o *CheckOptions) error {
	p := &planner{ctx: ctx, journal: j, conversations: map[string]*planned{}}
	if _, err := checkLines(r, o, p); err != nil {
		return err
	}
	return p.finish()
}

// planner holds events against the fold and against a journal.
type planner struct {
	ctx           context.Context
	journal       journal.Journal // or nil
	conversations map[string]*planned
}

// planned is one conversation of an import.
type planned struct {
	state fold.State
	there journal.Head // in the journal
	head  journal.Head // in the archive
	// started are the sessions that were started out of it, and matched those that its events were to start.
	started, matched map[string]bool
	owed             *owed // the answer that the next event may be
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

// find gives a conversation, with its head in the journal when it is met first.
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
	if err != nil { // which is no answer to a call, whatever the check has made of it
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

// startsOnce refuses a session that was started before, and has ended meanwhile: one that runs the fold knows.
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
	return fmt.Errorf("the log has other events than the archive: at seq %d the log's hash is %.12s", there.Seq, hex.EncodeToString(there.Hash[:]))
}

// The hub's own conversations: its tokens, and what runners have said.
const (
	tokensConversation  = "~tokens"
	runnersConversation = "~runners"
)

func own(id string) bool { return id == tokensConversation || id == runnersConversation }

// inKept are the kinds in a conversation that an adapter keeps, where nobody speaks.
var (
	inKept  = map[string]bool{parley.KindConversationCreated: true, parley.KindParticipantPrivate: true, parley.KindNote: true}
	errKept = errors.New("in a conversation that an adapter keeps there are notes and nothing else")
)

// checkConversation refuses ids that no hub makes. The hub's own conversations are taken from backups only: an export of one may be an old
// part of it, and a token that was revoked since would be good again, a runner that has left would be there. Those that an adapter keeps likewise.
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

// finish looks at the conversations of which the journal has more than the archive.
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

// Import appends what r has and j has not. r has passed CheckImport with the same j, and nobody else writes to j. An import that was
// interrupted, or failed for want of room, can be made again: it goes on where the first one ended. (After one that found no room, conversations
// may be listed in another order than that of r.)
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
