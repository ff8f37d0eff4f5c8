package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/toolnames"
)

// ChildParameters is the JSON Schema of the parameters of a child.
const ChildParameters = `{
	"type": "object",
	"additionalProperties": false,
	"required": ["task"],
	"properties": {
			"task": {"type": "string", "minLength": 1,
			"description": "The complete task. The child sees nothing else of the conversation."},
			"additional_context": {"type": "string", "description": "Background that the child needs."},
			"tool_names": {"type": ["array", "null"], "items": {"type": "string"},
			"description": "Tools that the child may use. If absent, it may use all tools of children."},
			"output_schema": {"type": ["object", "null"], "description": "JSON Schema of the result."},
			"system_prompt": {"type": "string", "description": "Additional instructions for this child."}
	}
}`

// child has the parameters of a child.
type child struct {
	Task         string          `json:"task"`
	Context      string          `json:"additional_context"`
	ToolNames    []string        `json:"tool_names"`
	OutputSchema json.RawMessage `json:"output_schema"`
	SystemPrompt string          `json:"system_prompt"`

	box *tool.Box
}

// childBlueprint returns the blueprint of the children. Their config is the agent's, without
// planning and without starting children.
func (a *Agent) childBlueprint() parley.Blueprint {
	c := *a.config
	c.AllowSelfSpawn, c.AllowParallelSubagents, c.MaxParallelSubagents, c.ChildTools = false, false, 0, nil
	c.ToolChoice = ""
	c.PlanningEnabled, c.PlanningModel, c.PlanningInstructions = false, "", ""
	c.HITLTools = slices.DeleteFunc(slices.Clone(c.HITLTools),
		func(t string) bool { return t == toolnames.SpawnSelf || t == toolnames.Parallel })
	if o := c.RunOptions; o != nil {
		own := *o
		own.UserTemplate = "" // it belongs to the parameters of the agent itself
		c.RunOptions = &own
	}
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // the config was decoded from JSON
	}
	return parley.Blueprint{
		Name: a.childName(), Description: "Runs one task for " + a.blueprint.Name +
			". Only that agent can start it.", Type: parley.AgentTypeAgent, AgentConfig: raw,
		ParametersSchema: json.RawMessage(ChildParameters), TimeoutMs: a.blueprint.TimeoutMs, Labels: a.blueprint.Labels,
	}
}

// childBox returns the options of the tools of a child.
func (a *Agent) childBox(only []string) *tool.Options {
	o := a.boxOptions(a.config)
	o.Child, o.Only = true, only
	return o
}

// initChild prepares the run of a child, if the session is one of a child.
func (r *run) initChild(ctx context.Context) error {
	if !r.isChild(r.view.session) {
		return nil
	}
	if err := r.checkCaller(ctx); err != nil {
		return err
	}
	c := &child{}
	if err := json.Unmarshal(r.view.parameters(), c); err != nil || c.Task == "" {
		return &failure{reason: reasonParameters, text: "Invalid parameters of a child: expected a task", err: err}
	}
	r.output = nil
	if s := strings.TrimSpace(string(c.OutputSchema)); s != "" && s != "null" {
		schema, err := paramschema.Compile(c.OutputSchema)
		if err != nil {
			return &failure{reason: reasonParameters, text: "Invalid output_schema: " + err.Error(),
				err: err}
		}
		r.output = schema
	}
	box, err := tool.New(r.childBox(c.ToolNames))
	if errors.Is(err, llm.ErrUnknownTool) {
		return &failure{reason: reasonParameters, text: err.Error(), err: err}
	}
	if err != nil {
		return err
	}
	c.box, r.box, r.child = box, box, c
	return nil
}

// checkCaller refuses a child that was not started by the agent itself, because the task is an
// instruction.
func (r *run) checkCaller(ctx context.Context) error {
	s, refused := r.view.session, &failure{reason: ReasonForbidden, text: "Only the agent itself can start its children"}
	switch {
	case !r.config.Spawns() || s.Parent == "":
		return refused
	case s.Caller == r.blueprint.Name:
		return nil
	}
	held, err := r.callerHeldTurn(ctx, s)
	switch {
	case errors.Is(err, parley.ErrNotFound), errors.Is(err, parley.ErrForbidden):
		return refused
	case err != nil:
		return fmt.Errorf("read the parent of the session: %w", err)
	case !held:
		return refused
	}
	return nil
}

// callerHeldTurn reports whether the runner of the session held the turn of the caller when the
// caller started the session. A seat only shows who created the conversation, and an executor id is
// chosen freely by the caller. The log has the claims of turns.
func (r *run) callerHeldTurn(ctx context.Context, s *parley.SessionRecord) (bool, error) {
	if s.Runner == nil {
		return false, nil
	}
	held := false
	for since := int64(0); ; {
		page, err := r.turn.Client.Tail(
			ctx, &parley.TailParams{ConversationID: s.Parent, SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			return false, err
		}
		for i := range page.Events {
			e := &page.Events[i]
			if e.Type == parley.TypeMessage && e.Finality.Final() {
				held = false
			}
			if e.Type != parley.TypeSystem {
				continue
			}
			sys, err := e.System()
			if err != nil {
				return false, err
			}
			switch sys.Kind {
			case parley.KindTurnClaimed:
				held = sys.AgentID == s.Caller && sys.ExecutorID == s.Runner.RunnerID &&
					cmp.Or(sys.Runner, sys.AgentID) == s.Runner.ParticipantID
			case parley.KindClaimEnded, parley.KindTurnEnded:
				held = false
			case parley.KindSessionStarted:
				if sys.SessionID == r.turn.ConversationID {
					return held && sys.AgentID == s.Caller, nil
				}
			}
		}
		if page.NextSeq >= page.LatestSeq || page.NextSeq <= since {
			return false, nil
		}
		since = page.NextSeq
	}
}

// text returns the first message of a child.
func (c *child) text() string {
	parts := []string{mark("task", "", escape(c.Task))}
	if c.Context != "" {
		parts = append(parts, mark("context", "", escape(c.Context)))
	}
	return strings.Join(parts, "\n")
}

func (c *child) close(log *slog.Logger) {
	if err := c.box.Close(); err != nil {
		log.Warn("closing the tools of a child failed", "error", err)
	}
}
