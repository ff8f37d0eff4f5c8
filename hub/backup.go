package hub

import (
	"context"
	"encoding/hex"
	"io"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/journal"
)

var errBackupRunning = &parley.Error{Err: parley.ErrRateLimited, Message: "a backup is under way", Expected: "one at a time", RetryAfterMs: 1000}

// Backup writes all that the hub holds when it begins, its own conversations and all attachments with it: see package archive. It is for
// admins whose token is not narrowed to conversations, one at a time. Nothing is written before it is allowed. A hub that drains, and a
// token that ends, end it with an error; what was written is then known to be cut off, because the last line is missing.
// An attachment that is gone or damaged is logged, and the backup says so in its place.
func (h *Hub) Backup(ctx context.Context, p *auth.Principal, w io.Writer) (archive.Trailer, error) {
	if err := h.mayBackup(p); err != nil {
		return archive.Trailer{}, err
	}
	if err := h.conv.Begin(); err != nil { // Close waits for it
		return archive.Trailer{}, err
	}
	defer h.conv.End()
	if !h.backup.TryLock() {
		return archive.Trailer{}, errBackupRunning
	}
	defer h.backup.Unlock()
	return archive.WriteBackup(ctx, &allowedWriter{h, p, w}, h.journal, h.opts.Version, h.lostFile)
}

// lostFile tells whoever looks after the hub of a file that a backup cannot have.
func (h *Hub) lostFile(hash journal.Hash, err error) {
	h.log.Error("an attachment is gone or damaged: the backup goes on without it", "attachment", hex.EncodeToString(hash[:]), "error", err)
}

// mayBackup refuses who may not read everything.
func (h *Hub) mayBackup(p *auth.Principal) error {
	if err := h.conv.Serving(); err != nil {
		return err
	}
	if err := h.Valid(p); err != nil {
		return err
	}
	if !p.Admin() || p.IsRestricted() {
		return parley.Refuse(parley.ErrForbidden, "a backup has everything in it", "a token with scope admin that is not narrowed to conversations")
	}
	return nil
}

// allowedWriter writes as long as the hub serves and the token of a principal is valid.
type allowedWriter struct {
	hub *Hub
	p   *auth.Principal
	w   io.Writer
}

func (a *allowedWriter) Write(b []byte) (int, error) {
	if err := a.hub.mayBackup(a.p); err != nil {
		return 0, err
	}
	return a.w.Write(b)
}
