// Package agent implements LLM agents. An agent calls a model, runs the tools that the model
// requests, and posts the result, as its agent config defines.
//
//	turn -> record, conversation -> planner -> loop of model and tools -> check -> one final message
//
// # Guarantees
//
//   - The log has each answer of a model and each tool result before the agent acts on it. The next
//     attempt of a turn reads them from the log and continues after them. For the same
//     conversation, the agent sends the same requests, byte for byte.
//   - A turn posts one final message. Deltas are for live readers; a lost delta is not an error.
//   - Content from others reaches the model inside marks that only the agent can write. See
//     render.go.
//   - An agent with subscriptions gets its context in the last message before the first step, with
//     the same bytes as every other kind of agent. Another attempt fetches it again. If it changed,
//     recorded answers that led to an action remain in effect.
//   - A permanent failure, such as a budget that is used up, ends a session at once with a reason.
//     In a seat it fails the attempt. A temporary failure fails the attempt in both cases, and the
//     hub offers the turn again. The last attempt ends the session with the reason of its failure.
//   - The category, the code and the text of a vendor's error are in the result and in a trace.
//     Texts that look like a key are removed.
//   - The usage of failed calls counts, over all attempts.
//
// # The final message
//
// A session is closed with a result: its text, and its JSON if the whole text is JSON. In a seat,
// the agent posts one message that ends its turn, with data if the text is JSON, for example with
// an output_schema. The message does not close the conversation. It selects the next participant
// only by an @mention, if the policy uses mentions. A budget applies to one turn, and children have
// their own. Children neither plan nor start children.
package agent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/toolnames"
)

// Options are the options of New.
type Options struct {
	Runtimes  *llm.Runtimes
	Functions []tool.Tool
	// Connect connects to MCP servers. If it is nil, New refuses configs with servers.
	Connect func(ctx context.Context, name string, s parley.MCPServer) (tool.Server, error)
	// Wrap wraps functions and tools of MCP servers. See tool.Options.
	Wrap func(tool.Tool) tool.Tool
	// RunnerID is the executor that runs the agent and its children.
	RunnerID string
	Meter    *llm.Meter
	Logger   *slog.Logger
}

// Agent is one LLM agent. Between turns it keeps only connections, so one value serves any number
// of conversations concurrently.
type Agent struct {
	o         Options
	log       *slog.Logger
	blueprint parley.Blueprint
	config    *parley.AgentConfig
	hashes    hashes
	output    *paramschema.Schema // nil without output_schema
	template  *template           // nil without user_template
	main      *model
	planner   *model // nil without planning_enabled
	fallbacks []*model
	servers   *servers
	box       *tool.Box
}

var _ parley.Agent = (*Agent)(nil)

// model is a model that the agent calls.
type model struct {
	runtime *llm.Runtime
	name    string // vendor's name of the model
	full    string // name with the runtime
	window  int    // size of the context window in tokens; 0 if unknown
}

// Blueprints returns the blueprints to register: the agent's own and, if it starts children, that
// of the children, named with toolnames.ChildSuffix. HandleTurn handles the sessions of both.
func (a *Agent) Blueprints() []parley.Blueprint {
	all := []parley.Blueprint{a.blueprint}
	if a.config.Spawns() {
		all = append(all, a.childBlueprint())
	}
	return all
}

// HandleTurn handles a turn in a seat, or a session, which it closes with a result.
func (a *Agent) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	l, err := record.Open(ctx, turn)
	if err != nil {
		return "", err
	}
	v, err := readView(ctx, turn)
	if err != nil {
		return "", err
	}
	agentContext, err := a.fetchContext(ctx, turn)
	if err != nil {
		return "", err
	}
	r := &run{Agent: a, context: agentContext, turn: turn, record: l, view: v, began: time.Now(), box: a.box, output: a.output,
		log: a.log.With("conversation", turn.ConversationID, "turn", turn.Number)}
	r.readFailures()
	working, stop := ctx, context.CancelFunc(func() {})
	if ms := a.blueprint.TimeoutMs; ms > 0 {
		working, stop = context.WithTimeoutCause(ctx, time.Duration(ms)*time.Millisecond, errTimeout)
	}
	defer stop()
	got, err := r.answer(working)
	if err != nil && ctx.Err() == nil && working.Err() != nil {
		err = context.Cause(working)
	}
	return r.conclude(ctx, got, err)
}

// isChild reports whether a session runs a child of the agent.
func (a *Agent) isChild(s *parley.SessionRecord) bool {
	if s == nil {
		return false
	}
	name, _, _ := strings.Cut(s.Agent, "@")
	return name == a.childName()
}

func (a *Agent) childName() string { return a.blueprint.Name + toolnames.ChildSuffix }

// Close closes the tools and the connections to MCP servers.
func (a *Agent) Close() error {
	err := a.box.Close()
	if serr := a.servers.close(); err == nil {
		err = serr
	}
	if err != nil {
		return fmt.Errorf("close agent %s: %w", a.blueprint.Name, err)
	}
	return nil
}
