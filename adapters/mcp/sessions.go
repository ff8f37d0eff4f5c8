package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/parleyhub/parley"
)

type startArgs struct {
	AgentName            string         `json:"agent_name" jsonschema:"the name of an agent, as list_agent_blueprints gives it"`
	Parameters           map[string]any `json:"parameters,omitempty" jsonschema:"an object that matches the agent's parameters_schema"`
	Prompt               string         `json:"prompt,omitempty" jsonschema:"stands for parameters {prompt: ...}; not together with parameters"`
	Mode                 string         `json:"mode,omitempty" jsonschema:"sync waits for the result; async_poll and async_callback answer at once"`
	ParentConversationID string         `json:"parent_conversation_id,omitempty" jsonschema:"the conversation that the work is for; async_callback needs it and says the result there"`
	WaitSeconds          float64        `json:"wait_seconds,omitempty" jsonschema:"with sync: how long to wait before the session_id is given instead of the result"`
	ClientRequestID      string         `json:"client_request_id,omitempty" jsonschema:"a key of your choice: the same call with the same key starts one session. Without it every call starts one"`
}

func refineStart(a *arguments) {
	a.length(1, 256, "agent_name")
	a.length(0, maxPostChars, "prompt")
	a.length(0, 64, "parent_conversation_id")
	a.length(0, parley.MaxKeyBytes, "client_request_id")
	a.oneOf("mode", "sync", "async_poll", "async_callback")
	a.bounded("wait_seconds", 0, 3600, DefaultMaxWait.Seconds())
}

type sessionArgs struct {
	SessionID   string  `json:"session_id" jsonschema:"as start_agent_session gave it"`
	WaitSeconds float64 `json:"wait_seconds,omitempty" jsonschema:"how long to wait for the end; 0 answers at once"`
}

func refineGet(a *arguments) {
	a.length(1, 64, "session_id")
	a.bounded("wait_seconds", 0, 3600, 0)
}

type stopArgs struct {
	SessionID string `json:"session_id" jsonschema:"as start_agent_session gave it"`
	Reason    string `json:"reason,omitempty" jsonschema:"why, for whoever reads the session"`
}

func refineStop(a *arguments) {
	a.length(1, 64, "session_id")
	a.length(0, parley.MaxReasonBytes, "reason")
}

type sessionView struct {
	SessionID  string `json:"session_id"`
	AgentName  string `json:"agent_name"`
	Status     string `json:"status" jsonschema:"pending, running or input_required; completed, failed and stopped are ends"`
	Mode       string `json:"mode"`
	Progress   string `json:"progress,omitempty"`
	ResultText string `json:"result_text,omitempty"`
	CutChars   int    `json:"cut_chars,omitempty" jsonschema:"characters of result_text that are left out; read_conversation with the session_id as conversation_id shows them"`
	ResultData any    `json:"result_data,omitempty" jsonschema:"the result, where it is JSON"`
	ExitCode   *int   `json:"exit_code,omitempty" jsonschema:"of a command"`
	Error      string `json:"error,omitempty" jsonschema:"why it has failed or was stopped"`
	Callback   string `json:"callback,omitempty" jsonschema:"with async_callback: pending, delivered or undeliverable"`
	Duplicate  bool   `json:"duplicate,omitempty" jsonschema:"it had been started before, by an earlier call with the same key"`
	Next       string `json:"next"`

	wanted bool // the result was: then a failure is the call's too
}

func (v *sessionView) failed() bool { return v.wanted && v.Status == string(parley.SessionFailed) }

func startSession(ctx context.Context, c *call, in *startArgs) (*sessionView, error) {
	h := hints{conversation: in.ParentConversationID, starts: true}
	p := &parley.StartSessionParams{
		AgentName: in.AgentName, Prompt: in.Prompt, Mode: parley.SessionMode(in.Mode), ParentConversationID: in.ParentConversationID, ClientRequestID: in.ClientRequestID,
	}
	if in.Parameters != nil {
		raw, err := json.Marshal(in.Parameters)
		if err != nil {
			return nil, explained(parley.Refuse(parley.ErrValidationFailed, "parameters are no JSON", "an object"), h)
		}
		p.Parameters = raw
	}
	if p.Mode != parley.ModeSync {
		s, err := c.client.StartSession(ctx, p)
		if err != nil {
			return nil, explained(err, h)
		}
		return viewSession(s), nil
	}
	until := time.Now().Add(c.wait(in.WaitSeconds))
	p.TimeoutMs = 1 // it is waited for with getSession, which tells of progress
	s, err := c.client.StartSession(ctx, p)
	if err != nil {
		return nil, explained(err, h)
	}
	if o := originOf(ctx).offer; o != nil && !s.Status.Ended() {
		o.session = s // the answer is a task
		return viewSession(s), nil
	}
	ended, err := c.follow(ctx, s, until)
	if err != nil {
		return viewSession(s), nil // it goes on, and is found by its id
	}
	ended.Duplicate = s.Duplicate
	v := viewSession(ended)
	v.wanted = true
	return v, nil
}

func getSession(ctx context.Context, c *call, in *sessionArgs) (*sessionView, error) {
	until := time.Now().Add(c.wait(in.WaitSeconds))
	s, err := c.client.GetSession(ctx, &parley.GetSessionParams{SessionID: in.SessionID})
	if err == nil {
		s, err = c.follow(ctx, s, until)
	}
	if err != nil {
		return nil, explained(err, hints{session: in.SessionID})
	}
	return viewSession(s), nil
}

func stopSession(ctx context.Context, c *call, in *stopArgs) (*sessionView, error) {
	s, err := c.client.StopSession(ctx, &parley.StopSessionParams{SessionID: in.SessionID, Reason: in.Reason})
	if err != nil {
		return nil, explained(err, hints{session: in.SessionID})
	}
	return viewSession(s), nil
}

// follow waits until a session has ended or waits for input, or the time is over, and tells of its progress meanwhile.
func (c *call) follow(ctx context.Context, s *parley.Session, until time.Time) (*parley.Session, error) {
	told, seen := 0.0, int64(0)
	for {
		left := time.Until(until)
		if s.Status.Ended() || s.Status == parley.SessionInputRequired || left <= 0 {
			return s, nil
		}
		told++
		if s.Progress != nil && s.Progress.Seq > seen {
			seen = s.Progress.Seq
			c.progress(ctx, told, s.Progress.Text)
		} else if told > 1 {
			c.progress(ctx, told, s.AgentName+" is "+string(s.Status))
		}
		next, err := c.client.GetSession(ctx, &parley.GetSessionParams{
			SessionID: s.SessionID, TimeoutMs: max(1, min(left, heartbeat).Milliseconds()), ProgressSince: &seen,
		})
		if err != nil {
			return nil, err
		}
		s = next
	}
}

func viewSession(s *parley.Session) *sessionView {
	v := &sessionView{SessionID: s.SessionID, AgentName: s.AgentName, Status: string(s.Status), Mode: string(s.Mode), Callback: string(s.Callback), Duplicate: s.Duplicate}
	if s.Progress != nil {
		v.Progress = s.Progress.Text
	}
	if r := s.Result; r != nil {
		if r.ResultText != nil {
			v.ResultText, v.CutChars = window(*r.ResultText, 0, MaxChars)
		}
		v.ResultData, v.ExitCode, v.Error = viewData(r.ResultData), r.ExitCode, r.Error
	}
	get := fmt.Sprintf("get_agent_session {session_id: %q, wait_seconds: 20}", s.SessionID)
	switch {
	case s.Status.Ended():
		v.Next = "It has ended."
	case s.Status == parley.SessionInputRequired:
		v.Next = fmt.Sprintf("It waits for your answer: post_message {conversation_id: %q, since_seq: %d, text: ...}.", s.SessionID, s.LatestSeq)
	case s.Mode == parley.ModeAsyncCallback:
		v.Next = fmt.Sprintf("Its result will come as a message: wait_for_updates {conversation_id: %q, until: \"message\"} with the since_seq that you have of it.", s.ParentConversationID)
	default:
		v.Next = "It goes on. Next: " + get + "."
	}
	return v
}

func (v *sessionView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Session %s of %s: %s.", v.SessionID, v.AgentName, v.Status)
	if v.ExitCode != nil {
		fmt.Fprintf(&b, " Exit code %d.", *v.ExitCode)
	}
	if v.Progress != "" {
		b.WriteString(" Progress: " + v.Progress)
	}
	if v.Error != "" {
		b.WriteString("\nError: " + v.Error)
	}
	if v.ResultText != "" {
		b.WriteString("\nResult:\n" + v.ResultText)
		if v.CutChars > 0 {
			fmt.Fprintf(&b, "\n[%d more characters: read_conversation {conversation_id: %q}]", v.CutChars, v.SessionID)
		}
	} else if raw, ok := v.ResultData.(json.RawMessage); ok {
		b.WriteString("\nResult: " + string(raw))
	}
	return b.String() + "\n" + v.Next
}
