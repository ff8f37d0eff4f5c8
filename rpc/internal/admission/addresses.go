package admission

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// proxies are the addresses of proxies whose X-Forwarded-For is trusted.
type proxies []netip.Prefix

// Address returns the address of the client of a request. Behind trusted proxies it is the address
// that they report.
func (c *Controller) Address(r *http.Request) netip.Addr { return c.proxies.clientOf(r) }

func (p proxies) clientOf(r *http.Request) netip.Addr {
	peer := parseAddress(r.RemoteAddr)
	if !p.trust(peer) {
		return peer
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	// Each proxy appends its peer, so an entry counts only if all entries after it are trusted proxies.
	for i := len(hops) - 1; i >= 0; i-- {
		hop := parseAddress(strings.TrimSpace(hops[i]))
		if !hop.IsValid() {
			return peer
		}
		peer = hop
		if !p.trust(peer) {
			return peer
		}
	}
	return peer
}

func (p proxies) trust(a netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// parseAddress reads an address with or without a port. It returns the zero Addr for anything else.
func parseAddress(text string) netip.Addr {
	host := text
	if h, _, err := net.SplitHostPort(text); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// networkOf returns the network that counts as one address: one customer has a whole IPv6 /64. It
// returns the zero Prefix for an invalid address.
func networkOf(a netip.Addr) netip.Prefix {
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
