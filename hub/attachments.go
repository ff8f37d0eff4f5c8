package hub

import (
	"context"

	"github.com/parleyhub/parley"
)

// PutAttachment adds a file to a conversation. It may wait for the disk.
func (h *Hub) PutAttachment(
	ctx context.Context, p *Principal, q *parley.PutAttachmentParams,
) (parley.PutAttachmentResult, error) {
	return h.files.Upload(ctx, p, q, int64(len(q.Data)), func() ([]byte, error) { return q.Data, nil })
}

// UploadAttachment is PutAttachment for a file that read returns. It calls read after all checks that
// need no data. size is the announced number of bytes, or negative if it is unknown. q.Data is ignored.
func (h *Hub) UploadAttachment(
	ctx context.Context, p *Principal, q *parley.PutAttachmentParams, size int64, read func() ([]byte, error),
) (parley.PutAttachmentResult, error) {
	return h.files.Upload(ctx, p, q, size, read)
}

// GetAttachment reads a part of a file of a conversation that the caller may read.
func (h *Hub) GetAttachment(
	ctx context.Context, p *Principal, q *parley.GetAttachmentParams,
) (parley.GetAttachmentResult, error) {
	return h.files.Get(ctx, p, q)
}

// AttachmentInfo returns the size, the name and the media type of a file.
func (h *Hub) AttachmentInfo(_ context.Context, p *Principal, q *parley.GetAttachmentParams) (parley.System, error) {
	return h.files.Describe(p, q)
}
