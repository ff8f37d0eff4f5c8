package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// envDevToken is the admin token of a dev hub, where one is wished.
const envDevToken = "PARLEY_DEV_TOKEN"

const defaultListen = "127.0.0.1:7447"

type serveFlags struct {
	dev, insecurePublic      bool
	listen, data, readyFile  string
	allowHosts, allowOrigins []string
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "run a hub",
		Long: `serve runs a hub until SIGTERM or SIGINT. Then it takes no new calls, tells its clients, finishes what was begun within 10 s, and
ends with code 0. A second signal ends it at once.

The first line of stdout tells where it listens; it is printed when the hub takes calls.

With --dev it makes an admin token (or takes $` + envDevToken + `), listens on loopback only and, without --data, keeps everything in
memory. Without --dev make the first token while no hub runs: parley token create --admin --data DIR`,
		Args: cobra.NoArgs,
	}
	c.Flags().BoolVar(&f.dev, "dev", false, "for development: loopback only, with an admin token")
	c.Flags().StringVar(&f.listen, "listen", defaultListen, "address to listen on; a port alone means loopback, port 0 any free one")
	c.Flags().StringVar(&f.data, "data", "", "directory of the log (default: memory with --dev, else "+displayDataDir()+")")
	c.Flags().StringArrayVar(&f.allowHosts, "allow-host", nil, "a further name that clients may call this hub by (repeatable)")
	c.Flags().StringArrayVar(&f.allowOrigins, "allow-origin", nil, "an origin whose pages may call this hub (repeatable)")
	c.Flags().BoolVar(&f.insecurePublic, "insecure-public", false, "listen beyond loopback although there is no TLS")
	c.Flags().StringVar(&f.readyFile, "ready-file", "", "also write the first line of stdout to this file")
	return a.does(c, func(ctx context.Context, _ []string) error { return a.serve(ctx, f) })
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	addr, err := listenAddress(f)
	if err != nil {
		return err
	}
	j, where, err := openServeJournal(f)
	if err != nil {
		return err
	}
	token := ""
	if f.dev {
		token = cmp.Or(os.Getenv(envDevToken), randomToken())
	}
	s, err := startServer(serverOptions{
		journal: j, addr: addr, rootToken: token, log: a.logger(),
		allowHosts: f.allowHosts, allowOrigins: f.allowOrigins,
	})
	if err != nil {
		return errors.Join(err, j.Close())
	}
	if err := a.announce(s, f, where, token); err != nil {
		return errors.Join(err, s.close())
	}
	tuneRuntime()
	return s.run(ctx)
}

// hubGCPercent trades memory for time: a hub keeps little and throws much away, so collecting at twice the live heap, Go's default, is
// done many times a second under load.
const hubGCPercent = 400

// syncProcs are processors beyond the machine's. The committer is nearly always inside a system call that waits for the disk, and Go takes the
// processor away from such a goroutine late; with few processors the others stand idle meanwhile.
const syncProcs = 2

// tuneRuntime sets Go's runtime for a hub, but for what the user has set.
func tuneRuntime() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(hubGCPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + syncProcs)
	}
}

// listenAddress checks where the flags want to listen: anything but loopback has to be asked for by name, and a dev hub never
// leaves the machine.
func listenAddress(f serveFlags) (string, error) {
	listen := f.listen
	if _, err := strconv.ParseUint(listen, 10, 16); err == nil {
		listen = ":" + listen // a port alone
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", usagef("--listen %s: expected HOST:PORT", f.listen)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	addr := net.JoinHostPort(host, port)
	switch {
	case isLoopback(host):
		return addr, nil
	case f.dev:
		return "", withHint(usagef("--dev listens on loopback only, not on %s: its admin token is for this machine", host),
			"leave --dev out and make tokens with 'parley token create'")
	case !f.insecurePublic:
		return "", withHint(usagef("%s is not loopback and this version has no TLS: tokens would cross the network in clear", host),
			"put a TLS proxy before a loopback hub, or insist with --insecure-public")
	}
	return addr, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// openServeJournal opens what the hub writes to, and says where that is.
func openServeJournal(f serveFlags) (journal.Journal, string, error) {
	if f.dev && f.data == "" {
		return memory.New(), "in memory: gone when the hub stops (--data DIR keeps it)", nil
	}
	dir, err := dataDir(f.data)
	if err != nil {
		return nil, "", err
	}
	j, err := openData(dir)
	return j, "in " + dir, err
}

// openData opens the log in a directory, which is made if it is absent.
func openData(dir string) (journal.Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j, err := bolt.Open(dir, nil)
	if err != nil {
		return nil, fmt.Errorf("open the log in %s: %w", dir, err)
	}
	return j, nil
}

// openExisting is openData for a directory that must hold a log.
func openExisting(flag string) (journal.Journal, error) {
	dir, err := dataDir(flag)
	if err != nil {
		return nil, err
	}
	if !bolt.Exists(dir) {
		return nil, withHint(fmt.Errorf("%s holds no log", dir), "--data names the directory of a hub's log")
	}
	return openData(dir)
}

// dataDir gives the directory that --data names, else the one of the XDG rules.
func dataDir(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "parley"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", withHint(err, "name a directory with --data")
	}
	return filepath.Join(home, ".local", "state", "parley"), nil
}

func displayDataDir() string { return "$XDG_STATE_HOME/parley" }
