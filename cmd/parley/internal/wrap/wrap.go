// Package wrap has the command wrap, which writes a blueprint from a command line.
//
//	root.AddCommand(wrap.NewCommand(app))
package wrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/files"
	"github.com/parleyhub/parley/executors/blueprint"
)

type flags struct {
	name, out, description string
	force                  bool
}

// NewCommand returns the command wrap.
func NewCommand(a *cli.App) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "wrap --name NAME [flags] -- CMD [ARG...]",
		Short: "create a blueprint from a command line",
		Long: `wrap writes a blueprint that starts CMD with these words. It does not run it. Options such as
--depth 2, --depth=2 and --verbose become parameters with these values as their defaults. All other
words stay, -v too, since a parameter becomes --name=value, after the words that stay. stderr has a
line for each option. A word after an option counts as its value, so check it. Then add a
description to the file, and types, bounds and descriptions to its parameters.

  parley wrap --name crawl --out blueprints/crawl.json -- python3 crawl.py --depth 2
  parley run --blueprints blueprints`,
		Args: cobra.MinimumNArgs(1),
	}
	c.Flags().SetInterspersed(false) // flags behind CMD are the command's
	c.Flags().StringVar(&f.name, "name", "", "name of the agent (required)")
	c.Flags().StringVar(&f.out, "out", "", "FILE to write (default: stdout)")
	c.Flags().StringVar(&f.description, "description", "", "purpose of the agent, by which callers choose it")
	c.Flags().BoolVar(&f.force, "force", false, "replace FILE if it exists")
	return a.SetRun(c, func(_ context.Context, args []string) error { return run(a, &f, args) })
}

func run(a *cli.App, f *flags, words []string) error {
	if !parley.ValidParticipantID(f.name) {
		return exit.Usagef("--name %s: expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
			cli.Clean(f.name))
	}
	w, err := parseWords(words)
	if err != nil {
		return err
	}
	b := w.newBlueprint(f.name, f.description)
	if b.Cwd, err = workingDirectory(f.out); err != nil {
		return err
	}
	text, err := b.encode()
	if err != nil {
		return err
	}
	if err := checkBlueprint(a, f, text); err != nil {
		return err
	}
	if err := writeBlueprint(a, f, text); err != nil {
		return err
	}
	for _, o := range w.options {
		a.Err.Linef("-- %s is the parameter %s, default %s", cli.Clean(strings.Join(o.words, " ")), cli.Clean(o.name),
			cli.Clean(string(o.value())))
	}
	if w.reordered {
		a.Err.Line("-- parameters come behind all other words: see that the command takes its options there")
	}
	if f.out != "" {
		a.Err.Linef("-- %s is written; 'parley run --blueprints %s' runs it", cli.Clean(f.out),
			cli.Clean(cli.QuoteWord(filepath.Dir(f.out))))
	}
	return nil
}

// checkBlueprint holds what is to be written against the rules of blueprints. A program that is not
// here may be elsewhere.
func checkBlueprint(a *cli.App, f *flags, text []byte) error {
	name := f.out
	if name == "" {
		name = f.name + ".json"
	}
	_, faults := blueprint.Parse(name, text)
	for _, fault := range faults {
		if fault.Field == "argv" {
			a.Err.Line("-- " + cli.Clean(fault.What))
			continue
		}
		return exit.Usagef("that makes no blueprint: %s: %s", cli.Clean(fault.Field), cli.Clean(fault.What))
	}
	return nil
}

func writeBlueprint(a *cli.App, f *flags, text []byte) error {
	if f.out == "" {
		_, err := a.Out.Write(text)
		return err
	}
	if err := files.CheckReplaceable(f.out); err != nil {
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.out, flags, 0o644)
	if errors.Is(err, os.ErrExist) {
		return exit.WithHint(fmt.Errorf("%s is there already", f.out), "--force writes over it")
	}
	if err != nil {
		return err
	}
	_, err = io.Writer(file).Write(text)
	return errors.Join(err, file.Close())
}

// workingDirectory is where the command is to run: here, where its words were meant, unless the
// blueprint lies here too.
func workingDirectory(out string) (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if out == "" {
		return here, nil
	}
	there, err := filepath.Abs(filepath.Dir(out))
	if err != nil || there == here {
		return "", err
	}
	if back, err := filepath.Rel(there, here); err == nil {
		return back, nil
	}
	return here, nil
}

// commandLine is a command line, taken apart.
type commandLine struct {
	argv      []string
	options   []*option
	reordered bool // a word that stays came after one that became a parameter
}

// option is an option that becomes a parameter.
type option struct {
	name  string
	words []string // as they were
	texts []string // its values; none: it has none
}

var (
	longOption  = regexp.MustCompile(`^--([A-Za-z0-9][A-Za-z0-9_.-]*)(=((?s:.*)))?$`)
	placeholder = regexp.MustCompile(`^(--[A-Za-z0-9][A-Za-z0-9_.-]*=)?\{[A-Za-z_][A-Za-z0-9_-]*\}$`)
)

// parseWords takes a command line apart.
func parseWords(words []string) (*commandLine, error) {
	w := &commandLine{argv: words[:1:1]}
	for i := 1; i < len(words); i++ {
		word := words[i]
		if !utf8.ValidString(word) {
			return nil, exit.Usagef("CMD: %s is not UTF-8", cli.Clean(word))
		}
		if placeholder.MatchString(word) {
			return nil, exit.WithHint(exit.Usagef("CMD: %s is no option: nothing is put into the words of a blueprint",
				cli.Clean(word)),
				"write --name=VALUE with a value to begin with: it becomes a parameter")
		}
		m := longOption.FindStringSubmatch(word)
		switch {
		case word == "--": // no options follow
			w.keepWords(words[i:]...)
			return w, nil
		case m == nil:
			w.keepWords(word)
		case m[2] != "":
			w.addOption(m[1], &m[3], word)
		case i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") && !placeholder.MatchString(words[i+1]):
			w.addOption(m[1], &words[i+1], word, words[i+1])
			i++
		default:
			w.addOption(m[1], nil, word)
		}
	}
	return w, nil
}

// keepWords leaves words as they are.
func (w *commandLine) keepWords(words ...string) {
	w.argv = append(w.argv, words...)
	w.reordered = w.reordered || len(w.options) > 0
}

// addOption makes a parameter. One that is there again is a list.
func (w *commandLine) addOption(name string, text *string, words ...string) {
	var o *option
	for _, known := range w.options {
		if known.name == name {
			o = known
		}
	}
	if o == nil {
		o = &option{name: name}
		w.options = append(w.options, o)
	}
	o.words = append(o.words, words...)
	if text != nil {
		o.texts = append(o.texts, *text)
	}
}

// integer and decimal are numbers that JSON writes in the same way.
var (
	integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)\.[0-9]+$`)
)

// kind guesses the type of values.
func (o *option) kind() string {
	kind := "integer"
	for _, text := range o.texts {
		switch {
		case integer.MatchString(text):
		case decimal.MatchString(text):
			kind = "number"
		default:
			return "string"
		}
	}
	return kind
}

// value is the default.
func (o *option) value() json.RawMessage {
	if len(o.texts) == 0 {
		return json.RawMessage("true")
	}
	items := make([]json.RawMessage, len(o.texts))
	for i, text := range o.texts {
		items[i] = json.RawMessage(text)
		if o.kind() == "string" {
			items[i], _ = cli.EncodeJSON(text) // a string
		}
	}
	if len(items) == 1 {
		return items[0]
	}
	return cli.JoinJSON(items)
}

// schema describes the parameter.
func (o *option) schema() valueSchema {
	s := valueSchema{Type: o.kind(), Default: o.value()}
	switch {
	case len(o.texts) == 0:
		s.Type = "boolean"
	case len(o.texts) > 1:
		s.Items, s.Type = &valueSchema{Type: s.Type}, "array"
	}
	return s
}
