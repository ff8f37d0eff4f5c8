package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/a2a"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/examples/echo"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/egress"
	"github.com/parleyhub/parley/rpc"
)

const (
	// a2aPath is below which the Agent2Agent protocol is served.
	a2aPath = "/a2a/"
	// a2aKeeper is who keeps push configurations in the hub's log.
	a2aKeeper = "a2a"
	// a2aKey is the file beside the log with the key that seals their secrets.
	a2aKey = "a2a.key"
	// a2aAnonymous is who calls a hub for development without a token.
	a2aAnonymous = "guest"
)

// a2aAdapter lets clients of the Agent2Agent protocol call a hub, each with its own token.
type a2aAdapter struct {
	*callerPool
	server    *a2a.Server
	anonymous string // the token of requests without one; empty to refuse them
	push      *a2a.Push
	echo      *echoAgent // nil without an echo agent
	log       *slog.Logger

	end     context.CancelFunc // of deliveries
	running sync.WaitGroup
}

var _ adapter = (*a2aAdapter)(nil)

// a2aOptions say what is shown, and where.
type a2aOptions struct {
	agents []a2a.Agent
	// url is the public one; empty: as the request has it.
	url    string
	issuer string
	// callers reach the hub; nil: it is in this process.
	callers   *callerPool
	anonymous string
	push      *a2a.Push
	log       *slog.Logger
}

func newA2AAdapter(o *a2aOptions) (*a2aAdapter, error) {
	d := &a2aAdapter{callerPool: o.callers, anonymous: o.anonymous, push: o.push, log: o.log}
	if d.callerPool == nil {
		d.callerPool = newA2ACallers("", nil) // connections in memory have nothing to log
	}
	var err error
	d.server, err = a2a.New(&a2a.Options{
		Connect: d.connect, Agents: o.agents, URL: o.url, Bearer: o.anonymous == "", Issuer: o.issuer, Version: cli.Version(),
		Push: o.push, Logger: o.log,
	})
	return d, err
}

// newA2ACallers makes the callers of a hub elsewhere; without a URL, of the one in this process.
func newA2ACallers(url string, log *slog.Logger) *callerPool {
	return newCallerPool(&callerPoolOptions{ClientName: "parley-a2a/" + cli.Version(), URL: url, Log: log})
}

// openA2AAdapter makes the door of a hub in this process. The directory of its log is empty where
// that is memory.
func openA2AAdapter(h *hub.Hub, c *config.Loaded, dev bool, dir string, log *slog.Logger) (*a2aAdapter, error) {
	agents, err := loadAgents(c.A2AAgents, c.A2ACards)
	if err != nil {
		return nil, err
	}
	o := &a2aOptions{url: c.PublicURL, issuer: c.OIDC.Issuer, log: log}
	if dev {
		if o.anonymous, err = newAnonymousToken(h); err != nil {
			return nil, fmt.Errorf("make a token for %s: %w", a2aAnonymous, err)
		}
	}
	var echoes *echoAgent
	if dev {
		if !hasAgent(agents, echo.Name) {
			agents = append(agents, a2a.Agent{Name: echo.Name, Title: "Echo", Description: echo.Description, Speaks: echo.Name})
		}
		if echoes, err = newEchoAgent(h, log); err != nil {
			return nil, err
		}
	}
	o.agents = agents
	if o.push, err = openPush(h, c, dev, dir, log); err != nil {
		return nil, err
	}
	d, err := newA2AAdapter(o)
	if err != nil {
		return nil, err
	}
	d.echo = echoes
	return d, nil
}

func hasAgent(agents []a2a.Agent, name string) bool {
	return slices.ContainsFunc(agents, func(a a2a.Agent) bool { return a.Name == name })
}

// openPush reads what is kept of push notifications in the log of a hub in this process.
func openPush(h *hub.Hub, c *config.Loaded, dev bool, dir string, log *slog.Logger) (*a2a.Push, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // which never fails
	var err error
	if dir != "" {
		if key, err = a2a.LoadKey(filepath.Join(dir, a2aKey)); err != nil {
			return nil, err
		}
	}
	allowed, err := egress.ParseAllowed(c.A2AAllowPrivate)
	if err != nil {
		return nil, err
	}
	p, err := a2a.NewPush(context.Background(), &a2a.PushOptions{
		Store: h.Client(h.LocalPrincipal(a2aKeeper, parley.ScopeAdmin)), Key: key, AllowHTTP: dev || len(allowed) > 0,
		AllowPrivate: allowed, Logger: log,
		As: func(_ context.Context, participant string) (parley.Client, func(), error) {
			c := h.Client(h.LocalPrincipal(participant))
			return c, func() { _ = c.Close() }, nil // which never fails
		},
	})
	if err != nil {
		return nil, fmt.Errorf("read the push notifications that are to be sent: %w", err)
	}
	return p, nil
}

// newAnonymousToken makes the token of who shows none, for as long as the hub runs.
func newAnonymousToken(h *hub.Hub) (string, error) {
	c := h.Client(h.LocalPrincipal(a2aKeeper, parley.ScopeAdmin))
	defer c.Close()
	r, err := c.CreateToken(context.Background(), &parley.CreateTokenParams{AgentID: a2aAnonymous})
	if err != nil {
		return "", err
	}
	return r.Token, nil
}

// handlers are what the door of the hub serves for it: the agents, and their cards for everybody.
func (d *a2aAdapter) handlers() (map[string]*rpc.Protocol, map[string]http.Handler) {
	guest := &rpc.Protocol{
		Handler: d.server.Handler(), Verbs: a2a.Verbs, MaxBody: a2a.MaxBodyBytes, Streams: a2a.Streams,
		Anonymous:    d.anonymous,
		AllowHeaders: a2a.AllowHeaders, ExposeHeaders: a2a.ExposeHeaders,
	}
	return map[string]*rpc.Protocol{a2aPath: guest}, d.server.Cards()
}

// connect returns the client of the caller of a request.
func (d *a2aAdapter) connect(r *http.Request) (parley.Client, func(), error) {
	token, agent := credentialsOf(r.Header)
	return d.connectIn(r.Context(), lane(a2a.Streams(r)), token, agent)
}

// open lets what runs besides begin.
func (d *a2aAdapter) open(door http.Handler, log *slog.Logger) {
	if d.callerPool.o.URL == "" {
		d.callerPool.open(door, log)
	}
	var ctx context.Context
	ctx, d.end = context.WithCancel(context.Background())
	if d.push != nil {
		d.running.Go(func() {
			if err := d.push.Run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, parley.ErrUnavailable) {
				log.Error("push notifications are no longer sent: start the hub again", "error", err)
			}
		})
	}
	d.echo.start()
}

// stop ends deliveries, and what clients have under way.
func (d *a2aAdapter) stop() error {
	if d.end != nil {
		d.end()
		d.running.Wait()
	}
	d.echo.close()
	return d.callerPool.stop()
}

// echoAgent is the agent of a hub for development, in its process.
type echoAgent struct {
	client parley.Client
	run    func(ctx context.Context) error
	remove func()
	log    *slog.Logger
	tracer parley.Tracer // nil without telemetry

	stop  context.CancelFunc
	ended sync.WaitGroup
}

func newEchoAgent(h *hub.Hub, log *slog.Logger) (*echoAgent, error) {
	remove, err := h.RegisterAgent(parley.AgentInfo{Name: echo.Name, Type: parley.AgentTypeAgent,
		Description: echo.Description})
	if err != nil {
		return nil, err
	}
	e := &echoAgent{client: h.Client(h.LocalPrincipal(echo.Name)), remove: remove, log: log}
	e.run = executors.Internal(e.client, echo.Agent(0),
		&executors.Options{Agents: []string{echo.Name}, ExecutorID: echo.Name, Drain: -1, Logger: log}).Run
	return e, nil
}

func (e *echoAgent) start() {
	if e == nil {
		return
	}
	var ctx context.Context
	ctx, e.stop = context.WithCancel(parley.WithTracer(context.Background(), e.tracer))
	e.ended.Go(func() {
		if err := e.run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, parley.ErrUnavailable) {
			e.log.Error("the agent echo ended", "error", err)
		}
	})
}

func (e *echoAgent) close() {
	if e == nil {
		return
	}
	if e.stop != nil {
		e.stop()
		e.ended.Wait()
	}
	e.remove()
	_ = e.client.Close() // which never fails
}
