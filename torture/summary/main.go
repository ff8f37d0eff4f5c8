// Command summary reads the output of go test, passes it on, and ends it with one line for each
// promise: how hard it was tried, and by which tests. It fails when a test has failed, a promise
// was broken, or one was neither tried nor left out.
//
//	go test -v ./torture/... | go run ./torture/summary [-record docs/concepts/guarantees.md]
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	record := flag.String("record", "",
		"a file in which the figures of this run take the place of those before, between its two marks")
	part := flag.Bool("part", false,
		"only some of the tests were run: a promise that none of them has tried is no failure")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *record, *part); err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
		os.Exit(1)
	}
}

// maxLine bounds a line of output.
const maxLine = 4 << 20

func run(in io.Reader, out io.Writer, record string, part bool) error {
	t := &table{}
	var failed []string
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := lines.Text()
		fmt.Fprintln(out, line)
		if isFailure(line) {
			failed = append(failed, strings.TrimSpace(line))
		}
		if err := t.take(line); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	t.print(out)
	for _, line := range failed {
		fmt.Fprintln(out, line)
	}
	if err := t.verdict(part); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d tests or packages have failed", len(failed))
	}
	if record == "" {
		return nil
	}
	return t.record(record)
}

// isFailure reports whether a line of go test says that a test, a package or the build has failed.
func isFailure(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "FAIL\t") ||
		strings.HasPrefix(line, "panic: ") || line == "FAIL"
}
