package jetstream

import (
	"crypto/tls"
	"log/slog"
	"time"
)

// Options are what Open can be told. The zero Options and nil are good where the servers let anybody in and tell that they sync always.
type Options struct {
	// Name is that of the stream; what else the journal has in the account begins with it. "" means "parley".
	Name string
	// Replicas is on how many servers each message is. Open makes a stream of so many, and refuses one that has another number. 0 takes the stream as it is, and makes
	// one of 1.
	Replicas int
	// Existing refuses servers that have no such stream, with ErrNoStream, instead of making it.
	Existing bool
	// System is the URL of the servers for a user of the system account, by which Open asks them whether they sync always.
	System string
	// Monitors are the addresses at which the servers tell about themselves ("http://host:8222"), which Open asks instead.
	Monitors []string
	// Vouch says that somebody vouches for it: every server that keeps the stream has jetstream { sync_interval: always }. Open then does not ask.
	Vouch bool
	// Credentials is a file with a user's JWT and key.
	Credentials string
	// TLS is for connections that begin with tls://. nil means what the system trusts.
	TLS *tls.Config
	// Patience is how long a batch waits for servers that do not answer before it is refused. 0 means 2 s.
	Patience time.Duration
	// Logger is told when the servers go and come. nil means nobody is.
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
