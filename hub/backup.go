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

var errBackupRunning = &parley.Error{
	Err: parley.ErrRateLimited, Message: "a backup is under way", Expected: "one at a time", RetryAfterMs: 1000,
}

// Backup writes all conversations that the hub has at the start of the call, with the attachments, in the
// format of package archive. It returns ErrForbidden without writing, unless p is an admin that is not
// restricted to conversations. It returns ErrRateLimited while another backup runs. It returns an error when
// the hub drains or the token ends; then the last line of the backup is missing. A missing or damaged
// attachment is logged and marked in the backup.
func (h *Hub) Backup(ctx context.Context, p *auth.Principal, w io.Writer) (archive.Trailer, error) {
	if err := h.checkBackup(p); err != nil {
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
	logLost := func(hash journal.Hash, err error) {
		h.log.Error("an attachment is gone or damaged: the backup continues without it",
			"attachment", hex.EncodeToString(hash[:]), "error", err)
	}
	return archive.WriteBackup(ctx, &allowedWriter{h, p, w}, h.journal, h.opts.Version, logLost)
}

// checkBackup returns an error unless the hub serves and p may read everything.
func (h *Hub) checkBackup(p *auth.Principal) error {
	if err := h.conv.Serving(); err != nil {
		return err
	}
	if err := h.Valid(p); err != nil {
		return err
	}
	if !p.Admin() || p.IsRestricted() {
		return parley.Refuse(parley.ErrForbidden,
			"a backup has everything in it", "a token with scope admin that is not narrowed to conversations")
	}
	return nil
}

// allowedWriter fails once the hub drains or the token of the principal ends.
type allowedWriter struct {
	hub *Hub
	p   *auth.Principal
	w   io.Writer
}

func (a *allowedWriter) Write(b []byte) (int, error) {
	if err := a.hub.checkBackup(a.p); err != nil {
		return 0, err
	}
	return a.w.Write(b)
}
