package a2a

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// authorExtension is the metadata key of the author of a part: {"participant": id, "seq": n}.
const authorExtension = "https://github.com/parleyhub/parley/a2a/author/v1"

// messageID returns an id that is the same in every attempt at a turn. variant distinguishes
// different messages of a turn.
func messageID(turn *parley.Turn, variant string) string {
	sum := sha256.Sum256(
		fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s", turn.ConversationID, turn.AgentID, turn.Number, turn.SinceSeq,
			variant))
	return "parley-" + hex.EncodeToString(sum[:16])
}

// draft builds the message of a turn.
type draft struct {
	turn   *parley.Turn
	prefix bool // there are several authors
	files  int  // bytes of the included files
	blocks []block
}

// block has the parts of one message of the conversation.
type block struct {
	parts []*a2a.Part
	text  int // bytes of text and data
}

// compose returns the parts of the new messages. It returns none if there are no messages.
func compose(ctx context.Context, turn *parley.Turn, m *memory) (a2a.ContentParts, error) {
	d := &draft{turn: turn, prefix: manyAuthors(turn, m)}
	if m.private != "" && m.link.ContextID == "" {
		d.blocks = append(d.blocks, block{[]*a2a.Part{a2a.NewTextPart(m.private)}, len(m.private)})
	}
	first := len(d.blocks)
	for i := range slices.Backward(m.said) { // if not all files fit, the newest ones are sent
		b, err := d.block(ctx, &m.said[i])
		if err != nil {
			return nil, err
		}
		if len(b.parts) > 0 {
			d.blocks = append(d.blocks, b)
		}
	}
	slices.Reverse(d.blocks[first:])
	if len(d.blocks) == 0 && m.snapshot.Title != "" && turn.SinceSeq == 0 { // the first turn
		d.blocks = append(d.blocks, block{[]*a2a.Part{a2a.NewTextPart(m.snapshot.Title)}, len(m.snapshot.Title)})
	}
	return d.parts(), nil
}

// manyAuthors reports whether the text needs the names of the authors.
func manyAuthors(turn *parley.Turn, m *memory) bool {
	others := map[string]bool{}
	for _, p := range m.snapshot.Participants {
		others[p.ID] = p.ID != turn.AgentID
	}
	for i := range m.said {
		others[m.said[i].From] = true
	}
	delete(others, turn.AgentID)
	return len(others) > 1
}

// block returns the parts of a message.
func (d *draft) block(ctx context.Context, e *parley.Event) (block, error) {
	var b block
	msg, err := e.Message()
	if err != nil {
		return b, nil // ignore an invalid payload
	}
	prefix := ""
	if d.prefix {
		prefix = e.From + ": "
	}
	add := func(p *a2a.Part, size int) {
		p.SetMeta(authorExtension, map[string]any{"participant": e.From, "seq": e.Seq})
		b.parts, b.text = append(b.parts, p), b.text+size
	}
	if prompt := promptOf(msg.Parameters); prompt != "" && msg.Text == "" {
		msg.Text, msg.Parameters = prompt, nil
	}
	if msg.Text != "" {
		add(a2a.NewTextPart(prefix+msg.Text), len(msg.Text))
	}
	for _, raw := range []json.RawMessage{msg.Data, msg.Parameters} {
		var v any
		if len(raw) == 0 || json.Unmarshal(raw, &v) != nil || v == nil {
			continue
		}
		if prefix != "" && len(b.parts) == 0 {
			add(a2a.NewTextPart(prefix+"(data)"), len(prefix))
		}
		add(a2a.NewDataPart(v), len(raw))
	}
	if r := msg.Result; r != nil && r.ResultText != nil && *r.ResultText != "" && msg.Text == "" {
		add(a2a.NewTextPart(prefix+*r.ResultText), len(*r.ResultText))
	}
	for _, at := range msg.Attachments {
		p, err := d.file(ctx, prefix, at)
		if err != nil {
			return b, err
		}
		add(p, 0)
	}
	return b, nil
}

// promptOf returns the prompt of a session whose only parameter is a prompt.
func promptOf(parameters json.RawMessage) string {
	var p map[string]any
	if json.Unmarshal(parameters, &p) != nil || len(p) != 1 {
		return ""
	}
	prompt, _ := p["prompt"].(string)
	return prompt
}

// file returns the data of an attachment, or a text with its name if it is too large.
func (d *draft) file(ctx context.Context, prefix string, at parley.Attachment) (*a2a.Part, error) {
	name := at.Name
	if name == "" {
		name = at.SHA256
	}
	head, err := d.turn.Client.GetAttachment(
		ctx, &parley.GetAttachmentParams{ConversationID: d.turn.ConversationID, SHA256: at.SHA256, Length: 1})
	if err != nil {
		return nil, fmt.Errorf("read the attachment %s: %w", at.SHA256, err)
	}
	if head.Size > MaxSentFile || d.files+int(head.Size) > MaxSentFiles {
		return a2a.NewTextPart(fmt.Sprintf("%s[file %s with %d bytes, not sent]", prefix, name, head.Size)), nil
	}
	data, err := io.ReadAll(parley.ReadAttachment(ctx, d.turn.Client, d.turn.ConversationID, at.SHA256))
	if err != nil {
		return nil, fmt.Errorf("read the attachment %s: %w", at.SHA256, err)
	}
	d.files += len(data)
	return &a2a.Part{Content: a2a.Raw(data), Filename: at.Name, MediaType: at.MediaType}, nil
}

// parts limits the message: it keeps the newest text, and joins parts if there are too many.
func (d *draft) parts() a2a.ContentParts {
	size, first := 0, len(d.blocks)
	for first > 0 && (size+d.blocks[first-1].text <= MaxSentText || first == len(d.blocks)) {
		first--
		size += d.blocks[first].text
	}
	var all a2a.ContentParts
	if first > 0 {
		all = append(all, a2a.NewTextPart(fmt.Sprintf("[%d earlier messages omitted]", first)))
	}
	for _, b := range d.blocks[first:] {
		all = append(all, b.parts...)
	}
	if len(all) <= MaxSentParts {
		return all
	}
	return joined(all)
}

// joined joins adjacent texts.
func joined(all a2a.ContentParts) a2a.ContentParts {
	var fewer a2a.ContentParts
	for _, p := range all {
		text, isText := p.Content.(a2a.Text)
		if isText && len(fewer) > 0 {
			last := fewer[len(fewer)-1]
			if before, ok := last.Content.(a2a.Text); ok {
				fewer[len(fewer)-1] = a2a.NewTextPart(strings.Join([]string{string(before), string(text)}, "\n\n"))
				continue
			}
		}
		fewer = append(fewer, p)
	}
	return fewer
}
