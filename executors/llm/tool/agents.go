package tool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/paramschema"
)

// agent is a Tool that starts a session of an agent of the hub.
type agent struct {
	name string
	spec llm.ToolSpec
}

// addAgents adds the agents of the config, as they are there now.
func (b *Box) addAgents(ctx context.Context, c parley.Client, s *set, allowed []string) error {
	wanted := slices.DeleteFunc(slices.Clone(b.o.Config.Agents), func(a string) bool {
		return allowed != nil && !slices.Contains(allowed, parley.AgentToolName(a))
	})
	if len(wanted) == 0 {
		return nil
	}
	if c == nil {
		return errors.New("tool: no client to ask for the agents of the config")
	}
	there, err := c.ListAgents(ctx, &parley.ListAgentsParams{})
	if err != nil {
		return fmt.Errorf("ask for the agents of the config: %w", err)
	}
	for _, name := range wanted {
		i := slices.IndexFunc(there.Agents, func(a parley.AgentInfo) bool {
			return a.Name == name || a.RunnerID != "" && a.Name+"@"+a.RunnerID == name
		})
		if i < 0 {
			return parley.Refuse(parley.ErrUnavailable,
				fmt.Sprintf("there is no agent %s now, which agents of the config names", name),
				"one that listAgents has: start the executor or runner that runs it")
		}
		a := there.Agents[i]
		spec := llm.ToolSpec{Name: parley.AgentToolName(name), Description: cmp.Or(a.Description, "Asks the agent "+name+"."),
			Parameters: a.ParametersSchema}
		if len(spec.Parameters) == 0 {
			spec.Parameters = paramschema.Prompt().Raw()
		}
		if err := b.add(s, &entry{tool: &agent{name, spec}, own: spec, fills: true}); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) Spec() llm.ToolSpec { return a.spec }

// Repeatable holds because the key of the call, with the parameters, is that of the session.
func (a *agent) Repeatable() {}

func (a *agent) Run(ctx context.Context, c *Call) (*Result, error) {
	s, err := runSession(ctx, c,
		&parley.StartSessionParams{AgentName: a.name, Parameters: c.Arguments,
			ClientRequestID: sessionKey(c.Key, c.Arguments)})
	if err != nil {
		return refused(a.name, err)
	}
	c.span.Set(parley.Attribute{Key: parley.AttrChildConversationID, Value: s.SessionID})
	return a.told(ctx, c, s), nil
}

// sessionKey gives the key of a session, which is another one where the parameters are: an attempt that asks for something else does not meet the session of the one before.
func sessionKey(key string, parameters []byte) string {
	sum := sha256.Sum256(parameters)
	return key + "." + hex.EncodeToString(sum[:8])
}

// lost is an error after which a turn cannot go on: the next attempt does.
type lost struct{ error }

func (l lost) Unwrap() error { return l.error }

// ending are the errors that a turn ends with, or that say that its hub is not there.
var ending = []error{
	parley.ErrClaimLost, parley.ErrClaimRequired, parley.ErrNotYourTurn, parley.ErrTurnClosed,
	parley.ErrConversationClosed,
	parley.ErrUnavailable, parley.ErrOutcomeUnknown, parley.ErrUnauthenticated,
}

// endsTurn reports whether the turn cannot go on after an error of the hub.
func endsTurn(err error) bool {
	return slices.ContainsFunc(ending, func(e error) bool { return errors.Is(err, e) })
}

// runSession starts a session out of the turn's conversation, or meets that of an earlier attempt, and waits until it has ended or asks something.
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
	case endsTurn(err):
		return nil, lost{err}
	}
	return nil, err
}

// refused is what a model reads of a session that could not be started.
func refused(name string, err error) (*Result, error) {
	var l lost
	if errors.As(err, &l) {
		return nil, err
	}
	p := problem{Error: parley.ErrorRowOf(err).Reason(), Message: "The agent " + name + " was not started: " + err.Error()}
	var e *parley.Error
	if errors.As(err, &e) && e.Validation != nil {
		p.Faults, p.Schema = e.Validation.ValidationErrors, e.Validation.ParametersSchema
		p.Hint = "Call it again with arguments that match parameters_schema."
	}
	return p.result(), nil
}

// told is what the model reads of a session.
func (a *agent) told(ctx context.Context, c *Call, s *parley.Session) *Result {
	if s.Status == parley.SessionInputRequired {
		stop(ctx, c, s)
		return (&problem{Error: "input_required", Message: "The agent " + a.name + " has asked back, and was stopped: " +
			text(s.Result),
			Hint: "Call it again with arguments that answer this."}).result()
	}
	if s.Status != parley.SessionCompleted {
		return failure(a.name, s).result()
	}
	if s.Result != nil && len(s.Result.ResultData) > 0 && s.Result.Attachment == nil {
		return &Result{Text: string(s.Result.ResultData)}
	}
	return &Result{Text: text(s.Result)}
}

// stop ends a session that waits for somebody who does not come.
func stop(ctx context.Context, c *Call, s *parley.Session) {
	if _, err := c.Turn.Client.StopSession(
		ctx, &parley.StopSessionParams{SessionID: s.SessionID,
			Reason: "its caller is a tool call, which answers no questions"}); err != nil && c.Turn.Logger != nil {
		c.Turn.Logger.Warn("a session that asks back was not stopped", "session", s.SessionID, "error", err)
	}
}

// failure is what is told of a session that has failed or was stopped.
func failure(name string, s *parley.Session) *problem {
	p := &problem{Error: string(s.Status), Message: "The agent " + name + " has failed"}
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

// text is what a session has said, with a line that names the file where the rest is.
func text(r *parley.SessionResult) string {
	switch {
	case r == nil || r.ResultText == nil && len(r.ResultData) == 0:
		return ""
	case r.ResultText == nil:
		return string(r.ResultData)
	case r.Attachment != nil:
		return *r.ResultText + "\n[This is its beginning. All of it is a file of the session, sha256 " + r.Attachment.SHA256 +
			".]"
	}
	return *r.ResultText
}
