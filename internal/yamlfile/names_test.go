package yamlfile_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/yamlfile"
)

func TestNearest(t *testing.T) {
	names := []string{"PARLEY_LISTEN", "PARLEY_DATA", "listen", "limits.streams"}
	for misspelt, want := range map[string]string{
		"PARLEY_LISTN": "PARLEY_LISTEN", "lisen": "listen", "limits.stream": "limits.streams", "Listen": "listen",
		"something": "", "": "", "x": "", strings.Repeat("listen", 100000): "",
	} {
		if got := yamlfile.Nearest(misspelt, names); got != want {
			t.Errorf("%.20q: %q, expected %q", misspelt, got, want)
		}
	}
}

func TestBrief(t *testing.T) {
	long := strings.Repeat("é", 65)
	for name, want := range map[string]string{"short": "short", long[:128]: long[:128], long: long[:128] + "..."} {
		if got := yamlfile.Brief(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}
