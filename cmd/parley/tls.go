package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

const (
	// tlsLook is how often the files are looked at.
	tlsLook = 5 * time.Second
	// certificateSoon is how long before its end a certificate is warned of, once a day.
	certificateSoon = 14 * 24 * time.Hour
)

// hubTLS is the TLS of a hub, whose certificates follow their files: new ones hold for the connections that come after, and
// those that are open go on. Files that are broken change nothing.
type hubTLS struct {
	// config is for a listener.
	config *tls.Config

	files   tlsFiles
	log     zerolog.Logger
	current atomic.Pointer[tls.Config]
	stop    chan struct{}
	looking sync.WaitGroup

	mu       sync.Mutex  // guards the fields below
	seen     tlsContents // what the files held when they were looked at last, good or not
	reminded time.Time   // when the end of the certificate was warned of
}

// newTLS reads the files and looks after them until close. It refuses files that do not make a whole: see loadTLS.
func newTLS(files tlsFiles, log zerolog.Logger) (*hubTLS, error) {
	contents, err := files.read()
	if err != nil {
		return nil, err
	}
	first, err := loadTLS(files, contents)
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
	contents, err := t.files.read()
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
	tick := time.NewTicker(tlsLook)
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
	contents, err := t.files.read()
	if err != nil {
		return err
	}
	if contents.equal(t.seen) {
		return nil
	}
	return t.takeLocked(contents)
}

func (t *hubTLS) takeLocked(contents tlsContents) error {
	next, err := loadTLS(t.files, contents)
	if err != nil {
		return err
	}
	t.seen, t.reminded = contents, time.Time{}
	t.current.Store(next)
	leaf := next.Certificates[0].Leaf
	t.log.Info().Strs("names", certificateNames(leaf)).Time("until", leaf.NotAfter).Msg("the certificate was loaded")
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
	if err := checkValidity(leaf, now); err != nil {
		t.reminded = now
		t.log.Warn().Time("from", leaf.NotBefore).Time("until", leaf.NotAfter).Msg("the certificate in " + t.files.cert + " " + err.Error())
	}
}

// checkValidity gives an error for a certificate that clients do not take now or soon.
func checkValidity(leaf *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("is not valid before %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("has ended on %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	case leaf.NotAfter.Sub(now) < certificateSoon:
		return fmt.Errorf("ends on %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// loadTLS makes a config of files that were read: TLS 1.3 and nothing older. With a client CA it asks every client for a certificate of it.
//
// HTTP/2 is not offered: a WebSocket is an upgrade of HTTP/1.1. Sessions are not resumed, so that a new certificate or client
// CA holds for every handshake that comes after it.
func loadTLS(files tlsFiles, contents tlsContents) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(contents.cert, contents.key)
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s and the key in %s cannot be used: %w", files.cert, files.key, err)
	}
	if len(certificateNames(pair.Leaf)) == 0 {
		return nil, fmt.Errorf("the first certificate in %s names no host, so no client takes it; expected the hub's own, with a subjectAltName", files.cert)
	}
	config := &tls.Config{
		Certificates:           []tls.Certificate{pair},
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{"http/1.1"},
		SessionTicketsDisabled: true,
	}
	if files.clientCA == "" {
		return config, nil
	}
	if config.ClientCAs, err = addCertificates(x509.NewCertPool(), files.clientCA, contents.clientCA); err != nil {
		return nil, err
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}

// addCertificates adds the PEM certificates of a file to a pool. All of them must be good.
func addCertificates(pool *x509.CertPool, file string, text []byte) (*x509.CertPool, error) {
	certificates, err := parseCertificates(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, c := range certificates {
		pool.AddCert(c)
	}
	return pool, nil
}

// certificateNames are the names and addresses that a certificate is for.
func certificateNames(c *x509.Certificate) []string {
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// tlsContents are the bytes of the files.
type tlsContents struct{ cert, key, clientCA []byte }

func (c tlsContents) equal(d tlsContents) bool {
	return bytes.Equal(c.cert, d.cert) && bytes.Equal(c.key, d.key) && bytes.Equal(c.clientCA, d.clientCA)
}
