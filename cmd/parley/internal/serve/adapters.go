package serve

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/rpc"
)

// adapter serves clients of another protocol, at paths of the hub's HTTP server.
type adapter interface {
	// handlers are what the hub's door serves for it, by path: handlers, and pages that anybody may
	// read.
	handlers() (map[string]*rpc.Protocol, map[string]http.Handler)
	// open passes the hub's handler to the adapter.
	open(door http.Handler, log *slog.Logger)
	// stop ends what its clients have under way, when the hub has answered what it was asked. It comes
	// while the hub's door shuts down.
	stop() error
	// close ends what there is still. The hub's door has shut down.
	close() error
}

// newAdapter creates an adapter for an open hub that has no callers yet.
type newAdapter func(h *hub.Hub, log *slog.Logger) (adapter, error)

// configuredAdapters returns the configured adapters. The directory of the log is empty for a log
// in memory. The tracer may be nil.
func configuredAdapters(c *config.Loaded, dev bool, dir string, tracer parley.Tracer) []newAdapter {
	var doors []newAdapter
	if c.MCP {
		doors = append(doors, func(_ *hub.Hub, log *slog.Logger) (adapter, error) {
			return newMCPAdapter(log, &mcpOptions{
				Issuer: c.OIDC.Issuer, PublicURL: c.PublicURL, ReadOnly: c.MCPReadOnly, Toolsets: c.MCPToolsets,
				MaxWait: c.MCPWait(),
			}), nil
		})
	}
	if c.ServesConsole(dev) {
		doors = append(doors, func(*hub.Hub, *slog.Logger) (adapter, error) { return consoleAdapter{}, nil })
	}
	if c.A2A {
		doors = append(doors, func(h *hub.Hub, log *slog.Logger) (adapter, error) {
			d, err := openA2AAdapter(h, c, dev, dir, log)
			if err == nil && d.echo != nil {
				d.echo.tracer = tracer
			}
			return d, err
		})
	}
	return doors
}

// adapterSet are the doors of other protocols of one hub.
type adapterSet struct {
	all   []adapter
	stops []func() error // of each door; once
}

// newAdapterSet makes doors, and has the hub's door serve them.
func newAdapterSet(doors []newAdapter, h *hub.Hub, door *rpc.Options, log *slog.Logger) (*adapterSet, error) {
	a := &adapterSet{}
	door.Protocols, door.Pages = map[string]*rpc.Protocol{}, map[string]http.Handler{}
	for _, make := range doors {
		d, err := make(h, log)
		if err != nil {
			return nil, errors.Join(err, a.stop(), a.close())
		}
		stop := sync.OnceValue(d.stop)
		guests, pages := d.handlers()
		for _, g := range guests {
			g.Stop = func() { _ = stop() } // adapterSet.stop returns the error
		}
		maps.Copy(door.Protocols, guests)
		maps.Copy(door.Pages, pages)
		a.all, a.stops = append(a.all, d), append(a.stops, stop)
	}
	return a, nil
}

func (a *adapterSet) open(door http.Handler, log *slog.Logger) {
	for _, d := range a.all {
		d.open(door, log)
	}
}

// stop stops all doors at once.
func (a *adapterSet) stop() error {
	errs := make([]error, len(a.stops))
	var stopping sync.WaitGroup
	for i, stop := range a.stops {
		stopping.Go(func() { errs[i] = stop() })
	}
	stopping.Wait()
	return errors.Join(errs...)
}

func (a *adapterSet) close() error {
	var errs []error
	for _, d := range a.all {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}
