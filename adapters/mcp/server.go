package mcp

import (
	"context"
	_ "embed" // instructions
	"log/slog"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// Toolset names a group of tools.
type Toolset string

// The toolsets.
const (
	// Conversations are the tools to take part in conversations.
	Conversations Toolset = "conversations"
	// Agents are the tools to start agents for a result.
	Agents Toolset = "agents"
	// Approvals are the tools to answer the approvals that agents request.
	Approvals Toolset = "approvals"
)

// Toolsets lists all toolsets.
var Toolsets = []Toolset{Conversations, Agents, Approvals}

// Options configures a server. Only Connect is required.
type Options struct {
	// Connect returns a client for the caller of a request, and a function that releases it. The
	// server calls it for each request that needs a client; a subscription keeps its client until it
	// ends. Clients must be comparable: callers with an equal client share the hub subscriptions of
	// the adapter.
	Connect func(ctx context.Context, from *protocol.RequestExtra) (c parley.Client, release func(), err error)
	// Version is the version of the program, which clients receive.
	Version string
	// ReadOnly leaves out the tools that write.
	ReadOnly bool
	// Toolsets are the toolsets to serve; nil means all.
	Toolsets []Toolset
	// MaxWait limits the wait of one call, except for clients that are known to wait longer. 0 means
	// DefaultMaxWait.
	MaxWait time.Duration
	// CallTimeout limits every other request to the hub, and the extra time for the answer to a call
	// that waits. 0 means DefaultCallTimeout, or less if MaxWait is shorter.
	CallTimeout time.Duration
	// Logger receives errors; nil discards them.
	Logger *slog.Logger
}

// Client returns a Connect function that uses one client for every caller.
func Client(c parley.Client) func(context.Context, *protocol.RequestExtra) (parley.Client, func(), error) {
	return func(context.Context, *protocol.RequestExtra) (parley.Client, func(), error) { return c, func() {}, nil }
}

// Server is the MCP server of the adapter. It serves one or many sessions.
type Server struct {
	*protocol.Server
	opts     Options
	subs     *subscriptions
	handlers map[string]methodHandler // handlers of methods that run before those of the library
	// arguments has the argument schema of each tool.
	arguments map[string]*jsonschema.Schema
	read      protocol.MethodHandler // read is the handler of the library, without the handlers of this package.
}

// NewServer creates a server. Serve it with its method Run, or with [NewHandler].
func NewServer(o *Options) *Server {
	s := &Server{opts: *o}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if s.opts.Toolsets == nil {
		s.opts.Toolsets = Toolsets
	}
	if s.opts.MaxWait == 0 {
		s.opts.MaxWait = DefaultMaxWait
	}
	s.opts.CallTimeout = s.opts.callTimeout()
	s.subs, s.handlers, s.arguments = newSubscriptions(s), map[string]methodHandler{}, map[string]*jsonschema.Schema{}
	s.Server = protocol.NewServer(&protocol.Implementation{Name: "parley", Title: "Parley conversation hub",
		Version: s.opts.Version}, &protocol.ServerOptions{
		Instructions:     instructions,
		Logger:           debugLogger(s.opts.Logger),
		Capabilities:     s.capabilities(),
		SubscribeHandler: s.subscribe, UnsubscribeHandler: s.subs.unsubscribe,
	})
	for _, t := range tools {
		if s.serves(t.set) && (t.reads() || !s.opts.ReadOnly) {
			t.register(s, &t)
		}
	}
	if s.serves(Conversations) {
		s.addResources()
	}
	if s.serves(Conversations) && !s.opts.ReadOnly {
		s.addPrompt()
	}
	if s.offersTasks() {
		s.addTasks()
	}
	s.handlers["subscriptions/listen"] = s.handleListen
	s.AddSendingMiddleware(s.subs.sendingMiddleware)
	s.AddReceivingMiddleware(s.receive)
	s.AddReceivingMiddleware(s.limitTime)
	return s
}

// Close ends all subscriptions and releases their clients. Call it when no session is served any
// more; later subscriptions fail.
func (s *Server) Close() { s.subs.close() }

func (s *Server) serves(t Toolset) bool { return slices.Contains(s.opts.Toolsets, t) }

// capabilities returns the capabilities that the library would set differently: it would announce
// logging, which is deprecated, and changes of the resource list, which are not sent.
func (s *Server) capabilities() *protocol.ServerCapabilities {
	caps := &protocol.ServerCapabilities{}
	if s.serves(Conversations) {
		caps.Resources = &protocol.ResourceCapabilities{}
	}
	if s.offersTasks() {
		caps.AddExtension(tasksExtension, nil)
	}
	return caps
}

// instructions are read by models before anything else. Clients cut them at about 2,000 characters.
//
//go:embed instructions.txt
var instructions string

// debugLogger lowers all records of the library to debug. The library logs errors when clients try
// several revisions in turn.
func debugLogger(l *slog.Logger) *slog.Logger { return slog.New(debugHandler{l.Handler()}) }

// debugHandler is a handler that lowers every record to debug.
type debugHandler struct{ slog.Handler }

func (h debugHandler) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.Handler.Enabled(ctx, slog.LevelDebug)
}

func (h debugHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return h.Handler.Handle(ctx, r)
}

func (h debugHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return debugHandler{h.Handler.WithAttrs(attrs)}
}

func (h debugHandler) WithGroup(name string) slog.Handler {
	return debugHandler{h.Handler.WithGroup(name)}
}
