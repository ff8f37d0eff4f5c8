package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// downloadParams are those of getAttachment over plain HTTP, which has Range for offset and length.
type downloadParams struct {
	ConversationID string `json:"conversationId"`
	SHA256         string `json:"sha256"`
}

// serveDownload is getAttachment with the file as the body, or the range that is asked for.
func (s *Server) serveDownload(w http.ResponseWriter, r *http.Request, rt *route) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	p, err := s.beginPost(w, cancel, r.Body != http.NoBody)
	if err != nil {
		s.writeProblem(w, err)
		return
	}
	defer s.endPost(p)
	out := &patient{w, p, s.opts.WriteTimeout}
	d, err := s.openDownload(ctx, r, rt)
	if err != nil {
		s.refuseBegun(ctx, out, rt.method.Name, err)
		return
	}
	d.head(w.Header())
	http.ServeContent(out, r, "", time.Time{}, d)
	if d.err != nil && ctx.Err() == nil && parley.ErrorRowOf(d.err).Err == parley.ErrInternal { // the peer sees that less came than was said
		s.log.Error("a download broke off", "attachment", d.SHA256, "conversation", d.ConversationID, "error", d.err)
	}
	_ = p.http.Flush() // while Shutdown can still cut it
}

// openDownload finds the file. It reads the beginning, so that what is damaged is refused before anything is sent.
func (s *Server) openDownload(ctx context.Context, r *http.Request, rt *route) (*download, error) {
	c := &call{server: s, handler: rt.handler(), plain: true, remote: s.address(r)}
	var err error
	if c.principal, err = s.bodiless(r); err != nil {
		return nil, err
	}
	if err = c.allowed(); err != nil {
		return nil, err
	}
	if c.params, err = rt.params(r, nil); err != nil {
		return nil, err
	}
	d := &download{ctx: ctx, hub: s.hub, principal: c.principal}
	if err = c.decode(&d.downloadParams); err != nil {
		return nil, err
	}
	q := &parley.GetAttachmentParams{ConversationID: d.ConversationID, SHA256: d.SHA256}
	if d.about, err = s.hub.AttachmentInfo(ctx, c.principal, q); err != nil {
		return nil, err
	}
	return d, d.fill()
}

// download is a file as http.ServeContent reads it: in parts, each asked of the hub when it is needed, by who has the right to it then.
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

// head says what is sent: bytes to be stored by whoever asked, and never anything that a browser would run as a page of the hub's origin.
func (d *download) head(h http.Header) {
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

// escapeName writes a name as RFC 8187 wants it in a header.
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

// downloadPart is how much of a file, in bytes, a download holds in memory.
const downloadPart = 128 << 10

// fill gets the part that begins at d.at.
func (d *download) fill() error {
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
		if err := d.fill(); err != nil {
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

// patient gives each write of a long answer a deadline of its own.
type patient struct {
	http.ResponseWriter
	p       *post
	timeout time.Duration
}

func (w *patient) Write(b []byte) (int, error) {
	_ = w.p.http.SetWriteDeadline(time.Now().Add(w.timeout)) // fails where there are no deadlines
	return w.ResponseWriter.Write(b)
}
