package rpc

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// address is where a request comes from: the peer, or, where that is a proxy that is trusted, who that says it is.
func (s *Server) address(r *http.Request) netip.Addr {
	peer := parseAddress(r.RemoteAddr)
	if !s.trusts(peer) {
		return peer
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- { // each proxy adds its peer at the end; what comes before a stranger is the stranger's word
		hop := parseAddress(strings.TrimSpace(hops[i]))
		if !hop.IsValid() {
			return peer
		}
		peer = hop
		if !s.trusts(peer) {
			return peer
		}
	}
	return peer
}

// trusts reports whether an address is of a proxy whose word on its peer is taken.
func (s *Server) trusts(a netip.Addr) bool {
	for _, p := range s.opts.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// parseAddress reads an address with or without a port; it gives the zero Addr for anything else.
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

// neighbourhood is what is counted as one address: an IPv6 customer has a whole /64.
func neighbourhood(a netip.Addr) netip.Prefix {
	bits := 64
	if a.Is4() {
		bits = 32
	}
	p, err := a.Prefix(bits)
	if err != nil { // no address at all
		return netip.Prefix{}
	}
	return p
}
