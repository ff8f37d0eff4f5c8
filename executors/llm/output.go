package llm

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/parleyhub/parley"
)

var fence = regexp.MustCompile("(?s)```(?:json|JSON)?[ \t]*\r?\n(.*?)\r?\n?[ \t]*```")

// answerJSON returns the JSON of an answer: the whole text, or the content of its only fenced
// block. It returns nil if there is none.
func answerJSON(text string) json.RawMessage {
	whole := strings.TrimSpace(text)
	if json.Valid([]byte(whole)) {
		return json.RawMessage(whole)
	}
	if fences := fence.FindAllStringSubmatch(text, 2); len(fences) == 1 && json.Valid([]byte(fences[0][1])) {
		return json.RawMessage(strings.TrimSpace(fences[0][1]))
	}
	return nil
}

// checkOutput returns the JSON of an answer that matches the output_schema.
func (p *Prepared) checkOutput(text string) (json.RawMessage, error) {
	raw := answerJSON(text)
	if raw == nil {
		return nil, &SchemaError{Text: text,
			Faults: []parley.ValidationError{{Path: "$", Message: "the answer is not JSON alone"}}}
	}
	faults, err := p.schema.Validate(raw)
	if err != nil {
		faults = []parley.ValidationError{{Path: "$", Message: message(err)}}
	}
	if len(faults) > 0 {
		return nil, &SchemaError{Text: text, Faults: faults}
	}
	return raw, nil
}

func message(err error) string {
	var e *parley.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
