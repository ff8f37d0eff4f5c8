// Package config has the configuration of a hub.
//
// The table [Settings] defines all settings. The flags of parley serve, the environment variables,
// the keys of the configuration file, its JSON Schema, the table in docs/reference/configuration.md and the
// output of parley config show are derived from it.
//
// A setting may come from a flag, the environment and the file, in this order of precedence. All
// values are checked, also those with lower precedence. [Load] returns a complete configuration, or
// every [Fault].
package config

import (
	"net/netip"
	"strings"
	"time"
)

// Config has all settings. The table of settings describes its fields.
type Config struct {
	Listen         string
	Data           string
	Journal        string
	AllowHosts     []string
	AllowOrigins   []string
	InsecurePublic bool
	ReadyFile      string
	Blueprints     string
	Models         string
	Replay         string
	ReplayMode     string
	Workspaces     []string
	Sources        string
	PublicURL      string
	MCP            bool
	MCPReadOnly    bool
	MCPToolsets    []string
	MCPMaxWait     string
	Console        bool

	A2A             bool
	A2AAgents       []string
	A2ACards        string
	A2AAllowPrivate []string

	Embeddings      string
	EmbeddingsModel string

	TLS    TLS
	OIDC   OIDC
	Limits Limits

	TrustedProxies  []string
	MaxPending      int
	MaxPendingOfOne int
	MetricsListen   string
	OTLPEndpoint    string
	OTLPContent     bool
	AuditLog        string
	LogLevel        string
	LogFormat       string
}

// TLS names PEM files. Without Cert, the hub uses no TLS.
type TLS struct{ Cert, Key, ClientCA string }

// OIDC is an issuer whose tokens are accepted in addition to those of the hub. It is disabled
// without Issuer.
type OIDC struct {
	Issuer, Audience, Claim    string
	ScopeClaim, WorkspaceClaim string
	AllowAdmin                 bool
}

// Limits are the limits of one token.
type Limits struct {
	WritesPerSecond float64
	WriteBurst      int
	BytesPerSecond  float64
	ByteBurst       int
	Streams         int
}

// EmbeddingsLexical is the value of embeddings for those that the hub computes.
const EmbeddingsLexical = "lexical"

// The values of logFormat and logLevel.
const (
	FormatAuto = "auto"
	FormatJSON = "json"
	FormatText = "text"
)

// defaults are the default values. Sources.DataDir sets Data.
var defaults = Config{
	Listen:     "127.0.0.1:7447",
	MCPMaxWait: "50s",
	ReplayMode: "auto",
	Embeddings: EmbeddingsLexical,
	OIDC:       OIDC{Claim: "sub", ScopeClaim: "scope"},
	Limits: Limits{
		WritesPerSecond: 100, WriteBurst: 500,
		BytesPerSecond: 4 << 20, ByteBurst: 32 << 20,
		Streams: 1000,
	},
	MaxPending:      1000,
	MaxPendingOfOne: 256,
	LogLevel:        "info",
	LogFormat:       FormatAuto,
}

// Proxies returns TrustedProxies as networks.
func (c *Config) Proxies() []netip.Prefix {
	var proxies []netip.Prefix
	for _, text := range c.TrustedProxies {
		if p, err := parseNetwork(text); err == nil { // Load has checked it
			proxies = append(proxies, p)
		}
	}
	return proxies
}

// Hosts returns AllowHosts in the form for comparisons: an IPv6 address without a port has no
// brackets.
func (c *Config) Hosts() []string {
	var hosts []string
	for _, h := range c.AllowHosts {
		if strings.HasSuffix(h, "]") {
			h = strings.Trim(h, "[]")
		}
		hosts = append(hosts, h)
	}
	return hosts
}

// MCPWait returns MCPMaxWait as a duration.
func (c *Config) MCPWait() time.Duration {
	d, _ := time.ParseDuration(c.MCPMaxWait) // Load has checked it
	return d
}
