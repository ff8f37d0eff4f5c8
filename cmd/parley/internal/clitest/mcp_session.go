package clitest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bearing adds a token to requests.
type Bearing struct{ Token string }

func (b Bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.Token)
	return http.DefaultTransport.RoundTrip(r)
}

// OpenMCPSession connects a client of a version of the protocol to the hub at an origin, until the
// end of the test.
func OpenMCPSession(t *testing.T, origin, token, version string) *protocol.ClientSession {
	t.Helper()
	c := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &protocol.StreamableClientTransport{
		Endpoint: origin + "/mcp", HTTPClient: &http.Client{Transport: Bearing{Token: token}}, MaxRetries: -1,
	}, &protocol.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("%s: %v", version, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// CallTool calls a tool, and returns its text and whether it refused.
func CallTool(ctx context.Context, s *protocol.ClientSession, name string, args map[string]any) (string, bool, error) {
	r, err := s.CallTool(ctx, &protocol.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return "", false, err
	}
	var text strings.Builder
	for _, c := range r.Content {
		if c, ok := c.(*protocol.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	return text.String(), r.IsError, nil
}
