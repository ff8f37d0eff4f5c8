// Package share has the command share, which writes a conversation as one HTML page.
//
//	root.AddCommand(share.NewCommand(app))
package share

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
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/files"
	"github.com/parleyhub/parley/cmd/parley/internal/logs"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

// shareFlags say what of a conversation is shared, and where to.
type shareFlags struct {
	as, to, title, files string
	since                int64
	force                bool
}

// The values of --attachments.
const (
	NoFiles    = "none"
	SmallFiles = "small"
	AllFiles   = "all"
)

// smallFile is how large a file may be that --attachments small takes along, and maxShared how much
// a page holds.
const (
	smallFile = 1 << 20
	maxShared = 64 << 20
)

// NewCommand returns the command share.
func NewCommand(a *cli.App) *cobra.Command {
	var f shareFlags
	c := &cobra.Command{
		Use:   "share ID -o FILE.html",
		Short: "write a conversation as an HTML page that verifies itself",
		Long: `share writes the present events of a conversation that the token sees into one HTML file. Any
browser shows it, without a hub and without loading anything. The page has the events as they are
stored, computes their hash chain again and shows whether they are whole and unchanged, or which
event is the first that is not.

A page cannot prove anything about its author. It shows the head hash, which 'parley conversation
show ID' and 'parley log verify' print too. If the token does not see every event (traces are for
their authors, scope trace and admins) the chain cannot be checked, and the page and a line on
stderr say so.

The file is written whole or not at all, readable for its owner alone. An existing one stays, unless
--force is set; - is stdout.`,
		Args: cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().StringVarP(&f.to, "output", "o", "", "FILE to write; - is stdout")
	c.Flags().StringVar(&f.title, "title", "", "title of the page (default: the title of the conversation)")
	c.Flags().Int64Var(&f.since, "since", 0, "seq to begin after")
	c.Flags().StringVar(&f.files, "attachments", SmallFiles,
		"attachments to include: none, small (at most 1 MiB each) or all")
	c.Flags().BoolVar(&f.force, "force", false, "replace an existing file")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		return run(ctx, a, &f, args[0])
	})
}

func (f *shareFlags) check() error {
	switch {
	case f.to == "":
		return exit.Usagef("-o FILE.html is missing, or -o - for stdout")
	case f.since < 0:
		return exit.Usagef("--since %d: expected 0 or more", f.since)
	case f.files != NoFiles && f.files != SmallFiles && f.files != AllFiles:
		return exit.Usagef("--attachments %s: expected none, small or all", cli.Clean(f.files))
	case f.to == "-":
		return nil
	}
	if err := files.CheckReplaceable(f.to); err != nil {
		return err
	}
	if !f.force && fileExists(f.to) {
		return existsError(f.to)
	}
	return nil
}

func fileExists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func existsError(name string) error {
	return exit.WithHint(fmt.Errorf("%s is there already", name), "--force replaces it")
}

// run reads a conversation up to its head, and writes the page.
func run(ctx context.Context, a *cli.App, f *shareFlags, id string) error {
	client, err := a.Dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	s, err := collectPage(ctx, a, client, f, id)
	if err != nil {
		return err
	}
	if f.to == "-" {
		if err := console.Share(a.Out, s.page); err != nil {
			return err
		}
	} else if err := s.writeFile(f); err != nil {
		return err
	}
	printSummary(a, s, f)
	return nil
}

// writeFile writes the whole page and then renames it.
func (s *sharedPage) writeFile(f *shareFlags) error {
	file, err := files.Create(f.to)
	if err != nil {
		return err
	}
	defer file.Discard()
	if err := console.Share(file, s.page); err != nil {
		return err
	}
	if f.force {
		return file.Commit()
	}
	err = file.CommitNew() // another process may have been faster
	if err != nil && fileExists(f.to) && !file.Done {
		return existsError(f.to)
	}
	return err
}

func printSummary(a *cli.App, s *sharedPage, f *shareFlags) {
	p := s.page
	to := ""
	if f.to != "-" {
		to = " to " + cli.Clean(f.to)
	}
	a.Err.Linef("%s%s%s, head hash %s", cli.Count(int64(len(p.Records)), "event"),
		logs.AttachmentsText(int64(len(p.Attachments))), to, cli.Clean(p.HeadHash))
	if s.left > 0 {
		a.Err.Linef("%s not in the page: see --attachments", cli.Count(s.left, "attachment"))
	}
	if s.restricted > 0 {
		a.Err.Linef("the page has %s that not every participant sees (traces, private texts, details of approvals): "+
			"everybody who gets it does", cli.Count(s.restricted, "event"))
	}
	if p.Hidden > 0 || p.Begins.Seq > 0 && p.Begins.Hash == "" {
		a.Err.Line("this token does not see every event: the page cannot check the hash chain, and says so; share with a " +
			"token that has scope trace or admin")
	}
}

// sharedPage is a page as it is put together.
type sharedPage struct {
	page  *console.Shared
	chain *logs.Chain
	whole bool // every event so far was seen
	bytes int64
	left  int64 // attachments that are not in the page
	// restricted is how many events on the page not every participant sees.
	restricted int64
	files      map[string]*parley.System
	named      []string // their hashes, in the order in which they were added
}

// collectPage reads what the page holds, up to the head of a snapshot.
func collectPage(ctx context.Context, a *cli.App, client parley.Client, f *shareFlags, id string) (*sharedPage, error) {
	snap, err := cli.Call(ctx, a, client.GetConversation, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	if f.since >= snap.LatestSeq {
		return nil, parley.Refuse(parley.ErrCursorAhead, fmt.Sprintf("there is no event behind seq %d", f.since), "")
	}
	s := &sharedPage{chain: logs.NewChain(id), whole: true, files: map[string]*parley.System{}, page: &console.Shared{
		ConversationID: id, Title: snap.Title, SharedAt: time.Now().UTC().Format(time.RFC3339), LatestSeq: snap.LatestSeq,
		HeadHash: snap.HeadHash,
		Begins:   console.ShareBegin{Seq: f.since},
	}}
	if f.title != "" {
		s.page.Title = f.title
	}
	for e, err := range a.ReadEvents(ctx, client, id, 0) {
		if err != nil {
			return nil, err
		}
		if e.Seq > snap.LatestSeq {
			break
		}
		if err := s.addEvent(&e, f.since); err != nil {
			return nil, err
		}
	}
	s.page.Hidden = snap.LatestSeq - f.since - int64(len(s.page.Records))
	if s.whole && s.chain.Head.Seq == snap.LatestSeq && s.chain.HeadHash() != snap.HeadHash {
		return nil, fmt.Errorf("the events have head hash %.12s, the hub reports %.12s", s.chain.HeadHash(), snap.HeadHash)
	}
	return s, addFiles(ctx, a, client, s, f)
}

// addEvent adds an event to the chain, and to the page if it is after since.
func (s *sharedPage) addEvent(e *parley.Event, since int64) error {
	raw := view.RawEvent(e)
	s.whole = s.whole && e.Seq == s.chain.Head.Seq+1
	hash := ""
	if s.whole {
		s.chain.Append(raw)
		hash = s.chain.HeadHash()
	}
	s.noteFile(e)
	if e.Seq <= since {
		if e.Seq == since {
			s.page.Begins.Hash = hash
		}
		return nil
	}
	if isRestricted(e) {
		s.restricted++
	}
	s.page.Records = append(s.page.Records, console.ShareRecord{Seq: e.Seq, Hash: hash, Event: string(raw)})
	return s.addBytes(int64(len(raw)))
}

// isRestricted reports whether an event is not for all participants.
func isRestricted(e *parley.Event) bool {
	if e.Type != parley.TypeSystem {
		return e.Type == parley.TypeTrace
	}
	sys, err := e.System()
	return err == nil &&
		(sys.Kind == parley.KindParticipantPrivate || sys.Kind == parley.KindApprovalDetails ||
			sys.Kind == parley.KindApprovalAnswer)
}

// addBytes refuses what no page can hold.
func (s *sharedPage) addBytes(n int64) error {
	if s.bytes += n; s.bytes > maxShared {
		return exit.WithHint(parley.Refuse(parley.ErrTooLarge, "this is more than a page can hold",
			fmt.Sprintf("at most %d MiB of events and files", maxShared>>20)),
			"--since begins later, --attachments none leaves the files out, and 'parley log export' takes everything")
	}
	return nil
}

// noteFile remembers the files that are added.
func (s *sharedPage) noteFile(e *parley.Event) {
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

// names reports whether an event on the page names a file.
func (s *sharedPage) names(hash string) bool {
	return slices.ContainsFunc(s.page.Records, func(r console.ShareRecord) bool { return strings.Contains(r.Event, hash) })
}

// addFiles reads the files that go along.
func addFiles(ctx context.Context, a *cli.App, client parley.Client, s *sharedPage, f *shareFlags) error {
	for _, hash := range s.named {
		file := s.files[hash]
		if f.since > 0 && !s.names(hash) { // an event before --since named it, so it is not shared
			continue
		}
		if f.files == NoFiles || f.files == SmallFiles && file.Size > smallFile {
			s.left++
			continue
		}
		if err := s.addBytes(file.Size); err != nil {
			return err
		}
		data, err := io.ReadAll(parley.ReadAttachment(ctx, client, s.page.ConversationID, hash))
		// gone or damaged on the hub's disk, which logs it: the rest is whole
		if errors.Is(err, parley.ErrInternal) || errors.Is(err, parley.ErrDamaged) {
			s.left++
			continue
		}
		if err != nil {
			return err
		}
		s.page.Attachments = append(s.page.Attachments,
			console.ShareAttachment{SHA256: hash, Name: file.Name, MediaType: file.MediaType, Size: file.Size, Data: data})
	}
	return nil
}
