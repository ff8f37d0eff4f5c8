package a2a

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// version is one of the protocol that is spoken here.
type version string

const (
	version10 version = "1.0"
	version03 version = "0.3"
)

// requestedVersion is what a request says, in its header or, where it has none, its query; empty if it says nothing. Patch numbers do not count.
func requestedVersion(r *http.Request) (version, error) {
	said := strings.TrimSpace(r.Header.Get(a2a.SvcParamVersion))
	if said == "" {
		said = strings.TrimSpace(r.URL.Query().Get(a2a.SvcParamVersion))
	}
	if said == "" {
		return "", nil
	}
	parts := strings.Split(said, ".")
	if len(parts) == 3 && digits(parts[2]) {
		parts = parts[:2]
	}
	switch v := version(strings.Join(parts, ".")); v {
	case version10, version03:
		return v, nil
	}
	return "", a2a.NewError(a2a.ErrVersionNotSupported, fmt.Sprintf("A2A-Version %.20q is not supported: this agent speaks 1.0 and 0.3", said))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// unsaid is the version of a request that does not say it, but is clearly of one. By the word of the specification it would be 0.3.
func (f *front) unsaid(clearly version) (version, error) {
	if clearly == version10 && f.strict {
		return "", a2a.NewError(a2a.ErrVersionNotSupported, "a request without A2A-Version is of version 0.3, and this one is not: send A2A-Version: 1.0 (1.0 and 0.3 are supported)")
	}
	return clearly, nil
}

// The header by which 0.3 names extensions.
const legacyExtensions = "X-" + a2a.SvcParamExtensions

// supported are the extensions that are known here; only the last must be asked for.
var supported = []string{CursorExtension, AuthorExtension, TraceExtension}

// activated are the supported extensions that a request asks for.
func activated(r *http.Request) []string {
	var on []string
	for _, line := range append(r.Header.Values(a2a.SvcParamExtensions), r.Header.Values(legacyExtensions)...) {
		for uri := range strings.SplitSeq(line, ",") {
			uri = strings.TrimSpace(uri)
			if slices.Contains(supported, uri) && !slices.Contains(on, uri) {
				on = append(on, uri)
			}
		}
	}
	return on
}

// extensionsHeader is that of a version.
func extensionsHeader(v version) string {
	if v == version03 {
		return legacyExtensions
	}
	return a2a.SvcParamExtensions
}
