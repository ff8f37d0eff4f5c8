package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// Options are those that the providers of all vendors have.
type Options struct {
	Name, BaseURL, APIKey string
	HTTPClient            *http.Client
}

// FromEnv reads the options of a vendor from PREFIX_API_KEY and PREFIX_BASE_URL. It returns nil where
// neither is set.
func FromEnv(getenv func(string) string, prefix string) *Options {
	o := Options{
		APIKey:  strings.TrimSpace(getenv(prefix + "_API_KEY")),
		BaseURL: strings.TrimSpace(getenv(prefix + "_BASE_URL")),
	}
	if o == (Options{}) {
		return nil
	}
	return &o
}

// Server is the server that a provider asks: its name, its address, the key for it, and the life of the provider.
type Server struct {
	Name, BaseURL string
	HTTP          *http.Client
	Faults
	*Life
}

// NewServer checks the options. The name and the address that they lack are those of the vendor.
func NewServer(o Options, vendor, base string, idHeaders ...string) (*Server, error) {
	s := &Server{Name: cmp.Or(o.Name, vendor), BaseURL: cmp.Or(o.BaseURL, base), HTTP: Client(o.HTTPClient)}
	key := strings.TrimSpace(o.APIKey)
	for _, err := range []error{CheckName(s.Name), CheckBase(s.BaseURL), CheckKey(key)} {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", vendor, err)
		}
	}
	s.Faults = Faults{Provider: s.Name, Key: key, IDHeaders: idHeaders}
	s.Life = NewLife(s.Faults)
	return s, nil
}

// Close ends all calls.
func (s *Server) Close() error {
	s.End()
	s.HTTP.CloseIdleConnections()
	return nil
}

// Headers makes the options of the headers of one call, each with the function of the vendor's library.
func Headers[Option any](f Faults, req *llm.Request, with func(name, value string) Option) ([]Option, error) {
	var all []Option
	for name, value := range map[string]string{"Idempotency-Key": req.IdempotencyKey, "X-Client-Request-Id": req.TraceID} {
		if !Printable(value) {
			return nil, f.Invalid(fmt.Sprintf(
				"what goes into the header %s has to be printable ASCII, 512 bytes at most", name))
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
		return f.Invalid(fmt.Sprintf("max_tokens_param: %q is no name of a parameter", name))
	}
	return nil
}
