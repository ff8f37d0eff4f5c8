// Package console serves Parley's page for people: the conversations of a hub, what is said in them, and what people have to answer.
//
// The page is a program of its own. It has no powers: it calls the hub's methods over a WebSocket like any client, with the token of who has signed in, so that it
// shows and does what that token may. This package only gives out its files, which are the same for everybody, and says what a browser may let them do: scripts and
// styles of the hub alone, no frames around it, no text taken for HTML, and no connection but to the hub that has served it.
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

// Path is where the page is served. Its files are below it.
const Path = "/console"

//go:embed page/index.html page/icon.svg page/css page/js/*.js
var embedded embed.FS

// Options of Handler. The zero value is valid.
type Options struct {
	// Files are served instead of the page's own, for who works on the page; nil: those that were built in.
	Files fs.FS
}

// file is one that is served.
type file struct {
	content   []byte
	mediaType string
	etag      string
}

// Handler serves the page at Path and its files below it.
func Handler(o Options) http.Handler {
	files := o.Files
	if files == nil {
		files, _ = fs.Sub(embedded, "page") // the directory is there: it was built in
	}
	return &handler{files: files}
}

type handler struct {
	files fs.FS
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, below := strings.CutPrefix(r.URL.Path, Path+"/")
	switch {
	case below && name == "": // the page names its files as they are seen from Path
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
	_, _ = w.Write(f.content) // who has gone has gone
}

// read gives a file that is served: scripts, styles and the icon.
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

// mediaTypes are those of the files that are served, by the end of their names.
var mediaTypes = map[string]string{
	".html": mime.FormatMediaType("text/html", map[string]string{"charset": "utf-8"}),
	".css":  mime.FormatMediaType("text/css", map[string]string{"charset": "utf-8"}),
	".js":   mime.FormatMediaType("text/javascript", map[string]string{"charset": "utf-8"}),
	".svg":  "image/svg+xml",
}

// protect says what a browser lets the page do. The host is that by which the page was asked for; browsers that do not count sockets among 'self' need it by name.
func protect(h http.Header, host string) {
	connect := "'self'"
	if isHost(host) {
		connect += " ws://" + host + " wss://" + host
	}
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src "+connect+
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
}

// isHost reports whether a Host header can stand in a policy.
func isHost(host string) bool {
	return host != "" && len(host) <= 255 && strings.IndexFunc(host, func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]", c)
	}) < 0
}
