package admission

// White-box: no answer contains the address of its client.

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	trusted := proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"192.0.2.1:1", nil, "192.0.2.1"},
		{"192.0.2.1:1", []string{"198.51.100.1"}, "192.0.2.1"}, // not from a trusted proxy
		{"10.0.0.1:1", nil, "10.0.0.1"},
		{"10.0.0.1:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.1:1", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"}, // the client chose the entry before its own
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
		if got := trusted.clientOf(r).String(); got != c.want {
			t.Errorf("%s, forwarded for %q: %s, want %s", c.peer, c.forwarded, got, c.want)
		}
	}
	for address, want := range map[string]string{"192.0.2.1": "192.0.2.1/32", "2001:db8:1:2:3::4": "2001:db8:1:2::/64"} {
		if got := networkOf(netip.MustParseAddr(address)).String(); got != want {
			t.Errorf("%s is counted as %s", address, got)
		}
	}
}

// TestTableIsBounded: for any number of keys, the table has at most its limit, and keeps values that are not idle.
func TestTableIsBounded(t *testing.T) {
	l := newTable[int](100, func() *int { return new(int) }, func(v *int) bool { return *v == 0 })
	for k := range 10 {
		l.use(k, func(v *int) { *v = k + 1 })
	}
	for k := range 100_000 {
		l.use(1000+k, func(*int) {})
		if len(l.values) > 100 {
			t.Fatalf("the table has %d values", len(l.values))
		}
	}
	for k := range 10 {
		l.use(k, func(v *int) {
			if *v != k+1 {
				t.Errorf("the value of %d was removed", k)
			}
		})
	}
}

// FuzzAddress: for any X-Forwarded-For, only entries of trusted proxies count, and the result is a plain address.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{
		"", "198.51.100.1", "1.1.1.1, 198.51.100.1:5555", "[2001:db8::1]:7", "::ffff:10.0.0.1", "fe80::1%eth0",
		"10.0.0.3,10.0.0.2", ",,", "[", "]:1", "unknown",
		"1.2.3.4%x", "::1%", "198.51.100.1\t", "0x7f.1", "010.0.0.1",
	} {
		f.Add("10.0.0.1:1", text, text)
		f.Add(text, text, "10.9.9.9")
	}
	trusted := proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	from := func(peer string, forwarded ...string) netip.Addr {
		return trusted.clientOf(&http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": forwarded}})
	}
	f.Fuzz(func(t *testing.T, peer, first, second string) {
		got := from(peer, first, second)
		if got.Zone() != "" || got.Is4In6() {
			t.Errorf("%q, %q, %q: %s is no plain address", peer, first, second, got)
		}
		if got.IsValid() && !networkOf(got).Contains(got) {
			t.Errorf("%s is counted as %s", got, networkOf(got))
		}
		if direct := from(peer); !trusted.trust(direct) && got != direct {
			t.Errorf("%q is believed: %q, %q: %s", peer, first, second, got)
		}
		if got != from(peer, first+","+second) {
			t.Errorf("%q, %q: two headers are not one list", first, second)
		}
		const client = "198.51.100.1" // the peer of the proxy at 10.0.0.1
		for _, forwarded := range [][]string{
			{first, second, client}, {first + ", " + client}, {first, client + ":77, 10.0.0.2"},
		} {
			if got := from("10.0.0.1:1", forwarded...); got.String() != client {
				t.Errorf("%q: got %s, want %s", forwarded, got, client)
			}
		}
		if got := parseAddress(strings.ToUpper(first)); got != parseAddress(first) {
			t.Errorf("%q in another case: %s", first, got)
		}
	})
}

// TestAuditLogsUnknownLogins: if more tokens are in use than the audit remembers, it logs the others each time.
func TestAuditLogsUnknownLogins(t *testing.T) {
	a := newAudit(slog.New(slog.DiscardHandler), nil)
	a.logins = newLogins(2)
	logged := map[string]int{}
	for range 3 {
		for _, id := range []string{"t1", "t2", "t3", "t4"} {
			if a.isLoginDue(login{tokenID: id}) {
				logged[id]++
			}
		}
	}
	if logged["t1"] != 1 || logged["t2"] != 1 || logged["t3"] != 3 || logged["t4"] != 3 {
		t.Errorf("logged %v", logged)
	}
}
