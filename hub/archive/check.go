package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// Check reads an archive to its end and checks every line. It returns a *LineError for the first
// invalid line. Other errors are those of r.
func Check(r io.Reader, o *CheckOptions) (Report, error) {
	return checkLines(r, o, nil)
}

// visitor receives the lines that passed the checks. It must not keep them.
type visitor interface {
	// event receives an event and the head of its conversation after it. backup is set if the
	// archive is a backup.
	event(l *eventLine, e *parley.Event, head journal.Head, backup bool) error
	attachment(l *attachmentLine) error
}

// checker checks an archive line by line.
type checker struct {
	without bool
	visit   visitor // may be nil
	line    int
	header  *Header
	trailer *Trailer
	sum     hash.Hash // of the lines of a backup before the current one
	chains  map[string]*chain
	order   []*chain
	events  int64
	files   map[journal.Hash]bool // the files that were named, and whether the archive has them
	lost    []journal.Hash        // files that a line marks as missing
	waiting *attachmentLine       // a file whose event must be next; its data is dropped
	sharing sharing
	unseen  int64 // forks whose shared events could not be checked
}

// chain is a conversation up to the current line.
type chain struct {
	id   string
	head journal.Head
}

func checkLines(r io.Reader, o *CheckOptions, v visitor) (Report, error) {
	if o == nil {
		o = &CheckOptions{}
	}
	c := &checker{without: o.WithoutAttachments, visit: v, chains: map[string]*chain{}, files: map[journal.Hash]bool{}}
	lines := newLineReader(source{r})
	for {
		line, err := lines.next()
		if err == io.EOF {
			return c.finish()
		}
		c.line++
		if err == nil {
			err = c.take(line)
		}
		if failed := (*sourceError)(nil); errors.As(err, &failed) {
			return Report{}, failed.err
		}
		if err != nil {
			return Report{}, c.wrong(err)
		}
	}
}

// source marks the errors of a reader, which do not depend on the archive.
type source struct{ r io.Reader }

func (s source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}

type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

// wrong adds the current line to err.
func (c *checker) wrong(err error) error {
	if said := (*LineError)(nil); errors.As(err, &said) {
		said.Line = c.line
		return err
	}
	return &LineError{Line: c.line, What: err}
}

func (c *checker) take(line []byte) error {
	if c.trailer != nil {
		return errors.New("the line is after the last line of a backup")
	}
	if c.waiting != nil && !bytes.HasPrefix(line, eventStart) {
		return errors.New("the line before is an attachment, and this one is not the event that names it")
	}
	var err error
	switch {
	case bytes.HasPrefix(line, eventStart):
		err = c.takeEvent(line)
	case bytes.HasPrefix(line, attachmentStart):
		err = c.takeAttachment(line)
	case bytes.HasPrefix(line, headerStart):
		err = c.takeHeader(line)
	case bytes.HasPrefix(line, trailerStart):
		return c.takeTrailer(line)
	default:
		err = errors.New("not a line of an export or backup")
	}
	if c.sum != nil {
		c.sum.Write(line)
	}
	return err
}

func (c *checker) takeHeader(line []byte) error {
	h := &Header{}
	err := parseObject(line, h)
	switch {
	case c.line != 1:
		return errors.New("the first line of a backup is at another place")
	case h.Version > Version: // its format may be different
		return fmt.Errorf("a backup of version %d, and this program reads version %d", h.Version, Version)
	case err != nil:
		return err
	case h.Version != Version:
		return errNotWritten
	}
	c.header, c.sum = h, sha256.New()
	return nil
}

func (c *checker) takeTrailer(line []byte) error {
	t := &Trailer{}
	if err := parseObject(line, t); err != nil {
		return err
	}
	switch {
	case c.header == nil:
		return errors.New("the last line of a backup, and there is no first")
	case !t.End:
		return errNotWritten
	case t.Records != c.events || t.Conversations != int64(len(c.order)):
		return fmt.Errorf("the backup has %d events of %d conversations, and says that it has %d of %d: lines are missing or twice",
			c.events, len(c.order), t.Records, t.Conversations)
	case journal.Position(c.events) != c.header.Position:
		return fmt.Errorf("the backup has %d events, and its first line says %d", c.events, c.header.Position)
	case t.SHA256 != hex.EncodeToString(c.sum.Sum(nil)):
		return errors.New("sha256: the lines before are not those that were written")
	}
	c.trailer = t
	return nil
}

func (c *checker) takeAttachment(line []byte) error {
	l, err := parseAttachment(line)
	if err != nil {
		return err
	}
	there, named := c.files[l.hash]
	if there || named && (l.missing || !c.without) {
		return errors.New("this attachment is repeated")
	}
	if c.visit != nil && !l.missing {
		if err := c.visit.attachment(&l); err != nil {
			return err
		}
	}
	l.data, c.waiting = nil, &l
	return nil
}

func (c *checker) takeEvent(line []byte) error {
	l, err := parseEvent(line)
	if err == nil {
		err = c.follow(&l)
	}
	if err != nil {
		return &LineError{Conversation: l.conversation, Seq: l.seq, What: err}
	}
	return nil
}

// follow checks an event against the previous event of its conversation.
func (c *checker) follow(l *eventLine) error {
	ch := c.chains[l.conversation]
	if ch == nil {
		ch = &chain{id: l.conversation, head: journal.Head{Hash: journal.Genesis(l.conversation)}}
	}
	if ch.head.Final {
		return errors.New("the event is after the closing event")
	}
	if l.seq != ch.head.Seq+1 {
		return fmt.Errorf("expected seq %d", ch.head.Seq+1)
	}
	want := ch.head.Hash.Next(l.data)
	if want != l.hash {
		return fmt.Errorf("hash chain: the line says %.12s, its event has %.12s", hex.EncodeToString(l.hash[:]),
			hex.EncodeToString(want[:]))
	}
	var e parley.Event
	if err := e.UnmarshalJSON(l.data); err != nil {
		return fmt.Errorf("not an event: %w", err)
	}
	if e.Seq != l.seq {
		return fmt.Errorf("the event says seq %d", e.Seq)
	}
	if err := c.names(&e); err != nil {
		return err
	}
	unseen, err := c.sharing.follow(l, &e)
	if err != nil {
		return err
	}
	if unseen {
		c.unseen++
	}
	ch.head = journal.Head{Seq: l.seq, Hash: l.hash, Final: e.Closes()}
	if c.visit != nil {
		if err := c.visit.event(l, &e, ch.head, c.header != nil); err != nil {
			return err
		}
	}
	if l.seq == 1 {
		c.chains[l.conversation] = ch
		c.order = append(c.order, ch)
	}
	c.events++
	return nil
}

// names checks the file that an event names against the files before it.
func (c *checker) names(e *parley.Event) error {
	waiting := c.waiting
	c.waiting = nil
	named, size, err := attachmentOf(e)
	switch {
	case err != nil:
		return err
	case waiting != nil && (named == nil || *named != waiting.hash):
		return errors.New("the line before is an attachment, and this event does not name it")
	case waiting != nil && size != waiting.size:
		return fmt.Errorf("the attachment before has %d bytes, the event says %d", waiting.size, size)
	case named == nil:
		return nil
	}
	there, told := c.files[*named]
	if waiting == nil && !told && !c.without {
		return ErrNoAttachment
	}
	if waiting != nil && waiting.missing {
		c.lost = append(c.lost, *named)
	}
	c.files[*named] = there || waiting != nil && !waiting.missing
	return nil
}

// ErrNoAttachment means that an event names a file that is not before it.
var ErrNoAttachment = errors.New("the attachment that this event names is not before it")

// finish checks the end of the archive.
func (c *checker) finish() (Report, error) {
	c.line++
	switch {
	case c.waiting != nil:
		return Report{}, c.wrong(errors.New("the file ends after an attachment, before the event that names it"))
	case c.header != nil && c.trailer == nil:
		return Report{}, c.wrong(errors.New("the backup is cut off: its last line is missing"))
	}
	r := Report{Backup: c.header, Events: c.events, UnseenForks: c.unseen, Conversations: []Head{}}
	for _, there := range c.files {
		if there {
			r.Attachments++
		} else {
			r.Missing++
		}
	}
	for _, h := range c.lost {
		if !c.files[h] {
			r.Lost = append(r.Lost, h)
		}
	}
	for _, ch := range c.order {
		r.Conversations = append(r.Conversations, Head{ch.id, ch.head.Seq, hex.EncodeToString(ch.head.Hash[:]), ch.head.Final})
	}
	return r, nil
}
