package a2a

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// Options configures a server. Only Connect and Agents are required.
type Options struct {
	// Connect returns a client that acts as the caller of a request, and a function that releases it.
	Connect func(r *http.Request) (c parley.Client, release func(), err error)
	// Agents are the published agents, with different names. The first one is also the agent of the
	// root card.
	Agents []Agent
	// URL is the public URL of the hub, such as https://hub.example.com. The default is the host of
	// the request.
	URL string
	// Bearer states in the cards that tokens are required. Issuer, if set, names the OpenID provider
	// of tokens.
	Bearer bool
	Issuer string
	// Version is the version of the program.
	Version string
	// Strict refuses a method of 1.0 without A2A-Version, as some readings of the specification
	// require.
	Strict bool
	// Push stores and delivers push notifications; nil disables them.
	Push *Push
	// Logger receives errors; nil discards them.
	Logger *slog.Logger
}

// caller is the caller of a request, and the agent that it calls.
type caller struct {
	client parley.Client
	agent  *Agent
	traces bool // activated the extension for traces
	legacy bool // uses 0.3
}

// update is one event of a stream.
type update struct {
	// id is its cursor: the seq of its log event. If one log event has several updates, all but the
	// last append a dot and their number, from 1.
	id    string
	event a2a.Event
}

// methods are the methods of the protocol, independent of bindings and versions. Errors are those
// of package a2a of the library, wrapped with the fault, or those of package parley.
type methods interface {
	send(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	// stream begins with a task, or is one message. An error that comes first belongs to the request,
	// not to the stream.
	stream(ctx context.Context, c *caller, req *a2a.SendMessageRequest) iter.Seq2[update, error]
	get(ctx context.Context, c *caller, req *a2a.GetTaskRequest) (*a2a.Task, error)
	list(ctx context.Context, c *caller, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error)
	cancel(ctx context.Context, c *caller, req *a2a.CancelTaskRequest) (*a2a.Task, error)
	// subscribe continues after cursor, the id of an update. An empty cursor means the current state.
	subscribe(ctx context.Context, c *caller, req *a2a.SubscribeToTaskRequest, cursor string) iter.Seq2[update, error]
	createPush(ctx context.Context, c *caller, req *a2a.PushConfig) (*a2a.PushConfig, error)
	getPush(ctx context.Context, c *caller, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error)
	listPush(ctx context.Context, c *caller, req *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error)
	deletePush(ctx context.Context, c *caller, req *a2a.DeleteTaskPushConfigRequest) error
}

// Server is the A2A server of the adapter.
type Server struct {
	opts Options
	log  *slog.Logger
	// created is the modification time of the cards.
	created time.Time
	service
}

// New creates a server. It returns an error for invalid options.
func New(o *Options) (*Server, error) {
	s := &Server{opts: *o, log: o.Logger, created: time.Now().UTC()}
	s.opts.Agents = slices.Clone(o.Agents)
	s.opts.URL = strings.TrimSuffix(o.URL, "/")
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Connect == nil {
		return nil, errors.New("a2a: Options.Connect is missing")
	}
	if len(o.Agents) == 0 {
		return nil, errors.New("a2a: Options.Agents is empty")
	}
	if u, err := url.Parse(s.opts.URL); err != nil || s.opts.URL != "" && (u.Host == "" || u.RawQuery != "" ||
		u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("a2a: invalid Options.URL %q (expected: a URL such as https://hub.example.com)", o.URL)
	}
	names := map[string]bool{}
	for i := range s.opts.Agents {
		agent := &s.opts.Agents[i]
		if names[agent.Name] {
			return nil, fmt.Errorf("a2a: duplicate agent name %s", agent.Name)
		}
		names[agent.Name] = true
		if err := agent.check(); err != nil {
			return nil, fmt.Errorf("a2a: agent %q: %w", agent.Name, err)
		}
	}
	if o.Push != nil {
		o.Push.serve(s)
	}
	return s, nil
}

// check returns an error for an invalid agent.
func (a *Agent) check() error {
	switch {
	case !parley.ValidParticipantID(a.Name):
		return errors.New("invalid name (expected: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit)")
	case (a.Speaks == "") == (a.Scenario == nil):
		return errors.New("invalid agent (expected: exactly one of Speaks and Scenario)")
	case a.Speaks != "" && !parley.ValidAgentName(a.Speaks):
		return fmt.Errorf("invalid agent name %q", a.Speaks)
	case a.Scenario != nil:
		return a.Scenario.check()
	}
	return nil
}
