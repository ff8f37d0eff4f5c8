package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// authority signs certificates for tests.
type authority struct {
	check func(error) // ends the test if there is an error
	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	return makeAuthority(func(err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
	})
}

func makeAuthority(check func(error)) *authority {
	a := &authority{check: check}
	a.key = a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
	}
	a.cert = a.sign(template, template, a.key)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.check(err)
	return key
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	a.check(err)
	cert, err := x509.ParseCertificate(der)
	a.check(err)
	return cert
}

// certificate makes a pair for 127.0.0.1 and the names that ends after some time, perhaps a negative one.
func (a *authority) certificate(ends time.Duration, names ...string) (cert, key []byte) {
	return a.issue(&x509.Certificate{DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(ends)})
}

// nameless makes a pair that says who, and not for which host.
func (a *authority) nameless() (cert, key []byte) {
	return a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "hub.example.com"}, NotAfter: time.Now().Add(time.Hour)})
}

func (a *authority) issue(c *x509.Certificate) (cert, key []byte) {
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

// pem is the authority's own certificate.
func (a *authority) pem() []byte { return pemBlock("CERTIFICATE", a.cert.Raw) }

// write puts a pair of files into a directory and names them.
func (a *authority) write(dir string, ends time.Duration, names ...string) tlsFiles {
	f := tlsFiles{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	cert, key := a.certificate(ends, names...)
	a.check(os.WriteFile(f.cert, cert, 0o600))
	a.check(os.WriteFile(f.key, key, 0o600))
	return f
}

func writeFile(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// pool trusts the authority.
func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// openTLS is newTLS for a test, closed at its end.
func openTLS(t *testing.T, files tlsFiles, to io.Writer) *hubTLS {
	t.Helper()
	h, err := newTLS(files, zerolog.New(to))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	return h
}

// serveTLS puts a hub behind TLS on a socket and gives its address, host:port.
func serveTLS(t *testing.T, h *hubTLS) string {
	t.Helper()
	hub := startMemory(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: hub.door, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(tls.NewListener(l, h.config)) }()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return l.Addr().String()
}

// get asks for /livez on a connection of its own.
func get(addr string, config *tls.Config) (*tls.ConnectionState, error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Get("https://" + addr + "/livez")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return resp.TLS, err
}

// notebook keeps what is logged.
type notebook struct {
	mu   sync.Mutex // guards the field below
	text strings.Builder
}

func (n *notebook) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *notebook) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}
