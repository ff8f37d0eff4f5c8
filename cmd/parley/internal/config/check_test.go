package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
)

// loadText loads a file with this text.
func loadText(t *testing.T, text string) *config.Loaded {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("parley.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Sources{File: "parley.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// For all combinations of dev, addresses, TLS and insecurePublic: beyond loopback a hub listens
// only with TLS or insecurePublic, and a dev hub never does.
func TestWhereAHubListens(t *testing.T) {
	hosts := map[string]bool{ // beyond loopback?
		"127.0.0.1:1": false, "':1'": false, "'1'": false, "localhost:1": false, "'[::1]:1'": false, "127.8.9.10:1": false,
		"0.0.0.0:1": true, "'[::]:1'": true, "10.0.0.1:1": true, "hub.example.com:1": true, "localhost.example.com:1": true,
	}
	for listen, beyond := range hosts {
		for bits := range 1 << 3 {
			dev, withTLS, insist := bits&1 != 0, bits&2 != 0, bits&4 != 0
			text := fmt.Sprintf("listen: %s\ninsecurePublic: %v\n", listen, insist)
			if withTLS {
				text += "tls: {cert: c.pem, key: k.pem}\n"
			}
			allowed := !beyond || withTLS || insist
			if dev {
				allowed = !beyond && !insist
			}
			if err := loadText(t, text).Check(dev); (err == nil) != allowed {
				t.Errorf("dev %v, %q: %v, expected it to be allowed: %v", dev, text, err, allowed)
			}
		}
	}
}

// Each contradiction is refused by name, at its place.
func TestContradictions(t *testing.T) {
	for _, c := range []struct {
		text string
		dev  bool
		want string // beginnings of the faults, joined by |; empty means none
	}{
		{"tls: {cert: c}", false, "parley.yaml:1:7: tls.cert: it needs tls.key"},
		{"tls: {key: c}", false, "parley.yaml:1:7: tls.key: it needs tls.cert"},
		{"tls: {clientCA: c}", false, "parley.yaml:1:7: tls.clientCA: it needs tls.cert"},
		{"tls: {cert: c, key: k, clientCA: a}", false, ""},
		{"oidc: {issuer: 'https://a'}", false, "parley.yaml:1:8: oidc.issuer: it needs oidc.audience"},
		{"oidc: {audience: a}", false, "parley.yaml:1:8: oidc.audience: it needs oidc.issuer"},
		{"oidc: {claim: a}", false, "parley.yaml:1:8: oidc.claim: it needs oidc.issuer"},
		{"oidc: {allowAdmin: true}", false, "parley.yaml:1:8: oidc.allowAdmin: it needs oidc.issuer"},
		{"mcpReadOnly: true", false, "parley.yaml:1:1: mcpReadOnly: it needs mcp"},
		{"workspaces: [a]", false, "parley.yaml:1:1: workspaces: it needs blueprints"},
		{"embeddingsModel: a", false, "parley.yaml:1:1: embeddingsModel: it needs embeddings"},
		{"embeddings: https://a/v1", false, "parley.yaml:1:1: embeddings: embeddingsModel is missing"},
		{"embeddings: https://a/v1\nembeddingsModel: m", false, ""},
		{"embeddings: lexical\nembeddingsModel: m", false, "parley.yaml:2:1: embeddingsModel: lexical has no models"},
		{"oidc: {issuer: 'http://127.0.0.1:5', audience: a}", true, ""},
		{"limits: {streams: 5}", true, "parley.yaml:1:10: limits.streams: --dev runs without limits"},
		{"limits: {streams: 5}", false, ""},
		{"insecurePublic: true", true, "parley.yaml:1:1: insecurePublic: --dev listens on loopback only"},
		{"metricsListen: 0.0.0.0:9", false, "parley.yaml:1:1: metricsListen: 0.0.0.0 is not loopback"},
		{"metricsListen: 0.0.0.0:9\ninsecurePublic: true", false, ""},
		{"metricsListen: 127.0.0.1:7447", false, "parley.yaml:1:1: metricsListen: it is the address of listen"},
		{"metricsListen: ':0'\nlisten: ':0'", false, ""},
		{"maxPendingOfOne: 1001", false, "parley.yaml:1:1: maxPendingOfOne: it is more than maxPending and never reached"},
		{"maxPending: 5\nmaxPendingOfOne: 6", false, "parley.yaml:2:1: maxPendingOfOne: it is more than maxPending " +
			"(parley.yaml:1)"},
		{"maxPending: 5", false, ""},
		{"maxPending: 5\nmaxPendingOfOne: 5", false, ""},
		{"auditLog: a\nreadyFile: ./a", false,
			"parley.yaml:1:1: auditLog: it is the file of readyFile (parley.yaml:2)|parley.yaml:2:1: readyFile: it is the " +
				"file of auditLog (parley.yaml:1)"},
		{"auditLog: parley.yaml", false, "parley.yaml:1:1: auditLog: it is the file of the configuration"},
		{"tls: {cert: c, key: k}\nreadyFile: k", false,
			"parley.yaml:2:1: readyFile: it is the file of tls.key (parley.yaml:1)"},
		{"listen: 0.0.0.0:1\nlimits: {streams: 5}\ninsecurePublic: true", true,
			"parley.yaml:1:1: listen: --dev listens on loopback only, not on 0.0.0.0|parley.yaml:2:10: " +
				"limits.streams|parley.yaml:3:1: insecurePublic"},
	} {
		var faults config.Faults
		if err := loadText(t, c.text).Check(c.dev); err != nil {
			faults = err.(config.Faults)
		}
		agreed := len(faults) == len(strings.Split(c.want, "|")) || c.want == "" && len(faults) == 0
		for i, f := range faults {
			agreed = agreed && c.want != "" && strings.HasPrefix(f.String(), strings.Split(c.want, "|")[i])
		}
		if !agreed {
			t.Errorf("%q, dev %v: %v, expected %q", c.text, c.dev, faults, c.want)
		}
	}
}

// Settings that may be mistakes are reported.
func TestWarnings(t *testing.T) {
	for text, want := range map[string][]string{
		"listen: 127.0.0.1:1": nil,
		"listen: 0.0.0.0:1\ninsecurePublic: true\nallowHosts: [a]": {"parley.yaml:1:1: listen: tokens and conversations " +
			"cross the network in clear"},
		"listen: 0.0.0.0:1\ntls: {cert: c, key: k}": {"parley.yaml:1:1: listen: 0.0.0.0 is reached by " +
			"others, and the hub answers to no name but those of loopback: add its names to allowHosts"},
		"listen: 0.0.0.0:1\ntls: {cert: c, key: k}\nallowHosts: [a]": nil,
		"trustedProxies: [10.0.0.0/8, '::/0']": {"parley.yaml:1:1: trustedProxies: ::/0 believes " +
			"everybody who says where they come from"},
	} {
		var got []string
		for _, w := range loadText(t, text).Warnings() {
			got = append(got, w.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// A setting has the name of the place where it is set.
func TestPlacesInContradictions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte("maxPending: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Sources{File: file, Env: func(name string) (string, bool) {
		text, ok := map[string]string{"PARLEY_MAX_PENDING": "6", "PARLEY_TLS_KEY": "k",
			"PARLEY_MAX_PENDING_OF_ONE": "7"}[name]
		return text, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	err = l.Check(false)
	want := "PARLEY_TLS_KEY: it needs tls.cert; PARLEY_MAX_PENDING_OF_ONE: it is more than PARLEY_MAX_PENDING and never " +
		"reached"
	if err == nil || err.Error() != want {
		t.Errorf("%v, expected %s", err, want)
	}
}
