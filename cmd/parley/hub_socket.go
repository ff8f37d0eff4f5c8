package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// tokenPrefix begins every token that a hub made.
const tokenPrefix = "plt_"

// hubSocket is a WebSocket to one hub, for callers that need more than the sdk shows. The zero value with an address and an HTTP client is ready
// to open.
type hubSocket struct {
	url    *url.URL
	client *http.Client
	stream *wire.Stream // between openSocket and authenticate
	peer   *wire.Peer   // after authenticate
	hub    parley.AuthenticateResult
}

// where returns the address without a query, which is safe to print.
func (h *hubSocket) where() string { return h.url.Scheme + "://" + h.url.Host + h.url.Path }

// ask returns the status and the first bytes of a plain route.
func (h *hubSocket) ask(ctx context.Context, route string) (status int, text string, err error) {
	status, text, err = askPlain(ctx, h.client, h.url, route)
	return status, text, timedOut(ctx, err)
}

// openSocket opens the WebSocket.
func (h *hubSocket) openSocket(ctx context.Context) (err error) {
	address := *h.url
	if address.Path == "" || address.Path == "/" {
		address.Path = "/rpc"
	}
	h.stream, err = wire.DialStream(ctx, address.String(), &wire.DialOptions{HTTPClient: h.client})
	return timedOut(ctx, err)
}

// authenticate sends the token of the environment. The hub sees the name of the program with its version.
func (h *hubSocket) authenticate(ctx context.Context, as, program string) error {
	h.peer = wire.NewPeer(h.stream, wire.PeerOptions{Notify: func(string, json.RawMessage) error { return nil }, Ended: func(int) {}})
	return timedOut(ctx, h.call(ctx, parley.MethodAuthenticate, parley.AuthenticateParams{
		Token: os.Getenv(envToken), AgentID: cmp.Or(as, os.Getenv(envAgent)), ClientName: program + "/" + version(),
	}, &h.hub))
}

// closeSocket closes what is open.
func (h *hubSocket) closeSocket() {
	switch {
	case h.peer != nil:
		h.peer.Close()
	case h.stream != nil:
		_ = h.stream.Close() // nothing was sent on it
	}
}

// findToken gives what the hub tells of a token; nil when it does not list it.
func (h *hubSocket) findToken(ctx context.Context, id string) (*parley.TokenInfo, error) {
	p := parley.ListTokensParams{Limit: 1000}
	for {
		var page parley.ListTokensResult
		if err := h.call(ctx, parley.MethodListTokens, p, &page); err != nil {
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

// call makes a call on the socket.
func (h *hubSocket) call(ctx context.Context, method string, params, result any) error {
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
