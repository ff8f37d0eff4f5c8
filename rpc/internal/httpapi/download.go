package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/rpc/internal/admission"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

const (
	// downloadPart is how much of a file, in bytes, a download has in memory.
	downloadPart = 128 << 10
	// backupPiece is how much of a backup is written at once. The peer has WriteTimeout for each piece.
	backupPiece = 64 << 10
)

// downloadParams are the params of getAttachment over plain HTTP, which has Range instead of offset
// and length.
type downloadParams struct {
	ConversationID string `json:"conversationId"`
	SHA256         string `json:"sha256"`
}

// serveDownload is getAttachment with the file, or a range of it, as the body.
func (a *API) serveDownload(w http.ResponseWriter, r *http.Request, rt *route) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	e, err := a.requests.beginExchange(w, r, cancel)
	if err != nil {
		a.writeProblem(w, err)
		return
	}
	defer a.requests.endExchange(e)
	out := &extendingWriter{w, a}
	d, err := a.openDownload(ctx, r, rt)
	if err != nil {
		a.refuseUnanswered(ctx, out, rt.method.Name, err)
		return
	}
	d.setHeader(w.Header())
	http.ServeContent(out, r, "", time.Time{}, d)
	// The peer sees that the body is shorter than the header says.
	if d.err != nil && ctx.Err() == nil && parley.ErrorRowOf(d.err).Err == parley.ErrInternal {
		a.Log.Error("a download broke off", "attachment", d.SHA256, "conversation", d.ConversationID, "error", d.err)
	}
	_ = e.http.Flush() // while Cut still has an effect
}

// openDownload finds the file. It reads the first part, so that a damaged file is refused before
// anything is sent.
func (a *API) openDownload(ctx context.Context, r *http.Request, rt *route) (*download, error) {
	c := rt.newCall(a, r)
	var err error
	if c.Principal, err = a.authenticateBodiless(r); err != nil {
		return nil, err
	}
	if err = c.CheckAllowed(); err != nil {
		return nil, err
	}
	if c.Params, err = rt.readParams(r, nil); err != nil {
		return nil, err
	}
	d := &download{ctx: ctx, hub: a.Hub, principal: c.Principal}
	if err = c.DecodeParams(&d.downloadParams); err != nil {
		return nil, err
	}
	q := &parley.GetAttachmentParams{ConversationID: d.ConversationID, SHA256: d.SHA256}
	if d.about, err = a.Hub.AttachmentInfo(ctx, c.Principal, q); err != nil {
		return nil, err
	}
	return d, d.readPart()
}

// download is a file for http.ServeContent. It reads each part from the hub when that is needed, with
// the rights that the caller has then.
type download struct {
	downloadParams
	ctx       context.Context
	hub       *hub.Hub
	principal *hub.Principal
	about     parley.System

	at   int64  // where the next Read begins
	from int64  // of part
	part []byte // of the file
	err  error
}

// setHeader sets the headers of a file: bytes to store, never a page of the hub's origin to run.
func (d *download) setHeader(h http.Header) {
	h.Set("Content-Type", "application/octet-stream")
	disposition := "attachment"
	if d.about.Name != "" {
		disposition += "; filename*=UTF-8''" + escapeName(d.about.Name)
	}
	h.Set("Content-Disposition", disposition)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", `"`+d.SHA256+`"`)
}

// escapeName escapes a name for a header, as RFC 8187 defines it.
func escapeName(name string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	var out []byte
	for _, c := range []byte(name) {
		if strings.IndexByte(plain, c) >= 0 {
			out = append(out, c)
		} else {
			out = fmt.Appendf(out, "%%%02X", c)
		}
	}
	return string(out)
}

// readPart reads the part that begins at d.at.
func (d *download) readPart() error {
	r, err := d.hub.GetAttachment(d.ctx, d.principal, &parley.GetAttachmentParams{
		ConversationID: d.ConversationID, SHA256: d.SHA256, Offset: d.at, Length: downloadPart,
	})
	if err != nil {
		d.err = err
		return err
	}
	d.from, d.part = d.at, r.Data
	return nil
}

func (d *download) Read(b []byte) (int, error) {
	if d.at >= d.about.Size {
		return 0, io.EOF
	}
	if d.at < d.from || d.at >= d.from+int64(len(d.part)) {
		if err := d.readPart(); err != nil {
			return 0, err
		}
	}
	n := copy(b, d.part[d.at-d.from:])
	d.at += int64(n)
	return n, nil
}

func (d *download) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += d.at
	case io.SeekEnd:
		offset += d.about.Size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning of the file")
	}
	d.at = offset
	return offset, nil
}

// extendingWriter extends the deadline before each write of a long answer.
type extendingWriter struct {
	http.ResponseWriter
	api *API
}

func (w *extendingWriter) Write(b []byte) (int, error) {
	w.api.extendWrite(w.ResponseWriter)
	return w.ResponseWriter.Write(b)
}

// serveBackup streams a backup to callers with scope admin. A backup without its last line was cut
// off, and its connection too.
func (a *API) serveBackup(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	e, err := a.requests.beginExchange(w, r, cancel)
	if err != nil {
		a.writeProblem(w, err)
		return
	}
	defer a.requests.endExchange(e)
	p, err := a.authenticate(r)
	if err != nil {
		a.writeProblem(w, err)
		return
	}
	actor := admission.NewActor(p, a.Admission.Address(r), "backup")
	out := &backupWriter{ctx: ctx, w: w, exchange: e, timeout: a.WriteTimeout}
	stop := out.cutWhen(a.Hub.Done())
	defer stop()
	buffered := bufio.NewWriterSize(out, backupPiece)
	trailer, err := a.Hub.Backup(ctx, p, buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil && !out.begun {
		if errors.Is(err, parley.ErrForbidden) {
			a.Admission.Audit.Refuse("scope_refused", actor, err, "")
		}
		a.refuseUnanswered(ctx, w, "backup", err)
		return
	}
	a.Admission.Audit.Grant("backup", actor, slog.Int64("records", trailer.Records), slog.Bool("whole", err == nil))
	if err != nil {
		a.Log.Warn("a backup was cut off", "tokenId", admission.Untrusted(p.TokenID), "error", err)
		abort() // the peer must not take it as whole
	}
}

// backupWriter writes an answer of any length, with a deadline for each piece.
type backupWriter struct {
	ctx      context.Context
	w        http.ResponseWriter
	exchange *exchange
	timeout  time.Duration
	begun    bool

	mu sync.Mutex // held while a deadline is set, so that that of cutWhen is the last
}

func (o *backupWriter) Write(b []byte) (n int, err error) {
	if !o.begun {
		o.begun = true
		o.w.Header().Set("Content-Type", "application/x-ndjson")
		calls.SetNoStore(o.w.Header())
	}
	for err == nil && n < len(b) {
		var m int
		if err = o.extend(); err == nil {
			m, err = o.w.Write(b[n:min(len(b), n+backupPiece)])
		}
		n += m
	}
	return n, err
}

// extend sets the deadline of the next piece. It fails if the answer has been cut.
func (o *backupWriter) extend() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() == nil {
		_ = o.exchange.http.SetWriteDeadline(time.Now().Add(o.timeout)) // fails without deadlines
	}
	return o.ctx.Err()
}

// cutWhen cuts the answer when done is closed. The caller must call stop.
func (o *backupWriter) cutWhen(done <-chan struct{}) (stop func()) {
	stopped := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-stopped:
		case <-done:
			o.mu.Lock()
			defer o.mu.Unlock()
			o.exchange.cut()
		}
	})
	return func() {
		close(stopped)
		waiting.Wait()
	}
}
