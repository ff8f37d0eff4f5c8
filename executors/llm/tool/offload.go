package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

const (
	// MaxText is how much of a result, in bytes, stands in the record and is given to the model as it is.
	MaxText = 32 << 10
	// shownText is how much the model reads of a larger one, and maxError how much of it stands in the record as an error.
	shownText = 8 << 10
	maxError  = 1 << 10
)

// beginning gives as much of a text as fits, whole runes.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// offload gives what the model reads of a result, and the hash of the file that has all of it where that is too large. One that cannot be kept is cut.
func (c *call) offload(ctx context.Context, text string) (string, *string, error) {
	if len(text) <= MaxText {
		return text, nil, nil
	}
	shown := beginning(text, shownText)
	name, media := c.Name+".txt", "text/plain; charset=utf-8"
	if json.Valid([]byte(text)) {
		name, media = c.Name+".json", "application/json"
	}
	if len(text) > parley.MaxAttachmentBytes {
		return shown + fmt.Sprintf("\n[These are the first %d bytes of %d. The rest was too large to be kept.]", len(shown),
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
		c.box.o.Logger.Warn("a large result was not kept", "tool", c.Name, "bytes", len(text), "error", err)
		return shown + fmt.Sprintf("\n[These are the first %d bytes of %d. The rest could not be kept.]", len(shown),
			len(text)), nil, nil
	}
	return shown +
		fmt.Sprintf("\n[These are the first %d bytes of %d. All of it is a file of this conversation, sha256 %s.]",
			len(shown), len(text), a.SHA256), &a.SHA256, nil
}
