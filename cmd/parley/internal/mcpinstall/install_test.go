package mcpinstall

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/certs"
)

// TestMCPInstallBesideAnother: a file that another program has changed, made or removed since it
// was read is left as it is, and nothing is left beside it.
func TestMCPInstallBesideAnother(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after string }{{`{"a":1}`, `{"a":2}`}, {"", `{"a":2}`}, {`{"a":1}`, ""}} {
		file := filepath.Join(t.TempDir(), "mcp.json")
		put := func(text string) {
			t.Helper()
			if text == "" {
				os.Remove(file) // it may not be there
			} else if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put(c.before)
		f, err := readConfigFile(file)
		if err != nil {
			t.Fatal(err)
		}
		put(c.after)
		if err := f.replace([]byte(`{"a":3}`)); err == nil ||
			!strings.Contains(err.Error(), file+" was changed by another program") {
			t.Errorf("%q that is %q now: %v", c.before, c.after, err)
		}
		if got, _ := os.ReadFile(file); string(got) != c.after {
			t.Errorf("%q that is %q now is %q afterwards", c.before, c.after, got)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".parley-*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestMCPInstallKeepsTheOwner: a file that root writes for a user belongs to the user, with new
// directories, and no one else may read it.
func TestMCPInstallKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("it takes root")
	}
	const user = 4711
	home := t.TempDir()
	old := filepath.Join(home, "old.json")
	if err := os.WriteFile(old, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{home, old} {
		if err := os.Chown(path, user, user); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", old+".parley.bak"); err != nil { // is replaced, and not followed
		t.Fatal(err)
	}
	made := filepath.Join(home, "a", "b", "new.json")
	for _, file := range []string{old, made} {
		if _, err := addToJSON(file, "servers", "parley", map[string]any{"x": 1}); err != nil {
			t.Fatal(err)
		}
	}
	for path, mode := range map[string]os.FileMode{
		old: 0o600, old + ".parley.bak": 0o600, made: 0o600, filepath.Dir(made): 0o700 | os.ModeDir,
		filepath.Dir(filepath.Dir(made)): 0o700 | os.ModeDir,
	} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner, _ := certs.OwnerOf(info); owner != user || info.Mode() != mode {
			t.Errorf("%s is of %d with mode %s, expected %d and %s", path, owner, info.Mode(), user, mode)
		}
	}
	if kept, _ := os.ReadFile(old + ".parley.bak"); string(kept) != "{}" {
		t.Errorf("the file as it was is kept as %q", kept)
	}
}
