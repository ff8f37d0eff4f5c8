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
	row("journal", "NATS servers with the log that several hubs share, instead of one in data, which then has this "+
		"hub's replica of it; see docs/guides/several-hubs.md", journalURL, func(c *Config) any { return &c.Journal }),
	row("allowHosts", "names that clients may call this hub by, besides those of loopback", host,
		func(c *Config) any { return &c.AllowHosts }),
	row("allowOrigins", "origins whose web pages may call this hub, besides its own", origin,
		func(c *Config) any { return &c.AllowOrigins }),
	row("insecurePublic", "listen beyond loopback although there is no TLS", rule{},
		func(c *Config) any { return &c.InsecurePublic }),
	row("readyFile", "file that gets the first line of stdout when the hub takes calls", path,
		func(c *Config) any { return &c.ReadyFile }),
	row("blueprints", "directory of blueprints: commands and LLM agents that the hub runs", path,
		func(c *Config) any { return &c.Blueprints }),
	row("models", "file of servers of models for LLM agents, and of what models are like", path,
		func(c *Config) any { return &c.Models }),
	row("replay", "file or directory that has what models have answered, or gets it", path,
		func(c *Config) any { return &c.Replay }),
	row("replayMode", "play asks no model, record asks always, auto plays what is there and records the rest",
		among("record", "play", "auto"), func(c *Config) any { return &c.ReplayMode }),
	row("workspaces", "workspaces that these blueprints look at, where their subscriptions do", workspace,
		func(c *Config) any { return &c.Workspaces }).once("workspaces"),
	row("embeddings", "how context is compared by likeness: lexical, by the hub itself, or the address of a server that "+
		"speaks as OpenAI's, which is sent what is said", embeddings, func(c *Config) any { return &c.Embeddings }),
	row("embeddingsModel", "the model of that server; its key is in PARLEY_EMBEDDINGS_KEY", words,
		func(c *Config) any { return &c.EmbeddingsModel }),
	row("sources", "file of hooks and of a timetable, which post notes", path, func(c *Config) any { return &c.Sources }),
	row("publicUrl", "address by which clients reach this hub, as a proxy before it has it; without it what the hub "+
		"says of itself has the address of the request", publicURL, func(c *Config) any { return &c.PublicURL }),
	row("mcp", "serve the Model Context Protocol at /mcp", rule{}, func(c *Config) any { return &c.MCP }),
	row("mcpReadOnly", "of the tools at /mcp only those that change nothing", rule{},
		func(c *Config) any { return &c.MCPReadOnly }),
	row("mcpToolsets", "the tools at /mcp", toolset, func(c *Config) any { return &c.MCPToolsets }).defaultsTo("all"),
	row("mcpMaxWait", "how long one call at /mcp may wait, for clients that are not known to wait longer", wait,
		func(c *Config) any { return &c.MCPMaxWait }),
	row("console", "serve the page for people at /console", rule{},
		func(c *Config) any { return &c.Console }).defaultsTo("true with --dev, else false"),
	row("a2a", "serve the Agent2Agent protocol below /a2a/, for the agents that are named; with --dev for one called "+
		"echo too", rule{}, func(c *Config) any { return &c.A2A }),
	row("a2aAgents", "agents of this hub that have a card", agentName, func(c *Config) any { return &c.A2AAgents }),
	row("a2aCards", "file of agents and scenarios that have a card", path, func(c *Config) any { return &c.A2ACards }),
	row("a2aAllowPrivate", "networks that are not public and that push notifications may be sent to, also without TLS; "+
		"all for any", reachable, func(c *Config) any { return &c.A2AAllowPrivate }).once("a2a-allow-private"),
	row("tls.cert", "PEM file with the hub's certificate and those between it and the root", path,
		func(c *Config) any { return &c.TLS.Cert }),
	row("tls.key", "PEM file with the certificate's key", path, func(c *Config) any { return &c.TLS.Key }),
	row("tls.clientCA", "PEM file with the roots of clients' certificates; with it every client must show one", path,
		func(c *Config) any { return &c.TLS.ClientCA }),
	row("oidc.issuer", "OpenID Connect issuer whose tokens are taken besides the hub's own", issuer,
		func(c *Config) any { return &c.OIDC.Issuer }),
	row("oidc.audience", "audience that such a token must have", words, func(c *Config) any { return &c.OIDC.Audience }),
	row("oidc.claim", "claim of such a token that names the participant; a value that is not a participant id is mapped "+
		"to one", word, func(c *Config) any { return &c.OIDC.Claim }),
	row("oidc.scopeClaim", "claim of such a token with its scopes", word,
		func(c *Config) any { return &c.OIDC.ScopeClaim }),
	row("oidc.workspaceClaim", "claim of such a token with the workspaces that it may use; without it, none", word,
		func(c *Config) any { return &c.OIDC.WorkspaceClaim }),
	row("oidc.allowAdmin", "take the scope admin from such a token; it is passed over otherwise", rule{},
		func(c *Config) any { return &c.OIDC.AllowAdmin }),
	row("limits.writesPerSecond", "messages and other writes of one token, on average", between(0.01, 1e6),
		func(c *Config) any { return &c.Limits.WritesPerSecond }),
	row("limits.writeBurst", "messages and other writes of one token at once", between(1, 1e6),
		func(c *Config) any { return &c.Limits.WriteBurst }),
	row("limits.bytesPerSecond", "bytes written with one token, on average", between(1, 1<<40),
		func(c *Config) any { return &c.Limits.BytesPerSecond }),
	row("limits.byteBurst", "bytes written with one token at once", between(1, 1<<30),
		func(c *Config) any { return &c.Limits.ByteBurst }),
	row("limits.streams", "subscriptions and SSE streams of one token that are open at once", between(1, 1e6),
		func(c *Config) any { return &c.Limits.Streams }),
	row("trustedProxies", "addresses of proxies whose X-Forwarded-For is believed", network,
		func(c *Config) any { return &c.TrustedProxies }).once("trusted-proxy"),
	row("maxPending", "connections that have shown no token, at once", between(1, 1e5),
		func(c *Config) any { return &c.MaxPending }),
	row("maxPendingOfOne", "the same from one address; loopback is not bounded", between(1, 1e5),
		func(c *Config) any { return &c.MaxPendingOfOne }),
	row("metricsListen", "further address that serves /metrics without a token and nothing else; loopback only, unless "+
		"insecurePublic", address, func(c *Config) any { return &c.MetricsListen }),
	row("otlpEndpoint", "OpenTelemetry collector for traces and metrics, by OTLP over HTTP; by default "+
		"OTEL_EXPORTER_OTLP_ENDPOINT", collector, func(c *Config) any { return &c.OTLPEndpoint }),
	row("otlpContent", "export the content of prompts, answers, tool calls and tool results too", rule{},
		func(c *Config) any { return &c.OTLPContent }),
	row("auditLog", "file that grants, refusals and revocations are added to", path,
		func(c *Config) any { return &c.AuditLog }).defaultsTo("stderr, with the log"),
	row("logLevel", "least level that is logged", among("debug", "info", "warn", "error"),
		func(c *Config) any { return &c.LogLevel }),
	row("logFormat", "form of the log; auto is text on a terminal, else json", among(FormatAuto, FormatJSON, FormatText),
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
