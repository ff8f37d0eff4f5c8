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
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
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
func decide(
	ctx context.Context, c *conv.Conversation, p *auth.Principal, do fold.Action,
) (*fold.Decision, error) {
	cmd := fold.Command{Do: do, From: p.AgentID, Admin: p.Admin()}
	d, answered, err := c.Ask(ctx, &conv.Request{By: p, Cmd: cmd})
	if _, isOffer := do.(*fold.OfferAttachment); answered || isOffer {
		return d, err
	}
	return nil, &parley.Error{
		Err:     errors.Join(parley.ErrOutcomeUnknown, err),
		Message: "the call ended before its answer", Expected: "the same file again",
	}
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
		err = parley.Refuse(parley.ErrValidationFailed, "sha256 is no hash of a file", "64 lower-case hex digits")
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
		return 0, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("offset is %d", q.Offset), fmt.Sprintf("0 to %d, the size of the file", size))
	case q.Length < 0 || q.Length > limits.MaxAttachmentPart:
		return 0, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("length is %d", q.Length), fmt.Sprintf("1 to %d", limits.MaxAttachmentPart))
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
	frames, err := c.After(nil, a.Seq-1, 1)
	if err != nil {
		return parley.System{}, err
	}
	var e parley.Event
	if err := e.UnmarshalJSON(frames[0].Data); err != nil {
		return parley.System{}, fmt.Errorf("decode event %d of %s: %w", a.Seq, c.ID(), err)
	}
	return e.System()
}
