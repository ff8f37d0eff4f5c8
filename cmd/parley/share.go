package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/console"
)

// shareFlags say what of a conversation is shared, and where to.
type shareFlags struct {
	as, to, title, files string
	since                int64
	force                bool
}

// The values of --attachments.
const (
	shareNoFiles    = "none"
	shareSmallFiles = "small"
	shareAllFiles   = "all"
)

// smallFile is how large a file may be that --attachments small takes along, and maxShared how much a page holds.
const (
	smallFile = 1 << 20
	maxShared = 64 << 20
)

func (a *app) shareCommand() *cobra.Command {
	var f shareFlags
	c := &cobra.Command{
		Use:   "share ID -o FILE.html",
		Short: "write a conversation as one page that checks itself",
		Long: `share writes what the token sees of a conversation, as it stands now, into one HTML file: it is read in any browser, without a hub and without loading anything. The page holds the
events as they are stored, computes their hash chain anew and says whether they are whole and unchanged, or which event is the first that is not.

A page cannot vouch for itself against who has made it: it shows the head hash, which 'parley conversation show ID' and 'parley log verify' tell too. Where the token does not see every event (traces are for their
authors, scope trace and admins) the chain cannot be checked, and the page and a line on stderr say so.

The file is written whole or not at all, readable for its owner alone. One that is there stays, unless --force is given; - is stdout.`,
		Args: cobra.ExactArgs(1),
	}
	asFlag(c, &f.as)
	c.Flags().StringVarP(&f.to, "output", "o", "", "FILE to write; - is stdout")
	c.Flags().StringVar(&f.title, "title", "", "title of the page (default: that of the conversation)")
	c.Flags().Int64Var(&f.since, "since", 0, "begin after this seq")
	c.Flags().StringVar(&f.files, "attachments", shareSmallFiles, "the files to take along: none, small (at most 1 MiB each) or all")
	c.Flags().BoolVar(&f.force, "force", false, "replace a file that is there")
	return a.does(c, func(ctx context.Context, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		return a.share(ctx, &f, args[0])
	})
}

func (f *shareFlags) check() error {
	switch {
	case f.to == "":
		return usagef("where to? give -o FILE.html, or -o - for stdout")
	case f.since < 0:
		return usagef("--since %d: expected 0 or more", f.since)
	case f.files != shareNoFiles && f.files != shareSmallFiles && f.files != shareAllFiles:
		return usagef("--attachments %s: expected none, small or all", clean(f.files))
	case f.to == "-":
		return nil
	}
	if err := mayReplace(f.to); err != nil {
		return err
	}
	if !f.force && fileExists(f.to) {
		return thereAlready(f.to)
	}
	return nil
}

func fileExists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func thereAlready(name string) error {
	return withHint(fmt.Errorf("%s is there already", name), "--force replaces it")
}

// share reads a conversation up to its head, and writes the page.
func (a *app) share(ctx context.Context, f *shareFlags, id string) error {
	client, err := a.dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	s, err := a.collect(ctx, client, f, id)
	if err != nil {
		return err
	}
	if f.to == "-" {
		if err := console.Share(a.out, s.page); err != nil {
			return err
		}
	} else if err := s.write(f); err != nil {
		return err
	}
	a.tellShared(s, f)
	return nil
}

// write gives the page its name when all of it is written.
func (s *sharing) write(f *shareFlags) error {
	file, err := createWhole(f.to)
	if err != nil {
		return err
	}
	defer file.discard()
	if err := console.Share(file, s.page); err != nil {
		return err
	}
	if f.force {
		return file.commit()
	}
	err = file.commitNew() // somebody may have been faster
	if err != nil && fileExists(f.to) && !file.done {
		return thereAlready(f.to)
	}
	return err
}

func (a *app) tellShared(s *sharing, f *shareFlags) {
	p := s.page
	to := ""
	if f.to != "-" {
		to = " to " + clean(f.to)
	}
	a.err.linef("%s%s%s, head hash %s", count(int64(len(p.Records)), "event"), andFiles(int64(len(p.Attachments))), to, clean(p.HeadHash))
	if s.left > 0 {
		a.err.linef("%s not in the page: see --attachments", count(s.left, "attachment"))
	}
	if s.narrow > 0 {
		a.err.linef("the page has %s that not every participant sees (traces, private texts, details of approvals): everybody who gets it does", count(s.narrow, "event"))
	}
	if p.Hidden > 0 || p.Begins.Seq > 0 && p.Begins.Hash == "" {
		a.err.line("this token does not see every event: the page cannot check the hash chain, and says so; share with a token that has scope trace or admin")
	}
}

// sharing is a page as it is put together.
type sharing struct {
	page  *console.Shared
	chain *chain
	whole bool // every event so far was seen
	bytes int64
	left  int64 // attachments that are not in the page
	// narrow is how many events on the page not every participant sees.
	narrow int64
	files  map[string]*parley.System
	named  []string // their hashes, in the order in which they were added
}

// collect reads what the page holds, up to the head of a snapshot.
func (a *app) collect(ctx context.Context, client parley.Client, f *shareFlags, id string) (*sharing, error) {
	snap, err := call(ctx, a, client.GetConversation, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	if f.since >= snap.LatestSeq {
		return nil, parley.Refuse(parley.ErrCursorAhead, fmt.Sprintf("there is no event behind seq %d", f.since), "")
	}
	s := &sharing{chain: newChain(id), whole: true, files: map[string]*parley.System{}, page: &console.Shared{
		ConversationID: id, Title: snap.Title, SharedAt: time.Now().UTC().Format(time.RFC3339), LatestSeq: snap.LatestSeq, HeadHash: snap.HeadHash,
		Begins: console.ShareBegin{Seq: f.since},
	}}
	if f.title != "" {
		s.page.Title = f.title
	}
	for e, err := range a.pages(ctx, client, id, 0) {
		if err != nil {
			return nil, err
		}
		if e.Seq > snap.LatestSeq {
			break
		}
		if err := s.take(&e, f.since); err != nil {
			return nil, err
		}
	}
	s.page.Hidden = snap.LatestSeq - f.since - int64(len(s.page.Records))
	if s.whole && s.chain.head.Seq == snap.LatestSeq && s.chain.headHash() != snap.HeadHash {
		return nil, fmt.Errorf("the events give head hash %.12s, the hub says %.12s", s.chain.headHash(), snap.HeadHash)
	}
	return s, a.takeFiles(ctx, client, s, f)
}

// take adds an event to the chain, and to the page where it stands behind since.
func (s *sharing) take(e *parley.Event, since int64) error {
	raw := rawEvent(e)
	s.whole = s.whole && e.Seq == s.chain.head.Seq+1
	hash := ""
	if s.whole {
		s.chain.next(raw)
		hash = s.chain.headHash()
	}
	s.note(e)
	if e.Seq <= since {
		if e.Seq == since {
			s.page.Begins.Hash = hash
		}
		return nil
	}
	if narrow(e) {
		s.narrow++
	}
	s.page.Records = append(s.page.Records, console.ShareRecord{Seq: e.Seq, Hash: hash, Event: string(raw)})
	return s.grow(int64(len(raw)))
}

// narrow reports whether an event is not for all participants.
func narrow(e *parley.Event) bool {
	if e.Type != parley.TypeSystem {
		return e.Type == parley.TypeTrace
	}
	sys, err := e.System()
	return err == nil && (sys.Kind == parley.KindParticipantPrivate || sys.Kind == parley.KindApprovalDetails || sys.Kind == parley.KindApprovalAnswer)
}

// grow refuses what no page can hold.
func (s *sharing) grow(n int64) error {
	if s.bytes += n; s.bytes > maxShared {
		return withHint(parley.Refuse(parley.ErrTooLarge, "this is more than a page can hold", fmt.Sprintf("at most %d MiB of events and files", maxShared>>20)),
			"--since begins later, --attachments none leaves the files out, and 'parley log export' takes everything")
	}
	return nil
}

// note remembers the files that are added.
func (s *sharing) note(e *parley.Event) {
	if e.Type != parley.TypeSystem {
		return
	}
	sys, err := e.System()
	if err != nil || sys.Kind != parley.KindAttachmentAdded || s.files[sys.SHA256] != nil {
		return
	}
	s.files[sys.SHA256] = &sys
	s.named = append(s.named, sys.SHA256)
}

// speaksOf reports whether an event on the page names a file.
func (s *sharing) speaksOf(hash string) bool {
	return slices.ContainsFunc(s.page.Records, func(r console.ShareRecord) bool { return strings.Contains(r.Event, hash) })
}

// takeFiles reads the files that go along.
func (a *app) takeFiles(ctx context.Context, client parley.Client, s *sharing, f *shareFlags) error {
	for _, hash := range s.named {
		file := s.files[hash]
		if f.since > 0 && !s.speaksOf(hash) { // it is of what stands before --since: it is not shared
			continue
		}
		if f.files == shareNoFiles || f.files == shareSmallFiles && file.Size > smallFile {
			s.left++
			continue
		}
		if err := s.grow(file.Size); err != nil {
			return err
		}
		data, err := io.ReadAll(parley.ReadAttachment(ctx, client, s.page.ConversationID, hash))
		if errors.Is(err, parley.ErrInternal) || errors.Is(err, parley.ErrDamaged) { // gone or damaged on the hub's disk, which logs it: the rest is whole
			s.left++
			continue
		}
		if err != nil {
			return err
		}
		s.page.Attachments = append(s.page.Attachments, console.ShareAttachment{SHA256: hash, Name: file.Name, MediaType: file.MediaType, Size: file.Size, Data: data})
	}
	return nil
}
