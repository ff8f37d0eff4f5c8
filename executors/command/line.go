package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
)

// line is one line of the program. Exactly one of message, trace, delta and yield is set.
type line struct {
	message  *parley.Message
	files    []file
	finality parley.Finality
	outcome  *parley.Outcome
	next     string

	trace *parley.Trace
	delta *string
	yield bool
}

// isFinal reports whether a line ends the turn.
func (l *line) isFinal() bool { return l.yield || l.finality.Final() }

func isBlank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// alone are the members that must be the only one of a line.
var alone = map[string]func(*line, json.RawMessage) error{
	"progress": (*line).setProgress,
	"delta":    (*line).setDelta,
	"trace":    (*line).setTrace,
	"yield":    (*line).setYield,
}

// parseLine parses a line. Its errors name the expected value.
func parseLine(text []byte) (*line, error) {
	names, members, err := object(text)
	if err != nil {
		return nil, err
	}
	l := &line{}
	for _, name := range names {
		set, ok := alone[name]
		switch {
		case !ok:
		case len(names) > 1:
			return nil, fmt.Errorf("%s and %s: expected %s alone", names[0], names[1], name)
		default:
			return l, set(l, members[name])
		}
	}
	if err := l.setMessage(names, members); err != nil {
		return nil, err
	}
	return l, l.checkMessage()
}

func (l *line) setProgress(raw json.RawMessage) error {
	text, err := words("progress", raw)
	l.message, l.finality = &parley.Message{Text: text}, parley.FinalityNone
	return err
}

func (l *line) setDelta(raw json.RawMessage) error {
	text, err := words("delta", raw)
	if err == nil && len(text) > parley.MaxDeltaBytes {
		err = fmt.Errorf("delta has %d bytes: expected at most %d", len(text), parley.MaxDeltaBytes)
	}
	l.delta = &text
	return err
}

func (l *line) setYield(raw json.RawMessage) error {
	if string(raw) != "true" {
		return fmt.Errorf("yield is %s: expected true", excerpt(raw))
	}
	l.yield = true
	return nil
}

func (l *line) setTrace(raw json.RawMessage) error {
	l.trace = &parley.Trace{}
	if err := strict("trace", raw, l.trace, "kind", "text", "data"); err != nil {
		return err
	}
	if l.trace.Kind == "" {
		return errors.New("missing trace.kind: expected a string that is not empty")
	}
	return nil
}

func (l *line) setMessage(names []string, members map[string]json.RawMessage) (err error) {
	l.message, l.finality = &parley.Message{}, parley.FinalityTurn
	for _, name := range names {
		raw := members[name]
		switch name {
		case "text":
			l.message.Text, err = words(name, raw)
		case "data":
			l.message.Data = raw
		case "schema":
			l.message.Schema, err = words(name, raw)
		case "tags":
			l.message.Tags, err = wordList(name, raw)
		case "attachments":
			l.message.Attachments, err = strictList[parley.Attachment](name, raw, "sha256", "name", "mediaType")
		case "files":
			l.files, err = strictList[file](name, raw, "path", "base64", "name", "mediaType")
		case "finality":
			err = l.setFinality(raw)
		case "outcome":
			l.outcome = &parley.Outcome{}
			err = strict(name, raw, l.outcome, "status", "reason")
		case "next":
			l.next, err = words(name, raw)
		default:
			err = fmt.Errorf(
				"unknown member %s: expected one of text, data, schema, tags, attachments, files, finality, outcome, next; or "+
					"progress, delta, trace or yield alone",
				excerpt([]byte(name)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *line) setFinality(raw json.RawMessage) error {
	_ = json.Unmarshal(raw, &l.finality) // an invalid value is reported below
	if !l.finality.Valid() || raw[0] != '"' {
		return fmt.Errorf("finality is %s: expected none, turn or conversation", excerpt(raw))
	}
	return nil
}

// checkMessage checks the members of a message against each other.
func (l *line) checkMessage() error {
	m := l.message
	switch {
	case m.Text == "" && m.Data == nil && len(m.Attachments) == 0 && len(l.files) == 0:
		return errors.New("empty message: expected text, data, attachments or files")
	case slices.ContainsFunc(l.files, file.isAmbiguous):
		return fmt.Errorf("files[%d]: expected either path or base64", slices.IndexFunc(l.files, file.isAmbiguous))
	case l.next != "" && l.finality != parley.FinalityTurn:
		return fmt.Errorf("next with finality %s: expected finality turn", l.finality)
	case l.outcome != nil && l.finality != parley.FinalityConversation:
		return fmt.Errorf("outcome with finality %s: expected finality conversation", l.finality)
	case l.outcome != nil && !l.outcome.Status.Valid():
		return fmt.Errorf("outcome.status is %s: expected completed, failed or canceled", excerpt([]byte(l.outcome.Status)))
	case len(m.Attachments)+len(l.files) > parley.MaxMessageAttachments:
		return fmt.Errorf("the message has %d files: expected at most %d", len(m.Attachments)+len(l.files),
			parley.MaxMessageAttachments)
	}
	return nil
}
