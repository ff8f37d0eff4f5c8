package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// sessionText says of what agent a conversation is the session, and out of which it was started.
func sessionText(r *parley.SessionRecord) string {
	text := "a session of " + clean(r.Agent)
	if r.Mode != "" && r.Mode != parley.ModeSync {
		text += " (" + clean(string(r.Mode)) + ")"
	}
	if r.Runner != nil {
		text += ", run by " + clean(r.Runner.RunnerID)
	}
	if r.Parent != "" {
		text += ", started out of " + clean(r.Parent)
	}
	return text
}

// snapshotSession is sessionText, or nothing for a conversation that is none.
func snapshotSession(s *parley.Snapshot) string {
	if s.Session == nil {
		return ""
	}
	return sessionText(s.Session)
}

// sessionEventText says what a system event tells of a session.
func sessionEventText(e *parley.Event, s parley.System) string {
	switch {
	case s.Kind == parley.KindSessionStarted:
		mode := ""
		if s.Mode != "" && s.Mode != parley.ModeSync {
			mode = " (" + clean(string(s.Mode)) + ")"
		}
		return fmt.Sprintf("%s has started %s%s: %s", clean(s.AgentID), clean(s.Agent), mode, clean(s.SessionID))
	case s.Kind == parley.KindSessionEnded:
		return fmt.Sprintf("%s %s", clean(s.SessionID), clean(string(s.Status)))
	case s.Kind == parley.KindSessionBound && s.RunnerRef != nil:
		return fmt.Sprintf("the session is for %s of %s", clean(s.RunnerRef.RunnerID), clean(s.RunnerRef.ParticipantID))
	}
	return clean(s.Kind) + " " + clean(string(e.Payload))
}

// isPrompt reports whether the parameters of a message say no more than its text.
func isPrompt(m parley.Message) bool {
	var members map[string]json.RawMessage
	var prompt string
	return m.Text != "" && json.Unmarshal(m.Parameters, &members) == nil && len(members) == 1 && json.Unmarshal(members["prompt"], &prompt) == nil
}

// callbacksOf gives the sessions of which a message of the hub tells. What others put into theirs is not from the hub.
func callbacksOf(e *parley.Event, m parley.Message) []parley.Callback {
	var told parley.Callbacks
	if e.From != parley.HubID || json.Unmarshal(m.Data, &told) != nil {
		return nil
	}
	return told.Callbacks
}

// callbacks shows the sessions that have ended, one a line. It is all that the hub says there in words.
func (v *view) callbacks(told []parley.Callback) string {
	var lines []string
	for i := range told {
		c := &told[i]
		line := fmt.Sprintf("callback: %s of %s %s", clean(c.ChildSessionID), clean(c.AgentName), clean(string(c.Status)))
		if result := v.result(c.Result, ""); result != "" {
			line += ": " + result
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"+v.indent())
}

// result shows what a session has brought: its text, and how a command has ended. What the message says itself is not said again. Nil is nothing.
func (v *view) result(r *parley.SessionResult, said string) string {
	if r == nil {
		return ""
	}
	var parts []string
	switch {
	case r.ResultText != nil && *r.ResultText == said:
	case r.ResultText != nil && strings.TrimSpace(*r.ResultText) != "":
		parts = append(parts, v.text(strings.TrimRight(*r.ResultText, "\n")))
	case len(r.ResultData) > 0:
		parts = append(parts, v.to.paint(styleDim, clean(string(r.ResultData))))
	case r.Omitted:
		parts = append(parts, v.to.paint(styleDim, "[too large for this message: 'parley session show' has it]"))
	}
	if r.Attachment != nil {
		parts = append(parts, v.to.paint(styleDim, "[all of it: "+fileText(r.Attachment.Name, r.Attachment.MediaType, r.Attachment.SHA256)+"]"))
	}
	if r.ExitCode != nil {
		parts = append(parts, v.to.paint(styleDim, fmt.Sprintf("[exit code %d]", *r.ExitCode)))
	}
	if r.Error != "" && r.Error != said {
		parts = append(parts, v.to.paint(styleError, "error: ")+v.text(strings.TrimSpace(r.Error)))
	}
	text := strings.Join(parts, " ")
	for _, f := range r.ValidationErrors {
		text += "\n" + v.indent() + "  " + clean(f.Path) + "  " + clean(f.Message)
	}
	return text
}
