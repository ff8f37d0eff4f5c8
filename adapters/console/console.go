// Package console serves the web console of Parley: the conversations of a hub, their messages, and
// the approvals that people answer. [Handler] serves it.
//
// The page is a separate program without special rights. Like any client, it calls the methods of
// the hub over a WebSocket with the token of the signed-in person. This package serves the files of
// the page, which are the same for everyone. It also sets the policy for browsers: only scripts and
// styles of the hub, no frames around the page, no HTML from text, and connections only to the hub
// that served the page.
package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// Path is the path of the page. Its files are below it.
const Path = "/console"

//go:embed page/index.html page/icon.svg page/css page/js/*.js
var embedded embed.FS

// Options configures Handler. The zero value is valid.
type Options struct {
	// Files replaces the embedded files during development of the page; nil means the embedded ones.
	Files fs.FS
}

// file is a served file.
type file struct {
	content   []byte
	mediaType string
	etag      string
}

// Handler serves the page at Path, and its files below it.
func Handler(o Options) http.Handler {
	files := o.Files
	if files == nil {
		files, _ = fs.Sub(embedded, "page") // the embedded directory exists
	}
	return &handler{files: files}
}

type handler struct {
	files fs.FS
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, below := strings.CutPrefix(r.URL.Path, Path+"/")
	switch {
	case below && name == "": // the URLs of the page are relative to Path
		protect(w.Header(), r.Host)
		w.Header().Set("Location", "../console")
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	case !below && r.URL.Path == Path:
		name = "index.html"
	case !below, name == "index.html":
		name = ""
	}
	f, ok := h.read(name)
	if !ok {
		protect(w.Header(), r.Host)
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	protect(w.Header(), r.Host)
	head := w.Header()
	head.Set("Content-Type", f.mediaType)
	head.Set("ETag", f.etag)
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(f.content) // the client may be gone
}

// read returns a served file: scripts, styles and the icon.
func (h *handler) read(name string) (file, bool) {
	mediaType, ok := mediaTypes[path.Ext(name)]
	if !ok || !fs.ValidPath(name) {
		return file{}, false
	}
	content, err := fs.ReadFile(h.files, name)
	if err != nil {
		return file{}, false
	}
	sum := sha256.Sum256(content)
	return file{content, mediaType, `"` + hex.EncodeToString(sum[:16]) + `"`}, true
}

// mediaTypes are the media types of served files, by extension.
var mediaTypes = map[string]string{
	".html": mime.FormatMediaType("text/html", map[string]string{"charset": "utf-8"}),
	".css":  mime.FormatMediaType("text/css", map[string]string{"charset": "utf-8"}),
	".js":   mime.FormatMediaType("text/javascript", map[string]string{"charset": "utf-8"}),
	".svg":  "image/svg+xml",
}

// protect sets the security policy of the page. host is that of the request: browsers that do not
// include WebSockets in 'self' need its name.
func protect(h http.Header, host string) {
	connect := "'self'"
	if isHost(host) {
		connect += " ws://" + host + " wss://" + host
	}
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: "+
		"blob:; connect-src "+connect+
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types "+
		"'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
}

// isHost reports whether a Host header is safe in a policy.
func isHost(host string) bool {
	return host != "" && len(host) <= 255 && strings.IndexFunc(host, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]", c)
	}) < 0
}
