// Package config is the configuration of a hub.
//
// One table, [Settings], says what there is. From it come the flags of parley serve, the variables of the environment, the keys of the
// configuration file, its JSON Schema, the table in docs/reference/configuration.md and what parley config show prints.
//
// A setting may be given by a flag, by the environment and by the file; the first of these that has it counts. All of them are checked, also
// where another is stronger. [Load] never takes half of a configuration: it gives all of it, or every [Fault] that it found.
package config

import (
	"net/netip"
	"strings"
	"time"
)

// Config is everything that can be set. Its fields are described in the table of settings.
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

// TLS names PEM files. Without Cert the hub speaks in clear.
type TLS struct{ Cert, Key, ClientCA string }

// OIDC is an issuer whose tokens are taken besides the hub's own. Without Issuer there is none.
type OIDC struct {
	Issuer, Audience, Claim    string
	ScopeClaim, WorkspaceClaim string
	AllowAdmin                 bool
}

// Limits bound what one token may do.
type Limits struct {
	WritesPerSecond float64
	WriteBurst      int
	BytesPerSecond  float64
	ByteBurst       int
	Streams         int
}

// EmbeddingsLexical is the word of embeddings for those that are made by the hub itself.
const EmbeddingsLexical = "lexical"

// The words of logFormat and logLevel.
const (
	FormatAuto = "auto"
	FormatJSON = "json"
	FormatText = "text"
)

// defaults are what nobody has to say. Data is filled in by Sources.DataDir.
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

// Proxies gives TrustedProxies as networks.
func (c *Config) Proxies() []netip.Prefix {
	var proxies []netip.Prefix
	for _, text := range c.TrustedProxies {
		if p, err := parseNetwork(text); err == nil { // as Load has checked
			proxies = append(proxies, p)
		}
	}
	return proxies
}

// Hosts gives AllowHosts as the door compares them: an IPv6 address without a port has no brackets.
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

// MCPWait gives MCPMaxWait as a time.
func (c *Config) MCPWait() time.Duration {
	d, _ := time.ParseDuration(c.MCPMaxWait) // as Load has checked
	return d
}
