package serve

import (
	"crypto/tls"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/cmd/parley/internal/certs"
)

// hubTLS is the TLS of a hub, whose certificates follow their files: new ones hold for the
// connections that come after, and those that are open go on. Files that are broken change nothing.
type hubTLS struct {
	// config is for a listener.
	config *tls.Config

	files   certs.Files
	log     zerolog.Logger
	current atomic.Pointer[tls.Config]
	stop    chan struct{}
	looking sync.WaitGroup

	mu       sync.Mutex     // guards the fields below
	seen     certs.Contents // what the files held when they were looked at last, good or not
	reminded time.Time      // when the end of the certificate was warned of
}

// newTLS reads the files and looks after them until close. It refuses files that do not make a
// whole: see loadTLS.
func newTLS(files certs.Files, log zerolog.Logger) (*hubTLS, error) {
	contents, err := files.Read()
	if err != nil {
		return nil, err
	}
	first, err := certs.LoadServer(files, contents)
	if err != nil {
		return nil, err
	}
	t := &hubTLS{files: files, log: log, stop: make(chan struct{}), seen: contents}
	t.current.Store(first)
	t.config = first.Clone()
	t.config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return t.current.Load(), nil }
	t.remind()
	t.looking.Go(t.look)
	return t, nil
}

// reload reads the files now. When they are broken it says why, and what was loaded before stays.
func (t *hubTLS) reload() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	contents, err := t.files.Read()
	if err != nil {
		return err
	}
	return t.takeLocked(contents)
}

// close ends the looking.
func (t *hubTLS) close() {
	close(t.stop)
	t.looking.Wait()
}

// look follows the files.
func (t *hubTLS) look() {
	tick := time.NewTicker(certs.TlsLook)
	defer tick.Stop()
	failed := ""
	for {
		select {
		case <-t.stop:
			return
		case <-tick.C:
		}
		failure := ""
		if err := t.follow(); err != nil {
			failure = err.Error()
		}
		if failure != "" && failure != failed {
			t.log.Error().Str("error", failure).Msg("the TLS files cannot be used any more; the certificate from before stays")
		}
		failed = failure
		t.remind()
	}
}

// follow takes the files when they have changed since they were looked at last.
func (t *hubTLS) follow() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	contents, err := t.files.Read()
	if err != nil {
		return err
	}
	if contents.Equal(t.seen) {
		return nil
	}
	return t.takeLocked(contents)
}

func (t *hubTLS) takeLocked(contents certs.Contents) error {
	next, err := certs.LoadServer(t.files, contents)
	if err != nil {
		return err
	}
	t.seen, t.reminded = contents, time.Time{}
	t.current.Store(next)
	leaf := next.Certificates[0].Leaf
	t.log.Info().Strs("names", certs.HostNames(leaf)).Time("until", leaf.NotAfter).Msg("the certificate was loaded")
	return nil
}

// remind warns once a day of a certificate that is not valid now or ends soon.
func (t *hubTLS) remind() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if !t.reminded.IsZero() && now.Sub(t.reminded) < 24*time.Hour {
		return
	}
	leaf := t.current.Load().Certificates[0].Leaf
	if err := certs.CheckValidity(leaf, now); err != nil {
		t.reminded = now
		t.log.Warn().Time("from", leaf.NotBefore).Time("until", leaf.NotAfter).Msg("the certificate in " + t.files.Cert +
			" " + err.Error())
	}
}
