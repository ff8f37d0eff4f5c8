package serve

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/hooks"
	"github.com/parleyhub/parley/adapters/timetable"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/sources"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/yamlfile"
	"github.com/parleyhub/parley/rpc"
)

// checkSources returns the faults of sources.
func checkSources(c *config.Loaded) (faults config.Faults) {
	if c.Sources == "" {
		return nil
	}
	_, err := loadSources(c)
	var wrong yamlfile.Findings
	if !errors.As(err, &wrong) && err != nil {
		return config.Faults{c.Fault("sources", err.Error())}
	}
	for _, f := range wrong {
		faults = append(faults, c.Fault("sources", f.String()))
	}
	return faults
}

func loadSources(c *config.Loaded) (*sources.File, error) {
	return sources.Load(c.Sources, &sources.Options{Getenv: os.LookupEnv})
}

// sourceAdapters are the hooks and the timetable of the settings, if there are some.
func sourceAdapters(c *config.Loaded, gate *hookGate) []newAdapter {
	if c.Sources == "" {
		return nil
	}
	return []newAdapter{func(h *hub.Hub, log *slog.Logger) (adapter, error) { return openSources(h, c, gate, log) }}
}

// sourcesAdapter posts the notes of the sources in a hub of this process, each as the participant
// that its source names.
type sourcesAdapter struct {
	hooks     *hooks.Handler // nil without hooks
	timetable *timetable.Timetable
	gate      *hookGate
	clients   []parley.Client

	end     context.CancelFunc // of the timetable
	running sync.WaitGroup
}

var _ adapter = (*sourcesAdapter)(nil)

func openSources(h *hub.Hub, c *config.Loaded, gate *hookGate, log *slog.Logger) (*sourcesAdapter, error) {
	f, err := loadSources(c)
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	d := &sourcesAdapter{gate: gate}
	as := func(agentID string) parley.Client {
		client := h.Client(h.LocalPrincipal(agentID))
		d.clients = append(d.clients, client)
		return client
	}
	var all []hooks.Hook
	for _, s := range f.Hooks {
		all = append(all,
			hooks.Hook{Name: s.Name, Conversation: s.Conversation, Client: as(s.AgentID), Schema: s.Schema, Tags: s.Tags,
				Scheme: s.Scheme, Secrets: s.Secrets})
	}
	var entries []timetable.Entry
	for _, s := range f.Timetable {
		entries = append(entries, timetable.Entry{
			Name: s.Name, Cron: s.Cron, Timezone: s.Timezone, Conversation: s.Conversation, Client: as(s.AgentID),
			Schema: s.Schema, Tags: s.Tags, Data: s.Data, CatchUp: s.Late,
		})
	}
	if len(all) > 0 {
		if d.hooks, err = hooks.New(&hooks.Options{Hooks: all, Logger: log}); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	if d.timetable, err = timetable.New(&timetable.Options{Entries: entries, Logger: log}); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// handlers returns the hooks, for every sender with a valid signature.
func (d *sourcesAdapter) handlers() (map[string]*rpc.Protocol, map[string]http.Handler) {
	if d.hooks == nil {
		return nil, nil
	}
	return map[string]*rpc.Protocol{hooks.Path: {Handler: d.hooks, MaxBody: hooks.MaxBodyBytes, Anonymous: d.gate.secret}},
		nil
}

// open lets the timetable begin.
func (d *sourcesAdapter) open(http.Handler, *slog.Logger) {
	var ctx context.Context
	ctx, d.end = context.WithCancel(context.Background())
	d.running.Go(func() { d.timetable.Run(ctx) })
}

// stop ends the timetable.
func (d *sourcesAdapter) stop() error {
	if d.end != nil {
		d.end()
		d.running.Wait()
	}
	return nil
}

func (d *sourcesAdapter) close() error {
	for _, c := range d.clients {
		_ = c.Close() // which never fails
	}
	return nil
}

// hookGate lets requests without a token reach the hooks, where their signatures are checked. It
// uses a separate token, which has no rights and is known to this process alone.
type hookGate struct {
	next   hub.Verifier // nil: there are no other tokens
	secret string       // empty: there are no hooks
}

var _ hub.Verifier = (*hookGate)(nil)

// gateAgent is who that token is of, and gateToken its name.
const (
	gateAgent = "hooks"
	gateToken = "hooks:gate"
)

// verifier is what verifies the tokens of a hub of these settings.
func (g *hookGate) verifier(c *config.Loaded) hub.Verifier {
	if c.Sources == "" {
		return g.next
	}
	g.secret = "hooks_" + randomToken()
	return g
}

// Verify knows the token, and asks the next one for others.
func (g *hookGate) Verify(ctx context.Context, token string) (hub.Identity, error) {
	if subtle.ConstantTimeCompare([]byte(token), []byte(g.secret)) == 1 {
		return hub.Identity{TokenID: gateToken, Agents: []string{gateAgent}, Scopes: []parley.Scope{}}, nil
	}
	if g.next == nil {
		return hub.Identity{}, parley.ErrUnauthenticated
	}
	return g.next.Verify(ctx, token)
}
