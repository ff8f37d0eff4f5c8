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

// Bounds of the final message.
const (
	// MaxTextBytes is how much of a text stands in it. More becomes a file, and HeadBytes of it stand in the message.
	MaxTextBytes = 64 << 10
	HeadBytes    = 4 << 10
	// MaxMessageBytes is what the message takes at most, as JSON: a shorter text becomes a file too if it would not fit.
	MaxMessageBytes = 200 << 10
)

// The reasons of jobs that have failed here.
const (
	ReasonParameters  = "parameters"    // they do not match
	ReasonSchema      = "output_schema" // the result does not match
	ReasonTimeout     = "timeout"       // the agent has used up its time
	ReasonInterrupted = "interrupted"   // an earlier attempt was not let come to its end, and there is only one
)

// Output is what a job has brought.
type Output struct {
	// Result is told. Its Error says that the job has failed; ResultType is filled in.
	Result *parley.SessionResult
	// Reason is the outcome's where it has failed: a word.
	Reason string
	// File is what becomes a file where the result is too large for a message; without one that is made of the result.
	File *File
}

// File is a file.
type File struct {
	Name, MediaType string
	Data            []byte
}

// Value makes an Output of a value: any that encodes as JSON, or JSON. A text is the result_text as it is.
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

// Failed is the Output of a job that has failed. Its words are read by whoever has asked for it.
func Failed(reason, format string, args ...any) *Output {
	return &Output{Reason: reason, Result: &parley.SessionResult{Error: fmt.Sprintf(format, args...)}}
}

// encode gives compact JSON in which < and > stand as they are.
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

// match holds a result against the schema of the agent.
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
		o.Result.Error = "The result cannot be held against the agent's output_schema: " + refusal.Message
	}
}

// fit makes a file of a result that is too large for the message, and leaves its beginning.
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
				return fmt.Errorf("keep the result: %w", err)
			}
			r.Attachment = &a
		}
	}
	for len(r.ValidationErrors) > 0 && encoded(r) > MaxMessageBytes {
		r.ValidationErrors = r.ValidationErrors[:len(r.ValidationErrors)/2]
	}
	return nil
}

// fits reports whether a result can stand in a message as it is.
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

// fileOf is the file of a result.
func fileOf(r *parley.SessionResult, whole string) *File {
	if len(r.ResultData) > 0 {
		return &File{Name: "result.json", MediaType: "application/json", Data: r.ResultData}
	}
	return &File{Name: "result.txt", MediaType: "text/plain; charset=utf-8", Data: []byte(whole)}
}

// head gives the beginning of a text: at most so many bytes, whole characters.
func head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// reason is the reason of the outcome.
func (o *Output) reason() string { return cmp.Or(o.Reason, "failed") }
