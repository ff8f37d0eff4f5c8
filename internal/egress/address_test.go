package egress

import (
	"errors"
	"net/netip"
	"testing"
)

// TestAddresses: the first and the last address of each range, and what lies beside it.
func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		what string
		in   []string
	}{
		{"", []string{"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
			"168.63.129.15", "169.253.255.255", "169.255.0.0",
			"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255",
			"198.20.0.0", "198.51.99.255", "198.51.101.0",
			"203.0.112.255", "203.0.114.0", "223.255.255.255", "2606:4700:4700::1111", "2001:4860:4860::8888", "2001:200::1",
			"2a00::1", "3ffe:ffff::1", "::ffff:1.1.1.1"}},
		{"unspecified", []string{"0.0.0.0", "0.255.255.255", "::", "::ffff:0.0.0.0"}},
		{"private", []string{"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255",
			"fc00::", "fd00:ec2::254", "fdff:ffff::", "::ffff:10.0.0.1"}},
		{"shared by a carrier", []string{"100.64.0.0", "100.100.100.200", "100.127.255.255"}},
		{"loopback", []string{"127.0.0.0", "127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"}},
		{"a platform's own service", []string{"168.63.129.16"}},
		{"link-local", []string{"169.254.0.0", "169.254.169.254", "169.254.255.255", "fe80::", "fe80::1%lo", "febf:ffff::",
			"::ffff:169.254.169.254"}},
		{"for protocols", []string{"192.0.0.0", "192.0.0.192", "192.0.0.255", "2001:1::1", "2001:10::", "2001:20::",
			"2001:1ff:ffff::"}},
		{"for documentation", []string{"192.0.2.0", "192.0.2.255", "198.51.100.0", "198.51.100.255", "203.0.113.0",
			"203.0.113.255", "2001:db8::", "2001:db8:ffff::", "3fff::", "3fff:fff::"}},
		{"a 6to4 relay", []string{"192.88.99.0", "192.88.99.255"}},
		{"for benchmarks", []string{"198.18.0.0", "198.19.255.255", "2001:2::", "2001:2:0:ffff::"}},
		{"multicast", []string{"224.0.0.0", "239.255.255.255", "ff00::", "ff02::1", "ffff::"}},
		{"reserved", []string{"240.0.0.0", "255.255.255.254", "255.255.255.255"}},
		{"IPv4-compatible", []string{"::2", "::127.0.0.1", "::8.8.8.8", "::ffff"}},
		{"IPv4-translated", []string{"::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"}},
		{"behind NAT64", []string{"64:ff9b::7f00:1", "64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8"}},
		{"behind a local NAT64", []string{"64:ff9b:1::", "64:ff9b:1:ffff::7f00:1"}},
		{"for discarding", []string{"100::", "100::1"}},
		{"Teredo", []string{"2001::1", "2001:0:7f00:1::", "2001:0:ffff::"}},
		{"6to4", []string{"2002::", "2002:7f00:1::1", "2002:a00:1::", "2002:808:808::"}},
		{"site-local", []string{"fec0::", "feff:ffff::"}},
		{"not given out", []string{"::1:0:0:0", "64:ff9b:2::", "200::1", "1000::1", "1fff:ffff::", "4000::", "5f00::1",
			"8000::1", "fe00::1"}},
	} {
		for _, s := range c.in {
			a := netip.MustParseAddr(s)
			if got := special(a); got != c.what {
				t.Errorf("%s is %q, want %q", s, got, c.what)
			}
			if err := checkAddress(a, nil); (err == nil) != (c.what == "") || err != nil && !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v", s, err)
			}
		}
	}
}

// TestAllowed checks that allowed addresses are reached in each notation, and no other address is.
// A translator does not bypass the check.
func TestAllowed(t *testing.T) {
	for _, c := range []struct {
		allow   []string
		ok, not []string
	}{
		{nil, []string{"1.1.1.1"}, []string{"127.0.0.1", "::1"}},
		{[]string{"127.0.0.0/8"}, []string{"127.0.0.1", "::ffff:127.0.0.1"}, []string{"::1", "10.0.0.1", "::127.0.0.1",
			"64:ff9b::7f00:1", "2002:7f00:1::"}},
		{[]string{"10.1.2.3", "::1"}, []string{"10.1.2.3", "::1"}, []string{"10.1.2.4", "127.0.0.1"}},
		{[]string{"::ffff:10.1.2.3"}, []string{"10.1.2.3"}, []string{"10.1.2.4"}},
		{[]string{"10.1.2.3/8"}, []string{"10.255.0.1"}, []string{"127.0.0.1"}},
		{[]string{"64:ff9b::/96"}, []string{"64:ff9b::8.8.8.8"}, []string{"64:ff9b::7f00:1", "64:ff9b::169.254.169.254"}},
		{[]string{"64:ff9b::/96", "10.0.0.0/8"}, []string{"64:ff9b::10.0.0.1"}, []string{"64:ff9b::7f00:1"}},
		{[]string{"all"}, []string{"127.0.0.1", "::1", "10.0.0.1", "fe80::1%lo", "64:ff9b::7f00:1", "169.254.169.254"}, nil},
	} {
		allowed, err := ParseAllowed(c.allow)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.ok {
			if err := checkAddress(netip.MustParseAddr(s), allowed); err != nil {
				t.Errorf("%v: %s: %v", c.allow, s, err)
			}
		}
		for _, s := range c.not {
			if err := checkAddress(netip.MustParseAddr(s), allowed); !errors.Is(err, ErrRefused) {
				t.Errorf("%v: %s: %v", c.allow, s, err)
			}
		}
	}
	for _, bad := range []string{"", "10.0.0.0/33", "localhost", "10.0.0", "everything"} {
		if _, err := ParseAllowed([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestCheck checks the URLs that are refused when a user supplies them, before name resolution.
func TestCheck(t *testing.T) {
	loopback, err := ParseAllowed([]string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o   *Options
		url string
		ok  bool
	}{
		{nil, "https://example.com/hook?secret=1", true},
		{nil, "http://example.com", true},
		{nil, "https://example.com:8443/", true},
		{nil, "https://1.1.1.1/", true},
		{nil, "https://[2606:4700:4700::1111]/", true},
		{nil, "https://x_y.example.com", true},
		{nil, "https://xn--bcher-kva.example", true},
		{&Options{HTTPSOnly: true}, "https://example.com", true},
		{&Options{HTTPSOnly: true}, "http://example.com", false},
		{nil, "", false},
		{nil, "example.com", false},
		{nil, "//example.com", false},
		{nil, "https:example.com", false},
		{nil, "https://", false},
		{nil, "https:///path", false},
		{nil, "ftp://example.com", false},
		{nil, "file:///etc/passwd", false},
		{nil, "gopher://example.com", false},
		{nil, "javascript:alert(1)", false},
		{nil, "https://user@example.com", false},
		{nil, "https://user:password@example.com", false},
		{nil, "https://example.com@127.0.0.1/", false},
		{nil, "https://exa mple.com", false},
		{nil, "https://example.com:0/", false},
		{nil, "https://example.com:/", false},
		{nil, "https://example.com:25/", false},
		{nil, "https://example.com:1023/", false},
		{nil, "https://example.com:65536/", false},
		{nil, "https://example.com:http/", false},
		{nil, "https://localhost/", false},
		{nil, "https://LOCALHOST./", false},
		{nil, "https://a.localhost/", false},
		{&Options{AllowPrivate: loopback}, "https://localhost:8443/", true},
		{&Options{AllowPrivate: loopback}, "https://127.0.0.1:8443/", true},
		{&Options{AllowPrivate: loopback}, "https://10.0.0.1/", false},
		{nil, "https://127.0.0.1/", false},
		{nil, "https://127.1/", false},
		{nil, "https://2130706433/", false},
		{nil, "https://0x7f000001/", false},
		{nil, "https://0x7f.1/", false},
		{nil, "https://0177.0.0.1/", false},
		{nil, "https://127.0.0.1./", false},
		{nil, "https://[::1]/", false},
		{nil, "https://[::ffff:127.0.0.1]/", false},
		{nil, "https://[::ffff:a9fe:a9fe]/", false},
		{nil, "https://[64:ff9b::7f00:1]/", false},
		{nil, "https://[fe80::1%25eth0]/", false},
		{nil, "https://169.254.169.254/latest/meta-data", false},
		{nil, "https://example.com/" + string(make([]byte, 2048)), false},
	} {
		err := Check(c.url, c.o)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", c.url, err)
		}
	}
}
