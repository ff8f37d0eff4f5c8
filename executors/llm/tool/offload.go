package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/internal/limits"
)

const (
	// maxShown limits the text of a result that the model reads, in bytes of JSON. The record has the
	// same text.
	maxShown = 256 << 10
	// maxError limits an error in the record, in bytes.
	maxError = 1 << 10
	// lineSlack is how many bytes a cut may move to the end of a line.
	lineSlack = 1 << 10
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

// Head returns the beginning of a text that fits into a number of tokens, and into the record.
func Head(text string, tokens int) string { return head(text, tokens, maxShown) }

// head returns the beginning of a text that fits into numbers of tokens, and of bytes of JSON.
func head(text string, tokens, most int) string {
	text = text[:llm.HeadTokens(text, int64(tokens))]
	size := 0
	for i, r := range text {
		if size += jsonSize(r); size > most {
			return text[:i]
		}
	}
	return text
}

// tail returns the end of a text that fits into numbers of tokens, and of bytes of JSON.
func tail(text string, tokens, most int) string {
	text = text[llm.TailTokens(text, int64(tokens)):]
	size := 0
	for i := len(text); i > 0; {
		r, n := utf8.DecodeLastRuneInString(text[:i])
		if size += jsonSize(r); size > most {
			return text[i:]
		}
		i -= n
	}
	return text
}

// jsonSize returns the largest size of a rune in JSON.
func jsonSize(r rune) int {
	switch {
	case r == '\n' || r == '\t' || r == '\r' || r == '"' || r == '\\':
		return 2
	case r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
		return len(`\u0000`)
	}
	return utf8.RuneLen(r)
}

// tokens returns the limit of one result.
func (b *Box) tokens() int {
	if b.o.ResultTokens > 0 {
		return b.o.ResultTokens
	}
	return limits.DefaultToolOutputTokens
}

// offload returns the text of a result for the model. If the text is too large, the result is its
// beginning and its end, and offload also returns the hash of the file with the whole text. If the
// text cannot be stored, the rest is lost.
func (c *call) offload(ctx context.Context, text string) (string, *string, error) {
	most := c.box.tokens()
	if len(Head(text, most)) == len(text) {
		return text, nil, nil
	}
	first, last := head(text, most*4/5, maxShown*4/5), tail(text, most/5, maxShown/5)
	if i := strings.LastIndexByte(first[max(0, len(first)-lineSlack):], '\n'); i >= 0 {
		first = first[:max(0, len(first)-lineSlack)+i+1]
	}
	if i := strings.IndexByte(last[:min(len(last), lineSlack)], '\n'); i >= 0 {
		last = last[i+1:]
	}
	hash, rest, err := c.store(ctx, text, len(first))
	if err != nil {
		return "", nil, err
	}
	left := len(text) - len(first) - len(last)
	return fmt.Sprintf("[This result has %d bytes, which is more than the limit of %d tokens. "+
		"Its first %d and its last %d bytes are shown. %s]\n%s\n[%d bytes are not shown here.]\n%s",
		len(text), most, len(first), len(last), rest, first, left, last), hash, nil
}

// store stores a text as a file of the conversation. It returns the hash of the file, and a
// sentence that names it.
func (c *call) store(ctx context.Context, text string, shown int) (hash *string, sentence string, err error) {
	if len(text) > parley.MaxAttachmentBytes {
		return nil, "The rest was too large to store.", nil
	}
	name, media := c.Name+".txt", "text/plain; charset=utf-8"
	if json.Valid([]byte(text)) {
		name, media = c.Name+".json", "application/json"
	}
	a, err := c.attach(ctx, name, media, []byte(text))
	switch {
	case err != nil:
		return nil, "", err
	case a == nil:
		return nil, "The rest could not be stored.", nil
	case c.set.reader == nil:
		return &a.SHA256, "This conversation has the whole text as a file, sha256 " + a.SHA256 + ".", nil
	}
	return &a.SHA256, fmt.Sprintf("This conversation has the whole text as a file, sha256 %s. "+
		"Read the rest with %s, from offset %d.", a.SHA256, c.set.reader.own.Name, shown), nil
}

// attach stores a file of the conversation. It returns nil if that is not possible, and an error if
// the turn cannot continue.
func (c *call) attach(ctx context.Context, name, media string, data []byte) (*parley.Attachment, error) {
	a, err := c.Turn.Attach(ctx, name, media, data)
	switch {
	case err == nil:
		return &a, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case EndsTurn(err):
		return nil, err
	}
	c.box.o.Logger.Warn("storing a result failed", "tool", c.Name, "bytes", len(data), "error", err)
	return nil, nil
}

// attachImages stores the images of a result. It returns them, and the text with a line for each
// image that the model does not see.
func (c *call) attachImages(ctx context.Context, text string, files []llm.File) (string, []llm.File, error) {
	var kept []llm.File
	for i := range files {
		why := ""
		switch {
		case !c.box.o.Images:
			why = "the model takes no images"
		case len(kept) == llm.MaxImages:
			why = "the result has too many"
		default:
			kind, _, _ := strings.Cut(strings.TrimPrefix(files[i].MediaType, "image/"), ";")
			a, err := c.attach(ctx, c.Name+"."+kind, files[i].MediaType, files[i].Data)
			if err != nil {
				return "", nil, err
			}
			if why = "it could not be stored"; a != nil {
				files[i].Name, files[i].SHA256 = a.Name, a.SHA256
				kept = append(kept, files[i])
				continue
			}
		}
		text += fmt.Sprintf("\n[The image %d of this result is not shown, because %s.]", i+1, why)
	}
	return text, kept, nil
}

// loadImages reads the images of a recorded result from the conversation. An image that cannot be
// read is left out, and a line of the text reports it.
func (c *call) loadImages(ctx context.Context, ended *record.ToolEnded) (*record.ToolEnded, error) {
	t := *ended
	t.Files = slices.Clone(t.Files)
	for i := len(t.Files) - 1; i >= 0; i-- {
		f := &t.Files[i]
		data, _, err := ReadFile(ctx, c.Turn, f.SHA256, 0, llm.MaxImageBytes)
		switch {
		case err == nil:
			f.Data = data
			continue
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case EndsTurn(err):
			return nil, err
		}
		c.box.o.Logger.Warn("reading an image of a result failed", "tool", c.Name, "sha256", f.SHA256, "error", err)
		t.Text += "\n[The image with the sha256 " + f.SHA256 + " could not be read.]"
		t.Files = slices.Delete(t.Files, i, i+1)
	}
	return &t, nil
}
