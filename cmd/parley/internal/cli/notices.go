package cli

import (
	"context"
	"log/slog"
	"sync"
)

// ConnectionNotices notifies a waiting person when the connection to the hub is lost and when it is
// back. It is the slog.Handler of the sdk.
type ConnectionNotices struct {
	mu   sync.Mutex // guards the fields below
	tell func(string)
	lost bool
}

// SendTo makes a function the receiver of notices. Nil discards them.
func (n *ConnectionNotices) SendTo(tell func(string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell = tell
}

// Enabled wants what the sdk says of lost and regained connections, and not each attempt.
func (n *ConnectionNotices) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle sends a notice for a change. The first connection is no change.
func (n *ConnectionNotices) Handle(_ context.Context, r slog.Record) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := ""
	switch {
	case r.Message == "connection to the hub lost" && !n.lost:
		n.lost, text = true, "the connection to the hub is lost; trying again"
	case r.Message == "connected to the hub" && n.lost:
		n.lost, text = false, "the hub is there again"
	}
	if text != "" && n.tell != nil {
		n.tell(text)
	}
	return nil
}

// WithAttrs returns the same handler, because notices have no attributes.
func (n *ConnectionNotices) WithAttrs([]slog.Attr) slog.Handler { return n }

// WithGroup is the same handler.
func (n *ConnectionNotices) WithGroup(string) slog.Handler { return n }

var _ slog.Handler = (*ConnectionNotices)(nil)
