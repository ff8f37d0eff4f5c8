package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
)

// The environment that every command reads.
const (
	envURL   = "PARLEY_URL"
	envToken = "PARLEY_TOKEN"
	envAgent = "PARLEY_AGENT"

	defaultURL = "ws://127.0.0.1:7447/rpc"
)

// hubURL is the address of the hub, or those of several hubs of one log, with commas between.
func hubURL() string { return cmp.Or(os.Getenv(envURL), defaultURL) }

// asFlag is --as: whom to speak as.
func asFlag(c *cobra.Command, as *string) {
	c.Flags().StringVar(as, "as", "", "speak as this participant (default: $PARLEY_AGENT, else the token's first id)")
}

// dial connects to the hub that the environment names. The first connection must succeed within the timeout of a call.
func (a *app) dial(ctx context.Context, as string) (parley.Client, error) {
	return a.dialTelling(ctx, as, nil)
}

// dialTelling is dial for who waits long: n, if not nil, hears when the connection is lost and regained.
func (a *app) dialTelling(ctx context.Context, as string, n *notices) (parley.Client, error) {
	ctx, cancel := a.within(ctx)
	defer cancel()
	if err := checkEnv(); err != nil {
		return nil, err
	}
	httpClient, err := hubHTTPClient()
	if err != nil {
		return nil, err
	}
	o := &sdk.Options{
		HTTPClient: httpClient,
		Token:      os.Getenv(envToken),
		AgentID:    cmp.Or(as, os.Getenv(envAgent)),
		ClientName: "parley/" + version(),
	}
	if n != nil {
		o.Logger = slog.New(n)
	}
	client, err := sdk.Dial(ctx, hubURL(), o)
	if errors.Is(err, parley.ErrNotFound) { // nothing was asked for yet that could be absent
		return nil, withHint(usagef("%s: no hub at this address: %s", envURL, hubURL()), "the path of a hub is /rpc, as in "+defaultURL)
	}
	if err != nil {
		return nil, explainTLS(timedOut(ctx, err))
	}
	return client, nil
}

// checkEnv refuses what no hub could be reached with.
func checkEnv() error {
	if _, err := parseHubURLs(); err != nil {
		return err
	}
	if os.Getenv(envToken) == "" {
		return withHint(parley.Refuse(parley.ErrUnauthenticated, envToken+" is not set", ""),
			"'parley serve --dev' prints a token; 'parley token create --admin --data DIR' makes the first, while no hub runs")
	}
	return nil
}

// parseHubURLs gives the addresses of the hubs: mostly one.
func parseHubURLs() ([]*url.URL, error) {
	list := strings.Split(hubURL(), ",")
	var all []*url.URL
	for _, address := range list {
		u, err := parseHubURL(strings.TrimSpace(address))
		if err != nil && (address != "" || len(list) == 1) {
			return nil, err
		}
		all = append(all, u)
	}
	if len(list) == 1 {
		return all, nil
	}
	if _, err := sdk.URLs(hubURL()); err != nil {
		return nil, withHint(usagef("%s: %w", envURL, err), "such as ws://hub-1:7447/rpc,ws://hub-2:7447/rpc")
	}
	return all, nil
}

func parseHubURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || !slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme) || u.Host == "" {
		return nil, withHint(usagef("%s=%s is no address of a hub", envURL, clean(address)), "such as "+defaultURL)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" { // and it is not quoted: it may be a secret
		return nil, withHint(usagef("%s has more in it than an address", envURL), "a token goes into "+envToken+", never into an address")
	}
	return u, nil
}

// plainRequest asks for a plain route of the hub at u, which is beside its /rpc.
func plainRequest(ctx context.Context, u *url.URL, route string) *http.Request {
	beside := *u
	beside.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	if beside.Scheme == "" {
		beside.Scheme = u.Scheme
	}
	beside.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/rpc") + route
	return (&http.Request{Method: http.MethodGet, URL: &beside, Host: u.Host, Header: http.Header{}}).WithContext(ctx)
}

// hostPort is where a hub's address leads to.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "http": "80", "wss": "443", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// timedOut makes the error of a call whose time was up say so.
func timedOut(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == errTimeout && !errors.Is(err, parley.ErrRateLimited) { // else the hub has answered
		return withHint(errTimeout, "no answer from "+hubURL()+" ("+clean(err.Error())+"); is a hub running there? see PARLEY_URL and --timeout")
	}
	return err
}

// call makes one call to the hub, bounded by the timeout.
func call[P, R any](ctx context.Context, a *app, do func(context.Context, P) (R, error), params P) (R, error) {
	ctx, cancel := a.within(inTrace(ctx))
	defer cancel()
	r, err := do(ctx, params)
	return r, timedOut(ctx, err)
}

// isLoopback says whether a host is this machine and nobody else's.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
