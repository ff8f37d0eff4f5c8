package main

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
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/internal/egress"
)

type a2aServeFlags struct {
	url, listen, publicURL, cards, pushKey string
	agents, allowPrivate                   []string
	insecurePublic                         bool
	telemetry                              telemetryFlags
}

func (a *app) a2aServeCommand() *cobra.Command {
	var f a2aServeFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "show agents of a hub elsewhere over A2A",
		Long: `serve does apart from the hub what 'parley serve --a2a' does in it: it speaks the Agent2Agent protocol with clients, and calls the hub with the token that each client
shows. It keeps nothing but the key of --push-key, so that any number may run, and be restarted.

The first line of stdout tells where it listens. Before it, put a proxy that ends TLS.

With --push-key it sends push notifications too: $PARLEY_TOKEN is then a token of scope admin, with which it keeps their configurations in the hub's log. One process of
all those of a hub may do that.`,
		Args: cobra.NoArgs,
	}
	f.add(c)
	return a.does(c, func(ctx context.Context, _ []string) error { return a.a2aServe(ctx, &f) })
}

func (f *a2aServeFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.url, "url", "", "the hub, or several with commas between (default: $PARLEY_URL, else "+defaultURL+")")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7448", "address to listen on; a port alone means loopback, port 0 any free one")
	flags.StringVar(&f.publicURL, "public-url", "", "address by which clients reach it, as a proxy before it has it")
	flags.StringSliceVar(&f.agents, "agent", nil, "an agent of the hub that has a card; may be repeated")
	flags.StringVar(&f.cards, "cards", "", "file of agents and scenarios that have a card ('parley schema cards')")
	flags.StringVar(&f.pushKey, "push-key", "", "file with the key that seals what push notifications need; it is made when it is not there")
	flags.StringSliceVar(&f.allowPrivate, "allow-private", nil, "a range of addresses, such as 10.0.0.0/8, or all, that push notifications may go to, also without TLS; may be repeated")
	flags.BoolVar(&f.insecurePublic, "insecure-public", false, "listen beyond loopback although there is no TLS")
	f.telemetry.add(c)
}

// check holds the flags against each other.
func (f *a2aServeFlags) check() error {
	if len(f.agents) == 0 && f.cards == "" {
		return usagef("nothing is shown: expected --agent or --cards")
	}
	if u, err := url.Parse(f.publicURL); err != nil || f.publicURL != "" && (u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return usagef("--public-url %s: expected an address such as https://agents.example.com", clean(f.publicURL))
	}
	return nil
}

// address gives what to listen on.
func (f *a2aServeFlags) address() (string, error) {
	address := f.listen
	if _, err := net.LookupPort("tcp", address); err == nil {
		address = net.JoinHostPort("127.0.0.1", address)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", usagef("--listen %s: expected HOST:PORT, or a port", clean(f.listen))
	}
	if !config.IsLoopback(host) && !f.insecurePublic {
		return "", withHint(usagef("%s is not loopback and there is no TLS: tokens would cross the network in clear", clean(f.listen)),
			"put a proxy that ends TLS before a loopback address, or insist with --insecure-public")
	}
	return address, nil
}

func (a *app) a2aServe(ctx context.Context, f *a2aServeFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	address, err := f.address()
	if err != nil {
		return err
	}
	agents, err := shownAgents(f.agents, f.cards)
	if err != nil {
		return a.faultyScenario(err)
	}
	if f.url != "" {
		if err := os.Setenv(envURL, f.url); err != nil { // so that it is looked at as the environment is
			return err
		}
	}
	if _, err := parseHubURLs(); err != nil {
		return err
	}
	ctx, told, err := f.telemetry.open(ctx, "parley-a2a", slog.New(slog.NewTextHandler(a.err, nil)))
	if err != nil {
		return err
	}
	defer told.Shutdown(context.WithoutCancel(ctx)) // what cannot be told is in the log
	d, err := a.newA2AApart(ctx, f, agents)
	if err != nil {
		return err
	}
	listeners, err := listen(address)
	if err != nil {
		return errors.Join(err, d.stop())
	}
	return a.serveApart(ctx, d, listeners[0])
}

// newA2AApart makes the door of a hub elsewhere.
func (a *app) newA2AApart(ctx context.Context, f *a2aServeFlags, agents []a2a.Agent) (*a2aDoor, error) {
	log := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o := &a2aDoorOptions{agents: agents, url: f.publicURL, callers: newA2ACallers(hubURL(), log), log: log}
	if f.pushKey == "" {
		return newA2ADoor(o)
	}
	allowed, err := egress.ParseAllowed(f.allowPrivate)
	if err != nil {
		return nil, usagef("--allow-private: %w", err)
	}
	if o.push, err = a.pushApart(ctx, o.callers, f.pushKey, allowed, log); err != nil {
		return nil, errors.Join(err, o.callers.stop())
	}
	return newA2ADoor(o)
}

// pushApart reads what is kept of push notifications in the log of a hub elsewhere.
func (a *app) pushApart(ctx context.Context, c *callers, file string, allowed []netip.Prefix, log *slog.Logger) (*a2a.Push, error) {
	key, err := a2a.LoadKey(file)
	if err != nil {
		return nil, err
	}
	store, err := a.dial(ctx, "")
	if err != nil {
		return nil, err
	}
	token := os.Getenv(envToken)
	p, err := a2a.NewPush(ctx, &a2a.PushOptions{
		Store: store, Key: key, AllowHTTP: len(allowed) > 0, AllowPrivate: allowed, Logger: log,
		As: func(ctx context.Context, participant string) (parley.Client, func(), error) {
			return c.connect(ctx, token, participant)
		},
	})
	if errors.Is(err, parley.ErrValidationFailed) || errors.Is(err, parley.ErrNotFound) { // there is no such conversation for others
		err = parley.Refuse(parley.ErrForbidden, "push notifications are kept by an admin", envToken+" with a token of scope admin")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the push notifications that are to be sent: %w", err), store.Close())
	}
	return p, nil
}

// serveApart serves until ctx ends.
func (a *app) serveApart(ctx context.Context, d *a2aDoor, l net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle(a2aPath, d.server.Handler())
	for path, page := range d.server.Cards() {
		mux.Handle("GET "+path, page)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := newHTTPServer(mux, d.log)
	server.BaseContext = func(net.Listener) context.Context { return life }
	d.open(nil, d.log)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	a.out.line(fmt.Sprintf("listening on http://%s%s", l.Addr(), a2aPath))
	select {
	case err := <-ended:
		return errors.Join(err, d.stop())
	case <-ctx.Done():
	}
	soon, cancel := context.WithTimeout(context.Background(), apartDrain)
	defer cancel()
	time.AfterFunc(apartDrain/2, end) // streams have no end of their own
	if err := server.Shutdown(soon); err != nil {
		_ = server.Close()
	}
	return d.stop()
}

// apartDrain bounds the drain of an adapter that runs apart.
const apartDrain = 4 * time.Second
