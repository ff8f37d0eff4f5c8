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
	ConversationID string `json:"conversation_id" jsonschema:"the conversation that the file was added to; for the result of a session, its session_id"`
	SHA256         string `json:"sha256" jsonschema:"the sha256 of the attachment, as a message or a session names it"`
	Offset         int64  `json:"offset,omitempty" jsonschema:"bytes of the file to skip: the next_offset of the piece before"`
}

func refineAttachment(a *arguments) {
	a.length(1, 64, "conversation_id")
	a.length(64, 64, "sha256")
	a.since("offset")
}

// maxBlobBytes is how much of a file that is no text one result holds: its base64 has MaxChars characters.
const maxBlobBytes = MaxChars / 4 * 3

type attachmentPiece struct {
	ConversationID string `json:"conversation_id"`
	SHA256         string `json:"sha256"`
	Size           int64  `json:"size" jsonschema:"bytes of the whole file"`
	Offset         int64  `json:"offset" jsonschema:"where in the file this piece begins"`
	Bytes          int    `json:"bytes" jsonschema:"bytes of the file in this piece"`
	Text           string `json:"text,omitempty" jsonschema:"the piece, where it is UTF-8 text"`
	Base64         string `json:"base64,omitempty" jsonschema:"the piece, where it is not"`
	More           bool   `json:"more" jsonschema:"there is more: call again with offset next_offset"`
	NextOffset     int64  `json:"next_offset" jsonschema:"where the next piece begins"`
	Next           string `json:"next"`
}

// readAttachment gives a piece of a file. All pieces one after the other are the file: text is cut between characters, and a piece that is no text is base64.
func readAttachment(ctx context.Context, c *call, in *attachmentArgs) (*attachmentPiece, error) {
	got, err := c.client.GetAttachment(ctx, &parley.GetAttachmentParams{ConversationID: in.ConversationID, SHA256: in.SHA256, Offset: in.Offset, Length: MaxChars})
	if err != nil {
		return nil, explained(err, hints{conversation: in.ConversationID, attachment: true})
	}
	p := &attachmentPiece{ConversationID: in.ConversationID, SHA256: in.SHA256, Size: got.Size, Offset: in.Offset, Next: "This is the end of the file."}
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

// isText reports whether a model can read it as it is.
func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// wholeRunes leaves out the beginning of a character at the end.
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
	return fmt.Sprintf("Attachment %s: bytes %d to %d of %d, as %s.\n%s\n%s", p.SHA256, p.Offset, p.NextOffset, p.Size, what, body, p.Next)
}

// attachmentCall is the call that reads a file; without a conversation it names none.
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
