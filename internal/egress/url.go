package egress

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURLBytes limits the length of a URL.
const maxURLBytes = 2 << 10

// Check refuses a URL that a client with these options refuses for every address of its name. Use
// it when a user supplies the URL; the error is for that user.
func Check(raw string, o *Options) error {
	if len(raw) > maxURLBytes {
		return fmt.Errorf("%w: the URL has %d bytes, more than %d", ErrRefused, len(raw), maxURLBytes)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("%w: not a URL", ErrRefused) // the error of Parse repeats the URL
	}
	return checkURL(u, o)
}

func checkURL(u *url.URL, o *Options) error {
	o = o.orDefault()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w: the scheme is not https", ErrRefused)
	case u.Scheme == "http" && o.HTTPSOnly:
		return fmt.Errorf("%w: the scheme is http, not https", ErrRefused)
	case u.Opaque != "" || u.Hostname() == "":
		return fmt.Errorf("%w: the URL names no host", ErrRefused)
	case u.User != nil:
		return fmt.Errorf("%w: the URL has a user or password in it", ErrRefused)
	}
	if err := checkPort(u); err != nil {
		return err
	}
	return checkHost(u.Hostname(), o.AllowPrivate)
}

func checkPort(u *url.URL) error {
	s := u.Port()
	if s == "" && !strings.HasSuffix(u.Host, ":") {
		return nil
	}
	port, err := strconv.ParseUint(s, 10, 16)
	if err != nil || !acceptable(uint16(port)) {
		return fmt.Errorf("%w: the port is not 80, 443 or at least 1024", ErrRefused)
	}
	return nil
}

func acceptable(port uint16) bool { return port == 80 || port == 443 || port >= 1024 }

// checkHost refuses addresses that are not public, in every notation, and the names of this
// machine.
func checkHost(host string, allowed []netip.Prefix) error {
	if a, err := netip.ParseAddr(host); err == nil {
		return checkAddress(a, allowed)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case name == "" || len(name) > 253 || strings.ContainsAny(name, ":%/\\ "):
		return fmt.Errorf("%w: the host is no name", ErrRefused)
	case last == "localhost":
		return checkAddress(netip.AddrFrom4([4]byte{127, 0, 0, 1}), allowed)
	case numeric(last): // 127.1, 0x7f000001, 2130706433: some resolvers take them for addresses
		return fmt.Errorf("%w: the host is an address in an unusual form", ErrRefused)
	}
	return nil
}

// numeric reports whether the last label of a host makes it an address rather than a name.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}
