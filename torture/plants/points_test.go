package plants

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// point is where a bug acts.
var point = regexp.MustCompile(`\bplant\.(\w+)\.Planted\(\)`)

// TestEveryBugIsTried: each bug has a point at which it acts and a row in the table, whose test there is; and no point and no row is about a bug that there is not.
func TestEveryBugIsTried(t *testing.T) {
	dir := root(t)
	bugs := constants(t, filepath.Join(dir, "internal", "plant", "plant.go"))
	points := pointsOf(t, dir)
	named := map[string]bool{}
	for _, r := range rows {
		named[string(r.bug)] = true
		if !isTest(t, filepath.Join(dir, filepath.FromSlash(r.pkg)), r.run) {
			t.Errorf("the row of %s names %s, which %s does not have", r.bug, r.run, r.pkg)
		}
	}
	names := map[string]string{}
	for constant, name := range bugs {
		switch {
		case points[constant] == "":
			t.Errorf("%s acts nowhere: the product has no plant.%s.Planted()", name, constant)
		case !named[name]:
			t.Errorf("%s is tried by no row", name)
		case names[name] != "":
			t.Errorf("%s and %s have one name, %s", constant, names[name], name)
		}
		names[name] = constant
	}
	for constant, file := range points {
		if _, ok := bugs[constant]; !ok {
			t.Errorf("%s: plant.%s is no bug", file, constant)
		}
	}
	const fewest = 30
	if len(bugs) < fewest {
		t.Errorf("there are %d bugs, want at least %d", len(bugs), fewest)
	}
}

// constants gives the bugs of a file of package plant: each constant and the name that it stands for.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Bug" {
			name, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found[v.Names[0].Name] = name
		}
		return true
	})
	return found
}

// pointsOf finds the points in the product: the constant of each, and a file that has it.
func pointsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != dir || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range point.FindAllSubmatch(text, -1) {
			found[string(m[1])] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// isTest reports whether the tests of a directory have those that a pattern names.
func isTest(t *testing.T, dir, pattern string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for _, file := range files {
		more, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, more...)
	}
	top, _, _ := strings.Cut(pattern, "/")
	for _, name := range strings.Split(strings.Trim(top, "^$()"), "|") {
		if !bytes.Contains(text, []byte("\nfunc "+name+"(t *testing.T)")) {
			return false
		}
	}
	return true
}

// TestUsualBuildHasNone: a program that is built as usual cannot be told to have a bug: it does not know the variable that names one.
func TestUsualBuildHasNone(t *testing.T) {
	if knows(t, "") {
		t.Error("the program that is built as usual looks for PARLEY_PLANT")
	}
	if *all && !knows(t, "planted") {
		t.Error("the program that is built with the tag planted does not look for PARLEY_PLANT: this test finds nothing")
	}
}

// knows reports whether the program that is built with tags has the name of the variable in it.
func knows(t *testing.T, tags string) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley")
	cmd := exec.Command("go", "build", "-tags", tags, "-o", path, "./cmd/parley")
	cmd.Dir = root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build parley: %v\n%s", err, out)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(program, []byte("PARLEY_PLANT"))
}
