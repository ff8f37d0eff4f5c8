package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/a2a"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/conversation"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/listen"
	"github.com/parleyhub/parley/internal/egress"
)

// A2AFlags are the flags of a2a serve.
type A2AFlags struct {
	url, listen, publicURL, cards, pushKey string
	agents, allowPrivate                   []string
	insecurePublic                         bool
	telemetry                              cli.TelemetryFlags
}

// NewA2ACommand returns the command a2a serve.
func NewA2ACommand(a *cli.App) *cobra.Command {
	var f A2AFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "serve agents of a hub to A2A clients",
		Long: `serve is 'parley serve --a2a' in a separate process: it speaks the Agent2Agent protocol
with clients, and calls the hub with the token of each client. Its only state is the key of
--push-key, so that any number of processes may run and be restarted.

The first line of stdout has its address. Run it behind a proxy that terminates TLS.

With --push-key it also sends push notifications, and stores their configurations in the log of the
hub. $PARLEY_TOKEN must then have the scope admin. Only one process per hub may use --push-key.`,
		Args: cobra.NoArgs,
	}
	f.AddTo(c)
	return a.SetRun(c, func(ctx context.Context, _ []string) error { return RunA2A(ctx, a, &f) })
}

func (f *A2AFlags) AddTo(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.url, "url", "", "URL of the hub, or URLs of several hubs separated by commas (default: "+
		"$PARLEY_URL, else "+
		cli.DefaultURL+")")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7448",
		"address to listen on; a port alone means loopback, port 0 any free one")
	flags.StringVar(&f.publicURL, "public-url", "", "public URL of this server, such as that of a proxy in front of it")
	flags.StringSliceVar(&f.agents, "agent", nil, "agent of the hub to serve; may be repeated")
	flags.StringVar(&f.cards, "cards", "", "file with the cards of agents and scenarios ('parley schema cards')")
	flags.StringVar(&f.pushKey, "push-key", "",
		"file with the key that encrypts push credentials; created if missing")
	flags.StringSliceVar(&f.allowPrivate, "allow-private", nil, "private address range for push notifications, also "+
		"without TLS, such as 10.0.0.0/8, or all; may be repeated")
	flags.BoolVar(&f.insecurePublic, "insecure-public", false, "allow plain HTTP on addresses other than loopback")
	f.telemetry.AddTo(c)
}

// check holds the flags against each other.
func (f *A2AFlags) check() error {
	if len(f.agents) == 0 && f.cards == "" {
		return exit.Usagef("nothing is shown: expected --agent or --cards")
	}
	if u, err := url.Parse(f.publicURL); err != nil || f.publicURL != "" &&
		(u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return exit.Usagef("--public-url %s: expected an address such as https://agents.example.com", cli.Clean(f.publicURL))
	}
	return nil
}

// address returns the address to listen on.
func (f *A2AFlags) address() (string, error) {
	address := f.listen
	if _, err := net.LookupPort("tcp", address); err == nil {
		address = net.JoinHostPort("127.0.0.1", address)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", exit.Usagef("--listen %s: expected HOST:PORT, or a port", cli.Clean(f.listen))
	}
	if !config.IsLoopback(host) && !f.insecurePublic {
		return "", exit.WithHint(exit.Usagef(
			"%s is not loopback and there is no TLS: tokens would cross the network in clear", cli.Clean(f.listen)),
			"put a proxy that ends TLS before a loopback address, or insist with --insecure-public")
	}
	return address, nil
}

// RunA2A serves the Agent2Agent protocol outside of the hub, until ctx ends.
func RunA2A(ctx context.Context, a *cli.App, f *A2AFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	address, err := f.address()
	if err != nil {
		return err
	}
	agents, err := loadAgents(f.agents, f.cards)
	if err != nil {
		return conversation.ScenarioError(a, err)
	}
	if f.url != "" {
		if err := os.Setenv(cli.EnvURL, f.url); err != nil { // so that it is looked at as the environment is
			return err
		}
	}
	if _, err := cli.ParseHubURLs(); err != nil {
		return err
	}
	ctx, told, err := f.telemetry.Open(ctx, "parley-a2a", slog.New(slog.NewTextHandler(a.Err, nil)))
	if err != nil {
		return err
	}
	defer told.Shutdown(context.WithoutCancel(ctx)) // spans that cannot be sent are in the log
	d, err := newA2AStandalone(ctx, a, f, agents)
	if err != nil {
		return err
	}
	listeners, err := listen.Open(address)
	if err != nil {
		return errors.Join(err, d.stop())
	}
	return serveStandalone(ctx, a, d, listeners[0])
}

// newA2AStandalone makes the door of a hub elsewhere.
func newA2AStandalone(ctx context.Context, a *cli.App, f *A2AFlags, agents []a2a.Agent) (*a2aAdapter, error) {
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o := &a2aOptions{agents: agents, url: f.publicURL, callers: newA2ACallers(cli.HubURL(), log), log: log}
	if f.pushKey == "" {
		return newA2AAdapter(o)
	}
	allowed, err := egress.ParseAllowed(f.allowPrivate)
	if err != nil {
		return nil, exit.Usagef("--allow-private: %w", err)
	}
	if o.push, err = newRemotePush(ctx, a, o.callers, f.pushKey, allowed, log); err != nil {
		return nil, errors.Join(err, o.callers.stop())
	}
	return newA2AAdapter(o)
}

// newRemotePush reads what is kept of push notifications in the log of a hub elsewhere.
func newRemotePush(ctx context.Context, a *cli.App, c *callerPool, file string, allowed []netip.Prefix,
	log *slog.Logger) (*a2a.Push, error) {
	key, err := a2a.LoadKey(file)
	if err != nil {
		return nil, err
	}
	store, err := a.Dial(ctx, "")
	if err != nil {
		return nil, err
	}
	token := os.Getenv(cli.EnvToken)
	p, err := a2a.NewPush(ctx, &a2a.PushOptions{
		Store: store, Key: key, AllowHTTP: len(allowed) > 0, AllowPrivate: allowed, Logger: log,
		As: func(ctx context.Context, participant string) (parley.Client, func(), error) {
			return c.connect(ctx, token, participant)
		},
	})
	// there is no such conversation for others
	if errors.Is(err, parley.ErrValidationFailed) || errors.Is(err, parley.ErrNotFound) {
		err = parley.Refuse(parley.ErrForbidden, "push notifications are kept by an admin", cli.EnvToken+
			" with a token of scope admin")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the push notifications that are to be sent: %w", err), store.Close())
	}
	return p, nil
}

// serveStandalone serves until ctx ends.
func serveStandalone(ctx context.Context, a *cli.App, d *a2aAdapter, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle(a2aPath, d.server.Handler())
	for path, page := range d.server.Cards() {
		mux.Handle("GET "+path, page)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := listen.NewHTTPServer(mux, d.log)
	server.BaseContext = func(net.Listener) context.Context { return life }
	d.open(nil, d.log)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	a.Out.Line(fmt.Sprintf("listening on http://%s%s", l.Addr(), a2aPath))
	select {
	case err := <-ended:
		return errors.Join(err, d.stop())
	case <-ctx.Done():
	}
	soon, cancel := context.WithTimeout(context.Background(), standaloneDrain)
	defer cancel()
	time.AfterFunc(standaloneDrain/2, end) // streams have no end
	if err := server.Shutdown(soon); err != nil {
		_ = server.Close()
	}
	return d.stop()
}

// standaloneDrain bounds the drain of an adapter that runs apart.
const standaloneDrain = 4 * time.Second
