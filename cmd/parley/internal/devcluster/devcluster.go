//go:build devcluster

package devcluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/cmd/parley/internal/serve"
	"github.com/parleyhub/parley/cmd/parley/internal/token"
	"github.com/parleyhub/parley/internal/natscluster"
)

const (
	devHubs    = 3
	devServers = 3
	// devStart bounds the start of a hub.
	devStart = 60 * time.Second
)

// NewCommand returns the command dev-cluster.
func NewCommand(a *cli.App) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "dev-cluster",
		Short: "Run three hubs with one log, to try the loss of a hub",
		Long: `dev-cluster runs three hubs, each in a separate process, and three NATS servers, which keep their
log, in this process, all on loopback. It prints the addresses of the hubs, as PARLEY_URL takes
them, their process ids, and a token of scope admin. SIGTERM or SIGINT ends all. A killed hub is not
restarted. The others continue.

Every event is on the disk of two servers at least before it is acknowledged, but all are on this
machine: this is for trying, not for use. Without --data everything is removed at the end.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&dir, "data", "",
		"directory in which everything is kept (default: one that is removed at the end)")
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		if err := journals.CheckDataFlag(c, dir); err != nil {
			return err
		}
		return runCluster(ctx, a, dir)
	})
}

// startedCluster is the first line of dev-cluster with -o json.
type startedCluster struct {
	URL       string `json:"url"` // of all hubs, as PARLEY_URL takes it
	Token     string `json:"token"`
	Processes []int  `json:"processes"` // of the hubs
	Directory string `json:"directory"`
	Journal   string `json:"journal"` // as --journal takes it
}

// runCluster runs everything until ctx ends.
func runCluster(ctx context.Context, a *cli.App, dir string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "parley-cluster-*"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	servers, err := natscluster.Start(ctx, dir, &natscluster.Options{Servers: devServers})
	if err != nil {
		return fmt.Errorf("start the NATS servers: %w", err)
	}
	defer servers.Close()
	journal, err := sharedAddress(servers)
	if err != nil {
		return err
	}
	token, err := token.Create(ctx, a, journal,
		&parley.CreateTokenParams{AgentID: "admin", Scopes: []parley.Scope{parley.ScopeAdmin}})
	if err != nil {
		return fmt.Errorf("make a token: %w", err)
	}
	c := &hubProcesses{a: a, ended: make(chan *hubProcess, devHubs)}
	defer func() { err = errors.Join(err, c.stop()) }()
	for i := range devHubs {
		if err := c.start(ctx, fmt.Sprintf("hub-%d", i+1), journal, dir); err != nil {
			return err
		}
	}
	if err := announce(a, c, &startedCluster{Token: token.Token, Directory: dir, Journal: journal}); err != nil {
		return err
	}
	return c.watch(ctx)
}

// sharedAddress is the address of the servers' log. Their password goes into the environment, for
// this process and the hubs.
func sharedAddress(servers *natscluster.Cluster) (string, error) {
	first, _, _ := strings.Cut(servers.URL(), ",")
	u, err := url.Parse(first)
	if err != nil {
		return "", err
	}
	password, _ := u.User.Password()
	if err := os.Setenv(cli.EnvNATSPassword, password); err != nil {
		return "", err
	}
	var hosts []string
	for i := range devServers {
		hosts = append(hosts, servers.Address(i))
	}
	return fmt.Sprintf("nats://%s@%s?stream=parley&replicas=%d&monitor=%s", u.User.Username(), strings.Join(hosts, ","),
		devServers, strings.Join(servers.Monitors(), ",")), nil
}

// announce prints what one needs to try it.
func announce(a *cli.App, c *hubProcesses, s *startedCluster) error {
	var urls []string
	for _, p := range c.all {
		urls, s.Processes = append(urls, p.url), append(s.Processes, p.cmd.Process.Pid)
	}
	s.URL = strings.Join(urls, ",")
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(s)
	}
	a.Out.Linef("three hubs with one log, which three NATS servers keep; what the hubs say is in %s",
		cli.Clean(filepath.Join(s.Directory, "hub-*.log")))
	for _, p := range c.all {
		a.Out.Linef("  %s  %s  process %d", p.name, p.url, p.cmd.Process.Pid)
	}
	a.Out.Line("in another terminal:")
	a.Out.Linef("  export PARLEY_URL=%s", s.URL)
	a.Out.Linef("  export PARLEY_TOKEN=%s", s.Token)
	a.Out.Line("  parley conversation create --id talk --participant ann --participant bob")
	a.Out.Line("  parley chat talk --as ann        and the same --as bob; then")
	a.Out.Linef("  kill -9 %d                   one hub is gone, and clients continue", s.Processes[0])
	a.Out.Line("Ctrl-C ends all")
	return nil
}

// hubProcess is a hub in a separate process.
type hubProcess struct {
	name, url string
	cmd       *exec.Cmd
	err       error // how it ended
}

// hubProcesses are those of a cluster.
type hubProcesses struct {
	a       *cli.App
	all     []*hubProcess
	ended   chan *hubProcess
	running int
}

// start starts a hub, and waits until it takes calls.
func (c *hubProcesses) start(ctx context.Context, name, journal, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p := &hubProcess{name: name}
	p.cmd = exec.Command(self, "serve", "--journal", journal, "--data", filepath.Join(dir, name), "--listen",
		"127.0.0.1:0", "--console", "-o", "json")
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PARLEY_") && !strings.HasPrefix(v, cli.EnvNATSPassword+"=")
	})
	told := filepath.Join(dir, name+".log")
	log, err := os.OpenFile(told, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has it
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = processAttributes()
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	stuck := time.AfterFunc(devStart, func() { _ = p.cmd.Process.Kill() }) // then the line below does not come
	defer stuck.Stop()
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()
	out := bufio.NewReader(stdout)
	line, err := out.ReadBytes('\n')
	var first serve.Listening
	if err == nil {
		err = json.Unmarshal(line, &first)
	}
	if err != nil {
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("%s did not start: %w: %s", name, errors.Join(err, p.cmd.Wait()), lastLogLine(told))
	}
	p.url = first.URL
	c.all = append(c.all, p)
	c.running++
	go func() { // until the process ends
		_, _ = io.Copy(io.Discard, out)
		p.err = p.cmd.Wait()
		c.ended <- p
	}()
	return nil
}

// lastLogLine returns the last line of a log, which has the reason for the end of a hub.
func lastLogLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return cli.Clean(lines[len(lines)-1])
}

// watch reports hubs that end, until ctx ends or no hub is left.
func (c *hubProcesses) watch(ctx context.Context) error {
	for c.running > 0 {
		select {
		case p := <-c.ended:
			c.running--
			how := "with code 0"
			if p.err != nil {
				how = p.err.Error()
			}
			c.a.Err.Linef("-- %s ended (%s); %s left", p.name, how, cli.Count(int64(c.running), "hub"))
		case <-ctx.Done():
			return nil
		}
	}
	return errors.New("no hub is left")
}

// stop has the hubs drain, and waits for their ends.
func (c *hubProcesses) stop() (err error) {
	for _, p := range c.all {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails if the process ended
	}
	late := time.AfterFunc(serve.DrainTimeout+2*time.Second, func() {
		for _, p := range c.all {
			_ = p.cmd.Process.Kill()
		}
	})
	defer late.Stop()
	for ; c.running > 0; c.running-- {
		if p := <-c.ended; p.err != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", p.name, p.err))
		}
	}
	return err
}
