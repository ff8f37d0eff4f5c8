package rpc

// Inside the package, because an address is told to nobody.

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestAddress(t *testing.T) {
	s := &Server{opts: Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}}
	for _, c := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:1", nil, "192.0.2.1"},
		{"192.0.2.1:1", []string{"198.51.100.1"}, "192.0.2.1"}, // a stranger's word
		{"10.0.0.1:1", nil, "10.0.0.1"},
		{"10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"}, // before a stranger stands what the stranger has made up
		{"10.0.0.1:1", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"1.1.1.1", "198.51.100.1"}, "198.51.100.1"}, // two headers are one list
		{"10.0.0.1:1", []string{"198.51.100.1:5555"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"10.0.0.1:1", []string{"198.51.100.1, nonsense"}, "10.0.0.1"},
		{"10.0.0.1:1", []string{""}, "10.0.0.1"},
		{"[fd00::1]:1", []string{"[2001:db8::1]:7"}, "2001:db8::1"},
		{"[::ffff:192.0.2.1]:1", nil, "192.0.2.1"},
		{"[fe80::1%eth0]:1", nil, "fe80::1"},
		{"@", nil, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := s.address(r).String(); got != c.want {
			t.Errorf("%s, forwarded for %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
	for address, want := range map[string]string{"192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3::4": "2001:db8:1:2::/64"} {
		if got := neighbourhood(netip.MustParseAddr(address)).String(); got != want {
			t.Errorf("%s is counted as %s", address, got)
		}
	}
}

// TestLedgerIsBounded: however many keys come, no more than most are kept, and those that say something are kept first.
func TestLedgerIsBounded(t *testing.T) {
	l := newLedger[int](100, func() *int { return new(int) }, func(v *int) bool { return *v == 0 })
	for k := range 10 {
		l.use(k, func(v *int) { *v = k + 1 })
	}
	for k := range 100_000 {
		l.use(1000+k, func(*int) {})
		if len(l.values) > 100 {
			t.Fatalf("%d are kept", len(l.values))
		}
	}
	for k := range 10 {
		l.use(k, func(v *int) {
			if *v != k+1 {
				t.Errorf("%d is forgotten", k)
			}
		})
	}
}

// FuzzAddress: whatever stands in X-Forwarded-For, only what trusted proxies have put there counts, and what comes out is a plain address.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"", "198.51.100.1", "1.1.1.1, 198.51.100.1:5555", "[2001:db8::1]:7", "::ffff:10.0.0.1", "fe80::1%eth0", "10.0.0.3,10.0.0.2", ",,", "[", "]:1", "unknown",
		"1.2.3.4%x", "::1%", "198.51.100.1\t", "0x7f.1", "010.0.0.1",
	} {
		f.Add("10.0.0.1:1", text, text)
		f.Add(text, text, "10.9.9.9")
	}
	s := &Server{opts: Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}}
	from := func(peer string, forwarded ...string) netip.Addr {
		return s.address(&http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": forwarded}})
	}
	f.Fuzz(func(t *testing.T, peer, first, second string) {
		got := from(peer, first, second)
		if got.Zone() != "" || got.Is4In6() {
			t.Errorf("%q, %q, %q: %s is no plain address", peer, first, second, got)
		}
		if got.IsValid() && !neighbourhood(got).Contains(got) {
			t.Errorf("%s is counted as %s", got, neighbourhood(got))
		}
		if direct := from(peer); !s.trusts(direct) && got != direct {
			t.Errorf("%q is believed: %q, %q: %s", peer, first, second, got)
		}
		if got != from(peer, first+","+second) {
			t.Errorf("%q, %q: two headers are not one list", first, second)
		}
		const stranger = "198.51.100.1" // as the proxy at 10.0.0.1 has seen it
		for _, forwarded := range [][]string{{first, second, stranger}, {first + ", " + stranger}, {first, stranger + ":77, 10.0.0.2"}} {
			if got := from("10.0.0.1:1", forwarded...); got.String() != stranger {
				t.Errorf("%q: %s, and not %s", forwarded, got, stranger)
			}
		}
		if got := parseAddress(strings.ToUpper(first)); got != parseAddress(first) {
			t.Errorf("%q in another case: %s", first, got)
		}
	})
}

// TestCrowdHidesNobody: where more tokens are in use than the audit keeps in mind, it tells of the others each time.
func TestCrowdHidesNobody(t *testing.T) {
	o := (&Options{}).withDefaults()
	a := newAudit(&o)
	a.uses = newLedger[usedBy](2, func() *time.Time { return new(time.Time) }, func(t *time.Time) bool { return time.Since(*t) >= useTold })
	told := map[string]int{}
	for range 3 {
		for _, id := range []string{"t1", "t2", "t3", "t4"} {
			if a.toBeTold(usedBy{tokenID: id}) {
				told[id]++
			}
		}
	}
	if told["t1"] != 1 || told["t2"] != 1 || told["t3"] != 3 || told["t4"] != 3 {
		t.Errorf("told of: %v", told)
	}
}
