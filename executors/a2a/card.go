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

// CardPaths are where a card is looked for below an address: that of 0.3 and 1.0, and the older one.
var CardPaths = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// fetchTimeout bounds one request for a card.
const fetchTimeout = 20 * time.Second

// FoundCard is a card that was fetched.
type FoundCard struct {
	// URL is where it was, and Asked the A2A-Version that it was asked for with.
	URL, Asked string
	// Shape is 1.0, 0.3, or "1.0 and 0.3" for one that has the members of both.
	Shape string
	Card  *a2a.AgentCard
}

// FetchCard fetches the card at address, or at a well-known path below it, as version asks for it. It fails with the errors of this package.
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

// joinPath adds a path to an address, without its query.
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

// cardShape is what tells the shapes of cards apart.
type cardShape struct {
	Supported []json.RawMessage `json:"supportedInterfaces"`
	URL       string            `json:"url"`
	Preferred string            `json:"preferredTransport"`
}

// ParseCard reads a card of either version, or of both in one, and says which. A scheme of security that is not known does not spoil the rest.
func ParseCard(body []byte) (card *a2a.AgentCard, shape string, err error) {
	defer func() {
		if p := recover(); p != nil {
			card, err = nil, ErrCard
		}
	}()
	var s cardShape
	var members map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(body, &s), json.Unmarshal(body, &members)); err != nil {
		return nil, "", fmt.Errorf("%w: it is not a JSON object", ErrCard)
	}
	switch {
	case len(s.Supported) > 0 && s.URL != "":
		shape = "1.0 and 0.3"
	case len(s.Supported) > 0:
		shape = "1.0"
	case s.URL != "":
		shape = "0.3"
	default:
		return nil, "", fmt.Errorf("%w: it names no address", ErrCard)
	}
	if s.Preferred == "" {
		members["preferredTransport"] = json.RawMessage(`"JSONRPC"`) // what 0.3 takes it for
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

// checkCard refuses a card that nothing can be done with.
func checkCard(c *a2a.AgentCard) error {
	switch {
	case len(c.SupportedInterfaces) == 0:
		return fmt.Errorf("%w: it has no interfaces", ErrCard)
	case len(c.SupportedInterfaces) > MaxInterfaces:
		return fmt.Errorf("%w: it has more than %d interfaces", ErrCard, MaxInterfaces)
	}
	for _, i := range c.SupportedInterfaces {
		if i == nil || originOf(i.URL) == "" && i.ProtocolBinding != a2a.TransportProtocolGRPC {
			return fmt.Errorf("%w: an interface has no address", ErrCard)
		}
	}
	return nil
}

// Spoken are the interfaces of a card that this package speaks, the best first: the newest version, then as the card has them.
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

// versionOf is 1.0 or 0.3; empty: another.
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

// peerName is short, and the same as long as the card is.
func peerName(o *Options) string {
	what := o.CardURL
	if o.Card != nil {
		what = o.Card.SupportedInterfaces[0].URL
	}
	sum := sha256.Sum256([]byte("peer " + what))
	return hex.EncodeToString(sum[:6])
}
