package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// blobFile returns where a journal stores a file.
func blobFile(j *bolt.Journal, data string) string {
	name := hashOf(data)
	return filepath.Join(j.Dir(), "blobs", name[:2], name[2:])
}

func hashOf(data string) string {
	h := sha256.Sum256([]byte(data))
	return hex.EncodeToString(h[:])
}

// talkAndLose fills a journal, and then removes one of its two files and damages the other. It
// returns a backup from before that.
func talkAndLose(t *testing.T, j *bolt.Journal) (whole []byte) {
	t.Helper()
	withHub(t, j, func(h *hub.Hub) { talk(t, h) })
	whole = backupOf(t, j)
	if err := os.Remove(blobFile(j, "one file")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blobFile(j, "another"), []byte("ANOTHER"), 0o600); err != nil {
		t.Fatal(err)
	}
	return whole
}

// TestBackupWithoutItsFiles: a missing or damaged file is logged by the hub and marked in the
// backup, which is complete otherwise.
func TestBackupWithoutItsFiles(t *testing.T) {
	t.Parallel()
	j := newBolt(t)
	talkAndLose(t, j)
	var log, file bytes.Buffer
	h, err := hub.Open(j, &hub.Options{RootToken: rootToken, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	trailer := must[archive.Trailer](t)(h.Backup(t.Context(), h.LocalPrincipal("admin", parley.ScopeAdmin), &file))
	for _, data := range []string{"one file", "another"} {
		if n := strings.Count(log.String(), "attachment="+hashOf(data)); n != 1 {
			t.Errorf("%q is told %d times in the log: %s", data, n, &log)
		}
	}
	r := must[archive.Report](t)(archive.Check(bytes.NewReader(file.Bytes()), nil))
	if r.Events != trailer.Records || r.Attachments != 0 || r.Missing != 2 || len(r.Lost) != 2 ||
		hex.EncodeToString(r.Lost[0][:]) != hashOf("one file") {
		t.Errorf("%+v", r)
	}
	if line := `{"attachment":"` + hashOf("another") + `","size":7,"missing":true}` + "\n"; bytes.Count(file.Bytes(), []byte(line)) != 1 {
		t.Errorf("the backup does not have %s", line)
	}
}

// TestImportOfMissingFiles: the events are taken, the files are counted, and an archive that has them brings them back. Where they are,
// an archive without them takes nothing away.
func TestImportOfMissingFiles(t *testing.T) {
	t.Parallel()
	from, to := newBolt(t), newBolt(t)
	whole := talkAndLose(t, from)
	events := int64(from.Last())
	lacking := backupOf(t, from)
	for i, step := range []struct {
		file []byte
		want archive.Imported
	}{
		{lacking, archive.Imported{Added: events, Conversations: 4, Missing: 2}},
		{exportOf(t, from), archive.Imported{Present: events - 3, Conversations: 3, Missing: 2}},
		{whole, archive.Imported{Present: events, Conversations: 4, Attachments: 2}},
		{lacking, archive.Imported{Present: events, Conversations: 4}},
	} {
		if done := importInto(t, to, step.file); done != step.want {
			t.Errorf("step %d: %+v, expected %+v", i, done, step.want)
		}
	}
	if done := importInto(t, from, lacking); done.Missing != 2 {
		t.Errorf("where one is damaged: %+v", done)
	}
	if done := importInto(t, from, whole); done != (archive.Imported{Present: events, Conversations: 4, Attachments: 2}) {
		t.Errorf("what heals: %+v", done)
	}
	sameLists(t, from, to)
	for _, j := range []journal.Journal{from, to} {
		if _, err := j.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		for _, data := range []string{"one file", "another"} {
			if got, err := j.GetBlob(sha256.Sum256([]byte(data))); err != nil || string(got) != data {
				t.Errorf("%q: %q, %v", data, got, err)
			}
		}
	}
}

// losing is a journal that fails to return one of its files.
type losing struct {
	journal.Journal
	hash journal.Hash
	err  error
}

func (l *losing) GetBlob(h journal.Hash) ([]byte, error) {
	if h == l.hash {
		return nil, l.err
	}
	return l.Journal.GetBlob(h)
}

// TestBackupFailsWithTheDisk: an error that does not mean that the file is lost ends the backup.
func TestBackupFailsWithTheDisk(t *testing.T) {
	t.Parallel()
	j := memory.New()
	defer j.Close()
	withHub(t, j, func(h *hub.Hub) { talk(t, h) })
	fault := errors.New("too many open files")
	var file bytes.Buffer
	_, err := archive.WriteBackup(t.Context(), &file, &losing{j, sha256.Sum256([]byte("another")), fault}, "test", nil)
	if !errors.Is(err, fault) || bytes.Contains(file.Bytes(), []byte("missing")) {
		t.Errorf("%v: %s", err, &file)
	}
}

// TestMissingIsSaidOnce: a file is in an archive, or marked as missing, once, before the event that
// first names it.
func TestMissingIsSaidOnce(t *testing.T) {
	t.Parallel()
	j := memory.New()
	defer j.Close()
	withHub(t, j, func(h *hub.Hub) { talk(t, h) })
	for name, file := range map[string][]byte{
		"there":   exportOf(t, j),
		"missing": exportOf(t, &losing{j, sha256.Sum256([]byte("one file")), journal.ErrNoBlob}),
	} {
		all := lines(file)
		var named []int
		for i, line := range all {
			if bytes.Contains(line, []byte(`"attachment_added","sha256":"`+hashOf("one file"))) {
				named = append(named, i)
			}
		}
		if len(named) != 2 {
			t.Fatalf("%d events name the file", len(named))
		}
		for _, line := range []string{`,"missing":true}`, `,"data":"b25lIGZpbGU="}`} {
			again := []byte(`{"attachment":"` + hashOf("one file") + `","size":8` + line + "\n")
			wrong(t, join(slices.Insert(slices.Clone(all), named[1], again)), name+" and then"+line)
		}
	}
}
