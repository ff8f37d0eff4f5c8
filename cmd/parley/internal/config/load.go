package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
)

// Sources are where settings may be given. The zero value gives the defaults.
type Sources struct {
	// File is the path of the configuration file; empty: none.
	File string
	// Env looks a variable up, as os.LookupEnv does; nil: there are none.
	Env func(name string) (string, bool)
	// Flags are those of the command; nil: none.
	Flags *Flags
	// DataDir is the default of data.
	DataDir string
}

// Loaded is a configuration whose values are each acceptable. Check tells whether they go together.
type Loaded struct {
	Config
	file    string
	origins map[string]Origin
}

// Load puts the settings of all sources together. The error is Faults, all of them, or that of a file that cannot be read.
func Load(src Sources) (*Loaded, error) {
	l := &Loaded{Config: defaults, file: src.File, origins: map[string]Origin{}}
	l.Data = src.DataDir
	var faults Faults
	byFile := map[string]given{}
	if src.File != "" {
		var err error
		if byFile, faults, err = readFile(src.File); err != nil {
			return nil, unreadable(err)
		}
	}
	if name, ok := src.lookup(EnvFile); ok && name == "" && src.File == "" {
		faults = append(faults, Fault{Origin: Origin{Where: FromEnv, Name: EnvFile}, What: "expected a path"})
	}
	for _, from := range []map[string]given{byFile, fromEnv(src.lookup), src.Flags.given()} { // the weakest first
		faults = append(faults, l.take(from)...)
	}
	if len(faults) > 0 {
		faults.sort()
		return nil, faults
	}
	return l, nil
}

// lookup looks a variable up.
func (s *Sources) lookup(name string) (string, bool) {
	if s.Env == nil {
		return "", false
	}
	return s.Env(name)
}

// unreadable drops the operation from an error of the system: "open parley.yaml: no such file" says no more than without.
func unreadable(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return &fs.PathError{Op: "read the configuration", Path: at.Path, Err: at.Err}
	}
	return err
}

// take sets what one place says, over what is set already.
func (l *Loaded) take(from map[string]given) (faults Faults) {
	for _, s := range Settings {
		g, ok := from[s.Name]
		if !ok {
			continue
		}
		if err := s.set(&l.Config, g.texts); err != nil {
			faults = append(faults, Fault{Origin: g.origin, What: err.Error()})
		}
		l.origins[s.Name] = g.origin
	}
	return faults
}

// fromEnv gives what the environment says. A variable that is there and empty is not left out: it is refused as a value, since it may be
// one that should have switched something on.
func fromEnv(lookup func(string) (string, bool)) map[string]given {
	found := map[string]given{}
	for _, s := range Settings {
		text, ok := lookup(s.Env)
		if !ok {
			continue
		}
		texts := []string{text}
		if s.list() {
			texts = listed(text)
		}
		found[s.Name] = given{texts, Origin{Where: FromEnv, Name: s.Env}}
	}
	return found
}

// Origin tells from where a setting has its value.
func (l *Loaded) Origin(name string) Origin {
	if o, ok := l.origins[name]; ok {
		return o
	}
	return Origin{Where: FromDefault}
}

// Given tells whether anybody has set it.
func (l *Loaded) Given(name string) bool { return l.Origin(name).Where != FromDefault }

// ServesConsole tells whether there is a console: where nobody has said so, with serve --dev.
func (l *Loaded) ServesConsole(dev bool) bool {
	if l.Given("console") {
		return l.Console
	}
	return dev
}

// Origins gives the places of all settings that somebody has set, by their names.
func (l *Loaded) Origins() map[string]Origin { return maps.Clone(l.origins) }

// UnknownEnv gives the names of variables that begin with PARLEY_ and are neither a setting's nor among also; environ is as of os.Environ.
func UnknownEnv(environ []string, also ...string) []string {
	known := map[string]bool{}
	for _, name := range append(EnvNames(), also...) {
		known[name] = true
	}
	var unknown []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "PARLEY_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// EnvNames are the variables of all settings, and that of the file.
func EnvNames() []string {
	names := []string{EnvFile}
	for _, s := range Settings {
		names = append(names, s.Env)
	}
	return names
}

// EnvFile names the configuration file in the environment.
const EnvFile = "PARLEY_CONFIG"

// FileName is the file that a flag names, else the environment; empty: none.
func FileName(flag string) string {
	if flag != "" {
		return flag
	}
	return os.Getenv(EnvFile)
}
