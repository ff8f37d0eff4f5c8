package spelling_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/spelling"
)

func TestNearest(t *testing.T) {
	names := []string{"PARLEY_LISTEN", "PARLEY_DATA", "listen", "limits.streams"}
	for misspelt, want := range map[string]string{
		"PARLEY_LISTN": "PARLEY_LISTEN", "lisen": "listen", "limits.stream": "limits.streams", "Listen": "listen",
		"something": "", "": "", "x": "", strings.Repeat("listen", 100000): "",
	} {
		if got := spelling.Nearest(misspelt, names); got != want {
			t.Errorf("%.20q: %q, expected %q", misspelt, got, want)
		}
	}
}
