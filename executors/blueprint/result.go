package blueprint

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/internal/limits"
)

// Bounds of the message that closes a session.
const (
	// MaxTextBytes is how much of stdout stands in it. More becomes a file, and HeadBytes of it stand in the message.
	MaxTextBytes = work.MaxTextBytes
	HeadBytes    = work.HeadBytes
	// MaxMessageBytes is what the message takes at most, as JSON: a shorter text becomes a file too if it would not fit.
	MaxMessageBytes = work.MaxMessageBytes
	// maxDataDepth is how deep result_data may nest: it stands inside of other values wherever it is read.
	maxDataDepth = limits.MaxDepth - 16
)

// output says what came of a run.
func (e *ending) output() *work.Output {
	text := valid(string(e.stdout))
	r := &parley.SessionResult{ResultText: &text, ExitCode: e.code, Error: e.failure, ValidationErrors: e.wrong}
	if e.whole {
		r.ResultData = dataOf(e.stdout)
	}
	return &work.Output{Result: r, Reason: e.reason, File: e.file(r.ResultData != nil)}
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

// file is stdout as it is; empty where it had no end.
func (e *ending) file(isJSON bool) *work.File {
	f := &work.File{Name: "stdout.txt", MediaType: "text/plain; charset=utf-8", Data: e.stdout}
	switch {
	case !e.whole:
		f.Data = nil
	case isJSON:
		f.Name, f.MediaType = "stdout.json", "application/json"
	case !utf8.Valid(e.stdout):
		f.Name, f.MediaType = "stdout.bin", "application/octet-stream"
	}
	return f
}
