package main

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

// protocolDoor lets clients of another protocol in, at paths of the hub's own door.
type protocolDoor interface {
	// guests are what the hub's door serves for it, by path: handlers, and pages that anybody may read.
	guests() (map[string]*rpc.Protocol, map[string]http.Handler)
	// open gives it the hub's door.
	open(door http.Handler, log *slog.Logger)
	// stop ends what its clients have under way, when the hub has answered what it was asked. It comes while the hub's door shuts down.
	stop() error
	// close ends what there is still. The hub's door has shut down.
	close() error
}

// newProtocolDoor makes one for a hub that is open and that nobody calls yet.
type newProtocolDoor func(h *hub.Hub, log *slog.Logger) (protocolDoor, error)

// protocolDoors are those that are set. The directory of the log is empty where that is memory. The tracer is told of what runs behind them; nil: nobody is.
func protocolDoors(c *config.Loaded, dev bool, dir string, tracer parley.Tracer) []newProtocolDoor {
	var doors []newProtocolDoor
	if c.MCP {
		doors = append(doors, func(_ *hub.Hub, log *slog.Logger) (protocolDoor, error) {
			return newMCPDoor(log, &mcpDoorOptions{
				Issuer: c.OIDC.Issuer, PublicURL: c.PublicURL, ReadOnly: c.MCPReadOnly, Toolsets: c.MCPToolsets, MaxWait: c.MCPWait(),
			}), nil
		})
	}
	if c.ServesConsole(dev) {
		doors = append(doors, func(*hub.Hub, *slog.Logger) (protocolDoor, error) { return consoleDoor{}, nil })
	}
	if c.A2A {
		doors = append(doors, func(h *hub.Hub, log *slog.Logger) (protocolDoor, error) {
			d, err := openA2ADoor(h, c, dev, dir, log)
			if err == nil && d.echo != nil {
				d.echo.tracer = tracer
			}
			return d, err
		})
	}
	return doors
}

// annex are the doors of other protocols of one hub.
type annex struct {
	doors []protocolDoor
	stops []func() error // of each door; once
}

// newAnnex makes doors, and has the hub's door serve them.
func newAnnex(doors []newProtocolDoor, h *hub.Hub, door *rpc.Options, log *slog.Logger) (*annex, error) {
	a := &annex{}
	door.Protocols, door.Pages = map[string]*rpc.Protocol{}, map[string]http.Handler{}
	for _, make := range doors {
		d, err := make(h, log)
		if err != nil {
			return nil, errors.Join(err, a.stop(), a.close())
		}
		stop := sync.OnceValue(d.stop)
		guests, pages := d.guests()
		for _, g := range guests {
			g.Stop = func() { _ = stop() } // annex.stop gives the error
		}
		maps.Copy(door.Protocols, guests)
		maps.Copy(door.Pages, pages)
		a.doors, a.stops = append(a.doors, d), append(a.stops, stop)
	}
	return a, nil
}

func (a *annex) open(door http.Handler, log *slog.Logger) {
	for _, d := range a.doors {
		d.open(door, log)
	}
}

// stop stops all doors at once.
func (a *annex) stop() error {
	errs := make([]error, len(a.stops))
	var stopping sync.WaitGroup
	for i, stop := range a.stops {
		stopping.Go(func() { errs[i] = stop() })
	}
	stopping.Wait()
	return errors.Join(errs...)
}

func (a *annex) close() error {
	var errs []error
	for _, d := range a.doors {
		errs = append(errs, d.close())
	}
	return errors.Join(errs...)
}
