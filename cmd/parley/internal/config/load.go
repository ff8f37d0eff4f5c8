package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
)

// Sources are the places of settings. The zero value returns the defaults.
type Sources struct {
	// File is the path of the configuration file; empty means none.
	File string
	// Env looks up a variable, like os.LookupEnv; nil means none.
	Env func(name string) (string, bool)
	// Flags are those of the command; nil means none.
	Flags *Flags
	// DataDir is the default of data.
	DataDir string
}

// Loaded is a configuration with valid values. Check reports contradictions.
type Loaded struct {
	Config
	file    string
	origins map[string]Origin
}

// Load merges the settings of all sources. The error is Faults with all faults, or that of a file
// that cannot be read.
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
	for _, from := range []map[string]given{byFile, fromEnv(src.lookup), src.Flags.given()} { // lowest precedence first
		faults = append(faults, l.take(from)...)
	}
	if len(faults) > 0 {
		faults.sort()
		return nil, faults
	}
	return l, nil
}

// lookup looks up a variable.
func (s *Sources) lookup(name string) (string, bool) {
	if s.Env == nil {
		return "", false
	}
	return s.Env(name)
}

// unreadable removes the operation from an error of the system, such as "open parley.yaml: no such
// file".
func unreadable(err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return &fs.PathError{Op: "read the configuration", Path: at.Path, Err: at.Err}
	}
	return err
}

// take sets the values of one place, and overwrites others.
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

// fromEnv returns the values of the environment. An empty variable is refused as a value, because
// it may have been meant to enable something.
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

// Origin returns the place of the value of a setting.
func (l *Loaded) Origin(name string) Origin {
	if o, ok := l.origins[name]; ok {
		return o
	}
	return Origin{Where: FromDefault}
}

// Given reports whether a setting is set.
func (l *Loaded) Given(name string) bool { return l.Origin(name).Where != FromDefault }

// ServesConsole reports whether the console is served. The default is true with serve --dev.
func (l *Loaded) ServesConsole(dev bool) bool {
	if l.Given("console") {
		return l.Console
	}
	return dev
}

// Origins returns the places of all settings that are set, by name.
func (l *Loaded) Origins() map[string]Origin { return maps.Clone(l.origins) }

// UnknownEnv returns the variables that begin with PARLEY_ and belong to no setting and are not in
// also. environ is that of os.Environ.
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

// EnvNames returns the variables of all settings and EnvFile.
func EnvNames() []string {
	names := []string{EnvFile}
	for _, s := range Settings {
		names = append(names, s.Env)
	}
	return names
}

// EnvFile is the variable with the configuration file.
const EnvFile = "PARLEY_CONFIG"

// FileName returns the file of a flag, otherwise that of the environment, or "".
func FileName(flag string) string {
	if flag != "" {
		return flag
	}
	return os.Getenv(EnvFile)
}
