package logs

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// overtaken is a file between whose two readings something else happens.
type overtaken struct {
	*bytes.Reader
	meanwhile func()
}

func (o *overtaken) Seek(offset int64, whence int) (int64, error) {
	if o.meanwhile != nil {
		o.meanwhile()
		o.meanwhile = nil
	}
	return o.Reader.Seek(offset, whence)
}

// backupSaying returns a backup of a log with one message.
func backupSaying(t *testing.T, text string) []byte {
	t.Helper()
	j := memory.New()
	defer j.Close()
	h, err := hub.Open(j, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	client := h.Client(h.LocalPrincipal("ann"))
	defer client.Close()
	if _, err := client.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "c1", Title: text, Participants: []parley.Participant{{ID: "ann", Kind: parley.KindAgent}},
	}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := archive.WriteBackup(t.Context(), &b, j, "test", nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestImportOvertaken: of two imports into a missing directory, the second one is checked against
// the log of the first.
func TestImportOvertaken(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := func() {
		if _, err := importFile(t.Context(), bytes.NewReader(backupSaying(t, "one")), "one", dir, nil); err != nil {
			t.Fatal(err)
		}
	}
	var f io.ReadSeeker = &overtaken{bytes.NewReader(backupSaying(t, "another")), first}
	done, err := importFile(t.Context(), f, "another", dir, nil)
	if err == nil || !strings.Contains(err.Error(), "nothing was imported") {
		t.Errorf("%+v, %v: expected to be told of another log", done, err)
	}
}
