package rpc_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/methods"
)

// lossy is a journal that has lost one file.
type lossy struct {
	journal.Journal
	lost journal.Hash
}

func (j lossy) GetBlob(h journal.Hash) ([]byte, error) {
	if h == j.lost {
		return nil, journal.ErrNoBlob
	}
	return j.Journal.GetBlob(h)
}

// TestSchemasOfLinesAreTrue: the schema of its kind accepts each line of a backup and of an export,
// and the schemas of other kinds do not.
func TestSchemasOfLinesAreTrue(t *testing.T) {
	w := newWorld(t, nil)
	alice := w.as("alice")
	alice.create(twoAgents)
	alice.must(methods.PutAttachment, `{"conversationId":"case","data":"QUJD","name":"kept.txt"}`)
	alice.must(methods.PutAttachment, `{"conversationId":"case","data":"REVG","name":"lost.txt"}`)
	alice.must(methods.SendTrace, `{"conversationId":"case","payload":{"kind":"thought"}}`)
	alice.say("hello")
	alice.token(`{"agentId":"bob"}`)

	j := lossy{w.journal, sha256.Sum256([]byte("DEF"))}
	var backup bytes.Buffer
	if _, err := archive.WriteBackup(t.Context(), &backup, j, "test", nil); err != nil {
		t.Fatal(err)
	}
	kinds := []string{"backup.header", "export.event", "export.attachment", "export.missing", "backup.trailer"}
	holdLines(t, backup.String(), "backup.line", kinds)
	holdLines(t, exportOf(t, j), "export.line", kinds[1:4])
}

// exportOf returns an export of the conversation case.
func exportOf(t *testing.T, j journal.Journal) string {
	t.Helper()
	records, err := j.Read("case", 0, 100, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	export := archive.NewWriter(&out, archive.FromJournal(j))
	for _, r := range records {
		if err := export.Event(r.Conversation, r.Seq, r.Hash, r.Data); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func holdLines(t *testing.T, file, any string, kinds []string) {
	t.Helper()
	schemas, seen := published{t: t, change: closed}, map[string]bool{}
	for line := range strings.Lines(file) {
		if err := schemas.check(any, []byte(line)); err != nil {
			t.Errorf("%s: %#v\n%s", any, err, line)
		}
		taken := slices.DeleteFunc(slices.Clone(kinds),
			func(kind string) bool { return schemas.check(kind, []byte(line)) != nil })
		if len(taken) != 1 {
			t.Errorf("of %v the line is %v: %s", kinds, taken, line)
			continue
		}
		seen[taken[0]] = true
		withoutOne(t, &schemas, taken[0], line)
	}
	if len(seen) != len(kinds) {
		t.Errorf("%s: only %v of %v were shown", any, seen, kinds)
	}
}

// withoutOne: no member of a line may be missing, or be of another type.
func withoutOne(t *testing.T, schemas *published, kind, line string) {
	t.Helper()
	members := decodeJSON(t, []byte(line)).(map[string]any)
	for name, value := range members {
		for _, other := range []any{nil, -1, "x"} {
			members[name] = other
			if other == nil {
				delete(members, name)
			}
			text, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			free := other == "x" && (name == "conversationId" || name == "hubVersion")
			if !free && schemas.check(kind, text) == nil {
				t.Errorf("%s takes %s", kind, text)
			}
		}
		members[name] = value
	}
}
