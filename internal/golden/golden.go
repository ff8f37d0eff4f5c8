// Package golden compares texts with files that the repository keeps: expected output, and documents
// made from the code. With the flag -update, a test writes the file first:
//
//	go test ./internal/spannames/generate -update
package golden

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// Compare fails the test if the file differs from got.
func Compare[T ~string | ~[]byte](t testing.TB, file string, got T) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, file), string(got)); diff != "" {
		t.Errorf("%s (-update writes it): %s", file, diff)
	}
}

// CompareLines compares the file with lines, and returns them as one text.
func CompareLines[S fmt.Stringer](t testing.TB, file string, lines []S) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line.String() + "\n")
	}
	Compare(t, file, b.String())
	return b.String()
}

// CompareSection compares got with the part of the file between the lines begin and end.
func CompareSection(t testing.TB, file, begin, end, got string) {
	t.Helper()
	before, rest, begins := strings.Cut(read(t, file), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has no lines %q and %q", file, begin, end)
	}
	Compare(t, file, before+begin+got+end+after)
}

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
