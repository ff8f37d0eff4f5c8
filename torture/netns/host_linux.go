package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/parleyhub/parley/internal/promise"
)

// LAN is hosts that a bridge joins. One goroutine of the test changes it; any dials.
type LAN struct {
	t      testing.TB
	bridge string // its namespace
	hosts  []*Host
}

// Host is a network namespace with one address.
type Host struct {
	// Address is that of the host, of four numbers.
	Address string

	lan  *LAN
	name string
	mac  string
	file *os.File        // the namespace
	deaf map[string]bool // addresses to which what this host sends is lost
}

// device is the name of a host's one link, in its namespace.
const device = "lan"

// NewLAN makes a network without hosts, for a test about some promises, or leaves the test out
// where that cannot be done. It goes with the test.
func NewLAN(t testing.TB, ids ...promise.ID) *LAN {
	t.Helper()
	Need(t, ids...)
	l := &LAN{t: t, bridge: NameOf("bridge", os.Getpid())}
	l.space(l.bridge)
	if out, err := exec.Command("ip", "-n", l.bridge, "link", "add", "bridge", "type", "bridge", "forward_delay", "0",
		"stp_state", "0").CombinedOutput(); err != nil {
		promise.Left(t, fmt.Sprintf("needs the kernel's bridge: %v: %.200s", err, out), ids...)
	}
	IP(t, "-n", l.bridge, "link", "set", "bridge", "up")
	return l
}

// space makes a namespace.
func (l *LAN) space(name string) {
	l.t.Helper()
	IP(l.t, "netns", "add", name)
	l.t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
	IP(l.t, "-n", name, "link", "set", "lo", "up")
}

// Add adds a host; side is a part of the name of its namespace, of small letters and digits, at
// most 10.
func (l *LAN) Add(side string) *Host {
	l.t.Helper()
	n := len(l.hosts) + 1
	h := &Host{
		lan: l, name: NameOf(side, os.Getpid()), Address: fmt.Sprintf("10.213.78.%d", n),
		mac: fmt.Sprintf("02:70:61:72:00:%02x", n), deaf: map[string]bool{},
	}
	l.space(h.name)
	IP(l.t, "-n", h.name, "link", "add", device, "address", h.mac, "type", "veth", "peer", "name", side, "netns", l.bridge)
	IP(l.t, "-n", l.bridge, "link", "set", "dev", side, "master", "bridge")
	IP(l.t, "-n", l.bridge, "link", "set", "dev", side, "up")
	IP(l.t, "-n", h.name, "address", "add", h.Address+"/24", "dev", device)
	IP(l.t, "-n", h.name, "link", "set", device, "up")
	f, err := os.Open("/var/run/netns/" + h.name)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { f.Close() })
	h.file = f
	l.hosts = append(l.hosts, h)
	return h
}

// nowhere is a hardware address that no interface has: the bridge drops the frames to it silently.
const nowhere = "02:70:61:72:ff:ff"

// Lose loses without a word whatever a host sends to others, from now on, also on connections that
// there are. The other way stays.
func (h *Host) Lose(others ...*Host) { h.lan.t.Helper(); h.neighbours(true, others) }

// Reach ends Lose.
func (h *Host) Reach(others ...*Host) { h.lan.t.Helper(); h.neighbours(false, others) }

func (h *Host) neighbours(lost bool, others []*Host) {
	h.lan.t.Helper()
	var lines []string
	for _, o := range others {
		if o == h || h.deaf[o.Address] == lost {
			continue
		}
		h.deaf[o.Address] = lost
		mac := o.mac
		if lost {
			mac = nowhere
		}
		lines = append(lines, fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", o.Address, mac, device))
	}
	batch(h.lan.t, h.name, lines)
}

// Heal ends whatever is lost.
func (l *LAN) Heal() {
	l.t.Helper()
	for _, h := range l.hosts {
		h.Reach(l.hosts...)
	}
}

// Do calls f on this thread within the host's network: the sockets that it makes and the processes
// that it starts are there.
func (h *Host) Do(f func() error) (err error) {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer own.Close()
	if err := unix.Setns(int(h.file.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter the network of %s: %w", h.name, err)
	}
	err = f()
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		// the thread stays locked, and ends with its goroutine
		return errors.Join(err, fmt.Errorf("leave the network of %s: %w", h.name, back))
	}
	runtime.UnlockOSThread()
	return err
}

// Dial connects from the host to an address of numbers.
func (h *Host) Dial(ctx context.Context, network, address string) (c net.Conn, err error) {
	err = h.Do(func() error {
		var d net.Dialer
		c, err = d.DialContext(ctx, network, address) // an address of numbers is dialled on this thread
		return err
	})
	return c, err
}
