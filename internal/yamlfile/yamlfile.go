// Package yamlfile reads a file that people write in YAML, or JSON, and tells where in it something is wrong.
//
// It gives the nodes of one document; what they mean is for the caller. Taken is UTF-8 without control characters, at most [MaxBytes], one
// document. Whatever stands for something else (anchors, aliases) is for the caller to refuse with [Itself], so that each value stands where it is read.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
)

// MaxBytes bounds a file.
const MaxBytes = 1 << 20

// Fault is one thing that is wrong with a file. It never quotes a value: somebody may have pasted a secret.
type Fault struct {
	// Line and Column are from 1.
	Line, Column int
	// What says what was expected.
	What string
}

func fault(line, column int, format string, args ...any) Fault {
	return Fault{max(line, 1), max(column, 1), fmt.Sprintf(format, args...)}
}

// At is a fault at the place of a node.
func At(n *yaml.Node, format string, args ...any) Fault {
	return fault(n.Line, n.Column, format, args...)
}

// Read gives the text of a file, or somewhat more than MaxBytes of it: Parse refuses that. The error is that of the system.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f)
}

// ReadFrom is Read of what is open already.
func ReadFrom(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, MaxBytes+1)) }

// Parse gives the root of the one document of a text; nil where it is empty, or null. Where the text goes on after a document that could be read, both
// are given: its root, and the fault.
func Parse(text []byte) (*yaml.Node, []Fault) {
	if f, ok := unreadable(text); ok {
		return nil, []Fault{f}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		panic(err) // the options are part of the program
	}
	var first, second yaml.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, []Fault{broken(err)}
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return root(&first), []Fault{At(&second, "expected one document")}
	case !errors.Is(err, io.EOF):
		return root(&first), []Fault{broken(err)}
	}
	return root(&first), nil
}

// unreadable tells of what is no text; the parser of YAML does not say where.
func unreadable(text []byte) (Fault, bool) {
	if len(text) > MaxBytes {
		return fault(1, 1, "expected a file of at most %d bytes", MaxBytes), true
	}
	line, column := 1, 1
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		if c == utf8.RuneError && size == 1 || c < ' ' && !strings.ContainsRune("\t\r\n", c) {
			return fault(line, column, "expected UTF-8 without control characters"), true
		}
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
		text = text[size:]
	}
	return Fault{}, false
}

// broken tells of text that is not YAML.
func broken(err error) Fault {
	if at := (*yaml.LoadError)(nil); errors.As(err, &at) {
		since := ""
		if line := at.ContextMark.Line; line > 0 && line < at.Mark.Line {
			since = fmt.Sprintf(" for what began on line %d", line)
		}
		return fault(at.Mark.Line, at.Mark.Column, "not YAML: %s%s", quoted.ReplaceAllLiteralString(at.Message, ""), since)
	}
	return fault(1, 1, "not YAML: %s", quoted.ReplaceAllLiteralString(err.Error(), ""))
}

// quoted is what the parser repeats of the file, such as the name of an anchor.
var quoted = regexp.MustCompile(` ?'.*'`)

func root(document *yaml.Node) *yaml.Node {
	n := document
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil
		}
		n = n.Content[0]
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return nil
	}
	return n
}
