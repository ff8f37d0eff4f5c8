package models

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/anthropic"
	"github.com/parleyhub/parley/executors/llm/openai"
	"github.com/parleyhub/parley/executors/llm/replay"
	"github.com/parleyhub/parley/executors/llm/scripted"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// ScriptsDir is the directory of the scripts of scripted:NAME, below a directory of blueprints.
const ScriptsDir = "scripts"

// Options are for Open.
type Options struct {
	// File is the path of a models file, or empty. Blueprints is a directory of blueprints that may
	// have a directory of scripts.
	File, Blueprints string
	// Replay is the path of a cassette, or empty. Mode is its mode. With Look nothing is written: the
	// cassette is played back if it exists.
	Replay string
	Mode   replay.Mode
	Look   bool
	// Getenv reads the environment.
	Getenv func(string) string
	Logger *slog.Logger
}

// Open are the runtimes of a program.
type Open struct {
	Runtimes *llm.Runtimes
	// Missing maps the name of a runtime that is not available to the reason. Faults has the faults of
	// the scripts; a script with a fault makes the scripted runtime unavailable.
	Missing  map[string]string
	Faults   yamlfile.Findings
	cassette *replay.Cassette
	scripts  *scripted.Provider // nil if a cassette may answer instead
}

// A SettingError is an error in one setting: models or replay.
type SettingError struct {
	Setting string
	Err     error
}

func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the setting.
func (e *SettingError) Unwrap() error { return e.Err }

// New opens the runtimes. The error is a *SettingError.
func New(o *Options) (*Open, error) {
	file := &File{}
	if o.File != "" {
		var err error
		if file, err = Load(o.File); err != nil {
			return nil, &SettingError{"models", err}
		}
	}
	b := &building{Options: o, file: file, providers: map[string]llm.Provider{}, missing: map[string]string{},
		foreign: map[string]bool{}}
	if err := b.vendors(); err != nil {
		return nil, &SettingError{"models", err}
	}
	faults := b.scripts()
	cassette, err := b.wrap()
	if err != nil {
		return nil, &SettingError{"replay", errors.Join(err, b.close())}
	}
	var all []*llm.Runtime
	for _, name := range slices.Sorted(maps.Keys(b.providers)) {
		one := file.Runtimes[name]
		rows, err := one.over(builtIn(name, one.kind(name), one.API, b.foreign[name]))
		if err != nil {
			return nil, &SettingError{"models", errors.Join(err, b.close())}
		}
		all = append(all, llm.NewRuntime(b.providers[name], rows))
	}
	return &Open{Runtimes: llm.NewRuntimes(all...), Missing: b.missing, Faults: faults, cassette: cassette,
		scripts: b.answering}, nil
}

// Has returns an error if the script of a scripted model is missing. It returns nil for all other
// runtimes, and if a cassette may answer.
func (o *Open) Has(model string) error {
	runtime, name, _ := strings.Cut(model, ":")
	if runtime != kindScripted || o.scripts == nil {
		return nil
	}
	return o.scripts.Has(name)
}

// Wrap returns the function that records or plays back tools, for agent.Options. It is nil without
// a cassette.
func (o *Open) Wrap() func(tool.Tool) tool.Tool {
	if o.cassette == nil {
		return nil
	}
	return o.cassette.Tool
}

// Close closes the runtimes and the cassette.
func (o *Open) Close() error {
	err := o.Runtimes.Close()
	if o.cassette != nil {
		err = errors.Join(err, o.cassette.Close())
	}
	return err
}

// Explain adds the reason for a missing runtime to an error about an unknown runtime.
func (o *Open) Explain(err error, models ...string) error {
	if !errors.Is(err, llm.ErrUnknownRuntime) {
		return err
	}
	for _, model := range models {
		name, _, _ := strings.Cut(model, ":")
		if why := o.Missing[name]; why != "" {
			return fmt.Errorf("%w (%s: %s)", err, name, why)
		}
	}
	return err
}

// building collects the runtimes while New opens them.
type building struct {
	*Options
	file      *File
	providers map[string]llm.Provider
	missing   map[string]string
	foreign   map[string]bool // runtimes with the name of a vendor and another server
	secrets   []string
	answering *scripted.Provider // the scripts, if no cassette may answer instead
}

func (b *building) close() error {
	var errs []error
	for _, p := range b.providers {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// vendors creates the providers of openai, anthropic and the models file.
func (b *building) vendors() error {
	names := slices.Concat([]string{KindOpenAI, KindAnthropic}, slices.Collect(maps.Keys(b.file.Runtimes)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == kindScripted {
			continue
		}
		p, err := b.vendor(name)
		if err != nil {
			return errors.Join(fmt.Errorf("runtime %s: %w", name, err), b.close())
		}
		if p != nil {
			b.providers[name] = p
		}
	}
	return nil
}

// vendor creates one provider. It returns nil if the provider needs a key and has none.
func (b *building) vendor(name string) (llm.Provider, error) {
	r := b.file.Runtimes[name]
	variable, base := r.KeyEnv, r.BaseURL
	if own := strings.ToUpper(name); name == KindOpenAI || name == KindAnthropic {
		if variable == "" {
			variable = own + "_API_KEY"
		}
		if base == "" {
			base = strings.TrimSpace(b.Getenv(own + "_BASE_URL"))
		}
		b.foreign[name] = name == KindOpenAI && !openai.IsOwn(base)
	}
	key := ""
	if variable != "" {
		key = strings.TrimSpace(b.Getenv(variable))
	}
	if key == "" && (base == "" || r.KeyEnv != "") {
		b.missing[name] = variable + " is not set"
		return nil, nil
	}
	b.secrets = append(b.secrets, key)
	headers, query, unset := b.expand(r.Headers), b.expand(r.Query), b.unset(r.Headers, r.Query)
	if unset != "" {
		b.missing[name] = unset + " is not set"
		return nil, nil
	}
	if r.kind(name) == KindAnthropic {
		return anthropic.New(&anthropic.Options{Name: name, BaseURL: base, APIKey: key, Headers: headers, Query: query,
			ExtraBody: r.ExtraBody})
	}
	return openai.New(&openai.Options{Name: name, BaseURL: base, APIKey: key, API: r.API, Headers: headers, Query: query,
		ExtraBody: r.ExtraBody})
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces the variables in the values of headers or of a query. The values are secret.
func (b *building) expand(values map[string]string) map[string]string {
	out := maps.Clone(values)
	for name, value := range out {
		out[name] = variable.ReplaceAllStringFunc(value, func(m string) string {
			got := strings.TrimSpace(b.Getenv(m[2 : len(m)-1]))
			if len(got) >= leastSecret {
				b.secrets = append(b.secrets, got)
			}
			return got
		})
	}
	return out
}

// leastSecret is the shortest value of a variable that is hidden. Shorter ones occur in other text.
const leastSecret = 8

// unset returns a variable of the values that is not set, or nothing.
func (b *building) unset(all ...map[string]string) string {
	for _, values := range all {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			for _, m := range variable.FindAllStringSubmatch(values[name], -1) {
				if strings.TrimSpace(b.Getenv(m[1])) == "" {
					return m[1]
				}
			}
		}
	}
	return ""
}

// scripts creates the provider of the scripts, if there are scripts.
func (b *building) scripts() yamlfile.Findings {
	dir := filepath.Join(b.Blueprints, ScriptsDir)
	if info, err := os.Stat(dir); b.Blueprints == "" || err != nil || !info.IsDir() {
		b.missing[kindScripted] = "there is no directory " + ScriptsDir + " beside the blueprints"
		return nil
	}
	p, err := scripted.New(&scripted.Options{Dir: dir})
	if err == nil {
		b.providers[kindScripted], b.answering = p, p
		return nil
	}
	b.missing[kindScripted] = "its scripts have faults"
	var faults yamlfile.Findings
	if !errors.As(err, &faults) {
		faults = yamlfile.Findings{{File: dir, What: err.Error()}}
	}
	return faults
}

// wrap puts a cassette around all providers. In a mode that plays back, the cassette also answers
// for recorded runtimes that are not configured.
func (b *building) wrap() (*replay.Cassette, error) {
	mode := b.Mode
	if b.Look && mode != replay.Play {
		mode = replay.Play
		if _, err := os.Stat(b.Replay); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	if b.Replay == "" {
		return nil, nil
	}
	c, err := replay.Open(b.Replay, &replay.Options{Mode: mode, Secrets: b.secrets, Logger: b.Logger})
	if err != nil {
		return nil, err
	}
	if b.Mode != replay.Record && (b.Mode != replay.Auto || slices.Contains(c.Providers(), kindScripted)) {
		b.answering = nil
	}
	for name, p := range b.providers {
		b.providers[name] = c.Provider(p)
	}
	for _, name := range c.Providers() {
		if b.providers[name] == nil && b.Mode != replay.Record {
			b.providers[name] = c.Player(name)
			delete(b.missing, name)
		}
	}
	return c, nil
}
