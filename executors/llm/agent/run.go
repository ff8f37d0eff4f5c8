package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/executors/llm/tool"
	"github.com/parleyhub/parley/internal/paramschema"
)

// run is the work on one turn. It belongs to one goroutine.
type run struct {
	*Agent
	turn    *parley.Turn
	record  *record.Log
	view    *view
	child   *child // nil for the agent itself
	context []byte // nil for an agent without subscriptions
	box     *tool.Box
	output  *paramschema.Schema // of the answer; may be nil
	began   time.Time
	log     *slog.Logger

	specs  []llm.ToolSpec
	reader string // name of read_file; empty if it is not offered for attachments
	// missing are the optional servers without tools in this attempt.
	missing []tool.Missing
	totals  totals
	// retryAt is when a vendor allows the next call of a model, in Unix milliseconds.
	retryAt map[string]int64
	gaveUp  map[string]bool // models whose fallback is asked
	// said is the last text of the model. compactions counts the summaries.
	said        string
	compactions int
	deltas      *deltaSender
}

// answer is the result of a turn.
type answer struct {
	text string
	data []byte // the answer as JSON, or nil
	// refusal is true if the model refused. The text is its explanation.
	refusal bool
	// partial is true if a budget was used up before the end. cut is true if the model stopped at
	// its limit of tokens.
	partial, cut bool
	// budget is true if the text is BudgetMessage.
	budget bool
}

// answer computes the answer of the turn.
func (r *run) answer(ctx context.Context) (*answer, error) {
	if err := r.initChild(ctx); err != nil {
		return nil, err
	}
	if r.child != nil {
		defer r.child.close(r.log)
	}
	var err error
	if r.specs, r.missing, err = r.box.Specs(ctx, r.turn.Client); err != nil {
		return nil, r.toolsFailure(err)
	}
	if err := r.traceMissing(ctx); err != nil {
		return nil, err
	}
	if err := r.traceWarnings(ctx); err != nil {
		return nil, err
	}
	messages, err := r.prompt(ctx)
	if err != nil {
		return nil, err
	}
	r.deltas = newDeltaSender(ctx, r.turn, r.log)
	defer r.deltas.close()
	got, err := r.work(ctx, messages)
	var over *llm.BudgetError
	switch {
	case errors.Is(err, errContext):
		return r.contextExceeded()
	case errors.As(err, &over):
		return r.budgetExceeded(over)
	}
	return got, err
}

// prompt returns the messages for the model: the conversation with its files, and the context. If
// the text of a file is not whole, the model may read the rest with read_file.
func (r *run) prompt(ctx context.Context) ([]llm.Message, error) {
	var reader llm.ToolSpec
	var ok bool
	var err error
	if r.offersReader() {
		if reader, ok, err = r.box.ReaderSpec(ctx, r.turn.Client); err != nil {
			return nil, err
		}
		r.reader = reader.Name
	}
	files, err := r.readAttachments(ctx)
	if err != nil {
		return nil, err
	}
	if ok && files.cut {
		r.specs = append(r.specs, reader)
	}
	messages, err := r.messages(files)
	return append(messages, r.contextMessages()...), err
}

// missingData is the data of an llm_server_missing trace.
type missingData struct {
	Server string `json:"server"`
	Error  string `json:"error"`
}

// traceMissing records the optional servers that could not be reached.
func (r *run) traceMissing(ctx context.Context) error {
	for _, m := range r.missing {
		data := &missingData{Server: m.Server, Error: head(m.Err.Error(), parley.MaxReasonBytes)}
		text := "The optional MCP server " + m.Server + " is missing"
		if err := r.record.AddTrace(ctx, record.KindServerMissing, text, data); err != nil {
			return err
		}
	}
	return nil
}

// maxWarnings limits the warnings of a trace, and maxWarning the bytes of each.
const (
	maxWarnings = 32
	maxWarning  = 500
)

// traceWarnings records what the model does not get of its tools, once for each turn.
func (r *run) traceWarnings(ctx context.Context) error {
	warnings := r.box.Warnings()
	if len(warnings) == 0 || len(r.record.Traces(record.KindTools)) > 0 {
		return nil
	}
	data := struct {
		Warnings []string `json:"warnings"`
	}{make([]string, min(len(warnings), maxWarnings))}
	for i := range data.Warnings {
		data.Warnings[i] = record.Cut(warnings[i], maxWarning)
	}
	return r.record.AddTrace(ctx, record.KindTools, strings.Join(data.Warnings, "\n"), data)
}

// toolsFailure converts an error of the tool list. An unknown tool is a permanent failure.
func (r *run) toolsFailure(err error) error {
	if errors.Is(err, llm.ErrUnknownTool) {
		return &failure{reason: reasonTools, text: err.Error(), err: err}
	}
	return err
}

// work plans, runs the loop, and checks its answer.
func (r *run) work(ctx context.Context, messages []llm.Message) (*answer, error) {
	plan, refused, err := r.plan(ctx, messages)
	if err != nil || refused != nil {
		return refused, err
	}
	t := &thread{
		run: r, phase: record.PhaseExecute, model: r.main, messages: slices.Clone(messages), live: true,
		definition: r.definition(r.main, r.instructions(plan), r.output),
	}
	s, err := t.loop(ctx)
	if err != nil {
		return nil, err
	}
	return t.check(ctx, s)
}

// definition returns the definition of the agent for a model.
func (r *run) definition(m *model, instructions string, output *paramschema.Schema) llm.Definition {
	c := r.config
	d := llm.Definition{Model: m.name, Instructions: instructions, Tools: r.specs, Temperature: c.Temperature,
		TopP: c.TopP, MaxTokens: c.MaxTokens, Parameters: r.parameters()}
	if output != nil {
		d.OutputSchema = output.Raw()
	}
	return d
}

// budgetExceeded ends a turn over budget: with the text so far, or with a failure.
func (r *run) budgetExceeded(over *llm.BudgetError) (*answer, error) {
	if b := r.options().Budget; b != nil && b.OnExceeded == parley.BudgetPartial && r.output == nil {
		return &answer{text: cmp.Or(r.said, PartialMessage), partial: true}, nil
	}
	return nil, &failure{reason: ReasonBudget, text: "The budget of this turn was used up: " + over.What, err: over}
}

// contextExceeded ends a turn whose prompt does not fit into the context. It is a failure only if
// the answer must match a schema.
func (r *run) contextExceeded() (*answer, error) {
	if r.output != nil {
		return nil, &failure{reason: ReasonContext, text: BudgetMessage, err: errContext}
	}
	return &answer{text: BudgetMessage, budget: true}, nil
}
