package journals

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/jetstream"
)

// ReplicaDirectory is where in its directory a hub keeps its replica of a shared log.
const ReplicaDirectory = "replica"

// IsShared reports whether the value of --data or --journal is a log on NATS servers instead of a
// directory.
func IsShared(where string) bool {
	return strings.HasPrefix(where, "nats://") || strings.HasPrefix(where, "tls://")
}

// sharedLog is a log on NATS servers, with a replica in a directory.
type sharedLog struct {
	*config.Journal
	dir      string
	existing bool // it is not made where it is not there
	log      *slog.Logger
}

func newShared(address, dir string) (*sharedLog, error) {
	j, err := config.ParseJournal(address)
	if err != nil {
		return nil, exit.WithHint(exit.Usagef("the address of the log: %w", err),
			"such as nats://host:4222?stream=parley; see docs/guides/several-hubs.md")
	}
	return &sharedLog{Journal: j, dir: dir}, nil
}

// open opens it, and waits until the replica has what the servers have.
func (s *sharedLog) open(ctx context.Context) (*jetstream.Journal, error) {
	o := &jetstream.Options{
		Name: s.Stream, Replicas: s.Replicas, Monitors: s.Monitors, Vouch: s.Vouch, Credentials: s.Credentials,
		Existing: s.existing, Logger: s.log,
	}
	if s.TLS() {
		var err error
		if o.TLS, err = s.tls(); err != nil {
			return nil, err
		}
	}
	j, err := jetstream.Open(ctx, strings.Join(s.withPassword(), ","), s.dir, o)
	if err == nil {
		return j, nil
	}
	return nil, s.explain(err)
}

// withPassword returns the servers with the password of the environment, if they name a user.
func (s *sharedLog) withPassword() []string {
	password := os.Getenv(cli.EnvNATSPassword)
	var all []string
	for _, server := range s.Servers {
		u, err := url.Parse(server)
		if err == nil && u.User != nil && password != "" {
			u.User = url.UserPassword(u.User.Username(), password)
			server = u.String()
		}
		all = append(all, server)
	}
	return all
}

func (s *sharedLog) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := cli.TrustFile(c, "ca= of the log", s.CA); err != nil {
		return nil, err
	}
	if s.Cert == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		return nil, fmt.Errorf("the certificate for the NATS servers: %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// explain adds the next step to an error of open.
func (s *sharedLog) explain(err error) error {
	password := os.Getenv(cli.EnvNATSPassword)
	if password != "" && strings.Contains(err.Error(), password) {
		// no library is known to say it
		return errors.New("the NATS servers cannot be used, and the reason has the password in it")
	}
	switch {
	case errors.Is(err, jetstream.ErrNotDurable):
		return exit.WithHint(err, "jetstream { sync_interval: always } on the servers, and monitor=http://host:8222 in the "+
			"address for each; see docs/guides/several-hubs.md")
	case errors.Is(err, jetstream.ErrNoStream):
		return exit.WithHint(err, "stream= in the address names it; 'parley serve --journal' and 'parley log import' make it")
	case errors.Is(err, jetstream.ErrOtherStream):
		return exit.WithHint(err, "a hub's --data is for one log: use an empty directory, or remove "+s.dir+
			", which is made again from the stream")
	case errors.Is(err, jetstream.ErrRefused):
		return exit.WithHint(fmt.Errorf("%s: %w", s.Where(), err),
			"user@ in the address and $"+cli.EnvNATSPassword+", or credentials=, are the hub's; with tls:// ca= is the "+
				"servers' authority, cert= and key= the hub's own; see docs/guides/several-hubs.md")
	case errors.Is(err, journal.ErrUnavailable):
		return fmt.Errorf("%s: %w", s.Where(), err)
	}
	return err
}

// openSharedScratch opens a shared log for one command, with a replica that is removed at the end.
func openSharedScratch(address string, existing bool) (journal.Journal, error) {
	dir, err := os.MkdirTemp("", "parley-replica-*")
	if err != nil {
		return nil, err
	}
	s, err := newShared(address, dir)
	if err == nil {
		s.existing = existing
		var j *jetstream.Journal
		ctx, cancel := context.WithTimeout(context.Background(), scratchTimeout)
		defer cancel()
		if j, err = s.open(ctx); err == nil {
			return &scratchJournal{j, dir}, nil
		}
	}
	return nil, errors.Join(err, os.RemoveAll(dir))
}

// scratchTimeout bounds how long a command reads a shared log before it begins.
const scratchTimeout = 30 * time.Minute

// scratchJournal removes its replica.
type scratchJournal struct {
	*jetstream.Journal
	dir string
}

func (j *scratchJournal) Close() error { return errors.Join(j.Journal.Close(), os.RemoveAll(j.dir)) }

// PeersOf returns the connection to the other hubs of a log, or nil if there are no others.
func PeersOf(j journal.Journal) hub.Peers {
	switch j := j.(type) {
	case *jetstream.Journal:
		return j.Peers()
	case *scratchJournal:
		return j.Peers()
	}
	return nil
}
