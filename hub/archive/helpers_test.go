package archive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

const rootToken = "plt_root_CANARYROOT"

// openBolt opens a journal that is closed at the end of the test.
func openBolt(t testing.TB, dir string) *bolt.Journal {
	t.Helper()
	j, err := bolt.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func newBolt(t testing.TB) *bolt.Journal {
	t.Helper()
	return openBolt(t, filepath.Join(t.TempDir(), "data"))
}

// withHub runs a hub on j for as long as use takes.
func withHub(t testing.TB, j journal.Journal, use func(h *hub.Hub)) {
	t.Helper()
	n := 0
	h, err := hub.Open(j, &hub.Options{RootToken: rootToken, NewSecret: func() string {
		n++
		return fmt.Sprintf("CANARYSECRET%d", n)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	use(h)
}

// as returns a client inside the hub's process.
func as(t testing.TB, h *hub.Hub, id string, scopes ...parley.Scope) parley.Client {
	t.Helper()
	c := h.Client(h.LocalPrincipal(id, scopes...))
	t.Cleanup(func() { c.Close() })
	return c
}

func must[R any](t testing.TB) func(R, error) R {
	return func(r R, err error) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// talk fills a hub with all kinds of records: open and closed conversations, private texts, traces,
// notes, a participant that was added later, attachments and tokens. It returns a token.
func talk(t testing.TB, h *hub.Hub) (token string) {
	t.Helper()
	ann, bob, admin := as(t, h, "ann"), as(t, h, "bob"), as(t, h, "admin", parley.ScopeAdmin)
	for _, id := range []string{"c1", "c2", "c3"} {
		must[*parley.Snapshot](t)(ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
			ConversationID: id, Title: "a title of " + id, Metadata: json.RawMessage(`{"k":[1.0,"<&>"]}`),
			Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman},
				{ID: "bob", Kind: parley.KindAgent, Private: "only bob of " + id}},
		}))
	}
	say := func(c parley.Client, id, text string, f parley.Finality) {
		t.Helper()
		must[*parley.SendResult](t)(c.SendMessage(t.Context(), &parley.SendMessageParams{
			ConversationID: id, Finality: f, Payload: json.RawMessage(`{"text":"` + text + `"}`), ClientRequestID: "key " + text,
		}))
	}
	attach := func(c parley.Client, id, data string) {
		t.Helper()
		must[*parley.PutAttachmentResult](t)(c.PutAttachment(t.Context(), &parley.PutAttachmentParams{
			ConversationID: id, Data: []byte(data), Name: "file.txt", MediaType: "text/plain",
		}))
	}
	say(ann, "c1", "first", parley.FinalityTurn)
	attach(bob, "c1", "one file")
	say(ann, "c2", "elsewhere", parley.FinalityTurn)
	must[*parley.SendResult](t)(bob.SendTrace(t.Context(), &parley.SendTraceParams{ConversationID: "c1", Payload: json.RawMessage(`{"kind":"thought"}`)}))
	must[*parley.SeqResult](t)(ann.SendNote(t.Context(), &parley.SendNoteParams{
		ConversationID: "c1", Payload: parley.Note{Schema: "s.v1", Data: json.RawMessage(`{"x":1e999}`)},
	}))
	must[*parley.SeqResult](t)(ann.AddParticipant(t.Context(), &parley.AddParticipantParams{
		ConversationID: "c1", Participant: parley.Participant{ID: "carl", Kind: parley.KindPeer, Private: "only carl"},
	}))
	attach(ann, "c2", "one file") // the same again
	attach(ann, "c2", "another")
	say(bob, "c1", "second", parley.FinalityTurn)
	say(bob, "c2", "the end", parley.FinalityConversation)
	r := must[*parley.CreateTokenResult](t)(admin.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "carl"}))
	must[*parley.CreateTokenResult](t)(admin.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "dora"}))
	return r.Token
}

// backupOf returns a backup of a journal.
func backupOf(t testing.TB, j journal.Journal) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := archive.WriteBackup(t.Context(), &b, j, "test", nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// exportOf returns an export of every conversation that is not reserved.
func exportOf(t testing.TB, j journal.Journal) []byte {
	t.Helper()
	var b bytes.Buffer
	w := archive.NewWriter(&b, archive.FromJournal(j))
	rows := must[[]journal.Listed](t)(j.Labeled("", 0, 1000))
	for _, row := range rows {
		if strings.HasPrefix(row.Conversation, "~") {
			continue
		}
		for _, r := range must[[]journal.Record](t)(j.Read(row.Conversation, 0, 10_000, 1<<30)) {
			if err := w.Event(r.Conversation, r.Seq, r.Hash, r.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Bytes()
}

// importInto checks and imports.
func importInto(t testing.TB, j journal.Journal, file []byte) archive.Imported {
	t.Helper()
	if err := archive.CheckImport(t.Context(), bytes.NewReader(file), j, nil); err != nil {
		t.Fatal(err)
	}
	return must[archive.Imported](t)(archive.Import(t.Context(), bytes.NewReader(file), j, nil))
}

// lines returns the lines of a file, each with its line feed.
func lines(file []byte) [][]byte {
	all := bytes.SplitAfter(file, []byte("\n"))
	return all[:len(all)-1]
}

// join makes a file of lines.
func join(lines [][]byte) []byte { return bytes.Join(lines, nil) }

// forge returns an export of one conversation with a valid chain, whatever the events are.
func forge(t testing.TB, id string, events ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := archive.NewWriter(&b, nil)
	hash := journal.Genesis(id)
	for i, e := range events {
		hash = hash.Next([]byte(e))
		if err := w.Event(id, int64(i+1), hash, []byte(e)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// created is the first event of a conversation of ann and bob.
const created = `{"seq":1,"type":"system","from":"hub","at":"2026-01-01T00:00:00.000Z","payload":{"kind":"conversation_created","createdBy":"ann",` +
	`"participants":[{"id":"ann","kind":"human"},{"id":"bob","kind":"agent"}],"policy":{"kind":"round_robin"},"limits":{"maxEvents":100000,"maxBytes":268435456}}}`

// said is a message of ann with this payload.
func said(payload string) string {
	return `{"seq":2,"turn":1,"type":"message","from":"ann","at":"2026-01-01T00:00:00.000Z","finality":"turn","payload":` + payload + `}`
}
