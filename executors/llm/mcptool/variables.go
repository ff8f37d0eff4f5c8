package mcptool

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
)

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// leastSecret is the shortest value that is hidden. Shorter values occur in other text.
const leastSecret = 4

// secrets has pairs of a value and its replacement. Longer values come first.
type secrets [][2]string

// expand replaces variables by their values.
func expand(s parley.MCPServer, getenv func(string) string) (parley.MCPServer, secrets, error) {
	e := &expander{getenv: getenv, values: map[string]string{}}
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = e.expand("args", s.Args[i])
	}
	s.Env, s.Headers = maps.Clone(s.Env), maps.Clone(s.Headers)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		s.Env[name] = e.expand("env."+name, s.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		s.Headers[name] = e.expand("headers."+name, s.Headers[name])
	}
	written := s.URL
	s.URL = e.expand("url", s.URL)
	if e.err != nil {
		return s, nil, e.err
	}
	if u, err := url.Parse(s.URL); s.URL != "" &&
		(err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return s, nil, fmt.Errorf(
			"url is %s, which is not a valid address after expansion: expected https:// or http://, and a host", written)
	}
	return s, e.secrets(), nil
}

type expander struct {
	getenv func(string) string
	values map[string]string // by name
	err    error             // the first
}

func (e *expander) expand(where, s string) string {
	return variable.ReplaceAllStringFunc(s, func(m string) string {
		name := m[2 : len(m)-1]
		value := e.getenv(name)
		if value == "" && e.err == nil {
			e.err = fmt.Errorf("%w: %s: ${%s} is not set", ErrUnknownVariable, where, name)
		}
		e.values[name] = value
		return value
	})
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
