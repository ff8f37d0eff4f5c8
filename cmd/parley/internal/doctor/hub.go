package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/certs"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// hubCheck looks at the hub that the environment names, step by step.
type hubCheck struct {
	*doctor
	cli.HubSocket       // its URL is nil if err is set
	err           error // of the addresses
}

// run takes the steps in order. A step that returns a reason ends the check: the remaining steps
// are skipped for that reason.
func (h *hubCheck) run(ctx context.Context) {
	defer h.Close()
	reason := ""
	for _, step := range []struct {
		check string
		take  func(ctx context.Context, check string) (reason string)
	}{
		{"url", h.address}, {"reach", h.reach}, {"tls", h.tls}, {"livez", h.alive}, {"readyz", h.ready}, {"socket", h.socket},
		{"token", h.token}, {"expiry", h.expiry}, {"clock", h.clock}, {"version", h.version},
	} {
		if reason != "" {
			h.skip(step.check, reason)
			continue
		}
		within, cancel := h.a.WithTimeout(ctx)
		reason = step.take(within, step.check)
		cancel()
	}
}

// hubChecks are the visits to be made: one for each hub that the environment names.
func (d *doctor) hubChecks() []*hubCheck {
	urls, err := cli.ParseHubURLs()
	if err != nil {
		return []*hubCheck{{doctor: d, err: err}}
	}
	var visits []*hubCheck
	for _, u := range urls {
		visits = append(visits, &hubCheck{doctor: d, HubSocket: cli.HubSocket{URL: u}})
	}
	return visits
}

// address checks PARLEY_URL.
func (h *hubCheck) address(_ context.Context, check string) string {
	if h.URL == nil {
		h.fail(check, h.err.Error(), exit.HintOf(h.err))
		return "there is no address"
	}
	var err error
	if h.Client, err = cli.NewHTTPClient(); err != nil {
		h.skip(check, "see environment")
		return "the certificates cannot be used"
	}
	h.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	h.ok(check, h.Address())
	return ""
}

func (h *hubCheck) encrypted() bool { return h.URL.Scheme == "wss" || h.URL.Scheme == "https" }

// plain returns a request of a plain route beside /rpc.
func (h *hubCheck) plain(ctx context.Context, route string) *http.Request {
	return cli.NewRouteRequest(ctx, h.URL, route)
}

// reach dials the address.
func (h *hubCheck) reach(ctx context.Context, check string) string {
	if proxy, err := http.ProxyFromEnvironment(h.plain(ctx, "/livez")); err == nil && proxy != nil {
		h.ok(check, "connections go through the proxy "+proxy.Host)
		return ""
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", cli.HostPort(h.URL))
	if err == nil {
		conn.Close()
		h.ok(check, cli.HostPort(h.URL)+" takes connections")
		return ""
	}
	if os.Getenv(cli.EnvURL) == "" {
		h.skip(check, cli.EnvURL+" is not set and no hub listens on "+cli.HostPort(h.URL))
		return "there is no hub to ask"
	}
	h.fail(check, err.Error(), exit.Hints[parley.ErrUnavailable])
	return "the hub is not reachable"
}

// tls makes a handshake, where the address asks for one.
func (h *hubCheck) tls(ctx context.Context, check string) string {
	switch {
	case !h.encrypted() && cli.IsLoopback(h.URL.Hostname()):
		h.skip(check, "not used on this machine")
		return ""
	case !h.encrypted():
		h.warn(check, "tokens and conversations cross the network in clear", "use a hub with TLS, at wss://")
		return ""
	}
	resp, err := h.Client.Do(h.plain(ctx, "/livez"))
	if err != nil {
		h.fail(check, err.Error(), cli.TLSHint(err))
		return "there is no connection"
	}
	resp.Body.Close()
	leaf := resp.TLS.PeerCertificates[0]
	found := fmt.Sprintf("%s; certificate for %s, until %s", tls.VersionName(resp.TLS.Version),
		strings.Join(certs.HostNames(leaf), ", "), leaf.NotAfter.UTC().Format(time.DateOnly))
	if err := certs.CheckValidity(leaf, time.Now()); err != nil {
		h.warn(check, "the hub's certificate "+err.Error(), "the operator of the hub must renew it")
		return ""
	}
	h.ok(check, found)
	return ""
}

// alive asks /livez: whether a hub answers, and to this name.
func (h *hubCheck) alive(ctx context.Context, check string) string {
	status, text, err := h.GetRoute(ctx, "/livez")
	switch {
	case err != nil:
		h.fail(check, err.Error(), cli.TLSHint(err))
	case status == http.StatusOK && text == "ok":
		h.ok(check, "a hub answers")
		return ""
	case status == http.StatusForbidden:
		h.fail(check, "the hub does not answer to the name "+h.URL.Host, "start it with --allow-host "+h.URL.Hostname()+
			", or call it by a name that it has")
	case status == http.StatusBadRequest && strings.Contains(text, "HTTPS server"):
		h.fail(check, h.Address()+" takes TLS only", "its address begins with wss://")
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		h.fail(check, fmt.Sprintf("a proxy answers %d: it does not reach the hub", status),
			"start the hub, and look at the proxy's log")
	default:
		h.fail(check, fmt.Sprintf("something answers %d to /livez, and it is no hub", status), "such as "+cli.DefaultURL)
	}
	return "no hub answers"
}

// ready asks /readyz. A hub that is not ready may still answer reads.
func (h *hubCheck) ready(ctx context.Context, check string) string {
	status, text, err := h.GetRoute(ctx, "/readyz")
	switch {
	case err != nil:
		h.fail(check, err.Error(), "")
	case status != http.StatusOK:
		h.fail(check, text, "see docs/guides/operations.md, Alarms")
	default:
		h.ok(check, "it takes reads and writes")
	}
	return ""
}

// socket opens a WebSocket.
func (h *hubCheck) socket(ctx context.Context, check string) string {
	if err := h.Open(ctx); err != nil {
		h.fail(check, err.Error(), "a proxy in between must pass Upgrade on; see docs/guides/operations.md")
		return "there is no WebSocket"
	}
	h.ok(check, "the WebSocket is open")
	return ""
}
