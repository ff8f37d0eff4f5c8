package certs

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// MaxFileBytes bounds a file of certificates or a key.
const MaxFileBytes = 1 << 20

// Files name PEM files: the certificate with those that lead to its authority, its key, and, where
// clients must show a certificate, the authorities of those. The zero value means no TLS.
type Files struct{ Cert, Key, ClientCA string }

// check refuses names that make no whole.
func (f Files) check() error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return exit.Usagef("TLS needs both a certificate and its key: tls.cert is %q and tls.key is %q", f.Cert, f.Key)
	case f.Cert == "" && f.ClientCA != "":
		return exit.Usagef("tls.clientCA asks clients for certificates, which needs TLS: set tls.cert and tls.key")
	}
	return nil
}

// Read returns the contents of the files. It refuses a key that others may read.
func (f Files) Read() (c Contents, err error) {
	if err := f.check(); err != nil {
		return c, err
	}
	if c.Cert, err = ReadPEM(f.Cert, nil); err != nil {
		return c, fmt.Errorf("TLS certificate: %w", err)
	}
	if c.Key, err = ReadPEM(f.Key, checkKeyMode); err != nil {
		return c, fmt.Errorf("TLS key: %w", err)
	}
	if f.ClientCA == "" {
		return c, nil
	}
	if c.ClientCA, err = ReadPEM(f.ClientCA, nil); err != nil {
		return c, fmt.Errorf("authorities of clients: %w", err)
	}
	return c, nil
}

// ReadPEM reads a small regular file. check, if not nil, looks at the file that is open, so that
// nothing can be put in its place.
func ReadPEM(name string, check func(name string, info fs.FileInfo) error) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxFileBytes {
		return nil, fmt.Errorf("%s has %d bytes; expected at most %d", name, info.Size(), MaxFileBytes)
	}
	if check != nil {
		if err := check(name, info); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(f, MaxFileBytes))
}

// parseCertificates returns the certificates of a PEM text. It skips other blocks.
func parseCertificates(text []byte) (certificates []*x509.Certificate, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certificates = append(certificates, c)
	}
	if len(certificates) == 0 {
		return nil, errors.New("it holds no certificate; expected PEM, -----BEGIN CERTIFICATE-----")
	}
	return certificates, nil
}
