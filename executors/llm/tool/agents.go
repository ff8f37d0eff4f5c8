package tool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/toolnames"
)

// agent is a Tool that starts sessions of an agent of the hub.
type agent struct {
	name string
	spec llm.ToolSpec
}

// addAgents adds the agents of the config that are registered now.
func (b *Box) addAgents(ctx context.Context, c parley.Client, s *set, allowed []string) error {
	tools := map[string]string{} // names of the tools by the names of their agents
	for i, name := range toolnames.ForAgents(b.o.Config.Agents, b.o.Config.Tools) {
		tools[b.o.Config.Agents[i]] = name
	}
	wanted := slices.DeleteFunc(slices.Clone(b.o.Config.Agents), func(a string) bool {
		return allowed != nil && !slices.Contains(allowed, tools[a])
	})
	if len(wanted) == 0 {
		return nil
	}
	if c == nil {
		return errors.New("tool: no client to list the agents of the config")
	}
	there, err := c.ListAgents(ctx, &parley.ListAgentsParams{})
	if err != nil {
		return fmt.Errorf("list the agents of the config: %w", err)
	}
	for _, name := range wanted {
		i := slices.IndexFunc(there.Agents, func(a parley.AgentInfo) bool {
			return a.Name == name || a.RunnerID != "" && a.Name+"@"+a.RunnerID == name
		})
		if i < 0 {
			return parley.Refuse(parley.ErrUnavailable,
				fmt.Sprintf("the agent %s of the config is not registered", name),
				"an agent of listAgents; start the executor or runner that runs it")
		}
		a := there.Agents[i]
		spec := llm.ToolSpec{Name: tools[name],
			Description: cmp.Or(a.Description, "Calls the agent "+name+" and returns its result."),
			Parameters:  a.ParametersSchema}
		if len(spec.Parameters) == 0 {
			spec.Parameters = paramschema.Prompt().Raw()
		}
		if err := b.add(s, &entry{tool: &agent{name, spec}, own: spec, plain: toolnames.ForAgent(name), fills: true}); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) Spec() llm.ToolSpec { return a.spec }

// Repeatable marks the tool as repeatable: the session has the key of the call.
func (a *agent) Repeatable() {}

func (a *agent) Run(ctx context.Context, c *Call) (*Result, error) {
	s, err := runSession(ctx, c,
		&parley.StartSessionParams{AgentName: a.name, Parameters: c.Arguments,
			ClientRequestID: sessionKey(c.Key, c.Arguments)})
	if err != nil {
		return startFailure(a.name, err)
	}
	c.span.Set(parley.Attribute{Key: spannames.AttrChildConversationID, Value: s.SessionID})
	if err := readWhole(ctx, c, s); err != nil {
		return nil, err
	}
	return a.resultOf(ctx, c, s), nil
}

// readWhole replaces the beginning of a long result by its whole text, which is a file of the
// session. If the file cannot be read, the result remains. An error means that the turn cannot
// continue.
func readWhole(ctx context.Context, c *Call, s *parley.Session) error {
	if s.Result == nil || s.Result.Attachment == nil {
		return nil
	}
	data, err := io.ReadAll(parley.ReadAttachment(ctx, c.Turn.Client, s.SessionID, s.Result.Attachment.SHA256))
	switch {
	case err == nil:
		text, whole := string(data), *s.Result
		whole.ResultText, whole.Attachment = &text, nil
		s.Result = &whole
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case EndsTurn(err):
		return turnLost{err}
	case c.Turn.Logger != nil:
		c.Turn.Logger.Warn("reading the file of a result failed", "session", s.SessionID, "error", err)
	}
	return nil
}

// sessionKey returns the key of a session, which includes the parameters. An attempt with other
// parameters starts another session.
func sessionKey(key string, parameters []byte) string {
	sum := sha256.Sum256(parameters)
	return key + "." + hex.EncodeToString(sum[:8])
}

// turnLost is an error after which the turn cannot continue. The hub offers it again.
type turnLost struct{ error }

func (l turnLost) Unwrap() error { return l.error }

// endingErrors are errors of a turn that ended, or of a hub that is unavailable.
var endingErrors = []error{
	parley.ErrClaimLost, parley.ErrClaimRequired, parley.ErrNotYourTurn, parley.ErrTurnClosed,
	parley.ErrConversationClosed,
	parley.ErrUnavailable, parley.ErrOutcomeUnknown, parley.ErrUnauthenticated,
}

// EndsTurn reports whether the turn cannot continue after an error of the hub.
func EndsTurn(err error) bool {
	return slices.ContainsFunc(endingErrors, func(e error) bool { return errors.Is(err, e) })
}

// runSession starts a child session of the conversation of the turn, or finds that of an earlier
// attempt. It waits until the session ends or needs input.
func runSession(ctx context.Context, c *Call, p *parley.StartSessionParams) (*parley.Session, error) {
	p.Mode, p.TimeoutMs = parley.ModeSync, parley.MaxWaitMs
	s, err := c.Turn.StartSession(ctx, p)
	for err == nil && !s.Status.Ended() && s.Status != parley.SessionInputRequired {
		s, err = c.Turn.Client.GetSession(ctx, &parley.GetSessionParams{SessionID: s.SessionID, TimeoutMs: parley.MaxWaitMs})
	}
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case EndsTurn(err):
		return nil, turnLost{err}
	}
	return nil, err
}

// startFailure returns the result for the model if a session could not be started.
func startFailure(name string, err error) (*Result, error) {
	var l turnLost
	if errors.As(err, &l) {
		return nil, err
	}
	p := problem{Error: parley.ErrorRowOf(err).Reason(), Message: "The agent " + name + " was not started: " + err.Error()}
	var e *parley.Error
	if errors.As(err, &e) && e.Validation != nil {
		p.Faults, p.Schema = e.Validation.ValidationErrors, e.Validation.ParametersSchema
		p.Hint = "Call the tool again with arguments that match parameters_schema."
	}
	return p.result(), nil
}

// resultOf returns the result of a session for the model.
func (a *agent) resultOf(ctx context.Context, c *Call, s *parley.Session) *Result {
	if s.Status == parley.SessionInputRequired {
		stopSession(ctx, c, s)
		return (&problem{Error: "input_required", Message: "The agent " + a.name + " asked a question and was stopped: " +
			sessionText(s.Result),
			Hint: "Call the tool again with arguments that answer the question."}).result()
	}
	if s.Status != parley.SessionCompleted {
		return sessionProblem(a.name, s).result()
	}
	if s.Result != nil && len(s.Result.ResultData) > 0 && s.Result.Attachment == nil {
		return &Result{Text: string(s.Result.ResultData)}
	}
	return &Result{Text: sessionText(s.Result)}
}

// stopSession stops a session that waits for input, because a tool call cannot answer.
func stopSession(ctx context.Context, c *Call, s *parley.Session) {
	if _, err := c.Turn.Client.StopSession(
		ctx, &parley.StopSessionParams{SessionID: s.SessionID,
			Reason: "the caller is a tool call and cannot answer questions"}); err != nil && c.Turn.Logger != nil {
		c.Turn.Logger.Warn("stopping a session that needs input failed", "session", s.SessionID, "error", err)
	}
}

// sessionProblem describes a session that failed or was stopped.
func sessionProblem(name string, s *parley.Session) *problem {
	p := &problem{Error: string(s.Status), Message: "The agent " + name + " failed"}
	if s.Status == parley.SessionStopped {
		p.Message = "The agent " + name + " was stopped"
	}
	if s.Reason != "" {
		p.Message += " (" + s.Reason + ")"
	}
	if s.Result != nil {
		if s.Result.Error != "" {
			p.Message += ": " + s.Result.Error
		}
		p.Faults = s.Result.ValidationErrors
	}
	return p
}

// sessionText returns the text of a result, with a line that names the file of a longer text.
func sessionText(r *parley.SessionResult) string {
	switch {
	case r == nil || r.ResultText == nil && len(r.ResultData) == 0:
		return ""
	case r.ResultText == nil:
		return string(r.ResultData)
	case r.Attachment != nil:
		return *r.ResultText + "\n[This is only the beginning. The session has the whole text as a file, sha256 " +
			r.Attachment.SHA256 + ".]"
	}
	return *r.ResultText
}
