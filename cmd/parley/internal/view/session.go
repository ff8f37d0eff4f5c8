package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// TimeText is a time, and how long after another it was.
func TimeText(at, before parley.Timestamp) string {
	switch {
	case at == 0:
		return ""
	case before == 0:
		return at.String()
	}
	return fmt.Sprintf("%s, after %s", at, at.Time().Sub(before.Time()).Round(time.Millisecond))
}

// SessionEndText returns in one line why a session ended.
func SessionEndText(s *parley.Session) string {
	if s.Status == parley.SessionInputRequired {
		return "the agent waits for your next message"
	}
	text := s.Reason
	if r := s.Result; r != nil && r.Error != "" {
		text = r.Error
	}
	if text = strings.TrimSpace(text); strings.Contains(text, "\n") {
		text = cli.LastLine(text)
	}
	return cmp.Or(text, string(s.Status))
}

// sessionText says of what agent a conversation is the session, and out of which it was started.
func sessionText(r *parley.SessionRecord) string {
	text := "a session of " + cli.Clean(r.Agent)
	if r.Mode != "" && r.Mode != parley.ModeSync {
		text += " (" + cli.Clean(string(r.Mode)) + ")"
	}
	if r.Runner != nil {
		text += ", run by " + cli.Clean(r.Runner.RunnerID)
	}
	if r.Parent != "" {
		text += ", started out of " + cli.Clean(r.Parent)
	}
	return text
}

// SnapshotSession is sessionText, or "" for other conversations.
func SnapshotSession(s *parley.Snapshot) string {
	if s.Session == nil {
		return ""
	}
	return sessionText(s.Session)
}

// sessionEventText describes a system event of a session.
func sessionEventText(e *parley.Event, s parley.System) string {
	switch {
	case s.Kind == parley.KindSessionStarted:
		mode := ""
		if s.Mode != "" && s.Mode != parley.ModeSync {
			mode = " (" + cli.Clean(string(s.Mode)) + ")"
		}
		return fmt.Sprintf("%s has started %s%s: %s", cli.Clean(s.AgentID), cli.Clean(s.Agent), mode, cli.Clean(s.SessionID))
	case s.Kind == parley.KindSessionEnded:
		return fmt.Sprintf("%s %s", cli.Clean(s.SessionID), cli.Clean(string(s.Status)))
	case s.Kind == parley.KindSessionBound && s.RunnerRef != nil:
		return fmt.Sprintf("the session is for %s of %s", cli.Clean(s.RunnerRef.RunnerID),
			cli.Clean(s.RunnerRef.ParticipantID))
	}
	return cli.Clean(s.Kind) + " " + cli.Clean(string(e.Payload))
}

// isPrompt reports whether the parameters of a message say no more than its text.
func isPrompt(m parley.Message) bool {
	var members map[string]json.RawMessage
	var prompt string
	return m.Text != "" && json.Unmarshal(m.Parameters, &members) == nil && len(members) == 1 &&
		json.Unmarshal(members["prompt"], &prompt) == nil
}

// callbacksOf returns the sessions of a callback message of the hub. Only messages of the hub
// count.
func callbacksOf(e *parley.Event, m parley.Message) []parley.Callback {
	var told parley.Callbacks
	if e.From != parley.HubID || json.Unmarshal(m.Data, &told) != nil {
		return nil
	}
	return told.Callbacks
}

// callbacksText returns the ended sessions, one on each line. The text of such a message says no
// more.
func (v *Printer) callbacksText(told []parley.Callback) string {
	var lines []string
	for i := range told {
		c := &told[i]
		line := fmt.Sprintf("callback: %s of %s %s", cli.Clean(c.ChildSessionID), cli.Clean(c.AgentName),
			cli.Clean(string(c.Status)))
		if result := v.resultText(c.Result, ""); result != "" {
			line += ": " + result
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"+v.Indent())
}

// resultText returns the result of a session: its text, and how a command ended. It skips a text
// that the message already has. It returns "" for nil.
func (v *Printer) resultText(r *parley.SessionResult, said string) string {
	if r == nil {
		return ""
	}
	var parts []string
	switch {
	case r.ResultText != nil && *r.ResultText == said:
	case r.ResultText != nil && strings.TrimSpace(*r.ResultText) != "":
		parts = append(parts, v.cleanText(strings.TrimRight(*r.ResultText, "\n")))
	case len(r.ResultData) > 0:
		parts = append(parts, v.to.Paint(cli.StyleDim, cli.Clean(string(r.ResultData))))
	case r.Omitted:
		parts = append(parts, v.to.Paint(cli.StyleDim, "[too large for this message: 'parley session show' has it]"))
	}
	if r.Attachment != nil {
		parts = append(parts,
			v.to.Paint(cli.StyleDim, "[all of it: "+FileText(r.Attachment.Name, r.Attachment.MediaType, r.Attachment.SHA256)+
				"]"))
	}
	if r.ExitCode != nil {
		parts = append(parts, v.to.Paint(cli.StyleDim, fmt.Sprintf("[exit code %d]", *r.ExitCode)))
	}
	if r.Error != "" && r.Error != said {
		parts = append(parts, v.to.Paint(cli.StyleError, "error: ")+v.cleanText(strings.TrimSpace(r.Error)))
	}
	text := strings.Join(parts, " ")
	for _, f := range r.ValidationErrors {
		text += "\n" + v.Indent() + "  " + cli.Clean(f.Path) + "  " + cli.Clean(f.Message)
	}
	return text
}
