package conformance

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// claudeCLI is Claude Code, an IDE in a terminal. What it does here takes no account: it keeps
// servers in its configuration, and connects to each to see whether it is well.
const claudeCLI = "@anthropic-ai/claude-code/cli.js"

// claude is Claude Code with its own home directory.
type claude struct {
	t         *testing.T
	strangers *strangers
	home      string
}

// run runs one of its commands, which must succeed. The command inherits only PATH from the
// environment, and calls only the servers.
func (c *claude) run(args ...string) string {
	c.t.Helper()
	r := c.strangers.runIn(c.t, c.home, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.home, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"NO_COLOR=1",
	}, claudeCLI, append([]string{"mcp"}, args...)...)
	if r.code != 0 {
		c.t.Fatalf("claude mcp %s: code %d\n%s%s", args[0], r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// state is what it says of a server when it lists them.
func (c *claude) state(name string) string {
	c.t.Helper()
	list := c.run("list")
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `: .* - (.*)$`).FindStringSubmatch(list)
	if line == nil {
		c.t.Fatalf("it does not list %s:\n%s", name, list)
	}
	return line[1]
}

// connected fails unless it has connected to a server, or has not, as expected.
func (c *claude) connected(name string, want bool) {
	c.t.Helper()
	if state := c.state(name); strings.HasSuffix(state, "Connected") != want {
		c.t.Errorf("%s: %s", name, state)
	}
}

// TestMCPClaudeCode: Claude Code takes what 'parley mcp install' prints and what it writes, and
// connects, over stdio and over HTTP with a token in a header.
func TestMCPClaudeCode(t *testing.T) {
	t.Parallel()
	s := newStrangers(t, "mcp")
	h := program.Start(t, t.TempDir(), "--mcp")
	token := aliceToken(t, h)
	install := func(c *claude, token string, flags ...string) (file, entry string) {
		t.Helper()
		cmd := exec.Command(string(program), append([]string{"mcp", "install", "--client", "claude-code"}, flags...)...)
		cmd.Env = []string{"HOME=" + c.home, "PARLEY_URL=" + h.URL, "PARLEY_TOKEN=" + token}
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("install: %v\n%s", err, said.String())
		}
		if strings.Contains(string(out)+said.String(), token) {
			t.Errorf("install prints the token")
		}
		file, _ = strings.CutPrefix(strings.TrimSpace(said.String()), "for ")
		return strings.TrimSuffix(file, ":"), string(out)
	}
	t.Run("printed", func(t *testing.T) {
		c := &claude{t, s, t.TempDir()}
		file, entry := install(c, token)
		if file != filepath.Join(c.home, ".claude.json") {
			t.Fatalf("it belongs to %q", file)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(entry, "<token>", token, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		c.connected("parley", true)
	})
	// by its own command, as it is printed: a token in a command line would be there for all to see
	t.Run("added", func(t *testing.T) {
		c := &claude{t, s, t.TempDir()}
		_, entry := install(c, token)
		var printed struct{ McpServers map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(entry), &printed); err != nil {
			t.Fatal(err)
		}
		c.run("add-json", "--scope", "user", "parley", string(printed.McpServers["parley"]))
		c.connected("parley", false) // its token is <token>
		install(c, token, "--write")
		c.connected("parley", true)
	})
	t.Run("http", func(t *testing.T) {
		c := &claude{t, s, t.TempDir()}
		servers := map[string]any{}
		for name, secret := range map[string]string{"hub": token, "stranger": "plt_wrong"} {
			servers[name] = map[string]any{"type": "http", "url": h.HTTP() + "/mcp",
				"headers": map[string]string{"Authorization": "Bearer " + secret}}
		}
		file, err := json.Marshal(map[string]any{"mcpServers": servers})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(c.home, ".claude.json"), file, 0o600); err != nil {
			t.Fatal(err)
		}
		c.connected("hub", true)
		c.connected("stranger", false)
	})
	h.Stop(t)
}
