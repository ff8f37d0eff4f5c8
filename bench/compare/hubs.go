package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// hubGroup is some hubs with one log.
type hubGroup struct {
	hubs    []*parleyServer
	servers *natsCluster // that keep the log; nil: the hub does, with bbolt
}

func (g *hubGroup) about() About {
	a := g.hubs[0].about()
	switch n := len(g.hubs); {
	case g.servers == nil:
		a.Name = "1 hub on bbolt"
	case n == 1:
		a.Name, a.Durable = "1 hub", "its log is on those servers, set in the same way"
	default:
		a.Name, a.Durable = fmt.Sprintf("%d hubs", n), "they have one log on those servers, set in the same way"
	}
	return a
}

func (g *hubGroup) processes() (all []*process) {
	for _, h := range g.hubs {
		if h.proc != nil {
			all = append(all, h.proc)
		}
	}
	if g.servers != nil {
		all = append(all, g.servers.processes()...)
	}
	return all
}

func (g *hubGroup) end() {
	for _, h := range g.hubs {
		if h.proc != nil {
			h.proc.end()
		}
	}
}

// appender spreads over the hubs.
func (g *hubGroup) appender(ctx context.Context, i, window int) (*lane, error) {
	return g.hubs[i%len(g.hubs)].appender(ctx, i, window)
}

// appended is what the first hub shows, which may be a moment behind the others.
func (g *hubGroup) appended(ctx context.Context) (int, error) { return g.hubs[0].appended(ctx) }

// start starts n hubs and makes their conversations. What it has started is ended by end, also
// after an error.
func (g *hubGroup) start(ctx context.Context, o *Options, dir string, n int) error {
	var journal, token string
	if g.servers != nil {
		var err error
		journal = g.servers.journal(fmt.Sprintf("hubs-%d", n))
		if token, err = adminToken(ctx, o.Parley, journal); err != nil {
			return err
		}
	}
	for i := range n {
		h := &parleyServer{program: o.Parley, text: strings.Repeat("x", o.Size), journal: journal, token: token}
		g.hubs = append(g.hubs, h)
		if err := h.start(ctx, filepath.Join(dir, fmt.Sprintf("hub-%d", i+1))); err != nil {
			return err
		}
	}
	if err := g.hubs[0].prepare(ctx, o.Conversations); err != nil {
		return err
	}
	for _, h := range g.hubs {
		h.spread = o.Conversations
	}
	return nil
}

// hubsAll compares hubs that have one log with what its servers do by themselves, for each number
// of servers.
func (r *run) hubsAll(ctx context.Context, o *Options, dir string) error {
	for _, n := range o.Keepers {
		if err := r.hubsOn(ctx, o, filepath.Join(dir, fmt.Sprintf("on-%d", n)), n); err != nil {
			return fmt.Errorf("%d NATS servers: %w", n, err)
		}
	}
	return nil
}

// hubsOn compares on n servers. Each number of hubs has its own log, so that hubs that are not
// measured apply nothing.
func (r *run) hubsOn(ctx context.Context, o *Options, dir string, n int) error {
	r.progress("starting %d NATS servers", n)
	servers := &natsCluster{}
	defer servers.end()
	if err := servers.start(ctx, o, dir, n); err != nil {
		return err
	}
	appenders := []*appender{{taker: servers}}
	groups := []*hubGroup{}
	defer func() {
		for _, g := range groups {
			g.end()
		}
	}()
	begin := func(g *hubGroup, dir string, hubs int) error {
		groups = append(groups, g)
		if err := g.start(ctx, o, dir, hubs); err != nil {
			return fmt.Errorf("%d hubs: %w", hubs, err)
		}
		appenders = append(appenders, &appender{taker: g})
		return nil
	}
	for _, hubs := range o.Hubs {
		r.progress("starting %d hubs", hubs)
		if err := begin(&hubGroup{servers: servers}, filepath.Join(dir, fmt.Sprintf("hubs-%d", hubs)), hubs); err != nil {
			return err
		}
	}
	r.progress("starting a hub on bbolt")
	if err := begin(&hubGroup{}, filepath.Join(dir, "bbolt"), 1); err != nil {
		return err
	}
	for _, a := range appenders {
		r.report.about(a.about())
	}
	for _, shape := range o.Shapes {
		row := Row{Name: fmt.Sprintf("append %s, R%d", shape, n), Times: true}
		if err := r.row(ctx, o, row, sidesOf(appenders, o, shape)); err != nil {
			return err
		}
	}
	return verify(ctx, appenders)
}
