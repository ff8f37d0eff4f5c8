package rpc

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/parleyhub/parley"
)

// guard decides by Host and Origin whether a request is looked at: a web page of somebody else's, also one whose name resolves to
// this machine, is not.
type guard struct {
	hosts   map[string]bool
	origins map[string]bool
}

func newGuard(hosts, origins []string) guard {
	g := guard{hosts: map[string]bool{}, origins: map[string]bool{}}
	for _, h := range hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	for _, o := range origins {
		g.origins[strings.ToLower(strings.TrimSuffix(o, "/"))] = true
	}
	return g
}

func (g guard) check(r *http.Request) error {
	if !g.allowsHost(r.Host) {
		return parley.Refuse(parley.ErrForbidden, "the Host header names a host that this hub does not serve", "a host of --allow-host")
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 || len(origins) == 1 && !g.allowsOrigin(origins[0], r.Host) {
		return parley.Refuse(parley.ErrForbidden, "web pages of this Origin may not connect", "an origin of --allow-origin")
	}
	return nil
}

func (g guard) allowsHost(hostport string) bool {
	hostport = strings.ToLower(hostport)
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "localhost" || g.hosts[host] || g.hosts[hostport] {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == "" && ip.IsLoopback()
}

func (g guard) allowsOrigin(origin, host string) bool {
	origin = strings.ToLower(origin)
	if g.origins[origin] {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host == strings.ToLower(host) && origin == u.Scheme+"://"+u.Host
}
