package mcp_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk/sdktest"
)

type attachmentPiece struct {
	Size, Offset int64
	Text, Base64 string
	More         bool
	NextOffset   int64 `json:"next_offset"`
	Next         string
}

// readFile reads a file in pieces, with the calls that the results name.
func (i *ide) readFile(id, sha256 string) (file []byte, texts, blobs int) {
	i.t.Helper()
	args := map[string]any{"conversation_id": id, "sha256": sha256}
	for {
		var p attachmentPiece
		shown := i.must("read_attachment", args, &p)
		b, err := base64.StdEncoding.DecodeString(p.Base64)
		if err != nil {
			i.t.Fatal(err)
		}
		if len(shown) > mcp.MaxChars+1000 || !strings.Contains(shown, p.Text) || !strings.Contains(shown, p.Base64) {
			i.t.Errorf("%d characters, %d of text, %d of base64", len(shown), len(p.Text), len(p.Base64))
		}
		if p.Text != "" {
			texts++
		} else if p.Base64 != "" {
			blobs++
		}
		file = append(append(file, p.Text...), b...)
		if !p.More {
			return file, texts, blobs
		}
		if want := fmt.Sprintf("read_attachment {conversation_id: %q, sha256: %q, offset: %d}", id, sha256,
			p.NextOffset); !strings.Contains(p.Next, want) || !strings.Contains(shown, want) || p.NextOffset <= p.Offset {
			i.t.Fatalf("next %q, expected %q", p.Next, want)
		}
		args["offset"] = p.NextOffset
	}
}

// A file of any type is read to its end, byte for byte, with the calls that the message and each
// piece name. Text is returned as text.
func TestReadAttachment(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id := h.Create(t, "bob", "alice")
	noise := make([]byte, 40_000)
	_, _ = rand.Read(noise)
	for name, c := range map[string]struct {
		data []byte
		text bool
	}{
		"short.txt":  {[]byte("hello"), true},
		"long.txt":   {[]byte("x" + strings.Repeat("öé漢🙂", 5000)), true},
		"noise.bin":  {noise, false},
		"zero.bin":   {make([]byte, 100), false},
		"broken.txt": {[]byte("half of a character: \xe6\xbc"), false},
	} {
		put, err := bob.PutAttachment(t.Context(), &parley.PutAttachmentParams{ConversationID: id, Name: name, Data: c.data})
		if err != nil {
			t.Fatal(err)
		}
		said := postMessage(t, bob, id, parley.Message{Text: "see", Attachments: []parley.Attachment{{SHA256: put.SHA256,
			Name: name}}}, parley.FinalityNone)
		call := fmt.Sprintf("read_attachment {conversation_id: %q, sha256: %q}", id, put.SHA256)
		var r selection
		if text := alice.must("read_conversation", map[string]any{"conversation_id": id, "since_seq": said.Seq - 1},
			&r); !strings.Contains(text, call) {
			t.Errorf("the message does not have the call %s: %s", call, text)
		}
		if len(r.Events) != 1 || len(r.Events[0].Rest) != 1 || !strings.Contains(r.Events[0].Rest[0], put.SHA256) {
			t.Errorf("%+v", r.Events)
		}
		if text := alice.must("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": said.Seq - 1,
			"until": "any"}, nil); !strings.Contains(text, call) {
			t.Errorf("the update does not have the call %s: %s", call, text)
		}
		got, texts, blobs := alice.readFile(id, put.SHA256)
		if !bytes.Equal(got, c.data) || c.text != (texts > 0) || c.text == (blobs > 0) {
			t.Errorf("%s: %d bytes of %d, in %d texts and %d blobs", name, len(got), len(c.data), texts, blobs)
		}
	}
}

// A file that does not exist and one of an invisible conversation are refused in the same words.
func TestMissingAttachment(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	alice, bob := newIDE(t, h, "alice", nil), h.Client(t, "bob")
	id, foreign := h.Create(t, "bob", "alice"), h.Create(t, "bob")
	put, err := bob.PutAttachment(t.Context(), &parley.PutAttachmentParams{ConversationID: foreign,
		Data: []byte("secret")})
	if err != nil {
		t.Fatal(err)
	}
	none := strings.Repeat("0", 64)
	for _, c := range []struct{ id, sha256 string }{{foreign, put.SHA256}, {id, put.SHA256}, {id, none},
		{"nowhere", none}} {
		if text := alice.refused("read_attachment", map[string]any{"conversation_id": c.id, "sha256": c.sha256}, "not_found",
			"Next: read_conversation"); strings.Contains(text, "secret") {
			t.Error("the refusal reveals a file of another participant")
		}
	}
	alice.refused("read_attachment", map[string]any{"conversation_id": id, "sha256": "short"}, "sha256")
	put, err = bob.PutAttachment(t.Context(), &parley.PutAttachmentParams{ConversationID: id, Data: []byte("hello")})
	if err != nil {
		t.Fatal(err)
	}
	alice.refused("read_attachment", map[string]any{"conversation_id": id, "sha256": put.SHA256, "offset": 6},
		"validation_failed", "0 to 5")
}
