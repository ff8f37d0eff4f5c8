// Package mcpinstall has the command mcp install, which writes the configuration of programs that
// start parley mcp.
//
//	root.AddCommand(mcpinstall.NewCommand(app))
package mcpinstall

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// client is a program that takes MCP servers, and where it keeps them.
type client struct {
	// key is the member of its configuration that has the servers, by name.
	key string
	// file returns the configuration file for these directories of a user.
	file func(home, config string) string
	// kind is what "type" says of a server that is a command; empty: nothing.
	kind string
}

// clients are those that install knows.
var clients = map[string]client{
	"claude-code": {key: "mcpServers", kind: "stdio",
		file: func(home, _ string) string { return filepath.Join(home, ".claude.json") }},
	"claude-desktop": {key: "mcpServers",
		file: func(_, config string) string { return filepath.Join(config, "Claude", "claude_desktop_config.json") }},
	"cursor": {key: "mcpServers", file: func(home, _ string) string { return filepath.Join(home, ".cursor", "mcp.json") }},
	"vscode": {key: "servers", kind: "stdio",
		file: func(_, config string) string { return filepath.Join(config, "Code", "User", "mcp.json") }},
	"zed": {key: "context_servers", file: zedFile},
}

func zedFile(home, config string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(config, "Zed", "settings.json")
	}
	return filepath.Join(home, ".config", "zed", "settings.json")
}

type installFlags struct {
	client, name string
	write        bool
}

// NewCommand returns the command mcp install.
func NewCommand(a *cli.App) *cobra.Command {
	var f installFlags
	names := strings.Join(slices.Sorted(maps.Keys(clients)), ", ")
	c := &cobra.Command{
		Use:   "install --client NAME",
		Short: "print or write the configuration that starts 'parley mcp'",
		Long: `install prints the entry with which a program (` + names +
			`) starts 'parley mcp', and the file it belongs to. With --write it adds the entry to that file,
which must be plain JSON, and changes nothing else in it, except white space. A copy of the old file
stays beside it.

The entry has $PARLEY_URL, and $PARLEY_AGENT, $PARLEY_CA, $PARLEY_CERT and $PARLEY_KEY if they are
set. The token is not printed: the entry has a placeholder. With --write it is written into the
file, which then only its owner may read. Use a separate token for the program, with no more scopes
than it needs.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&f.client, "client", "", "program to configure: "+names+" (required)")
	c.Flags().StringVar(&f.name, "name", "parley", "name of the entry")
	c.Flags().BoolVar(&f.write, "write", false, "add the entry to the program's configuration")
	return a.SetRun(c, func(_ context.Context, _ []string) error { return install(a, &f) })
}

func install(a *cli.App, f *installFlags) error {
	host, ok := clients[f.client]
	if !ok {
		return exit.Usagef("--client %q: expected one of %s", cli.Clean(f.client),
			strings.Join(slices.Sorted(maps.Keys(clients)), ", "))
	}
	if f.name == "" || len(f.name) > 64 {
		return exit.Usagef("--name %q: expected 1 to 64 characters", cli.Clean(f.name))
	}
	if _, err := cli.ParseHubURLs(); err != nil {
		return err
	}
	file, err := host.findFile()
	if err != nil {
		return err
	}
	if !f.write {
		return printEntry(a, host, file, f.name)
	}
	token := os.Getenv(cli.EnvToken)
	if token == "" {
		return cli.CheckEnvironment()
	}
	entry, err := host.newEntry(token)
	if err != nil {
		return err
	}
	_, missing := os.Stat(filepath.Dir(file))
	was, err := addToJSON(file, host.key, f.name, entry)
	if err != nil {
		return err
	}
	if missing != nil {
		a.Err.Line("-- " + filepath.Dir(file) + " was not there and was made: is " + f.client + " installed for this user?")
	}
	did := "added to "
	if was.entry {
		did = "replaced in "
	}
	if was.backup != "" {
		a.Err.Line("-- the file as it was is " + was.backup)
	}
	a.Err.Line(did + file + "; restart " + f.client)
	return nil
}

// printEntry prints what --write would add, without the token.
func printEntry(a *cli.App, host client, file, name string) error {
	entry, err := host.newEntry("<token>")
	if err != nil {
		return err
	}
	text, err := encodeJSON(map[string]any{host.key: map[string]any{name: entry}}, "  ")
	if err != nil {
		return err
	}
	a.Err.Line("for " + file + ":")
	a.Out.Line(strings.TrimSuffix(string(text), "\n"))
	return nil
}

// findFile returns the configuration file of the current user.
func (h *client) findFile() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return h.file(home, config), nil
}

// serverEntry is the entry of the configuration for one server.
type serverEntry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// newEntry is that of this program, with what the environment says of the hub.
func (h *client) newEntry(token string) (*serverEntry, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := map[string]string{cli.EnvURL: cli.HubURL(), cli.EnvToken: token}
	if as := os.Getenv(cli.EnvAgent); as != "" {
		env[cli.EnvAgent] = as
	}
	for _, name := range []string{cli.EnvCA, cli.EnvCert, cli.EnvKey} {
		if file := os.Getenv(name); file != "" {
			if env[name], err = filepath.Abs(file); err != nil { // the program is started elsewhere
				return nil, err
			}
		}
	}
	return &serverEntry{Type: h.kind, Command: program, Args: []string{"mcp"}, Env: env}, nil
}
