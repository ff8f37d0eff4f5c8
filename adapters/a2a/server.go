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

// Options of a server. The zero value of each but Connect and Agents is good.
type Options struct {
	// Connect gives a client that speaks as who has made a request, and what gives it back.
	Connect func(r *http.Request) (c parley.Client, release func(), err error)
	// Agents are those that are shown, with different names; the first is also the one of the whole address.
	Agents []Agent
	// URL is where the world finds the hub, such as https://hub.example.com; absent: as the request has it.
	URL string
	// Bearer says that tokens are needed, and Issuer, if set, which OpenID provider gives them: for the cards.
	Bearer bool
	Issuer string
	// Version is that of the program.
	Version string
	// Strict refuses a method of 1.0 without A2A-Version, as some readings of the specification want it.
	Strict bool
	// Push keeps and delivers push notifications; nil: they are not offered.
	Push *Push
	// Logger hears what goes wrong; nil: nobody.
	Logger *slog.Logger
}

// caller is who has made a request, and of which agent.
type caller struct {
	client parley.Client
	agent  *Agent
	traces bool // has asked for traces
	legacy bool // speaks 0.3
}

// update is one event of a stream.
type update struct {
	// id is its cursor: the seq of what it tells of. Where one record of the log gives several updates, all but the last have the seq, a dot, and their number from 1.
	id    string
	event a2a.Event
}

// methods are those of the protocol, free of bindings and versions. Errors are those of package a2a of the library, wrapped with what was wrong, or those of
// package parley.
type methods interface {
	send(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	// stream begins with a task, or is one message. An error that is yielded first is of the request and not of the stream.
	stream(ctx context.Context, c *caller, req *a2a.SendMessageRequest) iter.Seq2[update, error]
	get(ctx context.Context, c *caller, req *a2a.GetTaskRequest) (*a2a.Task, error)
	list(ctx context.Context, c *caller, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error)
	cancel(ctx context.Context, c *caller, req *a2a.CancelTaskRequest) (*a2a.Task, error)
	// subscribe goes on behind cursor, the id of an update; empty: from now.
	subscribe(ctx context.Context, c *caller, req *a2a.SubscribeToTaskRequest, cursor string) iter.Seq2[update, error]
	createPush(ctx context.Context, c *caller, req *a2a.PushConfig) (*a2a.PushConfig, error)
	getPush(ctx context.Context, c *caller, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error)
	listPush(ctx context.Context, c *caller, req *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error)
	deletePush(ctx context.Context, c *caller, req *a2a.DeleteTaskPushConfigRequest) error
}

// Server is the adapter.
type Server struct {
	opts Options
	log  *slog.Logger
	// began is when the server was made: until another is, its cards stay as they are.
	began time.Time
	service
}

// New makes a server. It fails with what is wrong with the options.
func New(o *Options) (*Server, error) {
	s := &Server{opts: *o, log: o.Logger, began: time.Now().UTC()}
	s.opts.Agents = slices.Clone(o.Agents)
	s.opts.URL = strings.TrimSuffix(o.URL, "/")
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.Connect == nil {
		return nil, errors.New("a2a: Options.Connect is missing")
	}
	if len(o.Agents) == 0 {
		return nil, errors.New("a2a: no agents are to be shown")
	}
	if u, err := url.Parse(s.opts.URL); err != nil || s.opts.URL != "" && (u.Host == "" || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("a2a: %q is no address such as https://hub.example.com", o.URL)
	}
	names := map[string]bool{}
	for i := range s.opts.Agents {
		agent := &s.opts.Agents[i]
		if names[agent.Name] {
			return nil, fmt.Errorf("a2a: two agents are named %s", agent.Name)
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

// check says what is wrong with an agent.
func (a *Agent) check() error {
	switch {
	case !parley.ValidParticipantID(a.Name):
		return errors.New("the name is not 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit")
	case (a.Speaks == "") == (a.Scenario == nil):
		return errors.New("exactly one of Speaks and Scenario is to be set")
	case a.Speaks != "" && !parley.ValidAgentName(a.Speaks):
		return fmt.Errorf("%q is no name of an agent", a.Speaks)
	case a.Scenario != nil:
		return a.Scenario.check()
	}
	return nil
}
