package mcptool

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/mcpentry"
)

// leastSecret is the shortest value that is hidden. Shorter values occur in other text.
const leastSecret = 4

// secrets has pairs of a value and its replacement. Longer values come first.
type secrets [][2]string

// expand replaces variables by their values, reads the env_file, and makes paths absolute.
func expand(s parley.MCPServer, o *Options) (parley.MCPServer, secrets, error) {
	e := &expander{getenv: o.Getenv, values: map[string]string{}}
	written := s.URL
	s = s.MapTexts(e.expand)
	if e.err != nil {
		return s, nil, e.err
	}
	if u, err := url.Parse(s.URL); s.URL != "" &&
		(err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return s, nil, fmt.Errorf(
			"url is %s, which is not a valid address after expansion: expected https:// or http://, and a host", written)
	}
	if s.EnvFile != "" {
		if err := e.readEnvFile(&s, pathIn(o.Dir, s.EnvFile)); err != nil {
			return s, nil, err
		}
	}
	if s.Cwd != "" {
		s.Cwd = pathIn(o.Dir, s.Cwd)
	}
	return s, e.secrets(), nil
}

// pathIn returns a path that is relative to a directory.
func pathIn(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

type expander struct {
	getenv func(string) string
	values map[string]string // by name
	err    error             // the first
}

func (e *expander) expand(path, text string) string {
	if unknown := mcpentry.Unknown(text); unknown != "" && e.err == nil {
		e.err = fmt.Errorf("%w: %s: %.100q: expected ${NAME}, ${env:NAME} or ${NAME:-default}", ErrUnknownVariable, path,
			unknown)
	}
	return mcpentry.Expand(text, func(v mcpentry.Variable) string {
		value := e.getenv(v.Name)
		if value == "" && v.HasDefault {
			return v.Default
		}
		if value == "" && e.err == nil {
			e.err = fmt.Errorf("%w: %s: ${%s} is not set", ErrUnknownVariable, path, v.Name)
		}
		e.values[v.Name] = value
		return value
	})
}

// maxEnvFile limits an env_file.
const maxEnvFile = 1 << 20

// readEnvFile adds the variables of a file to the entry. Those of the entry itself remain.
func (e *expander) readEnvFile(s *parley.MCPServer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("env_file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	if err != nil {
		return fmt.Errorf("env_file: %w", err)
	}
	if len(text) > maxEnvFile {
		return fmt.Errorf("env_file: %s has more than %d bytes", path, maxEnvFile)
	}
	env := mcpentry.ParseEnvFile(string(text))
	for name, value := range env {
		e.values[name] = value
	}
	maps.Copy(env, s.Env)
	s.Env = env
	return nil
}

func (e *expander) secrets() (all secrets) {
	for name, value := range e.values {
		if len(value) < leastSecret {
			continue
		}
		for _, spelled := range []string{value, url.QueryEscape(value), url.PathEscape(value)} {
			all = append(all, [2]string{spelled, "${" + name + "}"})
		}
	}
	slices.SortFunc(
		all, func(a, b [2]string) int { return cmp.Or(cmp.Compare(len(b[0]), len(a[0])), cmp.Compare(a[0], b[0])) })
	return all
}

func (s secrets) text(text string) string {
	for _, pair := range s {
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

// hidden is an error with all values of variables removed from its text.
type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }

func (h *hidden) Unwrap() error { return h.err }

func (s secrets) hide(err error) error {
	if err == nil || len(s) == 0 {
		return err
	}
	return &hidden{s.text(err.Error()), err}
}
