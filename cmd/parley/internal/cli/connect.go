package cli

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
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/sdk"
)

// The environment that every command reads.
const (
	EnvURL   = "PARLEY_URL"
	EnvToken = "PARLEY_TOKEN"
	EnvAgent = "PARLEY_AGENT"

	DefaultURL = "ws://127.0.0.1:7447/rpc"
)

// HubURL is the address of the hub, or those of several hubs of one log, with commas between.
func HubURL() string { return cmp.Or(os.Getenv(EnvURL), DefaultURL) }

// AddAsFlag is --as: whom to speak as.
func AddAsFlag(c *cobra.Command, as *string) {
	c.Flags().StringVar(as, "as", "", "participant to act as (default: $PARLEY_AGENT, else the token's first id)")
}

// Dial connects to the hub that the environment names. The first connection must succeed within the
// timeout of a call.
func (a *App) Dial(ctx context.Context, as string) (parley.Client, error) {
	return a.DialNotifying(ctx, as, nil)
}

// DialNotifying is dial for who waits long: n, if not nil, hears when the connection is lost and
// regained.
func (a *App) DialNotifying(ctx context.Context, as string, n *ConnectionNotices) (parley.Client, error) {
	ctx, cancel := a.WithTimeout(ctx)
	defer cancel()
	if err := CheckEnvironment(); err != nil {
		return nil, err
	}
	httpClient, err := NewHTTPClient()
	if err != nil {
		return nil, err
	}
	o := &sdk.Options{
		HTTPClient: httpClient,
		Token:      os.Getenv(EnvToken),
		AgentID:    cmp.Or(as, os.Getenv(EnvAgent)),
		ClientName: "parley/" + Version(),
	}
	if n != nil {
		o.Logger = slog.New(n)
	}
	client, err := sdk.Dial(ctx, HubURL(), o)
	if errors.Is(err, parley.ErrNotFound) { // nothing was asked for yet that could be absent
		return nil, exit.WithHint(exit.Usagef("%s: no hub at this address: %s", EnvURL, HubURL()),
			"the path of a hub is /rpc, as in "+DefaultURL)
	}
	if err != nil {
		return nil, ExplainTLS(ExplainTimeout(ctx, err))
	}
	return client, nil
}

// CheckEnvironment refuses what no hub could be reached with.
func CheckEnvironment() error {
	if _, err := ParseHubURLs(); err != nil {
		return err
	}
	if os.Getenv(EnvToken) == "" {
		return exit.WithHint(parley.Refuse(parley.ErrUnauthenticated, EnvToken+" is not set", ""),
			"'parley serve --dev' prints a token; 'parley token create --admin --data DIR' makes the first, while no hub runs")
	}
	return nil
}

// ParseHubURLs returns the addresses of the hubs, usually one.
func ParseHubURLs() ([]*url.URL, error) {
	list := strings.Split(HubURL(), ",")
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
	if _, err := sdk.URLs(HubURL()); err != nil {
		return nil, exit.WithHint(exit.Usagef("%s: %w", EnvURL, err), "such as ws://hub-1:7447/rpc,ws://hub-2:7447/rpc")
	}
	return all, nil
}

func parseHubURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || !slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme) || u.Host == "" {
		return nil, exit.WithHint(exit.Usagef("%s=%s is no address of a hub", EnvURL, Clean(address)), "such as "+DefaultURL)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" { // and it is not quoted: it may be a secret
		return nil, exit.WithHint(exit.Usagef("%s has more in it than an address", EnvURL), "a token goes into "+EnvToken+
			", never into an address")
	}
	return u, nil
}

// NewRouteRequest asks for a plain route of the hub at u, which is beside its /rpc.
func NewRouteRequest(ctx context.Context, u *url.URL, route string) *http.Request {
	beside := *u
	beside.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	if beside.Scheme == "" {
		beside.Scheme = u.Scheme
	}
	beside.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/rpc") + route
	return (&http.Request{Method: http.MethodGet, URL: &beside, Host: u.Host, Header: http.Header{}}).WithContext(ctx)
}

// HostPort is where a hub's address leads to.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "http": "80", "wss": "443", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// ExplainTimeout makes the error of a call whose time was up say so.
func ExplainTimeout(ctx context.Context, err error) error {
	// else the hub has answered
	if err != nil && context.Cause(ctx) == exit.ErrTimeout && !errors.Is(err, parley.ErrRateLimited) {
		return exit.WithHint(exit.ErrTimeout, "no answer from "+HubURL()+" ("+Clean(err.Error())+
			"); is a hub running there? see PARLEY_URL and --timeout")
	}
	return err
}

// Call makes one call to the hub, bounded by the timeout.
func Call[P, R any](ctx context.Context, a *App, do func(context.Context, P) (R, error), params P) (R, error) {
	ctx, cancel := a.WithTimeout(InSpan(ctx))
	defer cancel()
	r, err := do(ctx, params)
	return r, ExplainTimeout(ctx, err)
}

// IsLoopback reports whether a host is this machine, reachable by no other.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
