package blueprint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parleyhub/parley"
)

// Bounds of the message that closes a session.
const (
	// MaxTextBytes is how much of stdout stands in it. More becomes a file, and HeadBytes of it stand in the message.
	MaxTextBytes = 64 << 10
	HeadBytes    = 4 << 10
	// MaxMessageBytes is what the message takes at most, as JSON: a shorter text becomes a file too if it would not fit.
	MaxMessageBytes = 200 << 10
	// maxDataDepth is how deep result_data may nest: it stands inside of other values wherever it is read.
	maxDataDepth = parley.MaxDepth - 16
)

// result says what came of a run. The output is put where it fits.
func (s *session) result(ctx context.Context, e *ending) (*parley.SessionResult, error) {
	text := valid(string(e.stdout))
	r := &parley.SessionResult{ResultType: parley.AgentTypeDeterministic, ResultText: &text, ExitCode: e.code, Error: e.failure, ValidationErrors: e.wrong}
	if e.whole {
		r.ResultData = dataOf(e.stdout)
	}
	if e.failure == "" && s.file.Output != nil {
		s.match(e, r)
	}
	if fits(r) {
		return r, nil
	}
	return r, s.move(ctx, e, r)
}

// dataOf gives stdout as JSON, when all of it is: no name twice, no number beyond a double, which readers take in many ways, and not deeper than can be passed on.
func dataOf(stdout []byte) json.RawMessage {
	dec := jsontext.NewDecoder(bytes.NewReader(stdout))
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		switch depth := dec.StackDepth(); {
		case depth > maxDataDepth || t.Kind() == jsontext.KindNumber && isBeyond(t.String()):
			return nil
		case depth == 0:
			if len(bytes.Trim(stdout[dec.InputOffset():], " \t\r\n")) > 0 {
				return nil
			}
			var b bytes.Buffer
			_ = json.Compact(&b, stdout) // it was read
			return b.Bytes()
		}
	}
}

// isBeyond reports whether a number is larger than any double.
func isBeyond(number string) bool {
	_, err := strconv.ParseFloat(number, 64)
	return err != nil
}

// match holds a result against the agent's schema.
func (s *session) match(e *ending, r *parley.SessionResult) {
	wrong := []parley.ValidationError{{Path: "$", Message: "the command has not written JSON to stdout, and nothing but that"}}
	var err error
	if r.ResultData != nil {
		wrong, err = s.file.Output.Validate(r.ResultData)
	}
	if len(wrong) == 0 && err == nil {
		return
	}
	e.reason, e.failure = reasonSchema, "The result does not match the agent's output_schema"
	var refusal *parley.Error
	if errors.As(err, &refusal) {
		e.failure = "The result cannot be held against the agent's output_schema: " + refusal.Message
	}
	r.Error, r.ValidationErrors = e.failure, wrong
}

// fits reports whether a result can stand in a message as it is.
func fits(r *parley.SessionResult) bool {
	return len(*r.ResultText) <= MaxTextBytes && encoded(r) <= MaxMessageBytes
}

func encoded(r *parley.SessionResult) int {
	b, err := json.Marshal(parley.Message{Result: r})
	if err != nil {
		return MaxMessageBytes + 1
	}
	return len(b)
}

// move makes a file of an output that is too long, and leaves its beginning.
func (s *session) move(ctx context.Context, e *ending, r *parley.SessionResult) error {
	if text := *r.ResultText; len(text) > HeadBytes {
		beginning := head(text, HeadBytes)
		r.ResultText = &beginning
		a, err := s.attach(ctx, e, r.ResultData != nil)
		if err != nil {
			return fmt.Errorf("keep what the command has written: %w", err)
		}
		r.ResultData, r.Attachment = nil, a
	}
	for len(r.ValidationErrors) > 0 && encoded(r) > MaxMessageBytes {
		r.ValidationErrors = r.ValidationErrors[:len(r.ValidationErrors)/2]
	}
	return nil
}

// attach makes a file of stdout as it is; none of one that had no end.
func (s *session) attach(ctx context.Context, e *ending, isJSON bool) (*parley.Attachment, error) {
	name, mediaType := "stdout.txt", "text/plain; charset=utf-8"
	switch {
	case !e.whole:
		return nil, nil
	case isJSON:
		name, mediaType = "stdout.json", "application/json"
	case !utf8.Valid(e.stdout):
		name, mediaType = "stdout.bin", "application/octet-stream"
	}
	a, err := s.turn.Attach(ctx, name, mediaType, e.stdout)
	return &a, err
}
