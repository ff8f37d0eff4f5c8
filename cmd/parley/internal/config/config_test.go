package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/internal/golden"
)

func files(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatal("no files", err)
	}
	return names
}

// Every fault of a file is reported with its place and the expected value, in the order of the
// file, and no value is quoted.
func TestFaults(t *testing.T) {
	for _, name := range files(t, "faults") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Chdir(filepath.Dir(name))
			_, err := config.Load(config.Sources{File: filepath.Base(name)})
			faults, ok := err.(config.Faults)
			if !ok {
				t.Fatalf("%T %v, expected faults", err, err)
			}
			if lines := golden.CompareLines(t, strings.TrimSuffix(filepath.Base(name), ".yaml")+".txt",
				faults); strings.Contains(lines, "canary") {
				t.Error("a value is repeated")
			}
		})
	}
}

// All settings of a file are set.
func TestGood(t *testing.T) {
	for _, name := range files(t, "good") {
		if _, err := config.Load(config.Sources{File: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	l, err := config.Load(config.Sources{File: filepath.Join("testdata", "good", "all.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	var defaults config.Config
	if d, err := config.Load(config.Sources{}); err == nil {
		defaults = d.Config
	}
	for _, s := range config.Settings {
		if s.Name != "insecurePublic" && cmp.Equal(s.Value(&l.Config), s.Value(&defaults)) {
			t.Errorf("%s has its default, %v", s.Name, s.Value(&l.Config))
		}
		if l.Origin(s.Name).Where != config.FromFile || l.Origin(s.Name).Line == 0 {
			t.Errorf("%s is from %s", s.Name, l.Origin(s.Name))
		}
	}
	if got := l.Origin("limits.streams").String(); got != filepath.Join("testdata", "good", "all.yaml")+":24" {
		t.Errorf("limits.streams is from %s", got)
	}
	if got := l.Proxies(); len(got) != 3 || got[2].String() != "192.0.2.1/32" {
		t.Errorf("proxies %v", got)
	}
	if got := l.Hosts(); !cmp.Equal(got, []string{"hub.example.com", "2001:db8::1", "hub.example.com:7447"}) {
		t.Errorf("hosts %q", got)
	}
}

// A missing file has a separate error with its name.
func TestNoFile(t *testing.T) {
	_, err := config.Load(config.Sources{File: "nowhere.yaml"})
	if err == nil || !os.IsNotExist(err) || !strings.Contains(err.Error(), "read the configuration nowhere.yaml") {
		t.Error(err)
	}
	if _, err := config.Load(config.Sources{File: t.TempDir()}); err == nil {
		t.Error("a directory was read")
	}
}

// The zero value of Sources returns a valid configuration.
func TestDefaults(t *testing.T) {
	l, err := config.Load(config.Sources{DataDir: "d"})
	if err != nil {
		t.Fatal(err)
	}
	if l.Data != "d" || l.Listening() != "127.0.0.1:7447" || l.MetricsListening() != "" ||
		l.Limits.WritesPerSecond != 100 {
		t.Errorf("%+v", l.Config)
	}
	if err := l.Check(false); err != nil {
		t.Error(err)
	}
	if err := l.Check(true); err != nil {
		t.Error(err)
	}
	if w := l.Warnings(); len(w) > 0 {
		t.Error(w)
	}
}

// The three names of a setting follow the rules, and none is used twice.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range config.Settings {
		for _, name := range []string{s.Name, "--" + s.Flag, s.Env} {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
	}
	for _, c := range []struct{ name, flag, env string }{
		{"listen", "listen", "PARLEY_LISTEN"},
		{"tls.clientCA", "tls-client-ca", "PARLEY_TLS_CLIENT_CA"},
		{"limits.writesPerSecond", "limits-writes-per-second", "PARLEY_LIMITS_WRITES_PER_SECOND"},
		{"allowHosts", "allow-host", "PARLEY_ALLOW_HOSTS"},
		{"trustedProxies", "trusted-proxy", "PARLEY_TRUSTED_PROXIES"},
		{"maxPendingOfOne", "max-pending-of-one", "PARLEY_MAX_PENDING_OF_ONE"},
	} {
		s, ok := config.Find(c.name)
		if !ok || s.Flag != c.flag || s.Env != c.env {
			t.Errorf("%s: --%s %s, expected --%s %s", c.name, s.Flag, s.Env, c.flag, c.env)
		}
	}
}

// An unknown variable is reported.
func TestUnknownEnv(t *testing.T) {
	environ := []string{"PARLEY_LISTN=x", "PARLEY_LISTEN=x", "PARLEY_URL=y", "HOME=z", "PARLEY_CONFIG=f"}
	if got := config.UnknownEnv(environ, "PARLEY_URL"); !cmp.Equal(got, []string{"PARLEY_LISTN"}) {
		t.Errorf("unknown: %q", got)
	}
}

// An IPv4 address in IPv6 form is converted to IPv4, as in connections.
func TestProxiesAsIPv6(t *testing.T) {
	c := &config.Config{TrustedProxies: []string{"::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "fd00::/8"}}
	if got := fmt.Sprint(c.Proxies()); got != "[10.0.0.1/32 10.0.0.0/8 fd00::/8]" {
		t.Errorf("%s", got)
	}
}
