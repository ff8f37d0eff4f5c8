package a2a

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// version is a supported version of the protocol.
type version string

const (
	version10 version = "1.0"
	version03 version = "0.3"
)

// requestedVersion returns the version in the header of a request or, without one, in its query. It
// returns "" if neither has one. Patch numbers are ignored.
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
	return "", a2a.NewError(a2a.ErrVersionNotSupported,
		fmt.Sprintf("A2A-Version %.20q is not supported (expected: 1.0 or 0.3)", said))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// defaultVersion returns the version of a request without A2A-Version that is clearly of one
// version. The specification says 0.3.
func (f *httpServer) defaultVersion(clearly version) (version, error) {
	if clearly == version10 && f.strict {
		return "", a2a.NewError(a2a.ErrVersionNotSupported, "a request without A2A-Version has version 0.3, but this one "+
			"does not: send A2A-Version: 1.0 (1.0 and 0.3 are supported)")
	}
	return clearly, nil
}

// The header with extensions in 0.3.
const legacyExtensions = "X-" + a2a.SvcParamExtensions

// supportedExtensions are the extensions of this package. Only the last one must be activated.
var supportedExtensions = []string{CursorExtension, AuthorExtension, TraceExtension}

// activatedExtensions returns the supported extensions that a request activates.
func activatedExtensions(r *http.Request) []string {
	var on []string
	for _, line := range append(r.Header.Values(a2a.SvcParamExtensions), r.Header.Values(legacyExtensions)...) {
		for uri := range strings.SplitSeq(line, ",") {
			uri = strings.TrimSpace(uri)
			if slices.Contains(supportedExtensions, uri) && !slices.Contains(on, uri) {
				on = append(on, uri)
			}
		}
	}
	return on
}

// extensionsHeader returns the header with extensions in a version.
func extensionsHeader(v version) string {
	if v == version03 {
		return legacyExtensions
	}
	return a2a.SvcParamExtensions
}
