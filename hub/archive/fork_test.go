package archive_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
)

// forkedLog is a log with the conversation c1, of which a turn is claimed and waits for an approval, and forks of it and of one of these.
func forkedLog(t testing.TB) journal.Journal {
	t.Helper()
	j := newBolt(t)
	withHub(t, j, func(h *hub.Hub) {
		ann, bob := as(t, h, "ann"), as(t, h, "bob")
		must[*parley.Snapshot](t)(ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
			ConversationID: "c1", Workspace: "", Participants: []parley.Participant{{ID: "bob", Kind: parley.KindAgent,
				Private: "for bob"}, {ID: "ann", Kind: parley.KindHuman}},
		}))
		must[*parley.ClaimTurnResult](t)(bob.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: "c1", Turn: 1}))
		must[*parley.Approval](t)(bob.RequestApproval(t.Context(),
			&parley.RequestApprovalParams{ConversationID: "c1", Key: "k", Title: "may I"}))
		for _, q := range []parley.ForkConversationParams{
			{ConversationID: "c1", Seq: 5, ForkID: "f1"}, {ConversationID: "c1", Seq: 4, ForkID: "f2"}, {ConversationID: "f1", Seq: 6, ForkID: "f3"},
			{ConversationID: "f1", Seq: 5, ForkID: "f4", Title: "other", ClientRequestID: "k"},
		} {
			must[*parley.Snapshot](t)(ann.ForkConversation(t.Context(), &q))
		}
		must[*parley.ClaimTurnResult](t)(bob.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: "f1", Turn: 1}))
		must[*parley.Approval](t)(bob.RequestApproval(t.Context(),
			&parley.RequestApprovalParams{ConversationID: "f1", Key: "k", Title: "may I"}))
	})
	return j
}

// TestForksAreArchived: a backup and an export of forks check and import, and the hub on the result lists and forks as before.
func TestForksAreArchived(t *testing.T) {
	t.Parallel()
	j := forkedLog(t)
	if n, err := archive.CheckForks(t.Context(), j); n != 5 || err != nil { // f3 has two
		t.Fatalf("%d forks, %v", n, err)
	}
	var out bytes.Buffer
	must[archive.Trailer](t)(archive.WriteBackup(t.Context(), &out, j, "v", nil))
	r, err := archive.Check(bytes.NewReader(out.Bytes()), nil)
	if err != nil || r.UnseenForks != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	again := newBolt(t)
	if err := archive.CheckImport(t.Context(), bytes.NewReader(out.Bytes()), again, nil); err != nil {
		t.Fatal(err)
	}
	must[archive.Imported](t)(archive.Import(t.Context(), bytes.NewReader(out.Bytes()), again, nil))
	if n, err := archive.CheckForks(t.Context(), again); n != 5 || err != nil {
		t.Fatalf("%d forks, %v", n, err)
	}
	withHub(t, again, func(h *hub.Hub) {
		list := must[*parley.ListConversationsResult](t)(as(t, h, "bob").ListConversations(t.Context(),
			&parley.ListConversationsParams{}))
		if len(list.Conversations) != 5 {
			t.Errorf("%+v", list)
		}
		f4 := must[*parley.Snapshot](t)(as(t, h, "ann").ForkConversation(t.Context(),
			&parley.ForkConversationParams{ConversationID: "f1", Seq: 5, ForkID: "f4", Title: "other", ClientRequestID: "k"}))
		if !f4.Duplicate || f4.Fork.ConversationID != "f1" || f4.Fork.Seq != 5 {
			t.Errorf("%+v", f4)
		}
	})
}

// relinked returns the export of a conversation under its id with other events.
func relinked(t testing.TB, id string, events [][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := archive.NewWriter(&out, nil)
	hash := journal.Genesis(id)
	for i, data := range events {
		hash = hash.Next(data)
		if err := w.Event(id, int64(i+1), hash, data); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// TestForkLinks: a fork whose hash is not that of its events in the other is refused, by line and conversation; so is one that is cut off before it says so, and one with approvals of
// a third conversation.
func TestForkLinks(t *testing.T) {
	t.Parallel()
	j := forkedLog(t)
	records, err := j.Read("f1", 0, 100, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var whole [][]byte
	for _, r := range records {
		whole = append(whole, r.Data)
	}
	if _, err := archive.Check(bytes.NewReader(relinked(t, "f1", whole)), nil); err != nil {
		t.Fatal(err)
	}
	changed := func(at int, old, new string) [][]byte {
		t.Helper()
		if !bytes.Contains(whole[at], []byte(old)) {
			t.Fatalf("%s has no %s", whole[at], old)
		}
		events := append([][]byte(nil), whole...)
		events[at] = bytes.ReplaceAll(whole[at], []byte(old), []byte(new))
		return events
	}
	hash := journal.Genesis("c1")
	for _, data := range whole[:5] {
		hash = hash.Next(data)
	}
	other := journal.Genesis("other")
	for name, c := range map[string]struct {
		events [][]byte
		want   string
	}{
		"another hash": {changed(5, hex.EncodeToString(hash[:]), hex.EncodeToString(other[:])),
			"line 6: conversation \"f1\", seq 6: a fork of \"c1\" at seq 5"},
		"another conversation": {changed(5, `"conversationId":"c1"`, `"conversationId":"c2"`), "line 6: conversation \"f1\", seq 6: a fork of \"c2\" at seq 5"},
		"another event": {changed(1, "for bob", "for rob"),
			"line 6: conversation \"f1\", seq 6: a fork of \"c1\" at seq 5"},
		"another seq":               {changed(5, `"seq":5,"hash"`, `"seq":4,"hash"`), "line 6: conversation \"f1\", seq 6"},
		"no hash":                   {changed(5, hex.EncodeToString(hash[:]), "00"), "line 6: conversation \"f1\", seq 6"},
		"cut off before":            {whole[:5], `conversation "f1": it has the approvals of "c1"`},
		"an approval of another":    {changed(9, "f1.9", "c1.9"), ""},
		"a creator that is nobody":  {changed(5, `"createdBy":"ann"`, `"createdBy":"a b"`), "line 6"},
		"approvals of two at first": {changed(4, "c1.4", "c2.4"), "line 5"},
	} {
		t.Run(name, func(t *testing.T) {
			err := archive.CheckImport(t.Context(), bytes.NewReader(relinked(t, "f1", c.events)), newBolt(t), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestForksApart: if the events that a fork shares are not consecutive lines, the report counts the
// fork as unseen, and a check of the journal finds it.
func TestForksApart(t *testing.T) {
	t.Parallel()
	j := forkedLog(t)
	split := newBolt(t)
	add := func(id string, from, to int64) {
		t.Helper()
		records, err := j.Read(id, from-1, int(to-from+1), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		b := journal.Batch{Conversation: id, After: from - 1}
		for _, r := range records {
			b.Events = append(b.Events, r.Data)
		}
		must[journal.Head](t)(journal.Append(t.Context(), split, b))
	}
	add("f1", 1, 3)
	add("c1", 1, 5)
	add("f1", 4, 7)
	var out bytes.Buffer
	must[archive.Trailer](t)(archive.WriteBackup(t.Context(), &out, split, "v", nil))
	if r, err := archive.Check(bytes.NewReader(out.Bytes()), nil); err != nil || r.UnseenForks != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if n, err := archive.CheckForks(t.Context(), split); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	wrong := newBolt(t)
	records, err := j.Read("f1", 0, 100, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	b := journal.Batch{Conversation: "f1"}
	for _, r := range records {
		b.Events = append(b.Events, bytes.ReplaceAll(r.Data, []byte("for bob"), []byte("for rob")))
	}
	must[journal.Head](t)(journal.Append(t.Context(), wrong, b))
	if _, err := archive.CheckForks(t.Context(), wrong); err == nil || !strings.HasPrefix(err.Error(), `conversation "f1", seq 6: a fork of "c1" at seq 5`) || errors.Unwrap(err) == nil {
		t.Errorf("%v", err)
	}
}
