package agent

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/limits"
)

const (
	// sniffBytes is the part of a file that shows whether it is text.
	sniffBytes = 512
	// maxTextBytes limits the part of a text file that is read.
	maxTextBytes = 256 << 10
	// maxTextFiles limits the text of all files in one prompt, as a multiple of the limit of one file.
	maxTextFiles = 4
)

// attachment is a file of a message in the prompt: its text, an image, or neither.
type attachment struct {
	text  string
	image *llm.File
	// note explains a file that is not shown, or not whole.
	note string
}

// attachments reads the files of a conversation for a prompt. The newest files come first, until a
// limit is reached.
type attachments struct {
	*run
	shown map[*parley.Attachment]attachment
	seen  map[string]bool // hashes
	// tokens is the rest for texts. images and bytes count the images.
	tokens, images, bytes int
	cut                   bool // a text is not whole
}

// readAttachments reads the files of the messages from others.
func (r *run) readAttachments(ctx context.Context) (*attachments, error) {
	all := &attachments{run: r, shown: map[*parley.Attachment]attachment{}, seen: map[string]bool{},
		tokens: maxTextFiles * r.resultTokens()}
	if w := r.main.window; w > 0 {
		all.tokens = min(all.tokens, w/2)
	}
	for _, e := range slices.Backward(r.view.entries) {
		if e.message == nil || e.from == r.view.me {
			continue
		}
		for i := range e.message.Attachments {
			a := &e.message.Attachments[i]
			one, err := all.read(ctx, a)
			if err != nil {
				return nil, fmt.Errorf("read the attachment %s: %w", a.SHA256, err)
			}
			all.shown[a] = one
		}
	}
	return all, nil
}

// read reads a file. A file that is missing or damaged is not an error: the note reports it.
func (all *attachments) read(ctx context.Context, a *parley.Attachment) (attachment, error) {
	if all.seen[a.SHA256] {
		return attachment{note: "shown in a later message"}, nil
	}
	all.seen[a.SHA256] = true
	if llm.IsImage(a.MediaType) {
		return all.readImage(ctx, a)
	}
	head, size, err := tool.ReadFile(ctx, all.turn, a.SHA256, 0, sniffBytes)
	if err != nil {
		return all.unreadable(ctx, a, err)
	}
	switch kind := http.DetectContentType(head); {
	case llm.IsImage(kind):
		return all.readImage(ctx, a)
	case size == 0:
		return attachment{note: "an empty file"}, nil
	case !strings.HasPrefix(kind, "text/") || !tool.IsText(utf8Text(head), int64(len(head)) == size):
		return attachment{note: "not shown, because it is not a text or an image"}, nil
	}
	return all.readText(ctx, a, size)
}

func (all *attachments) readText(ctx context.Context, a *parley.Attachment, size int64) (attachment, error) {
	var data []byte
	if all.tokens > 0 {
		var err error
		if data, _, err = tool.ReadFile(ctx, all.turn, a.SHA256, 0, maxTextBytes); err != nil {
			return all.unreadable(ctx, a, err)
		}
	}
	readable := true // with read_file
	if whole := int64(len(data)) == size; whole {
		data = utf8Text(data)
		readable = size == int64(len(data))
		size = int64(len(data))
	}
	if !tool.IsText(data, int64(len(data)) == size) {
		return attachment{note: "not shown, because it is not a text or an image"}, nil
	}
	text := tool.Head(string(data), min(all.resultTokens(), all.tokens))
	all.tokens -= int(llm.CountTokens(text))
	one := attachment{text: string(bytes.TrimPrefix([]byte(text), []byte("\uFEFF")))}
	if int64(len(text)) < size {
		all.cut = true
		one.note = fmt.Sprintf("the first %d of %d bytes", len(text), size)
		if text == "" {
			one.note = fmt.Sprintf("%d bytes, not shown, because there is too much other text", size)
		}
		if all.reader != "" && readable {
			one.note += "; read the rest with " + all.reader
		}
	}
	return one, nil
}

// utf8Text returns a text in UTF-16 with a byte order mark as UTF-8, and other data unchanged.
func utf8Text(data []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return data
	}
	var units []uint16
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}

func (all *attachments) readImage(ctx context.Context, a *parley.Attachment) (attachment, error) {
	switch {
	case !all.acceptsImages():
		return attachment{note: "not shown, because the model takes no images"}, nil
	case all.images == llm.MaxImages || all.bytes == llm.MaxImagesBytes:
		return attachment{note: "not shown, because there are too many other images"}, nil
	}
	data, size, err := tool.ReadFile(ctx, all.turn, a.SHA256, 0, llm.MaxImageBytes)
	if err != nil {
		return all.unreadable(ctx, a, err)
	}
	if size > llm.MaxImageBytes {
		return attachment{note: fmt.Sprintf("not shown, because it has %d bytes, and models take images of at most %d", size,
			llm.MaxImageBytes)}, nil
	}
	image, err := llm.NewImage(a.Name, data)
	switch {
	case err != nil:
		return attachment{note: "not shown, because " + err.Error()}, nil
	case all.bytes+len(data) > llm.MaxImagesBytes:
		all.bytes = llm.MaxImagesBytes // older images are not read
		return attachment{note: "not shown, because there are too many other images"}, nil
	}
	all.images, all.bytes = all.images+1, all.bytes+len(data)
	return attachment{image: &image}, nil
}

// unreadable returns a note for a file that cannot be read. An error means that the turn cannot
// continue.
func (all *attachments) unreadable(ctx context.Context, a *parley.Attachment, err error) (attachment, error) {
	if ctx.Err() != nil || tool.EndsTurn(err) {
		return attachment{}, err
	}
	all.log.Warn("an attachment is not shown to the model", "sha256", a.SHA256, "name", a.Name, "error", err)
	return attachment{note: "warning: the file could not be read"}, nil
}

// mark returns the mark of a file, with its text if it is text.
func (all *attachments) mark(a *parley.Attachment) string {
	one := all.shown[a]
	attributes := attribute("sha256", a.SHA256) + attribute("name", a.Name) + attribute("media_type", a.MediaType) +
		attribute("note", one.note)
	if one.text == "" {
		return "<attachment" + attributes + "/>"
	}
	return mark("attachment", attributes, escape(one.text))
}

// imagesOf returns the images of a message.
func (all *attachments) imagesOf(m *parley.Message) []llm.File {
	var files []llm.File
	for i := range m.Attachments {
		if image := all.shown[&m.Attachments[i]].image; image != nil {
			files = append(files, *image)
		}
	}
	return files
}

// acceptsImages reports whether a model of the agent accepts images.
func (a *Agent) acceptsImages() bool {
	return slices.ContainsFunc(a.models(), func(m *model) bool {
		can := m.runtime.Capabilities(m.name)
		return can.AcceptsImages(m.name)
	})
}

// models returns the model of the agent and that of its planner.
func (a *Agent) models() []*model {
	if a.planner == nil {
		return []*model{a.main}
	}
	return []*model{a.main, a.planner}
}

// resultTokens returns the limit of a tool result, and of the text of an attachment.
func (a *Agent) resultTokens() int {
	if n := a.options().ToolOutputTokenLimit; n > 0 {
		return n
	}
	n := limits.DefaultToolOutputTokens
	for _, m := range a.models() {
		if m.window > 0 {
			n = min(n, m.window/2)
		}
	}
	return max(n, limits.MinToolOutputTokens)
}

// offersReader reports whether the agent may be offered read_file for an attachment. A server
// refuses tools for a model without them, so an agent without tools gets it only if its models are
// known.
func (a *Agent) offersReader() bool {
	return !slices.ContainsFunc(a.models(), func(m *model) bool {
		can := m.runtime.Capabilities(m.name)
		return can.NoTools || can == (llm.Capabilities{}) && !a.hasTools()
	})
}
