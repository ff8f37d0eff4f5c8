package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// TokenPrefix begins every token that a hub made.
const TokenPrefix = "plt_"

// HubSocket is a WebSocket to one hub, for callers that need more than the sdk shows. The zero
// value with an address and an HTTP client is ready to open.
type HubSocket struct {
	URL    *url.URL
	Client *http.Client
	stream *wire.Stream // between openSocket and authenticate
	peer   *wire.Peer   // after authenticate
	Hub    parley.AuthenticateResult
}

// Address returns the address without a query, which is safe to print.
func (h *HubSocket) Address() string { return h.URL.Scheme + "://" + h.URL.Host + h.URL.Path }

// GetRoute returns the status and the first bytes of a plain route.
func (h *HubSocket) GetRoute(ctx context.Context, route string) (status int, text string, err error) {
	status, text, err = GetRoute(ctx, h.Client, h.URL, route)
	return status, text, ExplainTimeout(ctx, err)
}

// Open opens the WebSocket.
func (h *HubSocket) Open(ctx context.Context) (err error) {
	address := *h.URL
	if address.Path == "" || address.Path == "/" {
		address.Path = "/rpc"
	}
	h.stream, err = wire.DialStream(ctx, address.String(), &wire.DialOptions{HTTPClient: h.Client})
	return ExplainTimeout(ctx, err)
}

// Authenticate sends the token of the environment. The hub sees the name of the program with its
// version.
func (h *HubSocket) Authenticate(ctx context.Context, as, program string) error {
	h.peer = wire.NewPeer(h.stream,
		wire.PeerOptions{Notify: func(string, json.RawMessage) error { return nil }, Ended: func(int) {}})
	return ExplainTimeout(ctx, h.Call(ctx, methods.Authenticate, parley.AuthenticateParams{
		Token: os.Getenv(EnvToken), AgentID: cmp.Or(as, os.Getenv(EnvAgent)), ClientName: program + "/" + Version(),
	}, &h.Hub))
}

// Close closes what is open.
func (h *HubSocket) Close() {
	switch {
	case h.peer != nil:
		h.peer.Close()
	case h.stream != nil:
		_ = h.stream.Close() // nothing was sent on it
	}
}

// FindToken returns what the hub lists of a token, or nil.
func (h *HubSocket) FindToken(ctx context.Context, id string) (*parley.TokenInfo, error) {
	p := parley.ListTokensParams{Limit: 1000}
	for {
		var page parley.ListTokensResult
		if err := h.Call(ctx, methods.ListTokens, p, &page); err != nil {
			return nil, err
		}
		for _, t := range page.Tokens {
			if t.TokenID == id {
				return &t, nil
			}
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			return nil, nil
		}
	}
}

// Call makes a call on the socket.
func (h *HubSocket) Call(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer, err := h.peer.Start(ctx, method, body, nil)
	if err != nil {
		return err
	}
	raw, err := answer.Wait(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}
