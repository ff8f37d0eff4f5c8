package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// Bounds of the parts of a message. What is over them is refused by name, before anything is written.
const (
	// MaxParts bounds the parts of one message; parley.MaxMessageAttachments those of them that are files, and parley.MaxAttachmentBytes each file.
	MaxParts = 64
	// MaxMetadataBytes bounds the metadata of a message, and of each part.
	MaxMetadataBytes = 16 << 10
	// MaxFilenameBytes, MaxPartTypeBytes and MaxPartURLBytes bound what a part says of itself.
	MaxFilenameBytes = 1 << 10
	MaxPartTypeBytes = 255
	MaxPartURLBytes  = 8 << 10
	// maxValueDepth bounds how deep data and metadata nest, so that they fit below the levels that stand around them in the log and on the wire.
	maxValueDepth = 48
	// maxPayloadBytes leaves room in an event for all that is not its payload.
	maxPayloadBytes = parley.MaxEventBytes - 8<<10
)

// whole is the item of a data part that is all of payload.data.
const whole = -1

// part is one part of a message in payload.a2a.parts. What it holds is in one of the first seven members: a piece of payload.text, payload.data or one of its elements, a file of
// payload.attachments, an address, or, as participants may write it, text or data of its own.
type part struct {
	Cut       *[2]int         `json:"cut,omitempty"`  // from and to in payload.text, in bytes before its end: what is put before it moves nothing
	Item      *int            `json:"item,omitempty"` // of the array payload.data; whole: all of it
	File      *int            `json:"file,omitempty"` // of payload.attachments
	URL       string          `json:"url,omitempty"`
	Text      string          `json:"text,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
	Metadata  map[string]any  `json:"metadata,omitempty"`
}

// putParts makes the payload of a message of its parts and of more, whose Parts it sets. Raw parts are added to the conversation as attachments first, when all that can be refused
// here has been. The same message again gives the same payload.
//
// Agents that know nothing of A2A see all of it: the texts with an empty line between them, each address in a line "name: URL" among them, the data (an array, where there are
// several), and the files. Addresses are never fetched.
func (s *Server) putParts(ctx context.Context, client parley.Client, conversationID string, m *a2a.Message, more *payload) (json.RawMessage, error) {
	d, err := draftOf(m, more)
	if err != nil {
		return nil, err
	}
	for _, f := range d.files {
		p := &parley.PutAttachmentParams{ConversationID: conversationID, Data: f.data, Name: f.name, MediaType: f.mediaType}
		if _, err := client.PutAttachment(ctx, p); err != nil {
			return nil, fmt.Errorf("keep a file of the message: %w", err)
		}
	}
	return d.payload, nil
}

// draft is a message that is ready to be written, and the files that must be there before.
type draft struct {
	payload json.RawMessage
	files   []file
}

type file struct {
	data            []byte
	name, mediaType string
}

// sheet gathers the parts of a message.
type sheet struct {
	text  strings.Builder
	data  []json.RawMessage
	files []file
	refs  []parley.Attachment
	parts []part
}

// draftOf makes the payload, and refuses what cannot be kept.
func draftOf(m *a2a.Message, more *payload) (*draft, error) {
	if len(m.Parts) == 0 {
		return nil, refuse("message.parts is empty", "at least one part")
	}
	if len(m.Parts) > MaxParts {
		return nil, refuse(fmt.Sprintf("message.parts has %d parts", len(m.Parts)), fmt.Sprintf("at most %d", MaxParts))
	}
	if err := checkMetadata("message.metadata", more.Metadata); err != nil {
		return nil, err
	}
	var sh sheet
	for i, p := range m.Parts {
		if err := sh.add(fmt.Sprintf("message.parts[%d]", i), p); err != nil {
			return nil, err
		}
	}
	return sh.finish(more)
}

// add takes the next part; name is what its sender calls it.
func (sh *sheet) add(name string, p *a2a.Part) error {
	if p == nil || p.Content == nil {
		return refuse(name+" is empty", "one of text, raw, url and data")
	}
	if err := checkLabels(name, p); err != nil {
		return err
	}
	q := part{Filename: p.Filename, MediaType: p.MediaType, Metadata: p.Metadata}
	var err error
	switch v := p.Content.(type) {
	case a2a.Text:
		q.Cut, err = sh.addText(name+".text", string(v))
	case a2a.Data:
		q.Item, err = sh.addData(name+".data", v.Value)
	case a2a.Raw:
		q.File, err = sh.addFile(name, v, p)
	case a2a.URL:
		q.URL, err = string(v), sh.addURL(name+".url", string(v), p)
	default:
		err = refuse(name+" is of a kind that is not known", "one of text, raw, url and data")
	}
	sh.parts = append(sh.parts, q)
	return err
}

func (sh *sheet) addText(name, text string) (*[2]int, error) {
	if text == "" {
		return nil, refuse(name+" is empty", "text")
	}
	if !utf8.ValidString(text) {
		return nil, refuse(name+" is not UTF-8", "text")
	}
	return sh.write(text), nil
}

// write adds a paragraph to the text, and gives where it is.
func (sh *sheet) write(text string) *[2]int {
	if sh.text.Len() > 0 {
		sh.text.WriteString("\n\n")
	}
	at := &[2]int{sh.text.Len(), 0}
	sh.text.WriteString(text)
	at[1] = sh.text.Len()
	return at
}

func (sh *sheet) addData(name string, v any) (*int, error) {
	raw, err := encode(v)
	if err != nil || string(raw) == "null" {
		return nil, refuse(name+" is null, or no JSON", "any JSON but null")
	}
	if depth(raw) > maxValueDepth {
		return nil, refuse(name+" nests too deep", fmt.Sprintf("at most %d levels", maxValueDepth))
	}
	item := len(sh.data)
	sh.data = append(sh.data, raw)
	return &item, nil
}

func (sh *sheet) addFile(name string, raw []byte, p *a2a.Part) (*int, error) {
	switch {
	case len(raw) == 0:
		return nil, refuse(name+".raw is empty", "a file of at least 1 byte")
	case len(raw) > parley.MaxAttachmentBytes:
		return nil, overBound(fmt.Sprintf("%s.raw has %d bytes", name, len(raw)), parley.MaxAttachmentBytes)
	case len(sh.files) == parley.MaxMessageAttachments:
		return nil, refuse(name+".raw is one file too many", fmt.Sprintf("at most %d files in a message", parley.MaxMessageAttachments))
	}
	f := file{data: raw, name: plainName(p.Filename), mediaType: plainType(p.MediaType)}
	sum := sha256.Sum256(raw)
	i := len(sh.files)
	sh.files = append(sh.files, f)
	sh.refs = append(sh.refs, parley.Attachment{SHA256: hex.EncodeToString(sum[:]), Name: f.name, MediaType: f.mediaType})
	return &i, nil
}

func (sh *sheet) addURL(name, url string, p *a2a.Part) error {
	switch {
	case url == "":
		return refuse(name+" is empty", "an address")
	case len(url) > MaxPartURLBytes:
		return refuse(fmt.Sprintf("%s has %d bytes", name, len(url)), fmt.Sprintf("at most %d", MaxPartURLBytes))
	case !utf8.ValidString(url) || strings.ContainsFunc(url, unicode.IsControl):
		return refuse(name+" has a control character, or is not UTF-8", "an address")
	case strings.HasPrefix(url, filePlaceholder):
		return refuse(name+" has a scheme that nobody may use", "an address")
	}
	sh.write(cmp.Or(plainName(p.Filename), plainType(p.MediaType), "file") + ": " + url)
	return nil
}

// settle makes the places of the parts, which were counted as they came, what part says that they are.
func (sh *sheet) settle() {
	for i := range sh.parts {
		if at := sh.parts[i].Cut; at != nil {
			at[0], at[1] = sh.text.Len()-at[0], sh.text.Len()-at[1]
		}
		if item := sh.parts[i].Item; item != nil && len(sh.data) == 1 {
			*item = whole
		}
	}
}

// finish puts the payload together.
func (sh *sheet) finish(more *payload) (*draft, error) {
	content := struct {
		Text        string              `json:"text,omitempty"`
		Data        json.RawMessage     `json:"data,omitempty"`
		Attachments []parley.Attachment `json:"attachments,omitempty"`
		A2A         payload             `json:"a2a"`
	}{Text: sh.text.String(), Attachments: sh.refs, A2A: *more}
	sh.settle()
	switch len(sh.data) {
	case 0:
	case 1:
		content.Data = sh.data[0]
	default:
		content.Data, _ = encode(sh.data)
	}
	content.A2A.Parts = nil
	if !slices.EqualFunc(sh.parts, plainParts(&parley.Message{Text: content.Text, Data: content.Data, Attachments: sh.refs}), samePart) {
		content.A2A.Parts = sh.parts
	}
	raw, err := encode(content)
	if err != nil {
		return nil, refuse("the message cannot be kept as JSON: "+err.Error(), "JSON")
	}
	if len(raw) > maxPayloadBytes {
		return nil, overBound(fmt.Sprintf("the message without its files has %d bytes", len(raw)), maxPayloadBytes)
	}
	return &draft{raw, sh.files}, nil
}

// plainParts are the parts of a message that says nothing of them: text, data, files.
func plainParts(m *parley.Message) (all []part) {
	if m.Text != "" {
		all = append(all, part{Cut: &[2]int{len(m.Text), 0}})
	}
	if len(m.Data) > 0 && string(m.Data) != "null" {
		item := whole
		all = append(all, part{Item: &item})
	}
	for i, a := range m.Attachments {
		all = append(all, part{File: &i, Filename: a.Name, MediaType: a.MediaType})
	}
	return all
}

func samePart(a, b part) bool {
	return sameValue(a.Cut, b.Cut) && sameValue(a.Item, b.Item) && sameValue(a.File, b.File) && a.URL == b.URL &&
		a.Filename == b.Filename && a.MediaType == b.MediaType && a.Metadata == nil && b.Metadata == nil
}

func sameValue[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// partsOf gives the parts of a message: those that it says it has, as far as they can be, else what the payload has. Files are placeholders: see resolve.
func partsOf(m *parley.Message, said []part) a2a.ContentParts {
	var all a2a.ContentParts
	for i := range said {
		if p := partOf(m, &said[i]); p != nil {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		plain := plainParts(m)
		for i := range plain {
			all = append(all, partOf(m, &plain[i]))
		}
	}
	if len(all) == 0 && len(m.Parameters) > 0 {
		all = append(all, dataPart(m.Parameters))
	}
	if all = slices.DeleteFunc(all, func(p *a2a.Part) bool { return p == nil }); len(all) == 0 {
		all = append(all, a2a.NewTextPart("(no words)"))
	}
	return all
}

// partOf gives what a part stands for; nil where that is nothing.
func partOf(m *parley.Message, p *part) *a2a.Part {
	out := &a2a.Part{Filename: p.Filename, MediaType: p.MediaType, Metadata: p.Metadata}
	switch {
	case p.Cut != nil:
		text := cut(m.Text, *p.Cut)
		if text == "" {
			return nil
		}
		out.Content = a2a.Text(text)
	case p.Item != nil:
		data := itemOf(m.Data, *p.Item)
		if data == nil {
			return nil
		}
		out.Content = data.Content
	case p.File != nil:
		if *p.File < 0 || *p.File >= len(m.Attachments) {
			return nil
		}
		out.Content = a2a.URL(filePlaceholder + m.Attachments[*p.File].SHA256)
	case p.URL != "" && !strings.HasPrefix(p.URL, filePlaceholder):
		out.Content = a2a.URL(p.URL)
	case p.Text != "":
		out.Content = a2a.Text(p.Text)
	default:
		data := dataPart(p.Data)
		if data == nil {
			return nil
		}
		out.Content = data.Content
	}
	return out
}

// cut gives a piece of a text, empty where there is none.
func cut(s string, at [2]int) string {
	from, to := len(s)-at[0], len(s)-at[1]
	if from < 0 || to > len(s) || from >= to || !utf8.ValidString(s[from:to]) {
		return ""
	}
	return s[from:to]
}

// itemOf gives an element of data, or all of it; nil where there is none.
func itemOf(data json.RawMessage, i int) *a2a.Part {
	if i == whole {
		return dataPart(data)
	}
	var items []json.RawMessage
	if i < 0 || json.Unmarshal(data, &items) != nil || i >= len(items) {
		return nil
	}
	return dataPart(items[i])
}

// dataPart gives JSON as a part, with its numbers as they are; nil for null and for none.
func dataPart(raw json.RawMessage) *a2a.Part {
	v, err := decode(raw)
	if err != nil || v == nil {
		return nil
	}
	return a2a.NewDataPart(v)
}

// readParts reads payload.a2a.parts, without those that are none. More than MaxParts are none at all.
func readParts(raw json.RawMessage) []part {
	var each []json.RawMessage
	if json.Unmarshal(raw, &each) != nil || len(each) > MaxParts {
		return nil
	}
	var all []part
	for _, one := range each {
		var p part
		d := json.NewDecoder(strings.NewReader(string(one)))
		d.UseNumber()
		if d.Decode(&p) == nil {
			all = append(all, p)
		}
	}
	return all
}
