package archive_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestKeptConversations: what an adapter keeps goes into a backup and comes out of it; an export of it is not taken, nor words in it.
func TestKeptConversations(t *testing.T) {
	t.Parallel()
	const id = "~a2a.1"
	note := `{"seq":2,"type":"system","from":"ann","at":"2026-11-20T09:00:01.000Z","payload":{"kind":"note","schema":"a.v1","data":{}}}`
	with := func(event string) journal.Journal {
		j := memory.New()
		t.Cleanup(func() { _ = j.Close() })
		for i, e := range []string{created, event} {
			if _, err := journal.Append(t.Context(), j, journal.Batch{Conversation: id, After: int64(i),
				Events: [][]byte{[]byte(e)}}); err != nil {
				t.Fatal(err)
			}
		}
		return j
	}
	to := memory.New()
	defer to.Close()
	if n := importInto(t, to, backupOf(t, with(note))); n.Added != 2 {
		t.Fatalf("%+v", n)
	}
	if h := must[journal.Head](t)(to.Head(id)); h.Seq != 2 {
		t.Fatalf("%+v", h)
	}
	err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, id, created, note)), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "from a backup only") {
		t.Errorf("an export: %v", err)
	}
	for _, event := range []string{said(`{"text":"a"}`), strings.Replace(note, `"from":"ann"`, `"from":"hub"`, 1)} {
		err := archive.CheckImport(t.Context(), bytes.NewReader(backupOf(t, with(event))), nil, nil)
		if err == nil || !strings.Contains(err.Error(), "no hub would take it") {
			t.Errorf("%s: %v", event, err)
		}
	}
}
