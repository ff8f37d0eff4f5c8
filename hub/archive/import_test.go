package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestBackupAndBack: the import of a backup restores the log: its records, lists, files and tokens.
func TestBackupAndBack(t *testing.T) {
	t.Parallel()
	from, to := newBolt(t), newBolt(t)
	token := ""
	withHub(t, from, func(h *hub.Hub) { token = talk(t, h) })
	file := backupOf(t, from)
	report := must[archive.Report](t)(archive.Check(bytes.NewReader(file), nil))
	if report.Backup == nil || report.Backup.HubVersion != "test" || journal.Position(report.Events) != from.Last() ||
		report.Attachments != 2 || len(report.Conversations) != 4 {
		t.Fatalf("the backup is %+v", report)
	}
	done := importInto(t, to, file)
	if want := (archive.Imported{Added: report.Events, Conversations: 4, Attachments: 2}); done != want {
		t.Errorf("imported %+v, expected %+v", done, want)
	}
	journaltest.CheckInvariants(t, to)
	if !bytes.Equal(exportOf(t, from), exportOf(t, to)) {
		t.Error("the export of the copy is another")
	}
	sameLists(t, from, to)
	withHub(t, to, func(h *hub.Hub) {
		if _, err := h.Authenticate(t.Context(), token, ""); err != nil {
			t.Errorf("a token of the backup: %v", err)
		}
		got := must[*parley.GetAttachmentResult](t)(as(t, h, "ann").GetAttachment(t.Context(), &parley.GetAttachmentParams{
			ConversationID: "c2", SHA256: fmt.Sprintf("%x", must[journal.Hash](t)(from.PutBlob([]byte("another")))),
		}))
		if string(got.Data) != "another" {
			t.Errorf("the attachment is %q", got.Data)
		}
	})
}

// sameLists holds the lists of two journals against each other.
func sameLists(t *testing.T, from, to journal.Journal) {
	t.Helper()
	for _, id := range []string{"", eventdata.SeatLabel("ann"), eventdata.SeatLabel("bob"), eventdata.SeatLabel("carl"),
		eventdata.SeatLabel("hub")} {
		want, got := must[[]journal.Listed](t)(from.Labeled(id, 0, 100)), must[[]journal.Listed](t)(to.Labeled(id, 0, 100))
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("label %q: %v, expected %v", id, got, want)
		}
	}
	for at := journal.Position(0); ; at++ {
		want, got := must[[]journal.Record](t)(from.Scan(at, 1, 0)), must[[]journal.Record](t)(to.Scan(at, 1, 0))
		if len(want) == 0 && len(got) == 0 {
			return
		}
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Fatalf("position %d: %v, expected %v", at+1, got, want)
		}
	}
}

// TestBackupHasNoSecrets: hashes of tokens, no tokens.
func TestBackupHasNoSecrets(t *testing.T) {
	t.Parallel()
	j := newBolt(t)
	withHub(t, j, func(h *hub.Hub) { talk(t, h) })
	file := backupOf(t, j)
	if !bytes.Contains(file, []byte(`"tokenId"`)) {
		t.Fatal("the backup has no tokens at all")
	}
	if bytes.Contains(file, []byte("CANARY")) {
		t.Error("the backup has a secret")
	}
}

// TestImportExport: an export has the conversations in the order of their creation, and no reserved
// one.
func TestImportExport(t *testing.T) {
	t.Parallel()
	from, to := newBolt(t), newBolt(t)
	withHub(t, from, func(h *hub.Hub) { talk(t, h) })
	file := exportOf(t, from)
	importInto(t, to, file)
	journaltest.CheckInvariants(t, to)
	if !bytes.Equal(exportOf(t, to), file) {
		t.Error("the export of the copy is another")
	}
	if h := must[journal.Head](t)(to.Head("~tokens")); h.Seq != 0 {
		t.Error("an export brought tokens")
	}
}

// TestImportIsRepeatable: the same import again changes nothing, a longer archive continues the
// journal, and a shorter one is a part of it.
func TestImportIsRepeatable(t *testing.T) {
	t.Parallel()
	from, to := newBolt(t), newBolt(t)
	withHub(t, from, func(h *hub.Hub) { talk(t, h) })
	early := backupOf(t, from)
	withHub(t, from, func(h *hub.Hub) {
		must[*parley.SendResult](t)(as(t, h, "carl").SendMessage(t.Context(), &parley.SendMessageParams{
			ConversationID: "c1", Finality: parley.FinalityConversation, Payload: []byte(`{"text":"more"}`),
		}))
		must[*parley.CreateTokenResult](t)(as(t, h, "admin", parley.ScopeAdmin).CreateToken(t.Context(),
			&parley.CreateTokenParams{AgentID: "eve"}))
	})
	late := backupOf(t, from)
	n := int64(len(lines(early)) - 4) // without the first line, the last, and two files
	for i, step := range []struct {
		file           []byte
		added, present int64
	}{
		{early, n, 0}, {early, 0, n}, {late, 2, n}, {late, 0, n + 2}, {early, 0, n}, {exportOf(t, from), 0, n + 2 - 4},
	} {
		done := importInto(t, to, step.file)
		if done.Added != step.added || done.Present != step.present || done.Missing != 0 {
			t.Errorf("step %d: %+v, expected %+v", i, done, step)
		}
	}
	journaltest.CheckInvariants(t, to)
	sameLists(t, from, to)
}

// TestImportOfNothing: an export of a log without conversations is empty, and fine.
func TestImportOfNothing(t *testing.T) {
	t.Parallel()
	j := newBolt(t)
	if done := importInto(t, j, nil); done != (archive.Imported{}) {
		t.Errorf("%+v", done)
	}
	file := backupOf(t, j)
	if r, err := archive.Check(bytes.NewReader(file), nil); err != nil || r.Backup == nil || r.Events != 0 ||
		len(lines(file)) != 2 {
		t.Errorf("the backup of an empty log: %+v, %v", r, err)
	}
	importInto(t, j, file)
}

// TestImportRefusesForks: what the log has is never contradicted.
func TestImportRefusesForks(t *testing.T) {
	t.Parallel()
	other := strings.Replace(created, `"ann","kind":"human"`, `"ann","kind":"agent"`, 1)
	for name, c := range map[string]struct{ there, file []byte }{
		"another beginning":      {forge(t, "c", created), forge(t, "c", other)},
		"another last event":     {forge(t, "c", created, said(`{"text":"a"}`)), forge(t, "c", created, said(`{"text":"b"}`))},
		"another in the middle":  {forge(t, "c", other, said(`{"text":"a"}`)), forge(t, "c", created, said(`{"text":"a"}`))},
		"the log has more":       {forge(t, "c", other, said(`{"text":"a"}`)), forge(t, "c", created)},
		"the file has more":      {forge(t, "c", other), forge(t, "c", created, said(`{"text":"a"}`))},
		"after what others hold": {forge(t, "c", other), append(forge(t, "d", created), forge(t, "c", created)...)},
	} {
		t.Run(name, func(t *testing.T) {
			j := memory.New()
			defer j.Close()
			importInto(t, j, c.there)
			err := archive.CheckImport(t.Context(), bytes.NewReader(c.file), j, nil)
			if err == nil || !strings.Contains(err.Error(), `"c"`) || !strings.Contains(err.Error(), "other events") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestImportOfTokens: only from backups, and only as a continuation.
func TestImportOfTokens(t *testing.T) {
	t.Parallel()
	one, two := newBolt(t), newBolt(t)
	withHub(t, one, func(h *hub.Hub) { talk(t, h) })
	withHub(t, two, func(h *hub.Hub) { talk(t, h) })
	var export bytes.Buffer
	w := archive.NewWriter(&export, nil)
	for _, r := range must[[]journal.Record](t)(one.Read("~tokens", 0, 100, 1<<20)) {
		if err := w.Event(r.Conversation, r.Seq, r.Hash, r.Data); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := archive.Check(bytes.NewReader(export.Bytes()), nil); err != nil {
		t.Errorf("an export of tokens is no fault by itself: %v", err)
	}
	err := archive.CheckImport(t.Context(), bytes.NewReader(export.Bytes()), newBolt(t), nil)
	if err == nil || !strings.Contains(err.Error(), "from a backup only") {
		t.Errorf("tokens of an export: %v", err)
	}
	err = archive.CheckImport(t.Context(), bytes.NewReader(backupOf(t, one)), two, nil)
	if err == nil || !strings.Contains(err.Error(), "other events") {
		t.Errorf("tokens of another hub: %v", err)
	}
}

// TestImportGoesOn: an import that found no room is made again, and then all is there.
func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	from := newBolt(t)
	withHub(t, from, func(h *hub.Hub) { talk(t, h) })
	file := backupOf(t, from)
	for _, fault := range []error{journal.ErrStorageFull, journal.ErrOutcomeUnknown} {
		j := memory.New()
		j.FailNext(fault)
		done, err := archive.Import(t.Context(), bytes.NewReader(file), j, nil)
		if !errors.Is(err, fault) {
			t.Fatalf("%v, expected %v", err, fault)
		}
		if last := j.Last(); journal.Position(done.Added) != last {
			t.Errorf("it said %d events, and %d are there", done.Added, last)
		}
		j = j.Crash()
		defer j.Close()
		importInto(t, j, file)
		journaltest.CheckInvariants(t, j)
		got, want := lines(exportOf(t, j)), lines(exportOf(t, from))
		slices.SortFunc(got, bytes.Compare) // a batch without room may follow a later one
		slices.SortFunc(want, bytes.Compare)
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Error("the export of the copy is another")
		}
	}
}

// TestImportWithoutAttachments: files may be left out when that is said, and come later.
func TestImportWithoutAttachments(t *testing.T) {
	t.Parallel()
	from, to := newBolt(t), newBolt(t)
	withHub(t, from, func(h *hub.Hub) { talk(t, h) })
	whole := exportOf(t, from)
	var bare []byte
	for _, l := range lines(whole) {
		if !bytes.HasPrefix(l, []byte(`{"attachment"`)) {
			bare = append(bare, l...)
		}
	}
	bare = join([][]byte{bare})
	err := archive.CheckImport(t.Context(), bytes.NewReader(bare), to, nil)
	if !errors.Is(err, archive.ErrNoAttachment) {
		t.Fatalf("files are not there: %v", err)
	}
	o := &archive.CheckOptions{WithoutAttachments: true}
	if r, err := archive.Check(bytes.NewReader(bare), o); err != nil || r.Missing != 2 || r.Attachments != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	done := must[archive.Imported](t)(archive.Import(t.Context(), bytes.NewReader(bare), to, o))
	if done.Missing != 2 {
		t.Errorf("%+v", done)
	}
	if done := importInto(t, to, whole); done.Added != 0 || done.Missing != 0 || done.Attachments != 2 {
		t.Errorf("%+v", done)
	}
	if !bytes.Equal(exportOf(t, to), whole) {
		t.Error("the export of the copy is another")
	}
}
