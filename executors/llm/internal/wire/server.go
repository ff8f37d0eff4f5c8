package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// Options are the common options of the providers.
type Options struct {
	Name, BaseURL, APIKey string
	HTTPClient            *http.Client
	Extras
}

// FromEnv reads the options of a vendor from PREFIX_API_KEY and PREFIX_BASE_URL. It returns nil if
// neither is set.
func FromEnv(getenv func(string) string, prefix string) *Options {
	o := Options{
		APIKey:  strings.TrimSpace(getenv(prefix + "_API_KEY")),
		BaseURL: strings.TrimSpace(getenv(prefix + "_BASE_URL")),
	}
	if o.APIKey == "" && o.BaseURL == "" {
		return nil
	}
	return &o
}

// Server is the server of a provider: its name, address and key, with the lifetime of the provider.
type Server struct {
	Name, BaseURL string
	HTTP          *http.Client
	Faults
	*Lifetime
}

// NewServer checks the options. vendor and base are the defaults of the name and the address.
func NewServer(o Options, vendor, base string, idHeaders ...string) (*Server, error) {
	s := &Server{Name: cmp.Or(o.Name, vendor), BaseURL: cmp.Or(o.BaseURL, base), HTTP: Client(o.HTTPClient)}
	key := strings.TrimSpace(o.APIKey)
	for _, err := range []error{CheckName(s.Name), CheckBase(s.BaseURL), CheckKey(key)} {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", vendor, err)
		}
	}
	s.Faults = Faults{Provider: s.Name, Key: key, Secrets: o.secrets(), IDHeaders: idHeaders}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", vendor, err)
	}
	s.HTTP.Transport = &extended{next: s.HTTP.Transport, extras: o.Extras}
	s.Lifetime = NewLifetime(s.Faults)
	return s, nil
}

// Close cancels all calls.
func (s *Server) Close() error {
	s.End()
	s.HTTP.CloseIdleConnections()
	return nil
}

// Headers returns the options for the headers of one call, each made by the given function of the
// SDK.
func Headers[Option any](f Faults, req *llm.Request, with func(name, value string) Option) ([]Option, error) {
	var all []Option
	for name, value := range map[string]string{"Idempotency-Key": req.IdempotencyKey, "X-Client-Request-Id": req.TraceID} {
		if !Printable(value) {
			return nil, f.Invalid(fmt.Sprintf(
				"invalid value of the header %s: expected at most 512 bytes of printable ASCII", name))
		}
		if value != "" {
			all = append(all, with(name, value))
		}
	}
	return all, nil
}

// CheckParameter returns an error for a max_tokens_param that is not the name of a parameter.
func (f Faults) CheckParameter(name string) error {
	if !IsParameter(name) {
		return f.Invalid(fmt.Sprintf("max_tokens_param: invalid name %q", name))
	}
	return nil
}
