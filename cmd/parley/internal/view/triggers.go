package view

import (
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// CauseText names an event, and its conversation where that is another.
func CauseText(c parley.Cause) string {
	if c.ConversationID == "" {
		return fmt.Sprintf("#%d", c.Seq)
	}
	return fmt.Sprintf("%s#%d", cli.Clean(c.ConversationID), c.Seq)
}

// triggerText describes in one line which agents an event triggered, or that it no longer triggers
// one.
func triggerText(e *parley.Event, s parley.System) string {
	t := s.Trigger
	if t == nil {
		return cli.Clean(s.Kind) + " " + cli.Clean(string(e.Payload))
	}
	if s.Kind == parley.KindTriggerEnded {
		return fmt.Sprintf("#%d wakes %s no more: %s%s", t.Seq, cli.Clean(t.AgentID), cli.Clean(t.Reason),
			detailText(s.Detail))
	}
	var woken, stopped []string
	for _, w := range t.Wakes {
		name := cli.Clean(w.AgentID)
		switch {
		case w.Stopped != "":
			stopped = append(stopped, name+", "+cli.Clean(w.Stopped))
			continue
		case w.SessionID != "":
			name += " in " + cli.Clean(w.SessionID)
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
		words = append(words, cli.Clean(schema))
	}
	for _, tag := range tags {
		words = append(words, "#"+cli.Clean(tag))
	}
	return "[" + strings.Join(words, " ") + "]"
}

// causedText says for which event something was said, and how many wakes lie behind it.
func causedText(e *parley.Event) string {
	if e.Cause == nil {
		return ""
	}
	return fmt.Sprintf("(for %s, hop %d)", CauseText(*e.Cause), e.Hops)
}
