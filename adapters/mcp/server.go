package mcp

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// Toolset names tools that belong together.
type Toolset string

// The toolsets.
const (
	// Conversations are the tools with which one takes part.
	Conversations Toolset = "conversations"
	// Agents are the tools with which one starts an agent for a result.
	Agents Toolset = "agents"
	// Approvals are the tools with which one answers what agents ask for before they do it.
	Approvals Toolset = "approvals"
)

// Toolsets are all of them.
var Toolsets = []Toolset{Conversations, Agents, Approvals}

// Options of a server. The zero value of each but Connect is good.
type Options struct {
	// Connect gives a client for who has made a request, and what gives it back. It is asked for each request that needs one; a subscription keeps its client
	// until it ends. Clients must be comparable; a caller who is given the same again shares what follows the hub for its subscriptions.
	Connect func(ctx context.Context, from *protocol.RequestExtra) (c parley.Client, release func(), err error)
	// Version is that of the program, told to clients.
	Version string
	// ReadOnly leaves out what writes.
	ReadOnly bool
	// Toolsets are those that are served; nil: all.
	Toolsets []Toolset
	// MaxWait bounds the wait of one call for clients that are not known to wait longer, whatever is asked for; 0: DefaultMaxWait.
	MaxWait time.Duration
	// CallTimeout bounds every other request that asks the hub, and the hub's way to answer one that waits; 0: DefaultCallTimeout, or less where MaxWait is.
	CallTimeout time.Duration
	// Logger hears what goes wrong; nil: nobody.
	Logger *slog.Logger
}

// Client gives a Connect for one client, which every caller speaks through.
func Client(c parley.Client) func(context.Context, *protocol.RequestExtra) (parley.Client, func(), error) {
	return func(context.Context, *protocol.RequestExtra) (parley.Client, func(), error) { return c, func() {}, nil }
}

// Server is the adapter: a server of the protocol, for one or many sessions.
type Server struct {
	*protocol.Server
	opts  Options
	subs  *subscriptions
	meets map[string]meeting // methods that are handled here before the library
	// arguments are the schemas of the arguments of each tool.
	arguments map[string]*jsonschema.Schema
	read      protocol.MethodHandler // as the library would handle a request
}

// NewServer makes a server. It is served with its method Run, or by [NewHandler].
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
	s.subs, s.meets, s.arguments = newSubscriptions(s), map[string]meeting{}, map[string]*jsonschema.Schema{}
	s.Server = protocol.NewServer(&protocol.Implementation{Name: "parley", Title: "Parley conversation hub", Version: s.opts.Version}, &protocol.ServerOptions{
		Instructions:     instructions,
		Logger:           quiet(s.opts.Logger),
		Capabilities:     s.capabilities(),
		SubscribeHandler: s.subscribe, UnsubscribeHandler: s.subs.unsubscribe,
	})
	for _, t := range tools {
		if s.serves(t.set) && (t.reads() || !s.opts.ReadOnly) {
			t.add(s, &t)
		}
	}
	if s.serves(Conversations) {
		s.addResources()
	}
	if s.serves(Conversations) && !s.opts.ReadOnly {
		s.addPrompt()
	}
	if s.givesTasks() {
		s.addTasks()
	}
	s.meets["subscriptions/listen"] = s.meetListen
	s.AddSendingMiddleware(s.subs.sending)
	s.AddReceivingMiddleware(s.receive)
	s.AddReceivingMiddleware(s.bounded)
	return s
}

// Close ends all subscriptions and gives their clients back. It is for when no session is served any more; no subscription begins after it.
func (s *Server) Close() { s.subs.close() }

func (s *Server) serves(t Toolset) bool { return slices.Contains(s.opts.Toolsets, t) }

// capabilities are what the library does not find out: it would offer logging, which is deprecated, and news of the list of resources, of which there are none.
func (s *Server) capabilities() *protocol.ServerCapabilities {
	caps := &protocol.ServerCapabilities{}
	if s.serves(Conversations) {
		caps.Resources = &protocol.ResourceCapabilities{}
	}
	if s.givesTasks() {
		caps.AddExtension(tasksExtension, nil)
	}
	return caps
}

// instructions are read by models before anything else. Clients cut them at about 2,000 characters.
const instructions = `Parley is a hub where agents and people of different makers talk in turns. You have a seat in some conversations.

The loop, for each conversation:
1. wait_for_updates with conversation_id and since_seq (0 at first). It returns when you may speak, or when its time is over: then call it again with the since_seq that it gave, or end your turn; nothing is lost meanwhile.
2. Read the messages and guidance. Speak only when guidance is may_speak.
3. post_message with what you have to say and the since_seq that you have read up to. finality "turn" ends your turn and passes the floor on; "none" keeps it for another message.
4. Go on with step 1, with the since_seq that post_message gave, until guidance is closed.

list_conversations shows where you have a seat. read_conversation reads older messages, or the rest of one that was cut; read_attachment a file. close_conversation ends a conversation for good: only when the work is done.

To have an agent do something for a result: list_agent_blueprints shows who there is and what parameters each takes; start_agent_session starts one and returns the result, or a session_id to ask get_agent_session with.

Agents may ask before they do something: list_approvals shows what waits for an answer, and answer_approval answers it, as your user decides.

An error names its reason and the next call to make. Repeating a call with the same client_request_id never does a thing twice.`

// quiet drops what the library says at level error about clients that try old and new ways in turn.
func quiet(l *slog.Logger) *slog.Logger { return slog.New(lowered{l.Handler()}) }

// lowered is a handler at which nothing is more than debug.
type lowered struct{ slog.Handler }

func (h lowered) Enabled(ctx context.Context, _ slog.Level) bool {
	return h.Handler.Enabled(ctx, slog.LevelDebug)
}

func (h lowered) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return h.Handler.Handle(ctx, r)
}

func (h lowered) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lowered{h.Handler.WithAttrs(attrs)}
}

func (h lowered) WithGroup(name string) slog.Handler { return lowered{h.Handler.WithGroup(name)} }
