package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

type attachmentArgs struct {
	ConversationID string `json:"conversation_id"`
	SHA256         string `json:"sha256"`
	Offset         int64  `json:"offset,omitempty"`
}

func refineAttachment(a *arguments) {
	a.textLength(1, 64, "conversation_id")
	a.textLength(64, 64, "sha256")
	a.nonNegative("offset")
	a.describe("conversation_id", "id of the conversation with the file; for a session result, the session_id")
	a.describe("sha256", "sha256 of the attachment, from a message or session")
	a.describe("offset", "bytes of the file to skip: next_offset of the previous piece")
}

// maxBlobBytes limits the bytes of a binary piece. Their base64 has MaxChars characters.
const maxBlobBytes = MaxChars / 4 * 3

type attachmentPiece struct {
	ConversationID string `json:"conversation_id"`
	SHA256         string `json:"sha256"`
	Size           int64  `json:"size" jsonschema:"bytes of the whole file"`
	Offset         int64  `json:"offset" jsonschema:"offset of this piece in the file"`
	Bytes          int    `json:"bytes" jsonschema:"bytes of the file in this piece"`
	Text           string `json:"text,omitempty" jsonschema:"the piece, if it is UTF-8 text"`
	Base64         string `json:"base64,omitempty" jsonschema:"the piece, if it is not text"`
	More           bool   `json:"more" jsonschema:"if true, call again with offset next_offset"`
	NextOffset     int64  `json:"next_offset" jsonschema:"offset of the next piece"`
	Next           string `json:"next"`
}

// readAttachment returns a piece of a file. The concatenated pieces are the file: text is cut
// between characters, and a binary piece is base64.
func readAttachment(ctx context.Context, c *call, in *attachmentArgs) (*attachmentPiece, error) {
	got, err := c.client.GetAttachment(ctx, &parley.GetAttachmentParams{ConversationID: in.ConversationID,
		SHA256: in.SHA256, Offset: in.Offset, Length: MaxChars})
	if err != nil {
		return nil, explain(err, hints{conversation: in.ConversationID, attachment: true})
	}
	p := &attachmentPiece{ConversationID: in.ConversationID, SHA256: in.SHA256, Size: got.Size, Offset: in.Offset,
		Next: "This is the end of the file."}
	piece := got.Data
	if in.Offset+int64(len(piece)) < got.Size {
		piece = wholeRunes(piece)
	}
	if isText(piece) {
		p.Text = string(piece)
	} else {
		piece = got.Data[:min(len(got.Data), maxBlobBytes)]
		p.Base64 = base64.StdEncoding.EncodeToString(piece)
	}
	p.Bytes = len(piece)
	p.NextOffset = in.Offset + int64(len(piece))
	if p.More = p.NextOffset < got.Size; p.More {
		p.Next = "There is more: " + attachmentCall(in.ConversationID, in.SHA256, p.NextOffset) + "."
	}
	return p, nil
}

// isText reports whether a model can read b as text.
func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// wholeRunes removes an incomplete character at the end.
func wholeRunes(b []byte) []byte {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

func (p *attachmentPiece) text() string {
	what, body := "text", p.Text
	if p.Base64 != "" {
		what, body = "base64", p.Base64
	}
	return fmt.Sprintf("Attachment %s: bytes %d to %d of %d, as %s.\n%s\n%s", p.SHA256, p.Offset, p.NextOffset, p.Size,
		what, body, p.Next)
}

// attachmentCall returns the call that reads a file. It leaves out an empty conversation.
func attachmentCall(conversation, sha256 string, offset int64) string {
	s := "read_attachment {"
	if conversation != "" {
		s += fmt.Sprintf("conversation_id: %q, ", conversation)
	}
	s += fmt.Sprintf("sha256: %q", sha256)
	if offset > 0 {
		s += fmt.Sprintf(", offset: %d", offset)
	}
	return s + "}"
}
