package fold

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// maxProgressBytes bounds the progress that is kept.
const maxProgressBytes = 1 << 10

// kindProgress is the kind of a trace that reports the progress of a session.
const kindProgress = "progress"

// applyProgress keeps the last progress of a session.
func (s *State) applyProgress(e *parley.Event) {
	var t parley.Trace
	if s.Session == nil || json.Unmarshal(e.Payload, &t) != nil || t.Kind != kindProgress || t.Text == "" {
		return
	}
	text := t.Text
	if len(text) > maxProgressBytes { // the last words are the newest
		text = text[len(text)-maxProgressBytes:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	s.Progress = &parley.SessionProgress{Seq: e.Seq, Text: text}
}
