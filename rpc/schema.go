package rpc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"
)

// document serves one of the documents of the protocol, which anybody may read. It does not change while the program runs; a cache asks
// anew after an hour.
func (s *Server) document(text []byte) http.HandlerFunc {
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("ETag", tag)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.opts.WriteTimeout)) // fails where there are no deadlines
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
	}
}
