package main

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
	"github.com/parleyhub/parley/executors/blueprint"
)

type wrapFlags struct {
	name, out, description string
	force                  bool
}

func (a *app) wrapCommand() *cobra.Command {
	var f wrapFlags
	c := &cobra.Command{
		Use:   "wrap --name NAME [flags] -- CMD [ARG...]",
		Short: "write a blueprint from a command line, to begin with",
		Long: `wrap writes a blueprint that starts CMD with these words. It does not run it. Options such as --depth 2, --depth=2 and --verbose become parameters with these values
as their defaults; everything else stays as it is, -v too, since a parameter is given as --name=value, behind the words that stay. What became of the options is told on
stderr: a word behind an option is taken for its value, so look at it. Then give the file a description and its parameters the types, bounds and descriptions that they have.

  parley wrap --name crawl --out blueprints/crawl.json -- python3 crawl.py --depth 2
  parley run --blueprints blueprints`,
		Args: cobra.MinimumNArgs(1),
	}
	c.Flags().SetInterspersed(false) // flags behind CMD are the command's
	c.Flags().StringVar(&f.name, "name", "", "the name of the agent (required)")
	c.Flags().StringVar(&f.out, "out", "", "FILE to write (default: stdout)")
	c.Flags().StringVar(&f.description, "description", "", "what it does, for who chooses among agents")
	c.Flags().BoolVar(&f.force, "force", false, "write over FILE if it is there")
	return a.does(c, func(_ context.Context, args []string) error { return a.wrap(&f, args) })
}

func (a *app) wrap(f *wrapFlags, words []string) error {
	if !parley.ValidParticipantID(f.name) {
		return usagef("--name %s: expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit", clean(f.name))
	}
	w, err := wrapWords(words)
	if err != nil {
		return err
	}
	b := w.blueprint(f.name, f.description)
	if b.Cwd, err = wrapDirectory(f.out); err != nil {
		return err
	}
	text, err := b.encode()
	if err != nil {
		return err
	}
	if err := a.checkWrapped(f, text); err != nil {
		return err
	}
	if err := a.writeWrapped(f, text); err != nil {
		return err
	}
	for _, o := range w.options {
		a.err.linef("-- %s is the parameter %s, default %s", clean(strings.Join(o.words, " ")), clean(o.name), clean(string(o.value())))
	}
	if w.moved {
		a.err.line("-- parameters come behind all other words: see that the command takes its options there")
	}
	if f.out != "" {
		a.err.linef("-- %s is written; 'parley run --blueprints %s' runs it", clean(f.out), clean(shellWord(filepath.Dir(f.out))))
	}
	return nil
}

// checkWrapped holds what is to be written against the rules of blueprints. A program that is not here may be elsewhere.
func (a *app) checkWrapped(f *wrapFlags, text []byte) error {
	name := f.out
	if name == "" {
		name = f.name + ".json"
	}
	_, faults := blueprint.Parse(name, text)
	for _, fault := range faults {
		if fault.Field == "argv" {
			a.err.line("-- " + clean(fault.What))
			continue
		}
		return usagef("that makes no blueprint: %s: %s", clean(fault.Field), clean(fault.What))
	}
	return nil
}

func (a *app) writeWrapped(f *wrapFlags, text []byte) error {
	if f.out == "" {
		_, err := a.out.Write(text)
		return err
	}
	if err := mayReplace(f.out); err != nil {
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.out, flags, 0o644)
	if errors.Is(err, os.ErrExist) {
		return withHint(fmt.Errorf("%s is there already", f.out), "--force writes over it")
	}
	if err != nil {
		return err
	}
	_, err = io.Writer(file).Write(text)
	return errors.Join(err, file.Close())
}

// wrapDirectory is where the command is to run: here, where its words were meant, unless the blueprint lies here too.
func wrapDirectory(out string) (string, error) {
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

// wrapped is a command line, taken apart.
type wrapped struct {
	argv    []string
	options []*wrappedOption
	moved   bool // a word that stays came after one that became a parameter
}

// wrappedOption is an option that becomes a parameter.
type wrappedOption struct {
	name  string
	words []string // as they were
	texts []string // its values; none: it has none
}

var (
	longOption  = regexp.MustCompile(`^--([A-Za-z0-9][A-Za-z0-9_.-]*)(=((?s:.*)))?$`)
	placeholder = regexp.MustCompile(`^(--[A-Za-z0-9][A-Za-z0-9_.-]*=)?\{[A-Za-z_][A-Za-z0-9_-]*\}$`)
)

// wrapWords takes a command line apart.
func wrapWords(words []string) (*wrapped, error) {
	w := &wrapped{argv: words[:1:1]}
	for i := 1; i < len(words); i++ {
		word := words[i]
		if !utf8.ValidString(word) {
			return nil, usagef("CMD: %s is not UTF-8", clean(word))
		}
		if placeholder.MatchString(word) {
			return nil, withHint(usagef("CMD: %s is no option: nothing is put into the words of a blueprint", clean(word)),
				"write --name=VALUE with a value to begin with: it becomes a parameter")
		}
		m := longOption.FindStringSubmatch(word)
		switch {
		case word == "--": // what follows is none
			w.keep(words[i:]...)
			return w, nil
		case m == nil:
			w.keep(word)
		case m[2] != "":
			w.option(m[1], &m[3], word)
		case i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") && !placeholder.MatchString(words[i+1]):
			w.option(m[1], &words[i+1], word, words[i+1])
			i++
		default:
			w.option(m[1], nil, word)
		}
	}
	return w, nil
}

// keep leaves words as they are.
func (w *wrapped) keep(words ...string) {
	w.argv = append(w.argv, words...)
	w.moved = w.moved || len(w.options) > 0
}

// option makes a parameter. One that is there again is a list.
func (w *wrapped) option(name string, text *string, words ...string) {
	var o *wrappedOption
	for _, known := range w.options {
		if known.name == name {
			o = known
		}
	}
	if o == nil {
		o = &wrappedOption{name: name}
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
func (o *wrappedOption) kind() string {
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
func (o *wrappedOption) value() json.RawMessage {
	if len(o.texts) == 0 {
		return json.RawMessage("true")
	}
	items := make([]json.RawMessage, len(o.texts))
	for i, text := range o.texts {
		items[i] = json.RawMessage(text)
		if o.kind() == "string" {
			items[i], _ = encodePlain(text) // a string
		}
	}
	if len(items) == 1 {
		return items[0]
	}
	return listOf(items)
}

// schema describes the parameter.
func (o *wrappedOption) schema() wrappedSchema {
	s := wrappedSchema{Type: o.kind(), Default: o.value()}
	switch {
	case len(o.texts) == 0:
		s.Type = "boolean"
	case len(o.texts) > 1:
		s.Items, s.Type = &wrappedSchema{Type: s.Type}, "array"
	}
	return s
}
