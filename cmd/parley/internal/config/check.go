package config

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
)

// Listening returns the address to listen on, in the form of net.Listen.
func (c *Config) Listening() string { return join(c.Listen) }

// MetricsListening returns the address of /metrics, or "" if none exists.
func (c *Config) MetricsListening() string {
	if c.MetricsListen == "" {
		return ""
	}
	return join(c.MetricsListen)
}

func join(address string) string {
	host, port, _ := splitAddress(address) // Load has checked it
	return net.JoinHostPort(host, port)
}

// public returns the host of an address that other machines can reach.
func public(address string) (host string, ok bool) {
	host, _, _ = splitAddress(address)
	return host, !IsLoopback(host)
}

// check collects contradicting settings.
type check struct {
	*Loaded
	dev    bool
	faults Faults
}

// Check returns an error for settings that contradict each other or that a hub must not run with.
// dev means serve --dev. It opens no files.
func (l *Loaded) Check(dev bool) error {
	c := &check{Loaded: l, dev: dev}
	c.listening()
	c.metrics()
	c.pairs()
	c.likeness()
	c.development()
	c.shared()
	c.written()
	if c.MaxPendingOfOne > c.MaxPending && c.Given("maxPendingOfOne") {
		c.fault("maxPendingOfOne", "it is more than %s and never reached", c.called("maxPending"))
	}
	if c.A2A && !c.dev && len(c.A2AAgents) == 0 && c.A2ACards == "" {
		c.fault("a2a", "nothing is shown: name agents with a2aAgents or a2aCards")
	}
	if len(c.faults) == 0 {
		return nil
	}
	c.faults.sort()
	return c.faults
}

// Fault returns a fault of one setting, at its place.
func (l *Loaded) Fault(name, what string) Fault {
	f := Fault{Origin: l.Origin(name), What: what}
	switch f.Where {
	case FromFile:
		f.Setting = name
	case FromDefault:
		f.Name = name
	}
	return f
}

func (c *check) fault(name, format string, args ...any) {
	c.faults = append(c.faults, c.Fault(name, fmt.Sprintf(format, args...)))
}

// called returns the name of a setting at the place where it is set.
func (c *check) called(name string) string {
	switch at := c.Origin(name); at.Where {
	case FromFlag, FromEnv:
		return at.Name
	case FromFile:
		return fmt.Sprintf("%s (%s)", name, at)
	}
	return name
}

func (c *check) listening() {
	host, beyond := public(c.Listen)
	switch {
	case !beyond:
	case c.dev:
		c.fault("listen", "--dev listens on loopback only, not on %s: its admin token is for this machine. Leave --dev out "+
			"and make tokens with 'parley token create'", host)
	case c.TLS.Cert == "" && !c.InsecurePublic:
		c.fault("listen", "%s is not loopback and there is no TLS: tokens would cross the network in clear. Set tls.cert "+
			"and tls.key, put a TLS proxy before a loopback hub, or insist with insecurePublic", host)
	}
}

func (c *check) metrics() {
	if c.MetricsListen == "" {
		return
	}
	if host, beyond := public(c.MetricsListen); beyond && !c.InsecurePublic {
		c.fault("metricsListen", "%s is not loopback, and there is neither TLS nor a token at this door: insist with "+
			"insecurePublic, or read /metrics of the hub with a token of scope admin", host)
	}
	if c.MetricsListening() == c.Listening() && !strings.HasSuffix(c.Listening(), ":0") {
		c.fault("metricsListen", "it is the address of %s", c.called("listen"))
	}
}

// pairs checks settings that require another one.
func (c *check) pairs() {
	for _, p := range []struct{ name, needs string }{
		{"tls.cert", "tls.key"}, {"tls.key", "tls.cert"}, {"tls.clientCA", "tls.cert"},
		{"oidc.issuer", "oidc.audience"}, {"oidc.audience", "oidc.issuer"}, {"oidc.claim", "oidc.issuer"},
		{"oidc.scopeClaim", "oidc.issuer"}, {"oidc.workspaceClaim", "oidc.issuer"}, {"oidc.allowAdmin", "oidc.issuer"},
		{"mcpReadOnly", "mcp"}, {"mcpToolsets", "mcp"}, {"mcpMaxWait", "mcp"},
		{"models", "blueprints"}, {"replay", "blueprints"}, {"replayMode", "replay"},
		{"workspaces", "blueprints"}, {"embeddingsModel", "embeddings"},
		{"a2aAgents", "a2a"}, {"a2aCards", "a2a"}, {"a2aAllowPrivate", "a2a"},
	} {
		if c.Given(p.name) && !c.Given(p.needs) {
			c.fault(p.name, "it needs %s", p.needs)
		}
	}
}

// shared checks a shared log against settings for a single hub.
func (c *check) shared() {
	if c.Journal != "" && c.dev && !c.Given("data") {
		c.fault("journal", "--dev keeps no data, but a hub of a journal keeps a replica: set --data, or run 'make "+
			"dev-cluster', which starts servers and hubs")
	}
	if c.Journal != "" && c.A2A {
		c.fault("a2a", "each hub of the journal would notify webhooks itself: run 'parley a2a serve' once, beside the hubs")
	}
}

// likeness checks the embeddings and their model.
func (c *check) likeness() {
	switch served := c.Embeddings != EmbeddingsLexical; {
	case served && c.EmbeddingsModel == "":
		c.fault("embeddings", "embeddingsModel is missing: the server has several models")
	case !served && c.Given("embeddings") && c.EmbeddingsModel != "":
		c.fault("embeddingsModel", "lexical has no models")
	}
}

// development checks --dev against the settings that it excludes.
func (c *check) development() {
	if !c.dev {
		return
	}
	if c.InsecurePublic {
		c.fault("insecurePublic", "--dev listens on loopback only")
	}
	for _, s := range Settings {
		if strings.HasPrefix(s.Name, "limits.") && c.Given(s.Name) {
			c.fault(s.Name, "--dev runs without limits")
		}
	}
}

// written refuses to overwrite a file of another kind.
func (c *check) written() {
	files := []struct{ name, path string }{
		{"tls.cert", c.TLS.Cert}, {"tls.key", c.TLS.Key}, {"tls.clientCA", c.TLS.ClientCA},
		{"auditLog", c.AuditLog}, {"readyFile", c.ReadyFile}, {"", c.file},
	}
	for _, w := range []string{"auditLog", "readyFile"} {
		s, _ := Find(w)
		path := s.Text(&c.Config)
		for _, f := range files {
			if path == "" || f.path == "" || f.name == w || Real(path) != Real(f.path) {
				continue
			}
			what := "the configuration"
			if f.name != "" {
				what = c.called(f.name)
			}
			c.fault(w, "it is the file of %s", what)
			break
		}
	}
}

// Real returns an absolute path without symbolic links, as far as the path exists.
func Real(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(Real(dir), filepath.Base(path))
	}
	return path
}

// Warnings reports settings that are allowed but may be mistakes.
func (l *Loaded) Warnings() Faults {
	c := &check{Loaded: l}
	host, beyond := public(c.Listen)
	if beyond && c.TLS.Cert == "" {
		c.fault("listen", "tokens and conversations cross the network in clear")
	}
	if beyond && len(c.AllowHosts) == 0 {
		c.fault("listen", "%s is reached by others, and the hub answers to no name but those of loopback: add its names to "+
			"allowHosts", host)
	}
	for _, p := range c.Proxies() {
		if p.Bits() == 0 {
			c.fault("trustedProxies", "%s believes everybody who says where they come from", p)
		}
	}
	c.faults.sort()
	return c.faults
}
