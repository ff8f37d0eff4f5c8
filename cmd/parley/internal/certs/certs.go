// Package certs reads the PEM files of TLS, for hubs and for clients.
//
//	contents, err := files.Read()
//	config, err := certs.LoadServer(files, contents)
package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"
)

const (
	// TlsLook is how often the files are looked at.
	TlsLook = 5 * time.Second
	// certificateSoon is how long before its end a certificate is warned of, once a day.
	certificateSoon = 14 * 24 * time.Hour
)

// CheckValidity returns an error for a certificate that clients do not accept now, or soon will
// not.
func CheckValidity(leaf *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("is not valid before %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return fmt.Errorf("ended on %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	case leaf.NotAfter.Sub(now) < certificateSoon:
		return fmt.Errorf("ends on %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// LoadServer makes a config of files that were read: TLS 1.3 and nothing older. With a client CA it
// asks every client for a certificate of it.
//
// HTTP/2 is not offered: a WebSocket is an upgrade of HTTP/1.1. Sessions are not resumed, so that a
// new certificate or client CA holds for every handshake that comes after it.
func LoadServer(files Files, contents Contents) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(contents.Cert, contents.Key)
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s and the key in %s cannot be used: %w", files.Cert, files.Key, err)
	}
	if len(HostNames(pair.Leaf)) == 0 {
		return nil, fmt.Errorf("the first certificate in %s names no host, so no client takes it; expected the hub's own, "+
			"with a subjectAltName", files.Cert)
	}
	config := &tls.Config{
		Certificates:           []tls.Certificate{pair},
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{"http/1.1"},
		SessionTicketsDisabled: true,
	}
	if files.ClientCA == "" {
		return config, nil
	}
	if config.ClientCAs, err = AddToPool(x509.NewCertPool(), files.ClientCA, contents.ClientCA); err != nil {
		return nil, err
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}

// AddToPool adds the PEM certificates of a file to a pool. All of them must be good.
func AddToPool(pool *x509.CertPool, file string, text []byte) (*x509.CertPool, error) {
	certificates, err := parseCertificates(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, c := range certificates {
		pool.AddCert(c)
	}
	return pool, nil
}

// HostNames are the names and addresses that a certificate is for.
func HostNames(c *x509.Certificate) []string {
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// Contents are the bytes of the files.
type Contents struct{ Cert, Key, ClientCA []byte }

func (c Contents) Equal(d Contents) bool {
	return bytes.Equal(c.Cert, d.Cert) && bytes.Equal(c.Key, d.Key) && bytes.Equal(c.ClientCA, d.ClientCA)
}
