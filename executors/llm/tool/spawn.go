package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/paramschema"
)

// spawner is a Tool that starts children: spawn_self, or run_parallel_subagents where it is parallel.
type spawner struct {
	spec     llm.ToolSpec
	parallel bool
	// most bounds the jobs of one call, and safe are the tools that children may have.
	most int
	safe []string
	// child is the name by which children are started.
	child string
}

// job is what one child is to do: the parameters of its session.
type job struct {
	Task              string          `json:"task"`
	AdditionalContext string          `json:"additional_context,omitempty"`
	ToolNames         []string        `json:"tool_names,omitzero"`
	OutputSchema      json.RawMessage `json:"output_schema,omitempty"`
	SystemPrompt      string          `json:"system_prompt,omitempty"`
}

// report is what came of one job. Index is nil where there is but one.
type report struct {
	Index      *int                     `json:"index,omitempty"`
	Status     string                   `json:"status"` // success, error
	SessionID  string                   `json:"session_id,omitempty"`
	ResultText *string                  `json:"result_text,omitempty"`
	ResultData json.RawMessage          `json:"result_data,omitempty"`
	Attachment *parley.Attachment       `json:"attachment,omitempty"`
	Error      string                   `json:"error,omitempty"`
	Faults     []parley.ValidationError `json:"validation_errors,omitempty"`
}

const (
	spawnDescription = "Starts a copy of yourself, without this conversation, for one task, and gives its result. It " +
		"has the tools of tool_names; without them all that a copy may have. " +
		"With output_schema its result is JSON that matches."
	parallelDescription = "Starts copies of yourself, without this conversation, one for each job, all at once, and " +
		"gives their results in the order of the jobs, each a success or an error."
)

// jobSchema is the schema of a job, with system_prompt where there are several.
func jobSchema(safe []string, parallel bool) map[string]any {
	properties := map[string]any{
		"task": map[string]any{"type": "string", "minLength": 1,
			"description": "What is to be done. It is all that the copy knows, besides additional_context."},
		"additional_context": map[string]any{"type": "string", "description": "What it needs to know besides."},
		"tool_names": map[string]any{"type": []string{"array", "null"}, "items": map[string]any{"type": "string"},
			"description": "The only tools that it may use; an empty list: none. For copies " + listed(safe) + "."},
		"output_schema": map[string]any{"type": []string{"object", "null"},
			"description": "A JSON Schema that its result has to match."},
	}
	if parallel {
		properties["system_prompt"] = map[string]any{"type": "string", "description": "How this copy is to see its task."}
	}
	return map[string]any{"type": "object", "properties": properties, "required": []string{"task"},
		"additionalProperties": false}
}

// addSpawners adds the tools that start children.
func (b *Box) addSpawners(s *set) error {
	c := b.o.Config
	child := b.o.Name + parley.ChildSuffix
	if b.o.RunnerID != "" {
		child += "@" + b.o.RunnerID
	}
	safe := b.childSafe(s)
	if c.AllowSelfSpawn {
		if err := b.addSpawner(
			s, &spawner{child: child, safe: safe, most: 1,
				spec: llm.ToolSpec{Name: parley.ToolSpawnSelf, Description: spawnDescription}}, jobSchema(safe, false)); err != nil {
			return err
		}
	}
	if !c.AllowParallelSubagents {
		return nil
	}
	most := min(c.Subagents(), parley.MaxSubagents)
	jobs := map[string]any{"type": "array", "minItems": 1, "maxItems": most, "items": jobSchema(safe, true)}
	return b.addSpawner(
		s, &spawner{child: child, safe: safe, most: most, parallel: true,
			spec: llm.ToolSpec{Name: parley.ToolParallel, Description: parallelDescription}},
		map[string]any{"type": "object", "properties": map[string]any{"jobs": jobs}, "required": []string{"jobs"},
			"additionalProperties": false})
}

func (b *Box) addSpawner(s *set, t *spawner, schema map[string]any) error {
	var err error
	if t.spec.Parameters, err = marshal(schema); err != nil {
		return err
	}
	return b.add(s, &entry{tool: t, own: t.spec})
}

func (t *spawner) Spec() llm.ToolSpec { return t.spec }

// Repeatable holds because the key of the call, with the place of the job and the job, is that of the session.
func (t *spawner) Repeatable() {}

// check refuses a call as a whole, before anything is started.
func (t *spawner) check(e *entry, arguments []byte) *Result {
	if t.parallel {
		var all struct {
			Jobs []json.RawMessage `json:"jobs"`
		}
		if err := json.Unmarshal(arguments, &all); err == nil {
			if p := t.count(len(all.Jobs)); p != nil {
				return p.result()
			}
		}
	}
	if r := e.mismatch(arguments); r != nil {
		return r
	}
	jobs, err := t.jobs(arguments)
	if err != nil {
		return (&problem{Error: "invalid_arguments", Message: err.Error()}).result()
	}
	for i, j := range jobs {
		if p := t.checkJob(&j); p != nil {
			if t.parallel {
				p.Message = fmt.Sprintf("jobs[%d]: %s", i, p.Message)
			}
			return p.result()
		}
	}
	return nil
}

func (t *spawner) count(n int) *problem {
	switch {
	case n == 0:
		return &problem{Error: "no_jobs", Message: "There are no jobs. Nothing was started.",
			Hint: fmt.Sprintf("Give 1 to %d jobs, each with a task.", t.most)}
	case n > t.most:
		return &problem{Error: "too_many_jobs",
			Message: fmt.Sprintf("There are %d jobs, and at most %d run in one call. Nothing was started.", n, t.most),
			Hint:    fmt.Sprintf("Give at most %d, and call again for the others.", t.most)}
	}
	return nil
}

func (t *spawner) checkJob(j *job) *problem {
	for _, name := range j.ToolNames {
		if slices.Contains(t.safe, name) {
			continue
		}
		return &problem{Error: "unknown_tools",
			Message: fmt.Sprintf("tool_names has %q, which is no tool that a child may have. Nothing was started.", name),
			Hint:    "Of these " + listed(t.safe) + "."}
	}
	if _, err := j.schema(); err != nil {
		return &problem{Error: "invalid_output_schema", Message: "output_schema: " + err.Error() + ". Nothing was started.",
			Hint: "Give a JSON Schema, or none."}
	}
	return nil
}

// schema is the output_schema; nil where there is none.
func (j *job) schema() (*paramschema.Schema, error) {
	if len(j.OutputSchema) == 0 {
		return nil, nil
	}
	return paramschema.Compile(j.OutputSchema)
}

// jobs reads the jobs of a call.
func (t *spawner) jobs(arguments []byte) ([]job, error) {
	var all struct{ Jobs []job }
	var err error
	if t.parallel {
		err = json.Unmarshal(arguments, &all)
	} else {
		all.Jobs = make([]job, 1)
		err = json.Unmarshal(arguments, &all.Jobs[0])
	}
	for i := range all.Jobs {
		if string(all.Jobs[i].OutputSchema) == "null" {
			all.Jobs[i].OutputSchema = nil
		}
	}
	return all.Jobs, err
}

// Run runs the jobs at once. One that fails ends none of the others.
func (t *spawner) Run(ctx context.Context, c *Call) (*Result, error) {
	jobs, err := t.jobs(c.Arguments)
	if err != nil {
		return nil, err
	}
	if p := t.count(len(jobs)); t.parallel && p != nil {
		return p.result(), nil
	}
	reports, failed := make([]report, len(jobs)), make([]error, len(jobs))
	var all sync.WaitGroup
	for i := range jobs {
		all.Go(func() {
			key := c.Key
			if t.parallel {
				key += "." + strconv.Itoa(i)
				reports[i].Index = &i
			}
			failed[i] = t.run(ctx, c, &jobs[i], key, &reports[i])
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return t.result(reports)
}

func (t *spawner) result(reports []report) (*Result, error) {
	var whole any = struct {
		Results []report `json:"results"`
	}{reports}
	if !t.parallel {
		whole = reports[0]
	}
	text, err := marshal(whole)
	if err != nil {
		return nil, err
	}
	return &Result{Text: string(text),
		IsError: !slices.ContainsFunc(reports, func(r report) bool { return r.Status == "success" })}, nil
}

// run runs one job, and reports. An error says that the turn cannot go on.
func (t *spawner) run(ctx context.Context, c *Call, j *job, key string, r *report) error {
	r.Status = "error"
	schema, err := j.schema()
	if err != nil {
		r.Error = err.Error()
		return nil
	}
	parameters, err := marshal(j)
	if err != nil {
		r.Error = err.Error()
		return nil
	}
	s, err := runSession(ctx, c,
		&parley.StartSessionParams{AgentName: t.child, Parameters: parameters, ClientRequestID: sessionKey(key, parameters)})
	var l lost
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.As(err, &l):
		return err
	default:
		r.Error = "The child was not started: " + err.Error()
		var e *parley.Error
		if errors.As(err, &e) && e.Validation != nil {
			r.Faults = e.Validation.ValidationErrors
		}
		return nil
	}
	r.SessionID = s.SessionID
	t.take(ctx, c, s, schema, r)
	return nil
}

// take reports what a session has brought.
func (t *spawner) take(ctx context.Context, c *Call, s *parley.Session, schema *paramschema.Schema, r *report) {
	switch {
	case s.Status == parley.SessionInputRequired:
		stop(ctx, c, s)
		r.Error = "The child has asked back, and was stopped: " + text(s.Result)
		return
	case s.Status != parley.SessionCompleted || s.Result == nil:
		p := failure(strings.Split(t.child, "@")[0], s)
		r.Error, r.Faults = p.Message, p.Faults
		return
	}
	if schema == nil {
		r.Status, r.ResultText, r.ResultData, r.Attachment = "success", s.Result.ResultText, s.Result.ResultData, s.Result.Attachment
		return
	}
	if len(s.Result.ResultData) == 0 {
		r.Error = "The child gave no JSON, though there is an output_schema."
		return
	}
	faults, err := schema.Validate(s.Result.ResultData)
	switch {
	case err != nil:
		r.Error = "The result of the child could not be held against output_schema: " + err.Error()
	case len(faults) > 0:
		r.Error, r.Faults = "The result of the child does not match output_schema.", faults
	default:
		r.Status, r.ResultData = "success", s.Result.ResultData
	}
}
