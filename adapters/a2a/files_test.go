package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// fileWorld is a conversation of alice and bob with files.
type fileWorld struct {
	t      *testing.T
	id     string
	server *Server
	alice  parley.Client
	bob    parley.Client
}

func newShelf(t *testing.T) *fileWorld {
	h := sdktest.NewHub(t)
	snap, err := h.Admin(t).CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "alice", Kind: parley.KindPeer}, {ID: "bob", Kind: parley.KindPeer}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &fileWorld{t, snap.ConversationID, &Server{opts: Options{URL: "https://hub.example.com/"}},
		h.InProcess(t, "alice"),
		h.InProcess(t, "bob")}
}

// ask posts parts as alice.
func (s *fileWorld) ask(parts ...*a2a.Part) {
	s.t.Helper()
	m := &a2a.Message{ID: "m1", Parts: parts}
	raw, err := s.server.putParts(s.t.Context(), s.alice, s.id, m, &payload{MessageID: m.ID})
	if err != nil {
		s.t.Fatal(err)
	}
	s.post(s.alice, raw)
}

func (s *fileWorld) post(c parley.Client, raw json.RawMessage) {
	s.t.Helper()
	if _, err := c.SendMessage(s.t.Context(), &parley.SendMessageParams{ConversationID: s.id, Payload: raw,
		Finality: parley.FinalityTurn}); err != nil {
		s.t.Fatal(err)
	}
}

// answer posts a text with files as bob.
func (s *fileWorld) answer(text string, files ...[]byte) {
	s.t.Helper()
	m := parley.Message{Text: text}
	for _, data := range files {
		r, err := s.bob.PutAttachment(s.t.Context(), &parley.PutAttachmentParams{ConversationID: s.id, Data: data,
			Name: "out.bin", MediaType: "application/x-out"})
		if err != nil {
			s.t.Fatal(err)
		}
		m.Attachments = append(m.Attachments, parley.Attachment{SHA256: r.SHA256, Name: "out.bin",
			MediaType: "application/x-out"})
	}
	raw, err := json.Marshal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	s.post(s.bob, raw)
}

// task returns the only task, with its files.
func (s *fileWorld) task(accepted ...string) *a2a.Task {
	s.t.Helper()
	page, err := s.alice.Tail(s.t.Context(), &parley.TailParams{ConversationID: s.id})
	if err != nil {
		s.t.Fatal(err)
	}
	l := newTaskFold("alice", false, s.id, s.id)
	for i := range page.Events {
		l.fold(&page.Events[i], page.Events[i].From == "bob")
	}
	before := asJSON(l.task(l.tasks()[0]))
	e, err := s.server.resolve(s.t.Context(), &caller{client: s.alice}, s.id, accepted, l.task(l.tasks()[0]))
	if err != nil {
		s.t.Fatal(err)
	}
	if after := asJSON(l.task(l.tasks()[0])); after != before {
		s.t.Errorf("filling files in has changed the ledger:\n%s\n%s", before, after)
	}
	return e.(*a2a.Task)
}

func noise(seed byte, n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

// Raw parts come back unchanged under their names, also if they need several calls of
// getAttachment.
func TestFilesRoundTrip(t *testing.T) {
	s := newShelf(t)
	large := a2a.NewRawPart(noise(1, 2<<20))
	large.Filename, large.MediaType = "dir/large.bin", "application/x-large"
	small := a2a.NewRawPart([]byte{0})
	parts := []*a2a.Part{a2a.NewTextPart("look"), large, small, a2a.NewRawPart([]byte{0}),
		a2a.NewDataPart(map[string]any{"n": 1.0})}
	s.ask(parts...)
	s.answer("seen", noise(2, 1<<20))
	task := s.task()
	if got := asJSON(task.History[0].Parts); got != asJSON(parts) {
		t.Error("the message is not as it came")
	}
	for _, parts := range []a2a.ContentParts{task.Status.Message.Parts, task.Artifacts[0].Parts} {
		if len(parts) != 2 || !bytes.Equal(parts[1].Raw(), noise(2, 1<<20)) || parts[1].Filename != "out.bin" ||
			parts[1].MediaType != "application/x-out" {
			t.Errorf("the answer's file is not as it was")
		}
	}
}

// Large files are returned as URLs below that of the hub.
func TestLargeFilesBecomeURLs(t *testing.T) {
	s := newShelf(t)
	s.ask(a2a.NewTextPart("go"))
	s.answer("", noise(1, 3<<20), noise(2, MaxInlineBytes+1), noise(3, 2<<20), noise(4, 1))
	var kinds []string
	for _, p := range s.task().Status.Message.Parts {
		kind := "raw"
		if strings.HasPrefix(string(p.URL()), "https://hub.example.com/attachments/") && strings.HasSuffix(string(p.URL()),
			"?conversationId="+s.id) {
			kind = "url"
		}
		kinds = append(kinds, kind)
		if p.Filename != "out.bin" || p.MediaType != "application/x-out" {
			t.Errorf("the file is %q, %q", p.Filename, p.MediaType)
		}
	}
	if got := strings.Join(kinds, " "); got != "raw url raw url" {
		t.Errorf("the files are %s: 5 MiB of them are to be inline", got)
	}
}

// Files of types that the caller does not accept are not read. A caller receives all files that it
// sent.
func TestFilesAreFilteredByMode(t *testing.T) {
	s := newShelf(t)
	s.ask(a2a.NewRawPart([]byte("mine")))
	s.answer("", noise(1, 10))
	task := s.task("text/plain")
	if got := wordsOf(task.Artifacts[0].Parts); got != "[Left out, because acceptedOutputModes does not include: "+
		"application/x-out.]" {
		t.Errorf("the artifact is %s", got)
	}
	if got := string(task.History[0].Parts[0].Raw()); got != "mine" {
		t.Errorf("the caller's file is %q", got)
	}
}

// missing is a client whose hub has lost a file, or fails.
type missing struct {
	parley.Client
	err error
}

func (m missing) GetAttachment(context.Context, *parley.GetAttachmentParams) (*parley.GetAttachmentResult, error) {
	return nil, m.err
}

// Missing files become URLs, and a hub that cannot answer causes an error.
func TestMissingFilesBecomeURLs(t *testing.T) {
	s := &Server{}
	m := &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{{Content: a2a.URL(filePlaceholder + "aa")}}}
	for _, err := range []error{parley.ErrNotFound, parley.ErrInternal} {
		e, err := s.resolve(t.Context(), &caller{client: missing{err: err}}, "cnv_1", nil, m)
		if err != nil || e.(*a2a.Message).Parts[0].URL() != "/attachments/aa?conversationId=cnv_1" {
			t.Errorf("%v, %v", e, err)
		}
	}
	if _, err := s.resolve(t.Context(), &caller{client: missing{err: parley.ErrUnavailable}}, "cnv_1", nil,
		m); err == nil {
		t.Error("a hub that is not there is no error")
	}
	if m.Parts[0].URL() != filePlaceholder+"aa" {
		t.Error("the message was changed")
	}
}

// A refused message leaves no file behind.
func TestRefusedMessageStoresNoFile(t *testing.T) {
	s := newShelf(t)
	m := &a2a.Message{Parts: a2a.ContentParts{a2a.NewRawPart([]byte("x")), a2a.NewTextPart("")}}
	if _, err := s.server.putParts(t.Context(), s.alice, s.id, m, &payload{}); err == nil {
		t.Fatal("it was not refused")
	}
	page, err := s.alice.Tail(t.Context(), &parley.TailParams{ConversationID: s.id})
	if err != nil || page.LatestSeq != 1 {
		t.Errorf("the log has %d events, %v", page.LatestSeq, err)
	}
}
