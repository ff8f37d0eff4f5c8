package main

import (
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// triggerText says in a line whom an event has woken, or that it wakes somebody no more.
func triggerText(e *parley.Event, s parley.System) string {
	t := s.Trigger
	if t == nil {
		return clean(s.Kind) + " " + clean(string(e.Payload))
	}
	if s.Kind == parley.KindTriggerEnded {
		return fmt.Sprintf("#%d wakes %s no more: %s%s", t.Seq, clean(t.AgentID), clean(t.Reason), detailText(s.Detail))
	}
	var woken, stopped []string
	for _, w := range t.Wakes {
		name := clean(w.AgentID)
		switch {
		case w.Stopped != "":
			stopped = append(stopped, name+", "+clean(w.Stopped))
			continue
		case w.SessionID != "":
			name += " in " + clean(w.SessionID)
		}
		woken = append(woken, name)
	}
	text := fmt.Sprintf("#%d wakes %s", t.Seq, strings.Join(woken, ", "))
	if len(woken) == 0 {
		text = fmt.Sprintf("#%d wakes nobody", t.Seq)
	}
	if len(stopped) > 0 {
		text += "; stopped: " + strings.Join(stopped, "; ")
	}
	return text
}

// schemaText is the schema and the tags of something that was said.
func schemaText(schema string, tags []string) string {
	words := make([]string, 0, len(tags)+1)
	if schema != "" {
		words = append(words, clean(schema))
	}
	for _, tag := range tags {
		words = append(words, "#"+clean(tag))
	}
	return "[" + strings.Join(words, " ") + "]"
}

// causedText says for which event something was said, and how many wakes lie behind it.
func causedText(e *parley.Event) string {
	if e.Cause == nil {
		return ""
	}
	return fmt.Sprintf("(for %s, hop %d)", causeText(*e.Cause), e.Hops)
}
