package parley_test

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var updateStyle = flag.Bool("update", false, "lower the ceilings in testdata/style.tsv to what the style test counts")

const (
	ceilingsFile = "testdata/style.tsv"
	shownHits    = 50 // of one failure
	shownFiles   = 5  // of one class, with -v
)

// ceilings has the most hits that each package may have. A package that it does not name may have
// none.
type ceilings map[string][classes]int

// A styleFile is one file of the tree with its hits.
type styleFile struct {
	path     string
	modified time.Time
	counts
}

// TestStyle counts the phrases and lines of docs/style.md in each package and compares them with
// the ceilings.
func TestStyle(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under the race detector; make lint runs it")
	}
	packages := countTree(t, ".")
	have := ceilings{}
	for dir, files := range packages {
		sum := have[dir]
		for _, f := range files {
			for k := range classes {
				sum[k] += len(f.hits[k])
			}
		}
		have[dir] = sum
	}
	if testing.Verbose() {
		logTotals(t, packages)
	}

	limits, err := readCeilings(ceilingsFile)
	if errors.Is(err, fs.ErrNotExist) && *updateStyle {
		limits = have // a table that is made from nothing
	} else if err != nil {
		t.Fatal(err)
	}
	for _, e := range compareCeilings(have, limits) {
		t.Errorf("package %s, class %s: %d hits, the ceiling is %d; newest files first:%s",
			e.dir, classNames[e.class], e.count, e.ceiling, newestHits(packages[e.dir], e.class))
	}
	if *updateStyle {
		if err := writeCeilings(ceilingsFile, lowerCeilings(have, limits)); err != nil {
			t.Fatal(err)
		}
	}
	if t.Failed() {
		t.Log("docs/style.md has the rules. Rewrite the sentence; do not raise the ceiling.")
	}
}

// countTree counts every Go and Markdown file below root, and returns the files of each directory.
// It skips what .gitignore names, and hidden directories except .github.
func countTree(t *testing.T, root string) map[string][]styleFile {
	t.Helper()
	packages := map[string][]styleFile{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if skippedDir(name) {
				return fs.SkipDir
			}
			return nil
		}
		ext := filepath.Ext(name)
		if !d.Type().IsRegular() || ext != ".go" && ext != ".md" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := styleFile{path: filepath.ToSlash(path), modified: info.ModTime()}
		if ext == ".md" {
			f.counts = countMarkdown(src)
		} else {
			f.counts = countGo(src, strings.HasSuffix(name, "_test.go"))
		}
		for k := range f.hits {
			slices.SortStableFunc(f.hits[k], func(a, b hit) int { return cmp.Compare(a.line, b.line) })
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		packages[dir] = append(packages[dir], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// skippedDir reports whether the tests of documents skip a directory: one that git ignores or a hidden one.
func skippedDir(name string) bool {
	hidden := strings.HasPrefix(name, ".") && name != "." && name != ".github"
	return hidden || slices.Contains([]string{"bin", "dist", "node_modules"}, name)
}

// An excess is a count above its ceiling.
type excess struct {
	dir            string
	class          class
	count, ceiling int
}

func compareCeilings(have, limits ceilings) []excess {
	var all []excess
	for _, dir := range sortedKeys(have) {
		for k := range classes {
			if n, most := have[dir][k], limits[dir][k]; n > most {
				all = append(all, excess{dir, class(k), n, most})
			}
		}
	}
	return all
}

// lowerCeilings returns the lower one of the count and the ceiling of each class, for the packages
// that exist.
func lowerCeilings(have, limits ceilings) ceilings {
	lower := ceilings{}
	for dir, counts := range have {
		var row [classes]int
		for k := range row {
			row[k] = min(counts[k], limits[dir][k])
		}
		lower[dir] = row
	}
	return lower
}

// newestHits lists the hits of the files that were modified last, since these have the new hits in
// a working tree.
func newestHits(files []styleFile, k class) string {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b styleFile) int {
		return cmp.Or(b.modified.Compare(a.modified), cmp.Compare(len(b.hits[k]), len(a.hits[k])))
	})
	var b strings.Builder
	shown, total := 0, 0
	for _, f := range files {
		for i, h := range f.hits[k] {
			if total++; shown == shownHits {
				continue
			}
			if i == 0 {
				fmt.Fprintf(&b, "\n\t%s:%d:", f.path, h.line)
			}
			fmt.Fprintf(&b, " %d %s;", h.line, h.what)
			shown++
		}
	}
	if total > shown {
		fmt.Fprintf(&b, "\n\tand %d more", total-shown)
	}
	return b.String()
}

// logTotals logs the totals and the worst files of each class.
func logTotals(t *testing.T, packages map[string][]styleFile) {
	t.Helper()
	for k := range class(classes) {
		var files []styleFile
		hits, words := 0, 0
		for _, dir := range sortedKeys(packages) {
			for _, f := range packages[dir] {
				hits += len(f.hits[k])
				words += f.words[k]
				if len(f.hits[k]) > 0 {
					files = append(files, f)
				}
			}
		}
		slices.SortStableFunc(files, func(a, b styleFile) int { return cmp.Compare(len(b.hits[k]), len(a.hits[k])) })
		var b strings.Builder
		fmt.Fprintf(&b, "%s: %d hits", classNames[k], hits)
		if words > 0 {
			fmt.Fprintf(&b, ", %.1f per 1,000 words", float64(hits)*1000/float64(words))
		}
		for _, f := range files[:min(len(files), shownFiles)] {
			fmt.Fprintf(&b, "\n\t%4d  %s, first in line %d", len(f.hits[k]), f.path, f.hits[k][0].line)
		}
		t.Log(b.String())
	}
}

const ceilingsHeader = `# The most hits that each package may have; docs/style.md has the rules. Reviewers reject a ceiling that goes up.
# Lower them to the counts: go test -run '^TestStyle$' -update .
`

// readCeilings reads a table of the path of a package and one ceiling for each class, with tabs
// between them.
func readCeilings(path string) (ceilings, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := ceilings{}
	lines := bufio.NewScanner(strings.NewReader(string(src)))
	for n := 1; lines.Scan(); n++ {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 1+classes {
			return nil, fmt.Errorf("%s:%d: expected %d columns, got %d", path, n, 1+classes, len(fields))
		}
		if _, twice := all[fields[0]]; twice {
			return nil, fmt.Errorf("%s:%d: duplicate package %q", path, n, fields[0])
		}
		var row [classes]int
		for k := range row {
			if row[k], err = strconv.Atoi(fields[1+k]); err != nil || row[k] < 0 {
				return nil, fmt.Errorf("%s:%d: invalid ceiling %q", path, n, fields[1+k])
			}
		}
		all[fields[0]] = row
	}
	return all, lines.Err()
}

// writeCeilings leaves out packages whose ceilings are all zero.
func writeCeilings(path string, all ceilings) error {
	var b strings.Builder
	b.WriteString(ceilingsHeader)
	b.WriteString("# package\t" + strings.Join(classNames[:], "\t") + "\n")
	for _, dir := range sortedKeys(all) {
		row := all[dir]
		if row == [classes]int{} {
			continue
		}
		b.WriteString(dir)
		for _, n := range row {
			fmt.Fprintf(&b, "\t%d", n)
		}
		b.WriteByte('\n')
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestStyleCeilings(t *testing.T) {
	limits := ceilings{"hub": {3, 2}, "gone": {9}}
	have := ceilings{"hub": {1, 4}, "new": {0, 0, 1}, "clean": {}}
	want := []excess{{"hub", testComments, 4, 2}, {"new", messages, 1, 0}}
	if got := compareCeilings(have, limits); !slices.Equal(got, want) {
		t.Errorf("got excesses %v, want %v", got, want)
	}
	path := filepath.Join(t.TempDir(), "testdata", "style.tsv")
	if err := writeCeilings(path, lowerCeilings(have, limits)); err != nil {
		t.Fatal(err)
	}
	got, err := readCeilings(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got["hub"] != [classes]int{1, 2} {
		t.Errorf("got ceilings %v, want hub with 1 and 2 alone", got)
	}
	row := "hub\t1\t1\t1\t1\t1\t"
	for _, bad := range []string{"hub\t1", row + "x", row + "-1", row + "1\n" + row + "1"} {
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := readCeilings(path); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestStyleCountTree(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"README.md":                    "It stands.",
		"hub/hub.go":                   "package hub // anew\n",
		"hub/hub_test.go":              "package hub // anew\n",
		"hub/notes.txt":                "anew",
		"deep/module/go.mod":           "module m",
		"deep/module/m.go":             "package m // anew\n",
		".github/x.md":                 "It stands.",
		".git/x.md":                    "It stands.",
		"bin/x.go":                     "// anew",
		"web/node_modules/x/README.md": "It stands.",
	} {
		path = filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	var got []string
	packages := countTree(t, ".")
	for _, dir := range sortedKeys(packages) {
		for _, f := range packages[dir] {
			for k := range class(classes) {
				for _, h := range f.hits[k] {
					got = append(got, fmt.Sprintf("%s %s:%d %s %s", dir, f.path, h.line, classNames[k], h.what))
				}
			}
		}
	}
	want := []string{
		`. README.md:1 docs "stands"`,
		`.github .github/x.md:1 docs "stands"`,
		`deep/module deep/module/m.go:1 comments "anew"`,
		`hub hub/hub.go:1 comments "anew"`,
		`hub hub/hub_test.go:1 test comments "anew"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
