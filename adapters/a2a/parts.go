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

// Limits of the parts of a message. Violations are refused by name before anything is written.
const (
	// MaxParts limits the parts of one message. parley.MaxMessageAttachments limits the files among
	// them, and parley.MaxAttachmentBytes each file.
	MaxParts = 64
	// MaxMetadataBytes limits the metadata of a message, and of each part.
	MaxMetadataBytes = 16 << 10
	// MaxFilenameBytes, MaxPartTypeBytes and MaxPartURLBytes limit the attributes of a part.
	MaxFilenameBytes = 1 << 10
	MaxPartTypeBytes = 255
	MaxPartURLBytes  = 8 << 10
	// maxValueDepth limits the nesting of data and metadata, so that they fit into the nesting limits
	// of the log and the wire.
	maxValueDepth = 48
	// maxPayloadBytes leaves room in an event for the other members.
	maxPayloadBytes = parley.MaxEventBytes - 8<<10
)

// wholeData is the Item of a data part that is all of payload.data.
const wholeData = -1

// part is one part of a message in payload.a2a.parts. Its content is in one of the first six
// members: a range of payload.text, payload.data or one of its elements, a file of
// payload.attachments, a URL, or, in messages of participants, separate text or data.
type part struct {
	// start and end in payload.text, in bytes before its end, so that a prefix changes nothing
	Cut       *[2]int         `json:"cut,omitempty"`
	Item      *int            `json:"item,omitempty"` // index in the array payload.data, or wholeData
	File      *int            `json:"file,omitempty"` // index in payload.attachments
	URL       string          `json:"url,omitempty"`
	Text      string          `json:"text,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
	Metadata  map[string]any  `json:"metadata,omitempty"`
}

// putParts returns the payload of a message with its parts and the members of more. It first adds
// raw parts to the conversation as attachments, after all checks of this package have passed. The
// same message returns the same payload.
//
// Agents that do not know A2A see everything. The text has the text parts with an empty line
// between them, and each URL in a line "name: URL". The data is an array if there are several data
// parts. The files are attachments. The adapter never fetches URLs.
func (s *Server) putParts(ctx context.Context, client parley.Client, conversationID string, m *a2a.Message,
	more *payload) (json.RawMessage, error) {
	d, err := draftOf(m, more)
	if err != nil {
		return nil, err
	}
	for _, f := range d.files {
		p := &parley.PutAttachmentParams{ConversationID: conversationID, Data: f.data, Name: f.name, MediaType: f.mediaType}
		if _, err := client.PutAttachment(ctx, p); err != nil {
			return nil, fmt.Errorf("store a file of the message: %w", err)
		}
	}
	return d.payload, nil
}

// draft is a message that is ready to be posted, and the files that must be stored first.
type draft struct {
	payload json.RawMessage
	files   []file
}

type file struct {
	data            []byte
	name, mediaType string
}

// payloadBuilder collects the parts of a message.
type payloadBuilder struct {
	text  strings.Builder
	data  []json.RawMessage
	files []file
	refs  []parley.Attachment
	parts []part
}

// draftOf returns the payload, and refuses parts that cannot be stored.
func draftOf(m *a2a.Message, more *payload) (*draft, error) {
	if len(m.Parts) == 0 {
		return nil, refusePart("message.parts is empty", "at least one part")
	}
	if len(m.Parts) > MaxParts {
		return nil, refusePart(fmt.Sprintf("message.parts has %d parts", len(m.Parts)), fmt.Sprintf("at most %d", MaxParts))
	}
	if err := checkMetadata("message.metadata", more.Metadata); err != nil {
		return nil, err
	}
	var sh payloadBuilder
	for i, p := range m.Parts {
		if err := sh.addPart(fmt.Sprintf("message.parts[%d]", i), p); err != nil {
			return nil, err
		}
	}
	return sh.finish(more)
}

// addPart adds the next part. name is its path in the request, for errors.
func (sh *payloadBuilder) addPart(name string, p *a2a.Part) error {
	if p == nil || p.Content == nil {
		return refusePart(name+" is empty", "one of text, raw, url and data")
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
		err = refusePart(name+" has an unknown kind", "one of text, raw, url and data")
	}
	sh.parts = append(sh.parts, q)
	return err
}

func (sh *payloadBuilder) addText(name, text string) (*[2]int, error) {
	if text == "" {
		return nil, refusePart(name+" is empty", "text")
	}
	if !utf8.ValidString(text) {
		return nil, refusePart(name+" is not UTF-8", "text")
	}
	return sh.addParagraph(text), nil
}

// addParagraph appends a paragraph to the text and returns its range.
func (sh *payloadBuilder) addParagraph(text string) *[2]int {
	if sh.text.Len() > 0 {
		sh.text.WriteString("\n\n")
	}
	at := &[2]int{sh.text.Len(), 0}
	sh.text.WriteString(text)
	at[1] = sh.text.Len()
	return at
}

func (sh *payloadBuilder) addData(name string, v any) (*int, error) {
	raw, err := encode(v)
	if err != nil || string(raw) == "null" {
		return nil, refusePart(name+" is null, or not valid JSON", "a JSON value other than null")
	}
	if depth(raw) > maxValueDepth {
		return nil, refusePart(name+" is nested too deeply", fmt.Sprintf("at most %d levels", maxValueDepth))
	}
	item := len(sh.data)
	sh.data = append(sh.data, raw)
	return &item, nil
}

func (sh *payloadBuilder) addFile(name string, raw []byte, p *a2a.Part) (*int, error) {
	switch {
	case len(raw) == 0:
		return nil, refusePart(name+".raw is empty", "a file of at least 1 byte")
	case len(raw) > parley.MaxAttachmentBytes:
		return nil, overBound(fmt.Sprintf("%s.raw has %d bytes", name, len(raw)), parley.MaxAttachmentBytes)
	case len(sh.files) == parley.MaxMessageAttachments:
		return nil, refusePart(name+".raw exceeds the number of files", fmt.Sprintf("at most %d files in a message",
			parley.MaxMessageAttachments))
	}
	f := file{data: raw, name: plainName(p.Filename), mediaType: plainType(p.MediaType)}
	sum := sha256.Sum256(raw)
	i := len(sh.files)
	sh.files = append(sh.files, f)
	sh.refs = append(sh.refs, parley.Attachment{SHA256: hex.EncodeToString(sum[:]), Name: f.name, MediaType: f.mediaType})
	return &i, nil
}

func (sh *payloadBuilder) addURL(name, url string, p *a2a.Part) error {
	switch {
	case url == "":
		return refusePart(name+" is empty", "a URL")
	case len(url) > MaxPartURLBytes:
		return refusePart(fmt.Sprintf("%s has %d bytes", name, len(url)), fmt.Sprintf("at most %d", MaxPartURLBytes))
	case !utf8.ValidString(url) || strings.ContainsFunc(url, unicode.IsControl):
		return refusePart(name+" has a control character, or is not UTF-8", "a URL")
	case strings.HasPrefix(url, filePlaceholder):
		return refusePart(name+" has a reserved scheme", "a URL")
	}
	sh.addParagraph(cmp.Or(plainName(p.Filename), plainType(p.MediaType), "file") + ": " + url)
	return nil
}

// finishRanges converts the ranges from offsets to distances from the end of the text.
func (sh *payloadBuilder) finishRanges() {
	for i := range sh.parts {
		if at := sh.parts[i].Cut; at != nil {
			at[0], at[1] = sh.text.Len()-at[0], sh.text.Len()-at[1]
		}
		if item := sh.parts[i].Item; item != nil && len(sh.data) == 1 {
			*item = wholeData
		}
	}
}

// finish returns the payload.
func (sh *payloadBuilder) finish(more *payload) (*draft, error) {
	content := struct {
		Text        string              `json:"text,omitempty"`
		Data        json.RawMessage     `json:"data,omitempty"`
		Attachments []parley.Attachment `json:"attachments,omitempty"`
		A2A         payload             `json:"a2a"`
	}{Text: sh.text.String(), Attachments: sh.refs, A2A: *more}
	sh.finishRanges()
	switch len(sh.data) {
	case 0:
	case 1:
		content.Data = sh.data[0]
	default:
		content.Data, _ = encode(sh.data)
	}
	content.A2A.Parts = nil
	if !slices.EqualFunc(sh.parts, plainParts(&parley.Message{Text: content.Text, Data: content.Data,
		Attachments: sh.refs}), samePart) {
		content.A2A.Parts = sh.parts
	}
	raw, err := encode(content)
	if err != nil {
		return nil, refusePart("the message cannot be stored as JSON: "+err.Error(), "JSON")
	}
	if len(raw) > maxPayloadBytes {
		return nil, overBound(fmt.Sprintf("the message without its files has %d bytes", len(raw)), maxPayloadBytes)
	}
	return &draft{raw, sh.files}, nil
}

// plainParts returns the parts of a message without payload.a2a.parts: text, data and files.
func plainParts(m *parley.Message) (all []part) {
	if m.Text != "" {
		all = append(all, part{Cut: &[2]int{len(m.Text), 0}})
	}
	if len(m.Data) > 0 && string(m.Data) != "null" {
		item := wholeData
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

// partsOf returns the valid declared parts of a message, otherwise those of the payload. Files are
// placeholders: see resolve.
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
		all = append(all, a2a.NewTextPart("(no text)"))
	}
	return all
}

// partOf returns the A2A part of a declared part, or nil if it is invalid.
func partOf(m *parley.Message, p *part) *a2a.Part {
	out := &a2a.Part{Filename: p.Filename, MediaType: p.MediaType, Metadata: p.Metadata}
	switch {
	case p.Cut != nil:
		text := textRange(m.Text, *p.Cut)
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

// textRange returns a range of a text, or "" if the range is invalid.
func textRange(s string, at [2]int) string {
	from, to := len(s)-at[0], len(s)-at[1]
	if from < 0 || to > len(s) || from >= to || !utf8.ValidString(s[from:to]) {
		return ""
	}
	return s[from:to]
}

// itemOf returns an element of data, or all of it. It returns nil if none exists.
func itemOf(data json.RawMessage, i int) *a2a.Part {
	if i == wholeData {
		return dataPart(data)
	}
	var items []json.RawMessage
	if i < 0 || json.Unmarshal(data, &items) != nil || i >= len(items) {
		return nil
	}
	return dataPart(items[i])
}

// dataPart returns JSON as a part and keeps the digits of numbers. It returns nil for null and
// invalid JSON.
func dataPart(raw json.RawMessage) *a2a.Part {
	v, err := decode(raw)
	if err != nil || v == nil {
		return nil
	}
	return a2a.NewDataPart(v)
}

// readParts parses payload.a2a.parts and skips invalid parts. It returns nil for more than
// MaxParts.
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
