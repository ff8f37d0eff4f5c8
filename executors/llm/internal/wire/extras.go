package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Extras are added to each call. Their values are secret: no error has them.
type Extras struct {
	// Headers and Query replace equal ones of the call.
	Headers, Query map[string]string
	// ExtraBody has members that replace those of the request.
	ExtraBody map[string]json.RawMessage
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// check returns an error for a header or a member that cannot be sent. It does not have the value.
func (e *Extras) check() error {
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		if !headerName.MatchString(name) || !Printable(e.Headers[name]) {
			return fmt.Errorf("invalid header %q: expected a name, and at most 512 bytes of printable ASCII", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.ExtraBody)) {
		if !json.Valid(e.ExtraBody[name]) {
			return fmt.Errorf("invalid member %q of the body: expected JSON", name)
		}
	}
	return nil
}

// leastSecret is the shortest value that is hidden. Shorter values occur in other text.
const leastSecret = 8

// secrets returns the values that no error may have.
func (e *Extras) secrets() (all []string) {
	for _, values := range []map[string]string{e.Headers, e.Query} {
		for _, value := range values {
			_, token, _ := strings.Cut(value, " ") // such as Bearer TOKEN
			for _, secret := range []string{value, strings.TrimSpace(token)} {
				if len(secret) >= leastSecret {
					all = append(all, secret, url.QueryEscape(secret))
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// extended adds the extras to each call. It is below the SDKs, so that it works for all APIs.
type extended struct {
	next   http.RoundTripper
	extras Extras
}

func (x *extended) RoundTrip(req *http.Request) (*http.Response, error) {
	e := &x.extras
	if len(e.Headers)+len(e.Query)+len(e.ExtraBody) == 0 {
		return x.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	for name, value := range e.Headers {
		req.Header.Set(name, value)
	}
	if len(e.Query) > 0 {
		q := req.URL.Query()
		for name, value := range e.Query {
			q.Set(name, value)
		}
		req.URL.RawQuery = q.Encode()
	}
	if len(e.ExtraBody) > 0 && req.Body != nil {
		if err := e.extendBody(req); err != nil {
			return nil, err
		}
	}
	return x.next.RoundTrip(req)
}

// CloseIdleConnections implements http.Client.CloseIdleConnections.
func (x *extended) CloseIdleConnections() {
	if c, ok := x.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// extendBody replaces members of a JSON body.
func (e *Extras) extendBody(req *http.Request) error {
	defer req.Body.Close()
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	members := Members(raw)
	if members == nil {
		return fmt.Errorf("the request is not a JSON object")
	}
	maps.Copy(members, e.ExtraBody)
	if raw, err = json.Marshal(members); err != nil {
		return err
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return nil
}
