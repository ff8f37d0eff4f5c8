// Package files stores and reads the files that are attached to conversations. A [Service] writes a
// file to the journal before the event that names it. A file is read only through a conversation to
// which it was added. The memory for files has these bounds:
//
//	| files | bound |
//	|---|---|
//	| uploads | 64 MiB, and 32 MiB of one account; an upload waits up to 10 s |
//	| being read from the journal | 64 MiB |
//	| kept for more reads | 32 MiB, each for a minute after its last read |
//
// The goroutine that calls Run drops unused files from memory. cache.mu is not held during a call to
// another package.
package files

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/quota"
)

// The bounds of the memory for uploads. The bound of one account keeps a slow sender from blocking
// everyone.
const (
	maxUploadBytes      = 64 << 20
	maxUploadBytesOfOne = 32 << 20
	uploadWait          = 10 * time.Second
)

// Service stores and reads the files of conversations.
type Service struct {
	engine     *conv.Engine
	auth       *auth.Service
	runnerSeat func(conversation string, p *auth.Principal) string
	uploads    *quota.Quota
	cache      *cache
}

// New returns a Service. runnerSeat returns the seat from which a runner speaks in its running session.
// It returns "" for other callers and conversations.
func New(e *conv.Engine, a *auth.Service, runnerSeat func(conversation string, p *auth.Principal) string) *Service {
	return &Service{
		engine: e, auth: a, runnerSeat: runnerSeat,
		uploads: quota.New(maxUploadBytes, maxUploadBytesOfOne), cache: newCache(e.Journal()),
	}
}

// Run drops unused files from memory until the hub closes.
func (s *Service) Run() { s.cache.run(s.engine.Context()) }

// Upload adds a file to a conversation. It calls read for the data after all checks that need no data,
// so that no caller sends a file in vain. size is the announced number of bytes, or negative if it is
// unknown. q.Data is ignored.
//
// The file is written before the event that names it. If the event is refused or lost, the file stays
// on the disk and belongs to no conversation.
func (s *Service) Upload(
	ctx context.Context, p *auth.Principal, q *parley.PutAttachmentParams, size int64, read func() ([]byte, error),
) (parley.PutAttachmentResult, error) {
	var none parley.PutAttachmentResult
	by := p.In(q.ConversationID)
	c, err := auth.CallFresh(ctx, s.auth, func() (*conv.Conversation, error) {
		p = by
		// A runner may upload a large file without its connection.
		if seat := s.runnerSeat(q.ConversationID, p); seat != "" {
			p = p.As(seat)
		}
		return s.auth.EnterWrite(p, methods.PutAttachment, q.ConversationID)
	})
	if err != nil {
		return none, err
	}
	defer s.engine.Unpin(c)
	if err = check.Attachment(q.Name, q.MediaType); err == nil && size >= 0 {
		err = check.AttachmentSize(size)
	}
	if err != nil {
		return none, err
	}
	reserved := size
	if size < 0 {
		size, reserved = 0, parley.MaxAttachmentBytes
	}
	about := parley.System{Size: size, Name: q.Name, MediaType: q.MediaType}
	if _, err := decide(ctx, c, p, &fold.OfferAttachment{Attachment: &about}); err != nil {
		return none, err
	}
	release, err := s.reserve(ctx, p, reserved)
	if err != nil {
		return none, err
	}
	defer release()
	data, err := read()
	if err == nil {
		err = check.AttachmentSize(int64(len(data)))
	}
	if err != nil {
		return none, err
	}
	about.SHA256, about.Size = eventdata.AttachmentHash(sha256.Sum256(data)).String(), int64(len(data))
	d, err := decide(ctx, c, p, &fold.OfferAttachment{Attachment: &about})
	if err == nil && !d.Duplicate {
		if _, err = s.engine.Journal().PutBlob(data); err != nil {
			return none, s.refuseFailedWrite(err)
		}
		d, err = decide(ctx, c, p, &fold.AddAttachment{Attachment: &about})
	}
	if err != nil {
		return none, err
	}
	return parley.PutAttachmentResult{SHA256: about.SHA256, Size: about.Size, Seq: d.Seq, Duplicate: d.Duplicate}, nil
}

// reserve waits for n bytes of memory. The caller must call release. It returns ErrUnavailable after
// uploadWait, and when the hub drains.
func (s *Service) reserve(ctx context.Context, p *auth.Principal, n int64) (release func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, uploadWait)
	defer cancel()
	go func() {
		select {
		case <-s.engine.Draining():
			cancel()
		case <-waiting.Done():
		}
	}()
	if release, err = s.uploads.Acquire(waiting, cmp.Or(p.Account, "in process: "+p.AgentID), n); err == nil {
		return release, nil
	}
	if err := cmp.Or(ctx.Err(), s.engine.Serving()); err != nil {
		return nil, err
	}
	return nil, &parley.Error{
		Err: parley.ErrUnavailable, Message: "too many files are on their way to the hub", RetryAfterMs: 1000,
	}
}

// decide waits for the decision of a command about an attachment. The caller has pinned c.
func decide(ctx context.Context, c *conv.Conversation, p *auth.Principal, do fold.Action) (*fold.Decision, error) {
	r := &conv.Request{By: p, Cmd: fold.Command{Do: do, From: p.AgentID, Admin: p.Admin()}}
	if _, isOffer := do.(*fold.OfferAttachment); isOffer { // it writes nothing
		d, _, err := c.Ask(ctx, r)
		return d, err
	}
	return c.AskOnce(ctx, r, "the same file again")
}

// refuseFailedWrite returns the error of an upload whose file could not be written.
func (s *Service) refuseFailedWrite(err error) error {
	switch {
	case errors.Is(err, journal.ErrStorageFull):
		s.engine.NoteFull()
		return conv.RefusalOf(err)
	case errors.Is(err, journal.ErrClosed):
		return conv.RefusalOf(err)
	}
	return fmt.Errorf("keep an attachment: %w", err)
}

// Get reads a part of a file of a conversation that the caller may read.
func (s *Service) Get(
	ctx context.Context, p *auth.Principal, q *parley.GetAttachmentParams,
) (parley.GetAttachmentResult, error) {
	var none parley.GetAttachmentResult
	c, a, err := s.open(p, q)
	if err != nil {
		return none, err
	}
	defer s.engine.Unpin(c)
	length, err := checkPart(q, a.Size)
	if err != nil {
		return none, err
	}
	data, err := s.cache.readPart(ctx, a, q.Offset, length)
	switch {
	case err == nil:
		return parley.GetAttachmentResult{Data: data, Size: a.Size}, nil
	case errors.Is(err, journal.ErrClosed): // the file may be intact
		err = conv.RefusalOf(err)
	case ctx.Err() == nil:
		refusal := parley.Refuse(parley.ErrInternal, "the file is not as it was written; the hub's log says more", "")
		err = fmt.Errorf("%w: attachment %s of %s: %w", refusal, a.Hash, c.ID(), err)
	}
	return none, err
}

// open pins a conversation that p may read and finds a committed file in it.
func (s *Service) open(p *auth.Principal, q *parley.GetAttachmentParams) (*conv.Conversation, fold.Attachment, error) {
	var a fold.Attachment
	c, err := s.auth.Enter(p.In(q.ConversationID), methods.GetAttachment, q.ConversationID)
	if err != nil {
		return nil, a, err
	}
	if hash, ok := eventdata.ParseAttachmentHash(q.SHA256); !ok {
		err = page.Invalid("64 lower-case hex digits", "sha256 is no hash of a file")
	} else {
		state := c.Durable()
		if i, ok := state.Attachments.Find(hash); ok {
			a = state.Attachments[i]
		} else {
			err = parley.Refuse(parley.ErrNotFound, "there is no such attachment in this conversation", "")
		}
	}
	if err != nil {
		s.engine.Unpin(c)
	}
	return c, a, err
}

// checkPart checks the requested part against the size of the file, and returns its length.
func checkPart(q *parley.GetAttachmentParams, size int64) (length int64, err error) {
	switch {
	case q.Offset < 0 || q.Offset > size:
		return 0, page.Invalid(fmt.Sprintf("0 to %d, the size of the file", size), "offset is %d", q.Offset)
	case q.Length < 0 || q.Length > limits.MaxAttachmentPart:
		return 0, page.Invalid(fmt.Sprintf("1 to %d", limits.MaxAttachmentPart), "length is %d", q.Length)
	}
	return min(int64(cmp.Or(q.Length, limits.MaxAttachmentPart)), size-q.Offset), nil
}

// Describe returns the size, the name and the media type of a file, as its event has them.
func (s *Service) Describe(p *auth.Principal, q *parley.GetAttachmentParams) (parley.System, error) {
	c, a, err := s.open(p, q)
	if err != nil {
		return parley.System{}, err
	}
	defer s.engine.Unpin(c)
	e, err := s.engine.EventAt(c.ID(), a.Seq)
	if err != nil {
		return parley.System{}, err
	}
	return e.System()
}

// The bounds of the memory for files that are read. A file stays in memory because readers ask for parts.
const (
	maxLoadingBytes = 64 << 20
	maxCachedBytes  = 32 << 20
	maxIdle         = time.Minute
)

// cache reads whole files, checks them, and keeps those that were read last.
type cache struct {
	journal journal.Journal
	loading *semaphore.Weighted

	mu     sync.Mutex // guards the fields below
	files  map[eventdata.AttachmentHash]*list.Element
	recent *list.List // of *file, the one that was read last in front
	bytes  int
}

type file struct {
	hash   eventdata.AttachmentHash
	data   []byte // never changed
	readAt time.Time
}

func newCache(j journal.Journal) *cache {
	return &cache{
		journal: j, loading: semaphore.NewWeighted(maxLoadingBytes),
		files: make(map[eventdata.AttachmentHash]*list.Element), recent: list.New(),
	}
}

// readPart returns a copy of length bytes from offset. Both are within the file.
func (c *cache) readPart(ctx context.Context, a fold.Attachment, offset, length int64) ([]byte, error) {
	data := c.find(a.Hash)
	if data == nil {
		size := min(a.Size, maxLoadingBytes)
		if err := c.loading.Acquire(ctx, size); err != nil {
			return nil, err
		}
		defer c.loading.Release(size)
		var err error
		if data, err = c.load(a); err != nil {
			return nil, err
		}
	}
	return append([]byte{}, data[offset:offset+length]...), nil
}

// load reads a file, unless another call did so in the meantime.
func (c *cache) load(a fold.Attachment) ([]byte, error) {
	if data := c.find(a.Hash); data != nil {
		return data, nil
	}
	data, err := c.journal.GetBlob(journal.Hash(a.Hash))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != a.Size {
		return nil, fmt.Errorf("the file has %d bytes, where its event says %d", len(data), a.Size)
	}
	c.keep(a.Hash, data)
	return data, nil
}

func (c *cache) find(hash eventdata.AttachmentHash) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.files[hash]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	f := e.Value.(*file)
	f.readAt = time.Now()
	return f.data
}

func (c *cache) keep(hash eventdata.AttachmentHash, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files[hash] != nil {
		return
	}
	c.files[hash] = c.recent.PushFront(&file{hash: hash, data: data, readAt: time.Now()})
	c.bytes += len(data)
	for c.bytes > maxCachedBytes {
		c.dropLastLocked()
	}
}

func (c *cache) run(ctx context.Context) {
	ticker := time.NewTicker(maxIdle / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.dropIdle()
		}
	}
}

func (c *cache) dropIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := time.Now().Add(-maxIdle)
	for e := c.recent.Back(); e != nil && e.Value.(*file).readAt.Before(idle); e = c.recent.Back() {
		c.dropLastLocked()
	}
}

func (c *cache) dropLastLocked() {
	last := c.recent.Remove(c.recent.Back()).(*file)
	delete(c.files, last.hash)
	c.bytes -= len(last.data)
}
