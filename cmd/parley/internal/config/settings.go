package config

import "strings"

// Setting is a setting.
type Setting struct {
	// Name is its path in the file, such as limits.streams.
	Name string
	// Flag and Env are its names as a flag without dashes and as an environment variable.
	Flag, Env string
	// Doc is a description of one line.
	Doc string

	rule  rule
	field func(*Config) any // a pointer to a string, bool, int, float64 or []string
	shown string            // the default in documents, if it depends on the machine
}

// Settings is the table of all settings, in display order.
var Settings = []Setting{
	row("listen", "address to listen on; a port alone means loopback, port 0 any free one", address,
		func(c *Config) any { return &c.Listen }),
	row("data", "directory of the log", path,
		func(c *Config) any { return &c.Data }).defaultsTo("$XDG_STATE_HOME/parley; in memory with --dev"),
	row("journal", "address of the log that several hubs share on NATS servers; data is then the directory of this "+
		"hub's replica; see docs/guides/several-hubs.md", journalURL, func(c *Config) any { return &c.Journal }),
	row("allowHosts", "additional host names that clients may use for this hub; loopback names always work", host,
		func(c *Config) any { return &c.AllowHosts }),
	row("allowOrigins", "additional origins whose web pages may call this hub", origin,
		func(c *Config) any { return &c.AllowOrigins }),
	row("insecurePublic", "allow plain HTTP on addresses other than loopback", rule{},
		func(c *Config) any { return &c.InsecurePublic }),
	row("readyFile", "file to write the first line of stdout to when the hub is ready", path,
		func(c *Config) any { return &c.ReadyFile }),
	row("blueprints", "directory of blueprints: commands and LLM agents that the hub runs", path,
		func(c *Config) any { return &c.Blueprints }),
	row("models", "models file for LLM agents, with model servers and model properties", path,
		func(c *Config) any { return &c.Models }),
	row("replay", "cassette of model answers to play back or record: a file or a directory", path,
		func(c *Config) any { return &c.Replay }),
	row("replayMode", "play: recorded answers only; record: ask models and record; auto: play recorded answers and "+
		"record the others",
		among("record", "play", "auto"), func(c *Config) any { return &c.ReplayMode }),
	row("workspaces", "workspaces whose events trigger agents of the blueprints", workspace,
		func(c *Config) any { return &c.Workspaces }).once("workspaces"),
	row("embeddings", "how texts are compared for context: lexical compares words in the hub; a URL is an "+
		"OpenAI-compatible embeddings server, to which the hub sends message texts", embeddings,
		func(c *Config) any { return &c.Embeddings }),
	row("embeddingsModel", "embedding model of that server; its key is in PARLEY_EMBEDDINGS_KEY", words,
		func(c *Config) any { return &c.EmbeddingsModel }),
	row("sources", "sources file, with hooks and a timetable that post "+
		"notes", path, func(c *Config) any { return &c.Sources }),
	row("publicUrl", "address of this hub or its proxy, for the documents of MCP and A2A (default: the address of each "+
		"request)", publicURL, func(c *Config) any { return &c.PublicURL }),
	row("mcp", "serve the Model Context Protocol at /mcp", rule{}, func(c *Config) any { return &c.MCP }),
	row("mcpReadOnly", "serve only read-only tools at /mcp", rule{},
		func(c *Config) any { return &c.MCPReadOnly }),
	row("mcpToolsets", "tool sets to serve at /mcp", toolset,
		func(c *Config) any { return &c.MCPToolsets }).defaultsTo("all"),
	row("mcpMaxWait", "longest wait of a call at /mcp; clients known to wait longer may do so", wait,
		func(c *Config) any { return &c.MCPMaxWait }),
	row("console", "serve the console, a page for people, at /console", rule{},
		func(c *Config) any { return &c.Console }).defaultsTo("true with --dev, else false"),
	row("a2a", "serve the Agent2Agent protocol below /a2a/ for the named agents; --dev adds an agent called "+
		"echo", rule{}, func(c *Config) any { return &c.A2A }),
	row("a2aAgents", "agents of this hub to serve over A2A", agentName, func(c *Config) any { return &c.A2AAgents }),
	row("a2aCards", "file with the A2A cards of agents and scenarios", path, func(c *Config) any { return &c.A2ACards }),
	row("a2aAllowPrivate", "private networks that push notifications may be sent to, also without TLS; all for any "+
		"network", reachable, func(c *Config) any { return &c.A2AAllowPrivate }).once("a2a-allow-private"),
	row("tls.cert", "PEM file with the hub's certificate and its intermediate certificates", path,
		func(c *Config) any { return &c.TLS.Cert }),
	row("tls.key", "PEM file with the certificate's key", path, func(c *Config) any { return &c.TLS.Key }),
	row("tls.clientCA", "PEM file with the root certificates of clients; every client must then present a "+
		"certificate", path,
		func(c *Config) any { return &c.TLS.ClientCA }),
	row("oidc.issuer", "OpenID Connect issuer whose tokens the hub accepts in addition to its own", issuer,
		func(c *Config) any { return &c.OIDC.Issuer }),
	row("oidc.audience", "required audience of OpenID Connect "+
		"tokens", words, func(c *Config) any { return &c.OIDC.Audience }),
	row("oidc.claim", "token claim with the participant; a value that is not a participant id is mapped to "+
		"one", word, func(c *Config) any { return &c.OIDC.Claim }),
	row("oidc.scopeClaim", "token claim with the scopes", word,
		func(c *Config) any { return &c.OIDC.ScopeClaim }),
	row("oidc.workspaceClaim", "token claim with the workspaces that the token may use (default: no workspaces)", word,
		func(c *Config) any { return &c.OIDC.WorkspaceClaim }),
	row("oidc.allowAdmin", "accept the scope admin in OpenID Connect tokens; ignored by default", rule{},
		func(c *Config) any { return &c.OIDC.AllowAdmin }),
	row("limits.writesPerSecond", "average number of writes per second of one token", between(0.01, 1e6),
		func(c *Config) any { return &c.Limits.WritesPerSecond }),
	row("limits.writeBurst", "number of writes that one token can make in a burst", between(1, 1e6),
		func(c *Config) any { return &c.Limits.WriteBurst }),
	row("limits.bytesPerSecond", "average number of bytes per second that one token can write", between(1, 1<<40),
		func(c *Config) any { return &c.Limits.BytesPerSecond }),
	row("limits.byteBurst", "number of bytes that one token can write in a burst", between(1, 1<<30),
		func(c *Config) any { return &c.Limits.ByteBurst }),
	row("limits.streams", "maximum number of open subscriptions and SSE streams of one token", between(1, 1e6),
		func(c *Config) any { return &c.Limits.Streams }),
	row("trustedProxies", "addresses of proxies whose X-Forwarded-For header is trusted", network,
		func(c *Config) any { return &c.TrustedProxies }).once("trusted-proxy"),
	row("maxPending", "maximum number of connections that are not authenticated yet", between(1, 1e5),
		func(c *Config) any { return &c.MaxPending }),
	row("maxPendingOfOne", "maximum number of such connections from one address; loopback is unlimited", between(1, 1e5),
		func(c *Config) any { return &c.MaxPendingOfOne }),
	row("metricsListen", "additional address that serves only /metrics, without a token; loopback only, unless "+
		"insecurePublic is set", address, func(c *Config) any { return &c.MetricsListen }),
	row("otlpEndpoint", "OpenTelemetry collector for traces and metrics, by OTLP over HTTP; by default "+
		"OTEL_EXPORTER_OTLP_ENDPOINT", collector, func(c *Config) any { return &c.OTLPEndpoint }),
	row("otlpContent", "export the content of prompts, answers, tool calls and tool results too", rule{},
		func(c *Config) any { return &c.OTLPContent }),
	row("auditLog", "file to append the audit log to: grants, refusals and revocations", path,
		func(c *Config) any { return &c.AuditLog }).defaultsTo("stderr, with the log"),
	row("logLevel", "lowest level to log", among("debug", "info", "warn", "error"),
		func(c *Config) any { return &c.LogLevel }),
	row("logFormat", "log format; auto is text on a terminal, otherwise json", among(FormatAuto, FormatJSON, FormatText),
		func(c *Config) any { return &c.LogFormat }),
}

func row(name, doc string, r rule, field func(*Config) any) Setting {
	s := Setting{Name: name, Doc: doc, rule: r, field: field}
	s.Env = "PARLEY_" + strings.ToUpper(separated(name, '_'))
	s.Flag = separated(name, '-')
	if s.list() { // one flag per item
		s.Flag = strings.TrimSuffix(s.Flag, "s")
	}
	return s
}

func (s Setting) defaultsTo(shown string) Setting {
	s.shown = shown
	return s
}

// once sets the flag of a list whose name does not end in a plain s.
func (s Setting) once(flag string) Setting {
	s.Flag = flag
	return s
}

// separated returns the words of a name in lower case, separated by by.
func separated(name string, by rune) string {
	var b strings.Builder
	lower := false // the previous letter was lower case
	for _, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if r == '.' || upper && lower {
			b.WriteRune(by)
		}
		lower = !upper && r != '.'
		if r != '.' {
			b.WriteRune(r)
		}
	}
	return strings.ToLower(b.String())
}

// Find returns the setting with a name.
func Find(name string) (Setting, bool) {
	for _, s := range Settings {
		if s.Name == name {
			return s, true
		}
	}
	return Setting{}, false
}

// Default returns the default as text for people.
func (s Setting) Default() string {
	if s.shown != "" {
		return s.shown
	}
	return s.Text(&defaults)
}

func (s Setting) list() bool {
	_, ok := s.field(&Config{}).(*[]string)
	return ok
}

// kind returns the type of the values.
func (s Setting) kind() string {
	switch s.field(&Config{}).(type) {
	case *bool:
		return "boolean"
	case *int:
		return "integer"
	case *float64:
		return "number"
	case *[]string:
		return "list"
	}
	return "string"
}
