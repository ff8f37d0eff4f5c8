package main

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
)

// hubVisit looks at the hub that the environment names, step by step.
type hubVisit struct {
	*doctor
	hubSocket       // its URL is nil if err is set
	err       error // of the addresses
}

// visit takes the steps in order. One that gives a reason ends the visit: those after it are skipped for that reason.
func (h *hubVisit) visit(ctx context.Context) {
	defer h.closeSocket()
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
		within, cancel := h.a.within(ctx)
		reason = step.take(within, step.check)
		cancel()
	}
}

// hubs are the visits to be made: one for each hub that the environment names.
func (d *doctor) hubs() []*hubVisit {
	urls, err := parseHubURLs()
	if err != nil {
		return []*hubVisit{{doctor: d, err: err}}
	}
	var visits []*hubVisit
	for _, u := range urls {
		visits = append(visits, &hubVisit{doctor: d, hubSocket: hubSocket{url: u}})
	}
	return visits
}

// address checks PARLEY_URL.
func (h *hubVisit) address(_ context.Context, check string) string {
	if h.url == nil {
		h.fail(check, h.err.Error(), hintOf(h.err))
		return "there is no address"
	}
	var err error
	if h.client, err = hubHTTPClient(); err != nil {
		h.skip(check, "see environment")
		return "the certificates cannot be used"
	}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	h.ok(check, h.where())
	return ""
}

func (h *hubVisit) encrypted() bool { return h.url.Scheme == "wss" || h.url.Scheme == "https" }

// plain gives a request of a plain route beside /rpc.
func (h *hubVisit) plain(ctx context.Context, route string) *http.Request {
	return plainRequest(ctx, h.url, route)
}

// reach dials the address.
func (h *hubVisit) reach(ctx context.Context, check string) string {
	if proxy, err := http.ProxyFromEnvironment(h.plain(ctx, "/livez")); err == nil && proxy != nil {
		h.ok(check, "connections go through the proxy "+proxy.Host)
		return ""
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", hostPort(h.url))
	if err == nil {
		conn.Close()
		h.ok(check, hostPort(h.url)+" takes connections")
		return ""
	}
	if os.Getenv(envURL) == "" {
		h.skip(check, envURL+" is not set and no hub listens on "+hostPort(h.url))
		return "there is no hub to ask"
	}
	h.fail(check, err.Error(), hints[parley.ErrUnavailable])
	return "the hub is not reachable"
}

// tls makes a handshake, where the address asks for one.
func (h *hubVisit) tls(ctx context.Context, check string) string {
	switch {
	case !h.encrypted() && isLoopback(h.url.Hostname()):
		h.skip(check, "not used on this machine")
		return ""
	case !h.encrypted():
		h.warn(check, "tokens and conversations cross the network in clear", "use a hub with TLS, at wss://")
		return ""
	}
	resp, err := h.client.Do(h.plain(ctx, "/livez"))
	if err != nil {
		h.fail(check, err.Error(), tlsHint(err))
		return "there is no connection"
	}
	resp.Body.Close()
	leaf := resp.TLS.PeerCertificates[0]
	found := fmt.Sprintf("%s; certificate for %s, until %s", tls.VersionName(resp.TLS.Version),
		strings.Join(certificateNames(leaf), ", "), leaf.NotAfter.UTC().Format(time.DateOnly))
	if err := checkValidity(leaf, time.Now()); err != nil {
		h.warn(check, "the hub's certificate "+err.Error(), "whoever runs the hub must renew it")
		return ""
	}
	h.ok(check, found)
	return ""
}

// alive asks /livez: whether a hub answers, and to this name.
func (h *hubVisit) alive(ctx context.Context, check string) string {
	status, text, err := h.ask(ctx, "/livez")
	switch {
	case err != nil:
		h.fail(check, err.Error(), tlsHint(err))
	case status == http.StatusOK && text == "ok":
		h.ok(check, "a hub answers")
		return ""
	case status == http.StatusForbidden:
		h.fail(check, "the hub does not answer to the name "+h.url.Host, "start it with --allow-host "+h.url.Hostname()+", or call it by a name that it has")
	case status == http.StatusBadRequest && strings.Contains(text, "HTTPS server"):
		h.fail(check, h.where()+" takes TLS only", "its address begins with wss://")
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		h.fail(check, fmt.Sprintf("a proxy answers %d: it does not reach the hub", status), "start the hub, and look at the proxy's log")
	default:
		h.fail(check, fmt.Sprintf("something answers %d to /livez, and it is no hub", status), "such as "+defaultURL)
	}
	return "no hub answers"
}

// ready asks /readyz. A hub that is not ready may still answer reads.
func (h *hubVisit) ready(ctx context.Context, check string) string {
	status, text, err := h.ask(ctx, "/readyz")
	switch {
	case err != nil:
		h.fail(check, err.Error(), "")
	case status != http.StatusOK:
		h.fail(check, text, "see docs/operations.md, Alarms")
	default:
		h.ok(check, "it takes reads and writes")
	}
	return ""
}

// socket opens a WebSocket.
func (h *hubVisit) socket(ctx context.Context, check string) string {
	if err := h.openSocket(ctx); err != nil {
		h.fail(check, err.Error(), "a proxy in between must pass Upgrade on; see docs/operations.md")
		return "there is no WebSocket"
	}
	h.ok(check, "the WebSocket is open")
	return ""
}
