package clitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/certs"
)

// Authority signs certificates for tests.
type Authority struct {
	check func(error) // ends the test if there is an error
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
}

// NewAuthority returns a new authority.
func NewAuthority(t *testing.T) *Authority {
	return makeAuthority(func(err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
	})
}

func makeAuthority(check func(error)) *Authority {
	a := &Authority{check: check}
	a.key = a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-48 * time.Hour),
		NotAfter: time.Now().Add(365 * 24 * time.Hour),
	}
	a.cert = a.sign(template, template, a.key)
	return a
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.check(err)
	return key
}

func (a *Authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	a.check(err)
	cert, err := x509.ParseCertificate(der)
	a.check(err)
	return cert
}

// Certificate makes a pair for 127.0.0.1 and the names that ends after some time, perhaps a
// negative one.
func (a *Authority) Certificate(ends time.Duration, names ...string) (cert, key []byte) {
	return a.issue(&x509.Certificate{DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(ends)})
}

// Nameless makes a pair that says who, and not for which host.
func (a *Authority) Nameless() (cert, key []byte) {
	return a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "hub.example.com"},
		NotAfter: time.Now().Add(time.Hour)})
}

func (a *Authority) issue(c *x509.Certificate) (cert, key []byte) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	a.check(err)
	c.SerialNumber, c.NotBefore = serial, time.Now().Add(-48*time.Hour)
	c.KeyUsage = x509.KeyUsageDigitalSignature
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	k := a.newKey()
	der, err := x509.MarshalPKCS8PrivateKey(k)
	a.check(err)
	return pemBlock("CERTIFICATE", a.sign(c, a.cert, k).Raw), pemBlock("PRIVATE KEY", der)
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte { return pemBlock("CERTIFICATE", a.cert.Raw) }

// Write puts a pair of files into a directory and names them.
func (a *Authority) Write(dir string, ends time.Duration, names ...string) certs.Files {
	f := certs.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	cert, key := a.Certificate(ends, names...)
	a.check(os.WriteFile(f.Cert, cert, 0o600))
	a.check(os.WriteFile(f.Key, key, 0o600))
	return f
}

// WriteFile writes a file for its owner alone, and returns its name.
func WriteFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Pool trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}
