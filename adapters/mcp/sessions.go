package mcp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/parleyhub/parley"
)

type startArgs struct {
	AgentName            string         `json:"agent_name" jsonschema:"name of the agent, from list_agent_blueprints"`
	Parameters           map[string]any `json:"parameters,omitempty"`
	Prompt               string         `json:"prompt,omitempty"`
	Mode                 string         `json:"mode,omitempty"`
	ParentConversationID string         `json:"parent_conversation_id,omitempty"`
	WaitSeconds          float64        `json:"wait_seconds,omitempty"`
	ClientRequestID      string         `json:"client_request_id,omitempty"`
}

func refineStart(a *arguments) {
	a.textLength(1, 256, "agent_name")
	a.textLength(0, maxPostChars, "prompt")
	a.textLength(0, 64, "parent_conversation_id")
	a.textLength(0, parley.MaxKeyBytes, "client_request_id")
	a.oneOf("mode", "sync", "async_poll", "async_callback")
	a.numberRange("wait_seconds", 0, 3600, DefaultMaxWait.Seconds())
	a.describe("mode", "sync waits for the result; async_poll and async_callback return at once")
	a.describe("parent_conversation_id", "the conversation that the work is for. "+
		"async_callback requires it and posts the result there")
	a.describe("wait_seconds", "with sync: seconds to wait for the result before the call returns the session_id instead")
	a.describe("client_request_id", "a key of your choice: calls with the same key start one session. "+
		"Without it, every call starts another one, also a call that is repeated after an error")
	a.describe("parameters", "an object that matches the parameters_schema of the agent")
	a.describe("prompt", "short for parameters {prompt: ...}; excludes parameters")
}

type sessionArgs struct {
	SessionID   string  `json:"session_id" jsonschema:"session_id that start_agent_session returned"`
	WaitSeconds float64 `json:"wait_seconds,omitempty" jsonschema:"seconds to wait for the end; 0 returns at once"`
	TextOffset  int     `json:"text_offset,omitempty"`
	DataOffset  int     `json:"data_offset,omitempty"`
}

func refineGet(a *arguments) {
	a.textLength(1, 64, "session_id")
	a.numberRange("wait_seconds", 0, 3600, 0)
	a.nonNegative("text_offset")
	a.nonNegative("data_offset")
	a.describe("text_offset", "characters of result_text to skip, to read on after a cut")
	a.describe("data_offset", "the same for the JSON text of result_data; excludes text_offset")
}

type stopArgs struct {
	SessionID string `json:"session_id" jsonschema:"session_id that start_agent_session returned"`
	Reason    string `json:"reason,omitempty" jsonschema:"reason, for the readers of the session"`
}

func refineStop(a *arguments) {
	a.textLength(1, 64, "session_id")
	a.textLength(0, parley.MaxReasonBytes, "reason")
}

func startSession(ctx context.Context, c *call, in *startArgs) (*sessionView, error) {
	h := hints{conversation: in.ParentConversationID, starts: true, key: in.ClientRequestID,
		look: "list_conversations lists a started session at the end of its last page, by its session_id, between you and " +
			"the agent"}
	p := &parley.StartSessionParams{
		AgentName: in.AgentName, Prompt: in.Prompt, Mode: parley.SessionMode(in.Mode),
		ParentConversationID: in.ParentConversationID, ClientRequestID: in.ClientRequestID,
	}
	if in.Parameters != nil {
		raw, err := json.Marshal(in.Parameters)
		if err != nil {
			return nil, explain(parley.Refuse(parley.ErrValidationFailed, "parameters is not valid JSON", "a JSON object"), h)
		}
		p.Parameters = raw
	}
	if p.Mode != parley.ModeSync {
		s, err := c.client.StartSession(ctx, p)
		if err != nil {
			return nil, explain(err, h)
		}
		return viewSession(s), nil
	}
	until := time.Now().Add(c.wait(in.WaitSeconds))
	p.TimeoutMs = 1 // the call waits with getSession, which returns progress
	s, err := c.client.StartSession(ctx, p)
	if err != nil {
		return nil, explain(err, h)
	}
	if o := requestInfoOf(ctx).offer; o != nil && !s.Status.Ended() {
		o.session = s // the result of the call is a task
		return viewSession(s), nil
	}
	ended, err := c.awaitSession(ctx, s, until)
	if err != nil {
		return viewSession(s), nil // the session continues, and the caller has its id
	}
	ended.Duplicate = s.Duplicate
	v := c.viewAfterWait(ended, offsets{}, in.WaitSeconds)
	v.resultWanted = true
	return v, nil
}

func getSession(ctx context.Context, c *call, in *sessionArgs) (*sessionView, error) {
	if in.TextOffset > 0 && in.DataOffset > 0 {
		return nil, explain(parley.Refuse(parley.ErrValidationFailed, "text_offset and data_offset are mutually exclusive",
			"one of them"), hints{session: in.SessionID})
	}
	until := time.Now().Add(c.wait(in.WaitSeconds))
	s, err := c.client.GetSession(ctx, &parley.GetSessionParams{SessionID: in.SessionID})
	if err == nil {
		s, err = c.awaitSession(ctx, s, until)
	}
	if err != nil {
		return nil, explain(err, hints{session: in.SessionID})
	}
	return c.viewAfterWait(s, offsets{in.TextOffset, in.DataOffset}, in.WaitSeconds), nil
}

// viewAfterWait returns a session after a wait for its end.
func (c *call) viewAfterWait(s *parley.Session, at offsets, seconds float64) *sessionView {
	v := viewSessionAt(s, at, seconds)
	if s.Status == parley.SessionPending || s.Status == parley.SessionRunning {
		v.Next += c.capNotice(seconds)
	}
	return v
}

func stopSession(ctx context.Context, c *call, in *stopArgs) (*sessionView, error) {
	s, err := c.client.StopSession(ctx, &parley.StopSessionParams{SessionID: in.SessionID, Reason: in.Reason})
	if err != nil {
		return nil, explain(err, hints{session: in.SessionID, once: true})
	}
	return viewSession(s), nil
}

// awaitSession waits until a session ended, waits for input, or the time is over. It sends
// progress meanwhile.
func (c *call) awaitSession(ctx context.Context, s *parley.Session, until time.Time) (*parley.Session, error) {
	sent, seen := 0.0, int64(0)
	for {
		left := time.Until(until)
		if s.Status.Ended() || s.Status == parley.SessionInputRequired || left <= 0 {
			return s, nil
		}
		sent++
		if s.Progress != nil && s.Progress.Seq > seen {
			seen = s.Progress.Seq
			c.sendProgress(ctx, sent, s.Progress.Text)
		} else if sent > 1 {
			c.sendProgress(ctx, sent, s.AgentName+" is "+string(s.Status))
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
