package overlay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/overlay"
)

// original is the file to which the tests below apply patches.
const original = `package p

func a() {
	same()
}

func b() {
	same()
	other()
}
`

// diff returns a patch of the file with these hunks.
func diff(hunks ...string) string {
	return "The bug.\n\n--- a/d/p.go\n+++ b/d/p.go\n" + strings.Join(hunks, "")
}

// apply applies a patch to the file.
func apply(t *testing.T, patch string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "d", "p.go"), []byte(original), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := overlay.Parse("bug", patch)
	if err != nil {
		return "", err
	}
	texts, err := overlay.Apply(dir, p)
	return texts["d/p.go"], err
}

func TestApply(t *testing.T) {
	for name, c := range map[string]struct{ patch, want string }{
		"one hunk, wrong line number": {
			diff("@@ -99,2 +1,2 @@ func b() {\n \tsame()\n-\tother()\n+\tbug()\n"),
			strings.Replace(original, "other", "bug", 1),
		},
		"two hunks": {
			diff("@@ -1 +1 @@\n-package p\n+package q\n", "@@ -9,2 +9 @@\n-\tother()\n }\n"),
			strings.Replace(strings.Replace(original, "\tother()\n", "", 1), "package p", "package q", 1),
		},
		"git diff": {
			strings.Replace(diff("@@ -7 +7,2 @@\n func b() {\n+\tbug()\n"),
				"---", "diff --git a/d/p.go b/d/p.go\nindex 1..2 100644\n---", 1),
			strings.Replace(original, "func b() {\n", "func b() {\n\tbug()\n", 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := apply(t, c.patch)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestApply_RefusesWrongPatches(t *testing.T) {
	const good = "@@ -9 +9 @@\n-\tother()\n+\tbug()\n"
	for name, c := range map[string]struct{ patch, want string }{
		"old text not found": {
			diff(good, good),
			"patch bug, d/p.go: hunk 2: its old text is not in the file",
		},
		"part of a line": {
			diff("@@ -9 +9 @@\n-other()\n+bug()\n"),
			"hunk 1: its old text is not in the file",
		},
		"old text found twice": {
			diff("@@ -4 +4 @@\n-\tsame()\n+\tbug()\n"),
			"hunk 1: its old text is in the file twice",
		},
		"no old text": {
			diff("@@ -0,0 +1 @@\n+bug\n"),
			"line 5: the hunk has no old text",
		},
		"no such file": {
			strings.ReplaceAll(diff(good), "d/p.go", "d/q.go"),
			"patch bug: open ",
		},
		"another file": {
			strings.Replace(diff(good), "+++ b/d/p.go", "+++ b/d/q.go", 1),
			"line 3: expected: --- a/FILE and +++ b/FILE",
		},
		"new file": {
			strings.Replace(diff(good), "--- a/d/p.go", "--- /dev/null", 1),
			"line 3: expected: --- a/FILE and +++ b/FILE",
		},
		"no description": {
			strings.TrimPrefix(diff(good), "The bug.\n"),
			"expected: a description and a unified diff",
		},
		"no diff": {
			"The bug.\n",
			"expected: a description and a unified diff",
		},
		"no header": {
			diff("-\tother()\n"),
			"line 5: expected: the header of a hunk",
		},
		"too few lines": {
			diff("@@ -9,3 +9,3 @@\n-\tother()\n+\tbug()\n"),
			"line 5: the hunk has fewer lines than its header says",
		},
		"too many lines": {
			diff(good + "+\tmore()\n"),
			"line 8: expected: the header of a hunk",
		},
		"empty line in a hunk": {
			diff("@@ -9,2 +9,2 @@\n-\tother()\n+\tbug()\n\n"),
			"line 3 of the hunk is neither context nor a change",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := apply(t, c.patch)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}
