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
)

// ChildParameters are what a child takes.
const ChildParameters = `{
	"type": "object",
	"additionalProperties": false,
	"required": ["task"],
	"properties": {
		"task": {"type": "string", "minLength": 1, "description": "What the child is to do, whole: it sees nothing else of the conversation."},
		"additional_context": {"type": "string", "description": "What it has to know."},
		"tool_names": {"type": ["array", "null"], "items": {"type": "string"}, "description": "Which tools it may use; absent, all that children may have."},
		"output_schema": {"type": ["object", "null"], "description": "A JSON Schema that its result has to match."},
		"system_prompt": {"type": "string", "description": "Instructions for this child alone."}
	}
}`

// child is what a child was started with.
type child struct {
	Task         string          `json:"task"`
	Context      string          `json:"additional_context"`
	ToolNames    []string        `json:"tool_names"`
	OutputSchema json.RawMessage `json:"output_schema"`
	SystemPrompt string          `json:"system_prompt"`

	box *tool.Box
}

// childBlueprint tells the hub of the agent's children. They have its config, without what starts further children and plans.
func (a *Agent) childBlueprint() parley.Blueprint {
	c := *a.config
	c.AllowSelfSpawn, c.AllowParallelSubagents, c.MaxParallelSubagents, c.ChildTools = false, false, 0, nil
	c.PlanningEnabled, c.PlanningModel, c.PlanningInstructions = false, "", ""
	c.HITLTools = slices.DeleteFunc(slices.Clone(c.HITLTools),
		func(t string) bool { return t == parley.ToolSpawnSelf || t == parley.ToolParallel })
	if o := c.RunOptions; o != nil {
		own := *o
		own.UserTemplate = "" // of the agent's own parameters
		c.RunOptions = &own
	}
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return parley.Blueprint{
		Name: a.childName(), Description: "A child of " + a.blueprint.Name +
			", which starts it for one task. Nobody else can.", Type: parley.AgentTypeAgent, AgentConfig: raw,
		ParametersSchema: json.RawMessage(ChildParameters), TimeoutMs: a.blueprint.TimeoutMs, Labels: a.blueprint.Labels,
	}
}

// childBox are the options of the tools of a child.
func (a *Agent) childBox(only []string) *tool.Options {
	o := a.boxOptions(a.config)
	o.Child, o.Only = true, only
	return o
}

// asChild makes the run one of a child, where its session is that of one.
func (r *run) asChild(ctx context.Context) error {
	if !r.isChild(r.view.session) {
		return nil
	}
	if err := r.mayStart(ctx); err != nil {
		return err
	}
	c := &child{}
	if err := json.Unmarshal(r.view.parameters(), c); err != nil || c.Task == "" {
		return &failure{reason: reasonParameters, text: "The parameters are not those of a child: expected a task", err: err}
	}
	r.output = nil
	if s := strings.TrimSpace(string(c.OutputSchema)); s != "" && s != "null" {
		schema, err := paramschema.Compile(c.OutputSchema)
		if err != nil {
			return &failure{reason: reasonParameters, text: "output_schema is no schema that can be used: " + err.Error(),
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

// mayStart refuses a child that anybody but the agent has started: its task is an instruction.
func (r *run) mayStart(ctx context.Context) error {
	s, refused := r.view.session, &failure{reason: ReasonForbidden, text: "A child is started by its agent alone"}
	switch {
	case !r.config.Spawns() || s.Parent == "":
		return refused
	case s.Caller == r.blueprint.Name:
		return nil
	}
	held, err := r.heldBy(ctx, s)
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

// heldBy reports whether the runner of a session held the turn of its caller when that has started it. That an agent sits somewhere says only who has made the conversation, and the id of an
// executor is what anybody says of himself: the log knows who has taken the turn.
func (r *run) heldBy(ctx context.Context, s *parley.SessionRecord) (bool, error) {
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

// text is what the model of a child is told.
func (c *child) text() string {
	parts := []string{mark("task", "", escape(c.Task))}
	if c.Context != "" {
		parts = append(parts, mark("context", "", escape(c.Context)))
	}
	return strings.Join(parts, "\n")
}

func (c *child) close(log *slog.Logger) {
	if err := c.box.Close(); err != nil {
		log.Warn("the tools of a child could not be closed", "error", err)
	}
}
