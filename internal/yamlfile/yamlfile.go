// Package yamlfile reads files that people write in YAML or JSON, and reports faults with their
// positions. [Parse] returns the root node of one document; the caller interprets it.
//
// Text must be UTF-8 without control characters, with at most [MaxBytes] and one document. The
// caller must refuse anchors and aliases with [Itself], so that each value is where it is read.
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

// MaxBytes limits a file.
const MaxBytes = 1 << 20

// Fault is one fault of a file. It never quotes a value, which could be a secret.
type Fault struct {
	// Line and Column start at 1.
	Line, Column int
	// What describes the expected value.
	What string
}

func fault(line, column int, format string, args ...any) Fault {
	return Fault{max(line, 1), max(column, 1), fmt.Sprintf(format, args...)}
}

// At returns a fault at the position of a node.
func At(n *yaml.Node, format string, args ...any) Fault {
	return fault(n.Line, n.Column, format, args...)
}

// Read returns the text of a file, or slightly more than MaxBytes of it, which Parse refuses.
// Errors are those of the system.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f)
}

// ReadFrom is Read for an open reader.
func ReadFrom(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, MaxBytes+1)) }

// Parse returns the root of the only document, or nil if the text is empty or null. If text follows
// a valid document, it returns the root and the fault.
func Parse(text []byte) (*yaml.Node, []Fault) {
	if f, ok := unreadable(text); ok {
		return nil, []Fault{f}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		panic(err) // the options are constants
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

// unreadable returns the fault of text that is not valid. The YAML parser does not return its
// position.
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

// broken returns the fault of text that is not YAML.
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

// quoted matches text of the file in errors of the parser, such as the name of an anchor.
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
