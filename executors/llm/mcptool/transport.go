package mcptool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parleyhub/parley/executors/process"
)

// endWait is how long a command has to end after its stdin is closed.
const endWait = 2 * time.Second

// maxRetries is how often a broken stream is resumed. This does not repeat calls.
const maxRetries = 2

// transport returns the transport of a connection, and a function that closes it. The function may
// be called twice.
func (s *Server) transport(l *link, sse bool) (mcp.Transport, func(), error) {
	if s.config.Command == "" {
		t, release := s.overHTTP(l, sse)
		return t, release, nil
	}
	return s.overStdio()
}

// passedOn are the variables that a command inherits from this process.
var passedOn = []string{
	"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE",
	"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

func (s *Server) environment() (env []string) {
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.config.Env)) {
		env = append(env, name+"="+s.config.Env[name])
	}
	return env
}

// reader does not close its reader. The command ends when its stdin is closed, and that ends the
// reader.
type reader struct{ io.Reader }

func (reader) Close() error { return nil }

// overStdio starts the command.
func (s *Server) overStdio() (mcp.Transport, func(), error) {
	stdin, toServer := io.Pipe()
	fromServer, stdout := io.Pipe()
	p, err := s.o.Processes.Start(context.Background(), &process.Spec{
		Argv: append([]string{s.config.Command}, s.config.Args...), Env: s.environment(), Dir: s.config.Cwd,
		Stdin: stdin, Stdout: stdout, Stderr: s.lines("stderr of an MCP server"),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", s.config.Command, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-p.Done()
		stdin.CloseWithError(io.ErrClosedPipe)
		stdout.CloseWithError(io.EOF)
		s.o.Logger.Debug("a command ended", "how", p.Exit().String())
	}()
	release := sync.OnceFunc(func() {
		toServer.Close()
		t := time.NewTimer(endWait)
		defer t.Stop()
		select {
		case <-p.Done():
		case <-t.C:
			p.Stop(errClosed)
		}
		fromServer.Close()
		<-ended
	})
	// messages limits the length of messages, and the decoder may have read a part of the next one
	return &mcp.IOTransport{
		Reader: reader{newMessages(fromServer, s.lines("skipped a line on stdout that is not JSON-RPC"))},
		Writer: toServer, MaxLineLength: -1,
	}, release, nil
}

// lines returns a logger of output with a text.
func (s *Server) lines(text string) *lines {
	return &lines{log: s.o.Logger, hide: s.secrets, text: text}
}

// overHTTP returns a transport to the address, of the current protocol or of HTTP+SSE.
func (s *Server) overHTTP(l *link, sse bool) (mcp.Transport, func()) {
	origin, err := url.Parse(s.config.URL)
	if err != nil { // expand checked it
		origin = &url.URL{}
	}
	client := http.Client{}
	if s.o.HTTP != nil {
		client = *s.o.HTTP
	}
	base, own := client.Transport, client.Transport == nil
	if own {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = 1 << 20
		base = t
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Transport = &headers{base: base, set: s.config.Headers, life: l.ctx, refused: &l.refused, origin: origin}
	release := func() {
		l.end(errClosed)
		if own {
			client.CloseIdleConnections()
		}
	}
	if sse {
		t := &mcp.SSEClientTransport{Endpoint: s.config.URL, HTTPClient: &client, MaxEventSize: MaxMessage}
		return &sseTransport{t, s.lines("skipped an event that is not JSON-RPC")}, release
	}
	return &mcp.StreamableClientTransport{Endpoint: s.config.URL, HTTPClient: &client, MaxRetries: maxRetries,
		MaxEventSize: MaxMessage}, release
}

// sseTransport is the HTTP+SSE transport of the protocol version 2024-11-05. Its stream lives until
// the connection is released, and events that are not messages are skipped.
type sseTransport struct {
	*mcp.SSEClientTransport
	skipped *lines
}

// Connect opens the stream.
func (t *sseTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.SSEClientTransport.Connect(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	return &sseConnection{conn, t.skipped}, nil
}

type sseConnection struct {
	mcp.Connection
	skipped *lines
}

// Read returns the next message.
func (c *sseConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		message, err := c.Connection.Read(ctx)
		if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
			return message, err
		}
		_, _ = c.skipped.Write([]byte(err.Error() + "\n")) // never fails
	}
}

// refused is the last answer to a POST with an error status.
type refused struct {
	mu     sync.Mutex // guards the fields below
	status int
	text   string
}

// maxRefusal limits the text of an answer in an error.
const maxRefusal = 1 << 10

// note keeps the status and the beginning of the body of an answer. It leaves the body complete.
func (f *refused) note(resp *http.Response) {
	status, text := 0, ""
	if resp.StatusCode >= http.StatusBadRequest {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // the body has the error again
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(b), resp.Body), resp.Body}
		status, text = resp.StatusCode, strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "")), " ")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.text = status, text
}

// explain adds the answer to an error.
func (f *refused) explain(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.status == 0:
		return err
	case f.text == "" || strings.Contains(err.Error(), f.text):
		return fmt.Errorf("%w (HTTP status %d)", err, f.status)
	}
	return fmt.Errorf("%w (HTTP status %d: %s)", err, f.status, f.text)
}

// isOld reports whether the answer may be that of a server which has only the HTTP+SSE transport.
// The specification names 400, 404 and 405, and in older versions all of 4xx.
func (f *refused) isOld() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return f.status >= 400 && f.status < 500
}

// headers adds headers to requests, and limits the size of answers.
type headers struct {
	base    http.RoundTripper
	set     map[string]string
	life    context.Context // of the connection
	refused *refused
	origin  *url.URL
}

// RoundTrip makes a request that ends with the connection. It refuses an address of another origin,
// which a server of HTTP+SSE may name, because the headers may have secrets.
func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != h.origin.Scheme || r.URL.Host != h.origin.Host {
		return nil, fmt.Errorf("the server names an endpoint of another origin: %s://%s", r.URL.Scheme, r.URL.Host)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := func() bool { return true }
	if r.Method != http.MethodDelete { // a DELETE ends the session, after the connection
		stop = context.AfterFunc(h.life, func() { cancel(errClosed) })
	}
	r = r.Clone(ctx)
	for name, value := range h.set {
		r.Header.Set(name, value)
	}
	resp, err := h.base.RoundTrip(r)
	if err != nil {
		stop()
		cancel(nil)
		return nil, err
	}
	if r.Method != http.MethodDelete {
		h.refused.note(resp)
	}
	body := &body{ReadCloser: resp.Body, left: MaxMessage, closed: func() { stop(); cancel(nil) }}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body.left = -1 // its events are limited, but not their sum
	}
	resp.Body = body
	return resp, nil
}

// CloseIdleConnections closes the idle connections of the base.
func (h *headers) CloseIdleConnections() {
	if t, ok := h.base.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

var errTooLarge = errors.New("the server's answer is too large")

// body is a body of at most left bytes. A negative left is no limit.
type body struct {
	io.ReadCloser
	left   int
	closed func()
}

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooLarge
	}
	if b.left > 0 && len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= n
	}
	return n, err
}

func (b *body) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}
