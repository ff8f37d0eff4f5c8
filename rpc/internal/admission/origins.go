package admission

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/parleyhub/parley"
)

// Origins decides by the headers Host and Origin whether a request is served. It keeps out pages of
// other sites, also those of a name that resolves to this machine.
type Origins struct {
	hosts   map[string]bool
	origins map[string]bool
}

func newOrigins(hosts, origins []string) Origins {
	o := Origins{hosts: map[string]bool{}, origins: map[string]bool{}}
	for _, h := range hosts {
		o.hosts[strings.ToLower(h)] = true
	}
	for _, origin := range origins {
		o.origins[strings.ToLower(strings.TrimSuffix(origin, "/"))] = true
	}
	return o
}

// Check refuses a request with a Host or an Origin that is not allowed.
func (o Origins) Check(r *http.Request) error {
	if !o.allowsHost(r.Host) {
		return parley.Refuse(parley.ErrForbidden,
			"the Host header names a host that this hub does not serve", "a host of --allow-host")
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 || len(origins) == 1 && !o.allowsOrigin(origins[0], r.Host) {
		return parley.Refuse(parley.ErrForbidden, "web pages of this Origin may not connect", "an origin of --allow-origin")
	}
	return nil
}

// Any reports whether pages of any other origin are allowed.
func (o Origins) Any() bool { return len(o.origins) > 0 }

// IsCross reports whether a request that Check accepts is from a page of another origin than the hub.
func (o Origins) IsCross(r *http.Request) bool {
	return o.origins[strings.ToLower(r.Header.Get("Origin"))]
}

func (o Origins) allowsHost(hostport string) bool {
	hostport = strings.ToLower(hostport)
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "localhost" || o.hosts[host] || o.hosts[hostport] {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == "" && ip.IsLoopback()
}

func (o Origins) allowsOrigin(origin, host string) bool {
	origin, host = strings.ToLower(origin), strings.ToLower(host)
	return o.origins[origin] || isOrigin(origin) && (origin == "http://"+host || origin == "https://"+host)
}

// isOrigin reports whether a text in lower case has the form of the header Origin of browsers.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && text == u.Scheme+"://"+u.Host
}
