package serve

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
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/rpc"
)

// Where a hub with --mcp serves the Model Context Protocol, and says by whose tokens (RFC 9728).
const (
	mcpPath     = "/mcp"
	mcpMetadata = "/.well-known/oauth-protected-resource/mcp"
)

// mcpAdapter lets clients of the Model Context Protocol call the hub of this process, each with its
// own token.
type mcpAdapter struct {
	*callerPool
	o      mcpOptions
	server *mcp.Server
}

// mcpOptions are the settings of the door. The zero value is good.
type mcpOptions struct {
	// Issuer is whose tokens are taken too.
	Issuer string
	// PublicURL is the address for clients; empty for the address of each request.
	PublicURL string
	ReadOnly  bool
	// Toolsets are those that are served; none: all.
	Toolsets []string
	// MaxWait is that of mcp.Options.
	MaxWait time.Duration
}

var _ adapter = (*mcpAdapter)(nil)

func newMCPAdapter(log *slog.Logger, o *mcpOptions) *mcpAdapter {
	d := &mcpAdapter{callerPool: newCallerPool(&callerPoolOptions{ClientName: "parley-mcp/" + cli.Version()}), o: *o}
	var sets []mcp.Toolset
	for _, name := range o.Toolsets {
		sets = append(sets, mcp.Toolset(name))
	}
	d.server = mcp.NewServer(&mcp.Options{
		Connect: d.connect, Version: cli.Version(), ReadOnly: o.ReadOnly, Toolsets: sets, MaxWait: o.MaxWait, Logger: log,
	})
	return d
}

// handlers are what the door of the hub serves for it.
func (d *mcpAdapter) handlers() (map[string]*rpc.Protocol, map[string]http.Handler) {
	protocol := &rpc.Protocol{
		Handler: mcp.NewHandler(d.server, callerName), Verbs: mcp.Verbs, MaxBody: mcp.MaxBodyBytes, Streams: mcp.Streams,
		AllowHeaders: mcp.AllowHeaders, ExposeHeaders: mcp.ExposeHeaders,
		Challenge: func(r *http.Request) string { return fmt.Sprintf("resource_metadata=%q", d.base(r)+mcpMetadata) },
	}
	pages := map[string]http.Handler{mcpMetadata: http.HandlerFunc(d.serveMetadata)}
	return map[string]*rpc.Protocol{mcpPath: protocol}, pages
}

// callerName identifies a caller, so that no caller can continue another's session.
func callerName(r *http.Request) string {
	c, _ := rpc.CallerOf(r.Context())
	return c.Account + " " + c.AgentID
}

// base is the address by which clients reach the hub, as far as that is known.
func (d *mcpAdapter) base(r *http.Request) string {
	if d.o.PublicURL != "" {
		return d.o.PublicURL
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// serveMetadata says whose tokens are taken (RFC 9728).
func (d *mcpAdapter) serveMetadata(w http.ResponseWriter, r *http.Request) {
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
func (d *mcpAdapter) close() error {
	d.server.Close()
	return d.callerPool.close()
}

// connect returns the client of the caller of a request.
func (d *mcpAdapter) connect(ctx context.Context, from *protocol.RequestExtra) (parley.Client, func(), error) {
	if from == nil {
		return nil, nil, parley.Refuse(parley.ErrUnauthenticated, "the request has no token", "Authorization: Bearer <token>")
	}
	if request := mcp.RequestContext(from); request != nil { // ctx may belong to the request that began the session
		if c, ok := rpc.CallerOf(request); ok {
			ctx = rpc.WithCaller(ctx, c)
		}
	}
	token, agent := credentialsOf(from.Header)
	return d.callerPool.connect(ctx, token, agent)
}
