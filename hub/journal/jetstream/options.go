package jetstream

import (
	"crypto/tls"
	"log/slog"
	"time"
)

// Options of Open. Nil and the zero value are valid for servers that accept any user and report
// that they always sync.
type Options struct {
	// Name is the name of the stream, and the prefix of the other names in the account. Empty means
	// "parley".
	Name string
	// Replicas is the number of servers that store each message. Open creates a stream with this
	// number, and refuses one with another. 0 accepts any stream, and creates one with 1.
	Replicas int
	// Existing makes Open fail with ErrNoStream instead of creating a stream.
	Existing bool
	// System is the URL of the servers for a user of the system account. Open uses it to ask them
	// whether they always sync.
	System string
	// Monitors are the monitoring addresses of the servers ("http://host:8222"), which Open asks
	// instead.
	Monitors []string
	// Vouch means that every server that stores the stream has jetstream { sync_interval: always }.
	// Then Open does not ask.
	Vouch bool
	// Credentials is a file with a user's JWT and key.
	Credentials string
	// TLS is for connections that begin with tls://. nil means what the system trusts.
	TLS *tls.Config
	// Patience is how long a batch waits for servers that do not answer before it is refused. 0
	// means 2 s.
	Patience time.Duration
	// Logger receives messages when the servers stop or start to answer. It may be nil.
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Name == "" {
		d.Name = "parley"
	}
	if d.Patience <= 0 {
		d.Patience = 2 * time.Second
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}
