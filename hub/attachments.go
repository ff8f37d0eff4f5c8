package hub

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// PutAttachment adds a file to a conversation. It may wait for the disk.
func (h *Hub) PutAttachment(ctx context.Context, p *auth.Principal, q *parley.PutAttachmentParams) (parley.PutAttachmentResult, error) {
	p = p.In(q.ConversationID)
	return h.UploadAttachment(ctx, p, q, int64(len(q.Data)), func() ([]byte, error) { return q.Data, nil })
}

// UploadAttachment is PutAttachment with a file that is still to come. size is what it has in bytes, as far as the caller says; negative:
// not known. It is read once everything that can be refused without it has been: so nobody sends a file for nothing. q.Data is not
// looked at.
//
// The file is kept before the event that names it. One whose event was refused, or was lost, stays on the disk and belongs to no
// conversation.
func (h *Hub) UploadAttachment(ctx context.Context, p *auth.Principal, q *parley.PutAttachmentParams, size int64, read func() ([]byte, error)) (parley.PutAttachmentResult, error) {
	var none parley.PutAttachmentResult
	by := p.In(q.ConversationID)
	c, err := auth.CallFresh(ctx, h.auth, func() (*conv.Conversation, error) {
		p = by
		if seat := h.sessions.SeatOf(q.ConversationID, p); seat != "" { // a runner may bring what is large on another way than its own connection
			p = p.As(seat)
		}
		return h.auth.EnterWrite(p, parley.MethodPutAttachment, q.ConversationID)
	})
	if err != nil {
		return none, err
	}
	defer h.conv.Unpin(c)
	if err = fold.CheckAttachment(q.Name, q.MediaType); err == nil && size >= 0 {
		err = fold.CheckAttachmentSize(size)
	}
	if err != nil {
		return none, err
	}
	room := size
	if size < 0 {
		size, room = 0, parley.MaxAttachmentBytes
	}
	offer := parley.System{Size: size, Name: q.Name, MediaType: q.MediaType}
	if _, err := attach(ctx, c, p, fold.OfferAttachment, offer); err != nil {
		return none, err
	}
	release, err := h.uploads.acquire(ctx, p, room)
	if err != nil {
		return none, err
	}
	defer release()
	data, err := read()
	if err != nil {
		return none, err
	}
	return h.storeAttachment(ctx, c, p, offer, data)
}

// storeAttachment stores a received file and adds it to the conversation.
func (h *Hub) storeAttachment(ctx context.Context, c *conv.Conversation, p *auth.Principal, file parley.System, data []byte) (parley.PutAttachmentResult, error) {
	var none parley.PutAttachmentResult
	if err := fold.CheckAttachmentSize(int64(len(data))); err != nil {
		return none, err
	}
	sum := fold.AttachmentHash(sha256.Sum256(data))
	file.SHA256, file.Size = sum.String(), int64(len(data))
	d, err := attach(ctx, c, p, fold.OfferAttachment, file)
	if err != nil {
		return none, err
	}
	if !d.Duplicate {
		if _, err = h.journal.PutBlob(data); err != nil {
			return none, h.keepFailed(err)
		}
		if d, err = attach(ctx, c, p, fold.AddAttachment, file); err != nil {
			return none, err
		}
	}
	return parley.PutAttachmentResult{SHA256: file.SHA256, Size: file.Size, Seq: d.Seq, Duplicate: d.Duplicate}, nil
}

// attach asks the conversation, which the caller has pinned, for an attachment and waits for the answer.
func attach(ctx context.Context, c *conv.Conversation, p *auth.Principal, verb fold.Verb, file parley.System) (*fold.Decision, error) {
	d, answered, err := c.Ask(ctx, &conv.Request{By: p, Cmd: fold.Command{Verb: verb, From: p.AgentID, Admin: p.Admin(), Attachment: &file}})
	if answered || verb == fold.OfferAttachment {
		return d, err
	}
	return nil, &parley.Error{
		Err: errors.Join(parley.ErrOutcomeUnknown, err), Message: "the call ended before its answer", Expected: "the same file again",
	}
}

// keepFailed gives what a caller is told when a file could not be kept.
func (h *Hub) keepFailed(err error) error {
	switch {
	case errors.Is(err, journal.ErrStorageFull):
		h.conv.NoteFull()
		return conv.RefusalOf(err)
	case errors.Is(err, journal.ErrClosed):
		return conv.RefusalOf(err)
	}
	return fmt.Errorf("keep an attachment: %w", err)
}

// GetAttachment reads a part of a file that was added to a conversation which the caller sees.
func (h *Hub) GetAttachment(ctx context.Context, p *auth.Principal, q *parley.GetAttachmentParams) (parley.GetAttachmentResult, error) {
	p = p.In(q.ConversationID)
	var none parley.GetAttachmentResult
	c, err := h.auth.Enter(p, parley.MethodGetAttachment, q.ConversationID)
	if err != nil {
		return none, err
	}
	defer h.conv.Unpin(c)
	a, err := attachmentOf(c, q.SHA256)
	if err != nil {
		return none, err
	}
	length, err := checkPart(q, a.Size)
	if err != nil {
		return none, err
	}
	part, err := h.files.part(ctx, a, q.Offset, length)
	if errors.Is(err, journal.ErrClosed) { // which says nothing about the file
		return none, conv.RefusalOf(err)
	}
	if err != nil && ctx.Err() == nil {
		told := parley.Refuse(parley.ErrInternal, "the file is not as it was written; the hub's log says more", "")
		err = fmt.Errorf("%w: attachment %s of %s: %w", told, a.Hash, c.ID(), err)
	}
	if err != nil {
		return none, err
	}
	return parley.GetAttachmentResult{Data: part, Size: a.Size}, nil
}

// attachmentOf finds a file among those that are committed.
func attachmentOf(c *conv.Conversation, sha256 string) (fold.Attachment, error) {
	hash, ok := fold.ParseAttachmentHash(sha256)
	if !ok {
		return fold.Attachment{}, parley.Refuse(parley.ErrValidationFailed, "sha256 is no hash of a file", "64 lower-case hex digits")
	}
	s := c.Durable()
	a, ok := s.Attachment(hash)
	if !ok {
		return a, parley.Refuse(parley.ErrNotFound, "there is no such attachment in this conversation", "")
	}
	return a, nil
}

// checkPart holds the part asked for against the size of the file, and gives its length.
func checkPart(q *parley.GetAttachmentParams, size int64) (length int64, err error) {
	switch {
	case q.Offset < 0 || q.Offset > size:
		return 0, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("offset is %d", q.Offset), fmt.Sprintf("0 to %d, the size of the file", size))
	case q.Length < 0 || q.Length > parley.MaxAttachmentPart:
		return 0, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("length is %d", q.Length), fmt.Sprintf("1 to %d", parley.MaxAttachmentPart))
	case q.Length == 0:
		return min(parley.MaxAttachmentPart, size-q.Offset), nil
	}
	return min(int64(q.Length), size-q.Offset), nil
}

// AttachmentInfo gives what the event says that added a file: its size, its name and its type.
func (h *Hub) AttachmentInfo(_ context.Context, p *auth.Principal, q *parley.GetAttachmentParams) (parley.System, error) {
	p = p.In(q.ConversationID)
	c, err := h.auth.Enter(p, parley.MethodGetAttachment, q.ConversationID)
	if err != nil {
		return parley.System{}, err
	}
	defer h.conv.Unpin(c)
	a, err := attachmentOf(c, q.SHA256)
	if err != nil {
		return parley.System{}, err
	}
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
