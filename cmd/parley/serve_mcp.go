package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/rpc"
)

// Where a hub with --mcp serves the Model Context Protocol, and says by whose tokens (RFC 9728).
const (
	mcpPath     = "/mcp"
	mcpMetadata = "/.well-known/oauth-protected-resource/mcp"
)

// mcpDoor lets clients of the Model Context Protocol call the hub of this process, each with its own token.
type mcpDoor struct {
	*callers
	o      mcpDoorOptions
	server *mcp.Server
}

// mcpDoorOptions are the settings of the door. The zero value is good.
type mcpDoorOptions struct {
	// Issuer is whose tokens are taken too.
	Issuer string
	// PublicURL is where clients reach the hub; empty: where each request has come.
	PublicURL string
	ReadOnly  bool
	// Toolsets are those that are served; none: all.
	Toolsets []string
	// MaxWait is that of mcp.Options.
	MaxWait time.Duration
}

var _ protocolDoor = (*mcpDoor)(nil)

func newMCPDoor(log *slog.Logger, o *mcpDoorOptions) *mcpDoor {
	d := &mcpDoor{callers: newCallers(&callersOptions{ClientName: "parley-mcp/" + version()}), o: *o}
	var sets []mcp.Toolset
	for _, name := range o.Toolsets {
		sets = append(sets, mcp.Toolset(name))
	}
	d.server = mcp.NewServer(&mcp.Options{
		Connect: d.connect, Version: version(), ReadOnly: o.ReadOnly, Toolsets: sets, MaxWait: o.MaxWait, Logger: log,
	})
	return d
}

// guests are what the door of the hub serves for it.
func (d *mcpDoor) guests() (map[string]*rpc.Protocol, map[string]http.Handler) {
	guest := &rpc.Protocol{
		Handler: mcp.NewHandler(d.server, callerName), Verbs: mcp.Verbs, MaxBody: mcp.MaxBodyBytes, Streams: mcp.Streams,
		AllowHeaders: mcp.AllowHeaders, ExposeHeaders: mcp.ExposeHeaders,
		Challenge: func(r *http.Request) string { return fmt.Sprintf("resource_metadata=%q", d.base(r)+mcpMetadata) },
	}
	pages := map[string]http.Handler{mcpMetadata: http.HandlerFunc(d.serveMetadata)}
	return map[string]*rpc.Protocol{mcpPath: guest}, pages
}

// callerName names who calls, so that nobody goes on with another's session.
func callerName(r *http.Request) string {
	c, _ := rpc.CallerOf(r.Context())
	return c.Account + " " + c.AgentID
}

// base is the address by which clients reach the hub, as far as that is known.
func (d *mcpDoor) base(r *http.Request) string {
	if d.o.PublicURL != "" {
		return d.o.PublicURL
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// serveMetadata says whose tokens are taken (RFC 9728).
func (d *mcpDoor) serveMetadata(w http.ResponseWriter, r *http.Request) {
	doc := map[string]any{
		"resource": d.base(r) + mcpPath, "resource_name": "Parley", "bearer_methods_supported": []string{"header"},
	}
	if d.o.Issuer != "" {
		doc["authorization_servers"] = []string{d.o.Issuer}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_ = json.NewEncoder(w).Encode(doc) // a peer that is gone needs no answer
}

// close ends what there is still. The hub's door has shut down.
func (d *mcpDoor) close() error {
	d.server.Close()
	return d.callers.close()
}

// connect gives the client of who has made a request.
func (d *mcpDoor) connect(ctx context.Context, from *protocol.RequestExtra) (parley.Client, func(), error) {
	if from == nil {
		return nil, nil, parley.Refuse(parley.ErrUnauthenticated, "the request has no token", "Authorization: Bearer <token>")
	}
	if request := mcp.RequestContext(from); request != nil { // ctx may be of the request that has begun the session
		if c, ok := rpc.CallerOf(request); ok {
			ctx = rpc.WithCaller(ctx, c)
		}
	}
	token, agent := shown(from.Header)
	return d.callers.connect(ctx, token, agent)
}
