package cluster

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/disks"
	"github.com/parleyhub/parley/torture/netns"
)

// apart is a site at which each machine has its own network and disk.
type apart struct {
	t       testing.TB
	lan     *netns.LAN
	clients *netns.Host
	boot    *disks.Boot
	unused  []*disks.Disk
	places  map[string]*apartPlace
}

// newApart makes it for some machines, or leaves the test out where that cannot be done.
func newApart(t testing.TB, machines int, ids ...promise.ID) *apart {
	t.Helper()
	a := &apart{t: t, lan: netns.NewLAN(t, ids...), places: map[string]*apartPlace{}}
	a.clients = a.lan.Add("clients")
	several := disks.Several
	if *failing {
		several = disks.SeveralToFail
	}
	a.unused = several(t, machines, ids...) // from here on the thread has its own mount namespace
	a.boot = disks.NewBoot(t)
	return a
}

func (a *apart) place(name string) place {
	p := &apartPlace{net: a.lan.Add(name), disk: a.unused[0]}
	a.unused, a.places[name] = a.unused[1:], p
	return p
}

func (a *apart) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return a.clients.Dial(ctx, network, address)
}

func (a *apart) do(f func() error) error { return a.clients.Do(f) }

// lose has a machine lose what it sends to others; "clients" are the clients.
func (a *apart) lose(from string, to ...string) {
	a.t.Helper()
	a.host(from).Lose(a.hosts(to)...)
}

// part has machines and others lose whatever they send to each other.
func (a *apart) part(one string, others ...string) {
	a.t.Helper()
	a.lose(one, others...)
	for _, o := range others {
		a.lose(o, one)
	}
}

// heal ends whatever is lost.
func (a *apart) heal() { a.t.Helper(); a.lan.Heal() }

// clientsName is what the clients are called in lose and part.
const clientsName = "clients"

func (a *apart) host(name string) *netns.Host {
	if name == clientsName {
		return a.clients
	}
	return a.places[name].net
}

func (a *apart) hosts(names []string) (all []*netns.Host) {
	for _, name := range names {
		all = append(all, a.host(name))
	}
	return all
}

// fail lets the disks of machines fail from now on.
func (a *apart) fail(names ...string) {
	a.t.Helper()
	for _, name := range names {
		a.places[name].disk.Fail()
	}
}

// freeze stops the processes of machines. The caller ends them next.
func (a *apart) freeze(all []*machine) {
	a.t.Helper()
	var pids []int
	for _, m := range all {
		m.check()
		pids = append(pids, m.cmd.Process.Pid)
	}
	hubproc.Freeze(a.t, pids...)
}

// cut cuts the power to the disks of machines, and restore restores it. None of their processes may
// run meanwhile.
func (a *apart) cut(names ...string) {
	a.t.Helper()
	for _, name := range names {
		a.places[name].disk.Cut()
	}
}

func (a *apart) restore(names ...string) {
	a.t.Helper()
	for _, name := range names {
		a.places[name].disk.Restore()
	}
}

// fill fills the disks of machines, and free frees the space.
func (a *apart) fill(names ...string) {
	a.t.Helper()
	for _, name := range names {
		a.places[name].disk.Fill()
	}
}

func (a *apart) free(names ...string) {
	a.t.Helper()
	for _, name := range names {
		a.places[name].disk.Free()
	}
}

// sync writes to the disks what is only in memory.
func (a *apart) sync() {
	a.t.Helper()
	for _, p := range a.places {
		p.disk.Sync()
	}
}

// again starts all machines again with the same configuration.
func (a *apart) again() { a.t.Helper(); a.boot.Again() }

type apartPlace struct {
	net  *netns.Host
	disk *disks.Disk
}

func (p *apartPlace) host() string { return p.net.Address }
func (p *apartPlace) address(port int) string {
	return net.JoinHostPort(p.net.Address, strconv.Itoa(port))
}
func (p *apartPlace) data() string            { return p.disk.Data() }
func (p *apartPlace) do(f func() error) error { return p.net.Do(f) }
