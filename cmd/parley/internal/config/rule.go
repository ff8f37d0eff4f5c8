package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parleyhub/parley/internal/egress"
)

// rule defines the valid values of a setting, or of each item of a list. The zero rule is that of a
// boolean.
//
// pattern, choices, least and most are also in the JSON Schema. precise refuses what a schema
// cannot express.
type rule struct {
	expected    string
	pattern     *regexp.Regexp
	precise     func(text string) error
	choices     []string
	least, most float64
	told        bool // faults quote the value: it is a name and not a secret
}

var (
	path  = rule{expected: "a path", pattern: regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`)}
	words = rule{expected: "text without control characters", pattern: regexp.MustCompile(`^[^\x00-\x1f\x7f]+$`)}
	word  = rule{expected: "a name", pattern: regexp.MustCompile(`^[!-~]+$`)}

	address = rule{
		expected: "HOST:PORT, or a port",
		pattern:  regexp.MustCompile(`^([0-9]{1,5}|([A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5})$`),
		precise:  func(text string) error { _, _, err := splitAddress(text); return err },
	}
	host = rule{
		expected: "a host, perhaps with a port, such as hub.example.com",
		pattern:  regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`),
	}
	origin = rule{
		expected: "an origin such as https://chat.example.com",
		pattern:  regexp.MustCompile(`^[a-z][a-z0-9+.-]*://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$`),
	}
	issuer = rule{
		expected: "a URL such as https://login.example.com",
		pattern:  regexp.MustCompile(`^https?://[!-~]+$`),
		precise:  checkIssuer,
	}
	publicURL = rule{
		expected: "a URL such as https://hub.example.com",
		pattern:  regexp.MustCompile(`^https://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*$`),
		precise:  checkPublicURL,
	}
	agentName = rule{
		expected: "the name of an agent, such as triage",
		pattern:  regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`),
	}
	workspace = rule{
		expected: "the name of a workspace, such as clinic",
		pattern:  regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`),
		told:     true,
	}
	embeddings = rule{
		expected: "lexical, or a URL such as http://127.0.0.1:11434/v1",
		pattern: regexp.MustCompile(`^(lexical|https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,` +
			`5})?(/[A-Za-z0-9._~/-]*)?)$`),
	}
	collector = rule{
		expected: "a URL such as http://127.0.0.1:4318",
		pattern:  regexp.MustCompile(`^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?$`),
	}
	reachable = rule{
		expected: "a network such as 10.0.0.0/8, an address, or all",
		pattern:  regexp.MustCompile(`^(all|[0-9A-Fa-f:.]+(/[0-9]{1,3})?)$`),
		precise:  func(text string) error { _, err := egress.ParseAllowed([]string{text}); return err },
	}
	toolset = rule{expected: "conversations, agents or approvals", choices: []string{"conversations", "agents",
		"approvals"}}
	wait = rule{
		expected: "a time such as 50s, from 1s to 1h",
		pattern:  regexp.MustCompile(`^([0-9]{1,5}[hms])+$`),
		precise:  checkWait,
	}
	network = rule{
		expected: expectedNetwork,
		pattern:  regexp.MustCompile(`^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$`),
		precise:  func(text string) error { _, err := parseNetwork(text); return err },
	}
)

const expectedNetwork = "an address or a network such as 10.0.0.0/8"

func among(choices ...string) rule { return rule{choices: choices} }

func between(least, most float64) rule { return rule{least: least, most: most} }

// text checks a string.
func (r rule) text(text string) error {
	if len(r.choices) > 0 && !slices.Contains(r.choices, text) {
		return fmt.Errorf("expected one of %s", strings.Join(r.choices, ", "))
	}
	if r.pattern != nil && !r.pattern.MatchString(text) {
		if r.told {
			return fmt.Errorf("%.80q: expected %s", text, r.expected)
		}
		return fmt.Errorf("expected %s", r.expected)
	}
	if r.precise != nil {
		return r.precise(text)
	}
	return nil
}

// jsonNumber matches numbers as in JSON, so that all readers agree on their value.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// number checks and parses a number.
func (r rule) number(text string, whole bool) (float64, error) {
	kind := "a number"
	if whole {
		kind = "an integer"
	}
	refused := fmt.Errorf("expected %s from %s to %s", kind, decimal(r.least), decimal(r.most))
	if !jsonNumber.MatchString(text) || whole && strings.ContainsAny(text, ".eE") {
		return 0, refused
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < r.least || n > r.most {
		return 0, refused
	}
	return n, nil
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// splitAddress returns host and port of an address. The default host is loopback.
func splitAddress(text string) (host, port string, err error) {
	at := strings.LastIndexByte(text, ':')
	host, port = text[:max(at, 0)], text[at+1:]
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
		return "", "", errors.New("expected a port from 0 to 65535")
	}
	if bare, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(bare, "]")
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Is6() {
			return "", "", errors.New("expected an IPv6 address in the brackets")
		}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return host, port, nil
}

func checkIssuer(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("expected a URL without user, query and fragment")
	case u.Scheme == "http" && !IsLoopback(u.Hostname()):
		return errors.New("expected https: the issuer's keys would come in clear")
	}
	return nil
}

// checkPublicURL checks a URL beyond its pattern. Names are appended to it unchanged.
func checkPublicURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.JoinPath().String() != text && u.Path != "" {
		return errors.New("expected https://HOST, perhaps with a port and a path")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("expected a port from 1 to 65535")
		}
	}
	if ip := u.Hostname(); strings.HasPrefix(u.Host, "[") {
		if ip, err := netip.ParseAddr(ip); err != nil || !ip.Is6() {
			return errors.New("expected an IPv6 address in the brackets")
		}
	}
	return nil
}

func checkWait(text string) error {
	if d, err := time.ParseDuration(text); err != nil || d < time.Second || d > time.Hour {
		return errors.New("expected a time from 1s to 1h")
	}
	return nil
}

// parseNetwork parses a network, or an address as a network of one.
func parseNetwork(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		ip = ip.Unmap() // like the address of a connection
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errors.New("expected " + expectedNetwork)
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("expected the network %s: there are bits beyond its length", p.Masked())
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p, nil
}

// IsLoopback reports whether only this machine can reach a host.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
