package yamlfile_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/yamlfile"
)

func TestBrief(t *testing.T) {
	long := strings.Repeat("é", 65)
	for name, want := range map[string]string{"short": "short", long[:128]: long[:128], long: long[:128] + "..."} {
		if got := yamlfile.Brief(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}
