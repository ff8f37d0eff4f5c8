package fold

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// callbacksOf returns the sessions in a callback of the hub.
func callbacksOf(e *parley.Event) ([]string, error) {
	var m struct {
		Data struct {
			Callbacks []struct {
				ID string `json:"child_session_id"`
			} `json:"callbacks"`
		} `json:"data"`
	}
	if err := json.Unmarshal(e.Payload, &m); err != nil {
		return nil, fmt.Errorf("callbacks of the hub: %w", err)
	}
	ids := make([]string, len(m.Data.Callbacks))
	for i, c := range m.Data.Callbacks {
		ids[i] = c.ID
	}
	return ids, nil
}

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
