package work

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/paramschema"
)

// Limits of the final message.
const (
	// MaxTextBytes limits the text. A longer text becomes a file, and the message has its first
	// HeadBytes.
	MaxTextBytes = 64 << 10
	HeadBytes    = 4 << 10
	// MaxMessageBytes limits the message as JSON. A shorter text also becomes a file if it exceeds
	// this limit.
	MaxMessageBytes = 200 << 10
)

// The reasons of jobs that failed in this package.
const (
	ReasonParameters  = "parameters"    // the parameters do not match
	ReasonSchema      = "output_schema" // the result does not match
	ReasonTimeout     = "timeout"       // the agent exceeded its timeout_ms
	ReasonInterrupted = "interrupted"   // an earlier attempt of work with Options.Once did not end
)

// Output is the result of a job.
type Output struct {
	// Result is the result of the session. If its Error is set, the job failed. ResultType is set
	// by this package.
	Result *parley.SessionResult
	// Reason is the reason of a failure, in one word.
	Reason string
	// File is the file of a result that is too large for a message. If it is nil, it is made of the
	// result.
	File *File
}

// File is a file.
type File struct {
	Name, MediaType string
	Data            []byte
}

// Value returns the Output of a value that can be encoded as JSON. A string becomes the result_text
// unchanged.
func Value(v any) (*Output, error) {
	b, err := encode(v)
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	text := string(b)
	var said string
	if json.Unmarshal(b, &said) == nil && b[0] == '"' {
		text = said
	}
	return &Output{Result: &parley.SessionResult{ResultText: &text, ResultData: b}}, nil
}

// Failed returns the Output of a failed job. The caller of the job reads its text.
func Failed(reason, format string, args ...any) *Output {
	return &Output{Reason: reason, Result: &parley.SessionResult{Error: fmt.Sprintf(format, args...)}}
}

// encode returns compact JSON without escaping of < and >.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	var c bytes.Buffer
	if err := json.Compact(&c, b.Bytes()); err != nil {
		return nil, err
	}
	return c.Bytes(), nil
}

// match validates a result against the schema of the agent.
func (o *Output) match(schema *paramschema.Schema, missing string) {
	if schema == nil || o.Result.Error != "" {
		return
	}
	wrong := []parley.ValidationError{{Path: "$", Message: missing}}
	var err error
	if o.Result.ResultData != nil {
		wrong, err = schema.Validate(o.Result.ResultData)
	}
	if len(wrong) == 0 && err == nil {
		return
	}
	o.Reason, o.Result.Error, o.Result.ValidationErrors = ReasonSchema, "The result does not match the agent's "+
		"output_schema", wrong
	var refusal *parley.Error
	if errors.As(err, &refusal) {
		o.Result.Error = "The result cannot be checked against the agent's output_schema: " + refusal.Message
	}
}

// fit moves a result that is too large for the message to a file, and keeps its beginning.
func (o *Output) fit(ctx context.Context, turn *parley.Turn) error {
	r := o.Result
	if fits(r) {
		return nil
	}
	whole := string(r.ResultData)
	if r.ResultText != nil {
		whole = *r.ResultText
	}
	if len(whole) > HeadBytes {
		f := o.File
		if f == nil {
			f = fileOf(r, whole)
		}
		beginning := head(whole, HeadBytes)
		r.ResultText, r.ResultData = &beginning, nil
		if len(f.Data) > 0 {
			a, err := turn.Attach(ctx, f.Name, f.MediaType, f.Data)
			if err != nil {
				return fmt.Errorf("attach the result: %w", err)
			}
			r.Attachment = &a
		}
	}
	for len(r.ValidationErrors) > 0 && encoded(r) > MaxMessageBytes {
		r.ValidationErrors = r.ValidationErrors[:len(r.ValidationErrors)/2]
	}
	return nil
}

// fits reports whether a result fits into a message.
func fits(r *parley.SessionResult) bool {
	return (r.ResultText == nil || len(*r.ResultText) <= MaxTextBytes) && encoded(r) <= MaxMessageBytes
}

func encoded(r *parley.SessionResult) int {
	b, err := json.Marshal(parley.Message{Result: r})
	if err != nil {
		return MaxMessageBytes + 1
	}
	return len(b)
}

// fileOf returns the file of a result.
func fileOf(r *parley.SessionResult, whole string) *File {
	if len(r.ResultData) > 0 {
		return &File{Name: "result.json", MediaType: "application/json", Data: r.ResultData}
	}
	return &File{Name: "result.txt", MediaType: "text/plain; charset=utf-8", Data: []byte(whole)}
}

// head returns at most the given number of bytes of a text, without splitting a rune.
func head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// reason returns the reason of the outcome.
func (o *Output) reason() string { return cmp.Or(o.Reason, "failed") }
