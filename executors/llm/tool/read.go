package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/toolnames"
)

// ReadFile returns a part of a file of the conversation of a turn, and the size of the file. It
// returns parley.ErrDamaged if it read the whole file and the hash is another one.
func ReadFile(ctx context.Context, t *parley.Turn, hash string, offset int64, most int) (data []byte, size int64,
	err error) {
	for size = -1; size < 0 || len(data) < most && offset+int64(len(data)) < size; {
		p, err := t.Client.GetAttachment(ctx, &parley.GetAttachmentParams{ConversationID: t.ConversationID, SHA256: hash,
			Offset: offset + int64(len(data)), Length: min(most-len(data), limits.MaxAttachmentPart)})
		switch {
		case err != nil:
			return nil, 0, err
		case len(p.Data) == 0 && offset+int64(len(data)) < p.Size || size >= 0 && p.Size != size:
			return nil, 0, fmt.Errorf("attachment %s: %w", hash, parley.ErrDamaged)
		}
		data, size = append(data, p.Data...), p.Size
	}
	if sum := sha256.Sum256(data); offset == 0 && int64(len(data)) == size && hex.EncodeToString(sum[:]) != hash {
		return nil, 0, fmt.Errorf("attachment %s: %w", hash, parley.ErrDamaged)
	}
	return data, size, nil
}

// IsText reports whether data is text in UTF-8. Unless it is whole, it may end inside a character.
func IsText(data []byte, whole bool) bool {
	for n := 1; !whole && n < utf8.UTFMax && n <= len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				data = data[:len(data)-n]
			}
			break
		}
	}
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

const readDescription = "Reads a part of a file of this conversation as text, " +
	"such as the rest of a result that was cut. It returns whole characters, and the offset at which to continue."

// readParameters have defaults that a model can rely on.
var readParameters = json.RawMessage(`{"type":"object","properties":{` +
	`"sha256":{"type":"string","description":"The sha256 of the file, 64 hexadecimal digits."},` +
	`"offset":{"type":"integer","minimum":0,"description":"The byte at which to start. The default is 0."},` +
	`"limit":{"type":"integer","minimum":1,"description":"The number of bytes to read. The default is 32768. ` +
	`The answer may be shorter."}},"required":["sha256"],"additionalProperties":false}`)

const (
	defaultRead = 32 << 10 // bytes that read_file reads without a limit
	maxRead     = maxShown // most bytes that it reads
)

var fileHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// fileReader is the built-in tool read_file.
type fileReader struct {
	spec   llm.ToolSpec
	tokens int // limit of the answer
}

// addReader adds read_file, without offering it. See Box.ReaderSpec.
func (b *Box) addReader(s *set) error {
	name := toolnames.ReadFile
	if s.byName[name] != nil { // a function or an agent has the name
		name = toolnames.ReadStoredFile
	}
	if s.byName[name] != nil {
		return nil
	}
	spec := llm.ToolSpec{Name: name, Description: readDescription, Parameters: readParameters}
	if err := b.add(s, &entry{tool: &fileReader{spec, b.tokens()}, own: spec}); err != nil {
		return err
	}
	s.reader, s.entries = s.byName[name], s.entries[:len(s.entries)-1]
	return nil
}

// ReaderSpec returns the spec of read_file, which Specs does not return. The agent offers it after
// a text was cut. It returns false if two tools of the agent have its names.
func (b *Box) ReaderSpec(ctx context.Context, c parley.Client) (llm.ToolSpec, bool, error) {
	s, err := b.current(ctx, c)
	if err != nil || s.reader == nil {
		return llm.ToolSpec{}, false, err
	}
	return s.reader.exposed, true, nil
}

func (r *fileReader) Spec() llm.ToolSpec { return r.spec }

// Repeatable marks the tool as repeatable: it only reads.
func (r *fileReader) Repeatable() {}

func (r *fileReader) Run(ctx context.Context, c *Call) (*Result, error) {
	var a struct {
		SHA256 string       `json:"sha256"`
		Offset *json.Number `json:"offset"`
		Limit  *json.Number `json:"limit"`
	}
	if err := json.Unmarshal(c.Arguments, &a); err != nil {
		return nil, err
	}
	hash := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(a.SHA256)), "sha256:")
	if !fileHash.MatchString(hash) {
		return (&problem{Error: "invalid_arguments", Message: "sha256 is not the hash of a file.",
			Hint: "Pass the 64 hexadecimal digits of a file of this conversation."}).result(), nil
	}
	offset, limit := number(a.Offset, 0), min(number(a.Limit, defaultRead), maxRead)
	from := max(0, offset-utf8.UTFMax+1) // the offset may be inside a character
	data, size, err := ReadFile(ctx, c.Turn, hash, from, int(offset-from+limit)+utf8.UTFMax)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case EndsTurn(err):
		return nil, turnLost{err}
	case errors.Is(err, parley.ErrNotFound):
		return (&problem{Error: "not_found",
			Message: "This conversation has no file with the sha256 " + hash + "."}).result(), nil
	case errors.Is(err, parley.ErrValidationFailed):
		return (&problem{Error: "invalid_arguments", Message: fmt.Sprintf("The offset %d is beyond the end of the file.",
			offset)}).result(), nil
	default:
		return nil, err
	}
	if offset >= size {
		return &Result{Text: fmt.Sprintf("[The file has %d bytes. There is nothing at offset %d.]", size, offset)}, nil
	}
	begin, end := part(data, int(offset-from), int(limit))
	if !IsText(data[begin:end], true) {
		return (&problem{Error: "not_text", Message: fmt.Sprintf("The file with the sha256 %s has %d bytes and is not text, "+
			"so it cannot be read with this tool.", hash, size)}).result(), nil
	}
	text := Head(string(data[begin:end]), max(r.tokens-readOverhead, 1))
	if text == "" { // a character does not fit
		_, n := utf8.DecodeRune(data[begin:])
		text = string(data[begin : begin+n])
	}
	first := from + int64(begin)
	next, more := first+int64(len(text)), "This is the end of the file."
	if next < size {
		more = fmt.Sprintf("Continue at offset %d.", next)
	}
	return &Result{Text: fmt.Sprintf("[Bytes %d to %d of %d. %s]\n%s", first, next, size, more, text)}, nil
}

// readOverhead is more than the number of tokens before the text of an answer.
const readOverhead = 64

// number returns an argument as an integer, such as 5 for 5.0.
func number(n *json.Number, absent int64) int64 {
	if n == nil {
		return absent
	}
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil || f > 1<<40 {
		return 1 << 40
	}
	return int64(f)
}

// part returns the range of the characters from begin, at most limit bytes. It moves begin to the
// start of its character, and has at least one character.
func part(data []byte, begin, limit int) (int, int) {
	for i := begin; i >= 0 && i > begin-utf8.UTFMax; i-- {
		if i < len(data) && utf8.RuneStart(data[i]) {
			begin = i
			break
		}
	}
	end := min(begin+limit, len(data))
	for end > begin && end < len(data) && !utf8.RuneStart(data[end]) {
		end--
	}
	if end == begin {
		_, n := utf8.DecodeRune(data[begin:])
		end += n
	}
	return begin, end
}
