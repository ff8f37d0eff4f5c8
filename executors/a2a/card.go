package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// CardPaths are the well-known paths of a card: that of 0.3 and 1.0, and the older one.
var CardPaths = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// fetchTimeout limits one request for a card.
const fetchTimeout = 20 * time.Second

// FoundCard is a fetched card.
type FoundCard struct {
	// URL is the address of the card, and Asked the A2A-Version of the request.
	URL, Asked string
	// Shape is 1.0, 0.3, or "1.0 and 0.3" for a card with the members of both.
	Shape string
	Card  *a2a.AgentCard
}

// FetchCard fetches the card at the address, or at a well-known path below it, with the given
// A2A-Version. It returns the errors of this package.
func FetchCard(ctx context.Context, o *Options, version string) (*FoundCard, error) {
	paths := CardPaths
	if u, err := url.Parse(o.CardURL); err != nil || strings.HasSuffix(u.Path, ".json") {
		paths = []string{""}
	}
	var failed []error
	for _, path := range paths {
		at := o.CardURL
		if path != "" {
			at = joinPath(o.CardURL, path)
		}
		found, err := fetchAt(ctx, o, at, version)
		if err == nil || ctx.Err() != nil {
			return found, err
		}
		failed = append(failed, err)
	}
	return nil, failed[0]
}

// joinPath adds a path to an address, and removes its query.
func joinPath(address, path string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.RawQuery, u.Fragment = "", ""
	return u.JoinPath(path).String()
}

func fetchAt(ctx context.Context, o *Options, at, version string) (*FoundCard, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCard, err)
	}
	q.Header.Set("Accept", "application/json")
	if version != "" {
		q.Header.Set("A2A-Version", version)
	}
	client := httpClient(o, &wire{max: MaxCardBytes, plain: true})
	r, err := client.Do(q)
	if err != nil {
		return nil, named(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, &StatusError{Code: r.StatusCode, Host: q.URL.Host}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, named(err)
	}
	card, shape, err := ParseCard(body)
	if err != nil {
		return nil, err
	}
	return &FoundCard{URL: at, Asked: version, Shape: shape, Card: card}, nil
}

// cardShape has the members that distinguish the versions of cards.
type cardShape struct {
	Supported []json.RawMessage `json:"supportedInterfaces"`
	URL       string            `json:"url"`
	Preferred string            `json:"preferredTransport"`
}

// ParseCard parses a card of either version, or of both. It ignores unknown security schemes.
func ParseCard(body []byte) (card *a2a.AgentCard, shape string, err error) {
	defer func() {
		if p := recover(); p != nil {
			card, err = nil, ErrCard
		}
	}()
	var s cardShape
	var members map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(body, &s), json.Unmarshal(body, &members)); err != nil {
		return nil, "", fmt.Errorf("%w: not a JSON object", ErrCard)
	}
	switch {
	case len(s.Supported) > 0 && s.URL != "":
		shape = "1.0 and 0.3"
	case len(s.Supported) > 0:
		shape = "1.0"
	case s.URL != "":
		shape = "0.3"
	default:
		return nil, "", fmt.Errorf("%w: missing address", ErrCard)
	}
	if s.Preferred == "" {
		members["preferredTransport"] = json.RawMessage(`"JSONRPC"`) // the default of 0.3
	}
	parse := a2av0.NewAgentCardParser()
	for _, without := range [][]string{nil, {"security", "securityRequirements", "signatures"},
		{"securitySchemes", "security", "securityRequirements", "signatures"}} {
		for _, name := range without {
			delete(members, name)
		}
		var raw []byte
		if raw, err = json.Marshal(members); err == nil {
			card, err = parse(raw)
		}
		if err == nil {
			return card, shape, checkCard(card)
		}
	}
	return nil, "", fmt.Errorf("%w: %w", ErrCard, err)
}

// checkCard refuses a card without usable interfaces.
func checkCard(c *a2a.AgentCard) error {
	switch {
	case len(c.SupportedInterfaces) == 0:
		return fmt.Errorf("%w: no interfaces", ErrCard)
	case len(c.SupportedInterfaces) > MaxInterfaces:
		return fmt.Errorf("%w: more than %d interfaces", ErrCard, MaxInterfaces)
	}
	for _, i := range c.SupportedInterfaces {
		if i == nil || originOf(i.URL) == "" && i.ProtocolBinding != a2a.TransportProtocolGRPC {
			return fmt.Errorf("%w: interface without an address", ErrCard)
		}
	}
	return nil
}

// Spoken returns the supported interfaces of a card: the newest version first, then in the order of
// the card.
func Spoken(c *a2a.AgentCard) []*a2a.AgentInterface {
	var all []*a2a.AgentInterface
	for _, i := range c.SupportedInterfaces {
		v := versionOf(i)
		if v != "" && (i.ProtocolBinding == a2a.TransportProtocolJSONRPC ||
			i.ProtocolBinding == a2a.TransportProtocolHTTPJSON) {
			spoken := *i
			spoken.ProtocolVersion = v
			all = append(all, &spoken)
		}
	}
	slices.SortStableFunc(
		all, func(x, y *a2a.AgentInterface) int { return cmp.Compare(y.ProtocolVersion, x.ProtocolVersion) })
	return all
}

// versionOf returns 1.0 or 0.3, or an empty string for another version.
func versionOf(i *a2a.AgentInterface) a2a.ProtocolVersion {
	v := strings.TrimPrefix(string(i.ProtocolVersion), "v")
	switch {
	case v == "" || v == "1" || strings.HasPrefix(v, "1."):
		return a2a.Version
	case v == "0.3" || strings.HasPrefix(v, "0.3."):
		return a2av0.Version
	}
	return ""
}

// peerName returns a short name of the peer that depends only on the address.
func peerName(o *Options) string {
	what := o.CardURL
	if o.Card != nil {
		what = o.Card.SupportedInterfaces[0].URL
	}
	sum := sha256.Sum256([]byte("peer " + what))
	return hex.EncodeToString(sum[:6])
}
