package main

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxPEMBytes bounds a file of certificates or a key.
const maxPEMBytes = 1 << 20

// tlsFiles name PEM files: the certificate with those that lead to its authority, its key, and, where clients must show a certificate, the
// authorities of those. The zero value means no TLS.
type tlsFiles struct{ cert, key, clientCA string }

// check refuses names that make no whole.
func (f tlsFiles) check() error {
	switch {
	case (f.cert == "") != (f.key == ""):
		return usagef("TLS needs both a certificate and its key: tls.cert is %q and tls.key is %q", f.cert, f.key)
	case f.cert == "" && f.clientCA != "":
		return usagef("tls.clientCA asks clients for certificates, which needs TLS: set tls.cert and tls.key")
	}
	return nil
}

// read gives what the files hold. A key that others may read is refused.
func (f tlsFiles) read() (c tlsContents, err error) {
	if err := f.check(); err != nil {
		return c, err
	}
	if c.cert, err = readPEM(f.cert, nil); err != nil {
		return c, fmt.Errorf("TLS certificate: %w", err)
	}
	if c.key, err = readPEM(f.key, checkKeyMode); err != nil {
		return c, fmt.Errorf("TLS key: %w", err)
	}
	if f.clientCA == "" {
		return c, nil
	}
	if c.clientCA, err = readPEM(f.clientCA, nil); err != nil {
		return c, fmt.Errorf("authorities of clients: %w", err)
	}
	return c, nil
}

// readPEM reads a small regular file. check, if not nil, looks at the file that is open, so that nothing can be put in its place.
func readPEM(name string, check func(name string, info fs.FileInfo) error) ([]byte, error) {
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
	if info.Size() > maxPEMBytes {
		return nil, fmt.Errorf("%s has %d bytes; expected at most %d", name, info.Size(), maxPEMBytes)
	}
	if check != nil {
		if err := check(name, info); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(f, maxPEMBytes))
}

// parseCertificates gives the certificates of a PEM text; other blocks are passed over.
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
