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

// Limits of the final message of a session.
const (
	// MaxTextBytes limits the text. A longer text becomes a file, and the message has its first
	// HeadBytes.
	MaxTextBytes = work.MaxTextBytes
	HeadBytes    = work.HeadBytes
	// MaxMessageBytes limits the message as JSON. A shorter text also becomes a file if it exceeds
	// this limit.
	MaxMessageBytes = work.MaxMessageBytes
	// maxDataDepth limits the nesting of result_data, because it is nested in other values.
	maxDataDepth = limits.MaxDepth - 16
)

// output returns the Output of a run.
func (e *ending) output() *work.Output {
	text := valid(string(e.stdout))
	r := &parley.SessionResult{ResultText: &text, ExitCode: e.code, Error: e.failure, ValidationErrors: e.wrong}
	if e.whole {
		r.ResultData = dataOf(e.stdout)
	}
	return &work.Output{Result: r, Reason: e.reason, File: e.file(r.ResultData != nil)}
}

// dataOf returns stdout as JSON if it is JSON alone. It returns nil for duplicate names, numbers
// beyond a double, which readers decode differently, and for deep nesting.
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
			_ = json.Compact(&b, stdout) // stdout is valid JSON
			return b.Bytes()
		}
	}
}

// isBeyond reports whether a number is larger than any double.
func isBeyond(number string) bool {
	_, err := strconv.ParseFloat(number, 64)
	return err != nil
}

// file returns the file with stdout. It is empty if stdout was cut off.
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
