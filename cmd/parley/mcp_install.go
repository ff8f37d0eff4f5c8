package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// mcpHost is a program that takes MCP servers, and where it keeps them.
type mcpHost struct {
	// key is the member of its configuration that has the servers, by name.
	key string
	// file gives the configuration file of the user whose directories these are.
	file func(home, config string) string
	// kind is what "type" says of a server that is a command; empty: nothing.
	kind string
}

// mcpHosts are those that install knows.
var mcpHosts = map[string]mcpHost{
	"claude-code":    {key: "mcpServers", kind: "stdio", file: func(home, _ string) string { return filepath.Join(home, ".claude.json") }},
	"claude-desktop": {key: "mcpServers", file: func(_, config string) string { return filepath.Join(config, "Claude", "claude_desktop_config.json") }},
	"cursor":         {key: "mcpServers", file: func(home, _ string) string { return filepath.Join(home, ".cursor", "mcp.json") }},
	"vscode":         {key: "servers", kind: "stdio", file: func(_, config string) string { return filepath.Join(config, "Code", "User", "mcp.json") }},
	"zed":            {key: "context_servers", file: zedFile},
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

func (a *app) mcpInstallCommand() *cobra.Command {
	var f installFlags
	names := strings.Join(slices.Sorted(maps.Keys(mcpHosts)), ", ")
	c := &cobra.Command{
		Use:   "install --client NAME",
		Short: "print or write what a program's configuration needs to start 'parley mcp'",
		Long: `install prints the entry with which a program (` + names + `) starts 'parley mcp', and the file it belongs to. With --write it adds the entry to that file, which
must be plain JSON, and leaves everything else in it as it is, but for white space. The file as it was is kept beside it.

The entry has $PARLEY_URL, and $PARLEY_AGENT, $PARLEY_CA, $PARLEY_CERT and $PARLEY_KEY where they are set. The token is not printed: the entry has a place for it. With --write it is written into the file, which then only
its owner may read: give the program a token of its own, with no more scopes than it needs.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&f.client, "client", "", "the program: "+names+" (required)")
	c.Flags().StringVar(&f.name, "name", "parley", "the name of the entry")
	c.Flags().BoolVar(&f.write, "write", false, "add it to the program's configuration")
	return a.does(c, func(_ context.Context, _ []string) error { return a.mcpInstall(&f) })
}

func (a *app) mcpInstall(f *installFlags) error {
	host, ok := mcpHosts[f.client]
	if !ok {
		return usagef("--client %q: expected one of %s", clean(f.client), strings.Join(slices.Sorted(maps.Keys(mcpHosts)), ", "))
	}
	if f.name == "" || len(f.name) > 64 {
		return usagef("--name %q: expected 1 to 64 characters", clean(f.name))
	}
	if _, err := parseHubURLs(); err != nil {
		return err
	}
	file, err := host.path()
	if err != nil {
		return err
	}
	if !f.write {
		return a.showEntry(host, file, f.name)
	}
	token := os.Getenv(envToken)
	if token == "" {
		return checkEnv()
	}
	entry, err := host.entry(token)
	if err != nil {
		return err
	}
	_, missing := os.Stat(filepath.Dir(file))
	was, err := addToJSON(file, host.key, f.name, entry)
	if err != nil {
		return err
	}
	if missing != nil {
		a.err.line("-- " + filepath.Dir(file) + " was not there and was made: is " + f.client + " installed for this user?")
	}
	did := "added to "
	if was.entry {
		did = "replaced in "
	}
	if was.backup != "" {
		a.err.line("-- the file as it was is " + was.backup)
	}
	a.err.line(did + file + "; start " + f.client + " anew")
	return nil
}

// showEntry prints what --write would add, without the token.
func (a *app) showEntry(host mcpHost, file, name string) error {
	entry, err := host.entry("<token>")
	if err != nil {
		return err
	}
	text, err := encodeJSON(map[string]any{host.key: map[string]any{name: entry}}, "  ")
	if err != nil {
		return err
	}
	a.err.line("for " + file + ":")
	a.out.line(strings.TrimSuffix(string(text), "\n"))
	return nil
}

// path is the configuration file of who runs this.
func (h *mcpHost) path() (string, error) {
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

// hostEntry is what stands in the configuration for one server.
type hostEntry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// entry is that of this program, with what the environment says of the hub.
func (h *mcpHost) entry(token string) (*hostEntry, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := map[string]string{envURL: hubURL(), envToken: token}
	if as := os.Getenv(envAgent); as != "" {
		env[envAgent] = as
	}
	for _, name := range []string{envCA, envCert, envKey} {
		if file := os.Getenv(name); file != "" {
			if env[name], err = filepath.Abs(file); err != nil { // the program is started elsewhere
				return nil, err
			}
		}
	}
	return &hostEntry{Type: h.kind, Command: program, Args: []string{"mcp"}, Env: env}, nil
}
