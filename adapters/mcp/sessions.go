package mcp

import (
	"context"
	"encoding/json"
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
	ClientRequestID      string         `json:"client_request_id,omitempty" jsonschema:"a key of your choice: the same call with the same key starts one session. Without it every call starts another, also one that is made again after an error"`
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
	TextOffset  int     `json:"text_offset,omitempty" jsonschema:"characters of result_text to skip: for the rest of one that was cut"`
	DataOffset  int     `json:"data_offset,omitempty" jsonschema:"likewise of the JSON text of result_data; not together with text_offset"`
}

func refineGet(a *arguments) {
	a.length(1, 64, "session_id")
	a.bounded("wait_seconds", 0, 3600, 0)
	a.since("text_offset")
	a.since("data_offset")
}

type stopArgs struct {
	SessionID string `json:"session_id" jsonschema:"as start_agent_session gave it"`
	Reason    string `json:"reason,omitempty" jsonschema:"why, for whoever reads the session"`
}

func refineStop(a *arguments) {
	a.length(1, 64, "session_id")
	a.length(0, parley.MaxReasonBytes, "reason")
}

func startSession(ctx context.Context, c *call, in *startArgs) (*sessionView, error) {
	h := hints{conversation: in.ParentConversationID, starts: true, key: in.ClientRequestID, look: "list_conversations has it at the end of its last page, under its session_id and between you and the agent, if it was started"}
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
	v := c.waitedFor(ended, offsets{}, in.WaitSeconds)
	v.wanted = true
	return v, nil
}

func getSession(ctx context.Context, c *call, in *sessionArgs) (*sessionView, error) {
	if in.TextOffset > 0 && in.DataOffset > 0 {
		return nil, explained(parley.Refuse(parley.ErrValidationFailed, "text_offset and data_offset are both given", "one of them"), hints{session: in.SessionID})
	}
	until := time.Now().Add(c.wait(in.WaitSeconds))
	s, err := c.client.GetSession(ctx, &parley.GetSessionParams{SessionID: in.SessionID})
	if err == nil {
		s, err = c.follow(ctx, s, until)
	}
	if err != nil {
		return nil, explained(err, hints{session: in.SessionID})
	}
	return c.waitedFor(s, offsets{in.TextOffset, in.DataOffset}, in.WaitSeconds), nil
}

// waitedFor is a session after a wait for its end.
func (c *call) waitedFor(s *parley.Session, at offsets, seconds float64) *sessionView {
	v := viewSessionAt(s, at, seconds)
	if s.Status == parley.SessionPending || s.Status == parley.SessionRunning {
		v.Next += c.capped(seconds)
	}
	return v
}

func stopSession(ctx context.Context, c *call, in *stopArgs) (*sessionView, error) {
	s, err := c.client.StopSession(ctx, &parley.StopSessionParams{SessionID: in.SessionID, Reason: in.Reason})
	if err != nil {
		return nil, explained(err, hints{session: in.SessionID, once: true})
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
