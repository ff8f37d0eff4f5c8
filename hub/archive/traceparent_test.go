package archive_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/archive"
)

// TestTraceparentInArchives: the traceparent of an event is imported, and an invalid one is refused
// with its line.
func TestTraceparentInArchives(t *testing.T) {
	t.Parallel()
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	in := func(event, traceparent string) string {
		return strings.TrimSuffix(event, "}") + `,"traceparent":"` + traceparent + `"}`
	}
	say := said(`{"text":"a"}`)
	if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "c", in(created, good), in(say, good))), nil, nil); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "x", strings.ToUpper(good), good + "0", "01" + good[2:], `\"`} {
		for line, events := range [][]string{{in(created, bad)}, {created, in(say, bad)}} {
			err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "c", events...)), nil, nil)
			if err == nil || !strings.HasPrefix(err.Error(), []string{"line 1: ", "line 2: "}[line]) {
				t.Errorf("traceparent %q at line %d: %v", bad, line+1, err)
			}
			if bad != "" && !strings.Contains(err.Error(), "traceparent") {
				t.Errorf("traceparent %q: %v", bad, err)
			}
		}
	}
}
