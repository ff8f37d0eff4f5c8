package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/certs"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/internal/wire"
)

// What a client needs for a hub with a certificate of a private authority, and for one that asks
// for certificates of its clients.
const (
	EnvCA   = "PARLEY_CA"
	EnvCert = "PARLEY_CERT"
	EnvKey  = "PARLEY_KEY"
)

// NewHTTPClient returns a client for the hubs of the environment. It trusts the authorities of the
// system and of PARLEY_CA, and presents the certificate of PARLEY_CERT. It has no timeout.
func NewHTTPClient() (*http.Client, error) {
	config, err := ClientTLS()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return &http.Client{Transport: transport}, nil
}

// ClientTLS returns the TLS configuration of the environment.
func ClientTLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12} // a proxy in front of a hub may be older than the hub
	if err := TrustFile(config, EnvCA, os.Getenv(EnvCA)); err != nil {
		return nil, err
	}
	cert, key := os.Getenv(EnvCert), os.Getenv(EnvKey)
	switch {
	case cert == "" && key == "":
		return config, nil
	case cert == "" || key == "":
		return nil, exit.Usagef("a client certificate needs both %s and %s", EnvCert, EnvKey)
	}
	files := certs.Files{Cert: cert, Key: key}
	contents, err := files.Read()
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(contents.Cert, contents.Key)
	if err != nil {
		return nil, fmt.Errorf("%s=%s and %s=%s cannot be used: %w", EnvCert, cert, EnvKey, key, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// TrustFile adds the certificates of a file, which a setting of that name names, to those of the
// system. An empty name adds nothing.
func TrustFile(config *tls.Config, setting, file string) error {
	if file == "" {
		return nil
	}
	text, err := certs.ReadPEM(file, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", setting, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without authorities trusts those of the file
	}
	if config.RootCAs, err = certs.AddToPool(pool, file, text); err != nil {
		return fmt.Errorf("%s: %w", setting, err)
	}
	return nil
}

// tlsError is a connection that was refused over TLS, on this side or the other. Trying again does
// not help.
type tlsError struct{ what string }

func (e *tlsError) Error() string { return e.what }

// Report names TLS as the reason.
func (e *tlsError) Report() exit.Failure {
	return exit.Failure{What: e.what, Reason: "tls", Exit: exit.CodeFailure}
}

// ExplainTLS adds the next step to a TLS error. The result does not unwrap to
// parley.ErrUnavailable, because the hub is there. It returns other errors unchanged.
func ExplainTLS(err error) error {
	hint := TLSHint(err)
	if hint == "" {
		return err
	}
	what := strings.Replace(err.Error(), parley.ErrUnavailable.Error()+": ", "", 1)
	return exit.WithHint(&tlsError{what}, hint)
}

// TLSHint returns the next step after a TLS error, or "" for other errors.
func TLSHint(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &unknown):
		return EnvCA + "=FILE adds the authority that signed the hub's certificate to those that are trusted"
	case errors.As(err, &name):
		return "the address must be a name that the certificate is for: " +
			strings.Join(certs.HostNames(name.Certificate), ", ")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the hub needs a new certificate, or the clock of this machine is wrong"
	case errors.As(err, &invalid):
		return "the hub's certificate must be one for servers, of an authority that is trusted; see " + EnvCA
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "what answers there has no TLS: the address of a hub without it begins with ws://"
	case strings.Contains(err.Error(), wire.TLSOnly):
		return "its address begins with wss://; see " + EnvURL
	}
	return refusedHint(err.Error())
}

// refusedHint explains what the other side said when it refused the connection. Go has no types for
// these.
func refusedHint(text string) string {
	has := func(alert string) bool { return strings.Contains(text, "remote error: tls: "+alert) }
	switch {
	case has("certificate required"):
		return "this hub asks for a client certificate: " + EnvCert + "=FILE and " + EnvKey + "=FILE"
	case has("unknown certificate authority"), has("bad certificate"), has("expired certificate"),
		has("unsupported certificate"):
		return "the hub does not take the client certificate of " + EnvCert + ": it is expired, or is of another authority"
	case has("protocol version not supported"):
		return "the hub takes TLS 1.3 only"
	}
	return ""
}
