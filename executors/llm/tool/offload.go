package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

const (
	// MaxText limits a result in bytes. A larger one is stored as a file.
	MaxText = 32 << 10
	// shownText limits the part of a larger result that the model reads. maxError limits an error
	// in the record.
	shownText = 8 << 10
	maxError  = 1 << 10
)

// truncate returns at most the given number of bytes of a text, without splitting a rune.
func truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// offload returns the text of a result for the model. If the text is too large, the text is a part
// of it, and offload also returns the hash of the file with the whole text. If the text cannot be
// stored, the rest is lost.
func (c *call) offload(ctx context.Context, text string) (string, *string, error) {
	if len(text) <= MaxText {
		return text, nil, nil
	}
	shown := truncate(text, shownText)
	name, media := c.Name+".txt", "text/plain; charset=utf-8"
	if json.Valid([]byte(text)) {
		name, media = c.Name+".json", "application/json"
	}
	if len(text) > parley.MaxAttachmentBytes {
		return shown + fmt.Sprintf("\n[These are the first %d bytes of %d. The rest was too large to store.]", len(shown),
			len(text)), nil, nil
	}
	a, err := c.Turn.Attach(ctx, name, media, []byte(text))
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return "", nil, context.Cause(ctx)
	case endsTurn(err):
		return "", nil, err
	default:
		c.box.o.Logger.Warn("storing a large result failed", "tool", c.Name, "bytes", len(text), "error", err)
		return shown + fmt.Sprintf("\n[These are the first %d bytes of %d. The rest could not be stored.]", len(shown),
			len(text)), nil, nil
	}
	return shown +
		fmt.Sprintf("\n[These are the first %d bytes of %d. This conversation has the whole text as a file, sha256 %s.]",
			len(shown), len(text), a.SHA256), &a.SHA256, nil
}
