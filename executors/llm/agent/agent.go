// Package agent is the LLM agent: it asks a model, runs the tools that it wants, and says what came of it, as its agent config says.
//
//	turn -> record, conversation -> planner -> loop of model and tools -> check -> one final message
//
// # Guarantees
//
//   - An answer of a model, and what came of a tool, is in the log before anything is done with it. The next attempt of a turn reads it there and goes on behind it; the same
//     conversation makes the same questions, byte for byte.
//   - A turn brings one final message. Deltas are for readers who look on; that one is missed fails nothing.
//   - What others say reaches the model inside of marks that nobody but the agent can write: see render.go.
//   - An agent with subscriptions is told its context in the last message before it begins, with the bytes that every other kind of agent gets. Another attempt asks for it again: an answer of a model
//     of which something was done stands, whatever it says then.
//   - What is no fault of the moment, as a budget that is used up, ends a session at once, with a reason; at a seat it fails the attempt. What may go better later fails the attempt
//     in both, and the hub offers the turn again.
//   - No text of a vendor's error is told in the log: it goes to the Logger.
//
// # What an agent says
//
// A session is closed with a result: its text, and JSON where all of the text is. A seat says one message that ends its turn, with data where the text is JSON, as with an output_schema; it
// does not close the conversation, and names who is next only by an @mention, where the policy looks for one. Budgets are of one turn: children have their own. Children do not plan, and start none.
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
)

// Options are for New.
type Options struct {
	Runtimes  *llm.Runtimes
	Functions []tool.Tool
	// Connect connects to MCP servers; nil, configs with servers are refused.
	Connect func(ctx context.Context, name string, s parley.MCPServer) (tool.Server, error)
	// Wrap is put around functions and tools of MCP servers: see tool.Options.
	Wrap func(tool.Tool) tool.Tool
	// RunnerID is the executor that runs it, where its children are found.
	RunnerID string
	Meter    *llm.Meter
	Logger   *slog.Logger
}

// Agent is one LLM agent. It keeps nothing between turns but connections, so one value serves any number of conversations at once.
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
	servers   *servers
	box       *tool.Box
}

var _ parley.Agent = (*Agent)(nil)

// model is one that the agent asks.
type model struct {
	runtime *llm.Runtime
	name    string // as the vendor calls it
	full    string // with the runtime
	window  int    // of its context; 0 where nobody knows
}

// Blueprints are what the hub is told: the agent's own and, where it starts children, that of those, named with parley.ChildSuffix. HandleTurn takes the sessions of both.
func (a *Agent) Blueprints() []parley.Blueprint {
	all := []parley.Blueprint{a.blueprint}
	if a.config.Spawns() {
		all = append(all, a.childBlueprint())
	}
	return all
}

// HandleTurn takes a turn: of a seat in a conversation, or of a session, which it closes with a result.
func (a *Agent) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	l, err := record.Open(ctx, turn)
	if err != nil {
		return "", err
	}
	v, err := look(ctx, turn)
	if err != nil {
		return "", err
	}
	fed, err := a.feed(ctx, turn)
	if err != nil {
		return "", err
	}
	r := &run{Agent: a, fed: fed, turn: turn, record: l, view: v, began: time.Now(), box: a.box, output: a.output,
		log: a.log.With("conversation", turn.ConversationID, "turn", turn.Number)}
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

// isChild reports whether a session is one of the agent's children.
func (a *Agent) isChild(s *parley.SessionRecord) bool {
	if s == nil {
		return false
	}
	name, _, _ := strings.Cut(s.Agent, "@")
	return name == a.childName()
}

func (a *Agent) childName() string { return a.blueprint.Name + parley.ChildSuffix }

// Close ends the connections to MCP servers.
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
