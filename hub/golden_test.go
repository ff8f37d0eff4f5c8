package hub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// TestExplainGolden puts the golden logs of package fold into a journal. Explain at each seq
// returns the stored results.
func TestExplainGolden(t *testing.T) {
	files, err := filepath.Glob("fold/testdata/*.jsonl")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d logs, %v", len(files), err)
	}
	j := newJournal(t)
	golden := make(map[string]string)
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		b := journal.Batch{Conversation: id, Final: bytes.Contains(read(t, file), []byte(`"finality":"conversation"`))}
		for line := range bytes.Lines(read(t, file)) {
			b.Events = append(b.Events, bytes.TrimSuffix(line, []byte("\n")))
		}
		if _, err := journal.Append(t.Context(), j, b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(read(t, strings.TrimSuffix(file, ".jsonl")+".golden"))) {
			if !strings.Contains(line, " ~nobody ") {
				golden[id] += line
			}
		}
	}
	// The clock of this hub is past all their times: it closes those that are open and have limits, behind what is looked at.
	h := startOn(t, j, nil)
	maker := h.LocalPrincipal("maker")
	for id, want := range golden {
		last, _, _ := strings.Cut(want[strings.LastIndexByte(strings.TrimSuffix(want, "\n"), '\n')+1:], " ")
		var got strings.Builder
		for seq := int64(1); ; seq++ {
			r, err := h.Explain(t.Context(), maker, &parley.ExplainParams{ConversationID: id, Seq: seq})
			if err != nil || r.Seq != seq {
				t.Fatalf("%s at %d: %+v, %v", id, seq, r, err)
			}
			slices.SortFunc(r.Guidance, func(a, b parley.ParticipantGuidance) int {
				return strings.Compare(a.ParticipantID, b.ParticipantID)
			})
			for _, g := range r.Guidance {
				raw, err := json.Marshal(g.Guidance)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "%d %s %s\n", seq, g.ParticipantID, raw)
			}
			if fmt.Sprint(seq) == last {
				break
			}
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("%s (-golden +explain):\n%s", id, diff)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
