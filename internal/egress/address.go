package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// refusal is an address range that is refused, and its kind.
type refusal struct {
	prefix netip.Prefix
	what   string
}

// refusals are the ranges outside the public network. They come from IANA's registries of
// special-purpose addresses, and include one public address that a platform uses for its own
// service. In IPv6 only global unicast is public; the list names its ranges that are not public.
var refusals = []refusal{
	r("0.0.0.0/8", "unspecified"),
	r("10.0.0.0/8", "private"),
	r("100.64.0.0/10", "shared by a carrier"),
	r("127.0.0.0/8", "loopback"),
	r("168.63.129.16/32", "a platform's own service"),
	r("169.254.0.0/16", "link-local"),
	r("172.16.0.0/12", "private"),
	r("192.0.0.0/24", "for protocols"),
	r("192.0.2.0/24", "for documentation"),
	r("192.88.99.0/24", "a 6to4 relay"),
	r("192.168.0.0/16", "private"),
	r("198.18.0.0/15", "for benchmarks"),
	r("198.51.100.0/24", "for documentation"),
	r("203.0.113.0/24", "for documentation"),
	r("224.0.0.0/4", "multicast"),
	r("240.0.0.0/4", "reserved"),

	r("::/128", "unspecified"),
	r("::1/128", "loopback"),
	r("::/96", "IPv4-compatible"),
	r("::ffff:0:0:0/96", "IPv4-translated"),
	r("64:ff9b::/96", "behind NAT64"),
	r("64:ff9b:1::/48", "behind a local NAT64"),
	r("100::/64", "for discarding"),
	r("2001::/32", "Teredo"),
	r("2001:2::/48", "for benchmarks"),
	r("2001:db8::/32", "for documentation"),
	r("2001::/23", "for protocols"),
	r("2002::/16", "6to4"),
	r("3fff::/20", "for documentation"),
	r("fc00::/7", "private"),
	r("fe80::/10", "link-local"),
	r("fec0::/10", "site-local"),
	r("ff00::/8", "multicast"),
}

func r(prefix, what string) refusal { return refusal{netip.MustParsePrefix(prefix), what} }

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

// special returns the kind of an address that is not public, or "". An IPv4-mapped address counts
// as the IPv4 address.
func special(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	for _, no := range refusals {
		if no.prefix.Contains(a) {
			return no.what
		}
	}
	if a.Is6() && !globalUnicast.Contains(a) {
		return "not given out"
	}
	return ""
}

// checkAddress refuses an address that is neither public nor allowed. An allowed translator does
// not allow the addresses behind it.
func checkAddress(a netip.Addr, allowed []netip.Prefix) error {
	a = a.Unmap().WithZone("")
	what := special(a)
	if what == "" {
		return nil
	}
	if !slices.ContainsFunc(allowed, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return fmt.Errorf("%w: the address %s is %s", ErrRefused, a, what)
	}
	if nat64.Contains(a) {
		b := a.As16()
		return checkAddress(netip.AddrFrom4([4]byte(b[12:])), allowed)
	}
	return nil
}

// ParseAllowed parses a list of addresses and CIDR ranges for [Options].AllowPrivate. "all" means
// every address.
func ParseAllowed(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, s := range list {
		if s == "all" {
			out = append(out, netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"))
			continue
		}
		if strings.Contains(s, "/") {
			p, err := netip.ParsePrefix(s)
			if err != nil {
				return nil, fmt.Errorf("%q is no range of addresses: expected one such as 10.0.0.0/8, an address, or all", s)
			}
			out = append(out, p.Masked())
			continue
		}
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, fmt.Errorf("%q is no address: expected one, a range such as 10.0.0.0/8, or all", s)
		}
		a = a.Unmap().WithZone("")
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out, nil
}
