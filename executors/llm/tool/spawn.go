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
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/toolnames"
)

// spawner is a Tool that starts children: run_parallel_subagents if parallel is true, otherwise
// spawn_self.
type spawner struct {
	spec     llm.ToolSpec
	parallel bool
	// most limits the jobs of one call. safe are the tools that children may have.
	most int
	safe []string
	// child is the agent name of the children.
	child string
}

// job has the parameters of the session of one child.
type job struct {
	Task              string          `json:"task"`
	AdditionalContext string          `json:"additional_context,omitempty"`
	ToolNames         []string        `json:"tool_names,omitzero"`
	OutputSchema      json.RawMessage `json:"output_schema,omitempty"`
	SystemPrompt      string          `json:"system_prompt,omitempty"`
}

// report is the result of one job. Index is nil if there is only one job.
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
	spawnDescription = "Starts a copy of yourself for one task, without this conversation, and returns its result. " +
		"With tool_names, the copy has only these tools. " +
		"With output_schema, the result is JSON that matches the schema."
	parallelDescription = "Starts several copies of yourself at the same time, one for each job, without this " +
		"conversation. It returns their results in the order of the jobs. Each result is a success or an error."
)

// jobSchema returns the schema of a job. Jobs that run in parallel also have a system_prompt.
func jobSchema(safe []string, parallel bool) map[string]any {
	properties := map[string]any{
		"task": map[string]any{"type": "string", "minLength": 1,
			"description": "The complete task. The copy knows only the task and additional_context."},
		"additional_context": map[string]any{"type": "string", "description": "Background that the copy needs."},
		"tool_names": map[string]any{"type": []string{"array", "null"}, "items": map[string]any{"type": "string"},
			"description": "Tools that the copy may use; an empty list means none. Available: " + toolList(safe) + "."},
		"output_schema": map[string]any{"type": []string{"object", "null"},
			"description": "JSON Schema of the result."},
	}
	if parallel {
		properties["system_prompt"] = map[string]any{"type": "string", "description": "Additional instructions for this copy."}
	}
	return map[string]any{"type": "object", "properties": properties, "required": []string{"task"},
		"additionalProperties": false}
}

// addSpawners adds the tools that start children.
func (b *Box) addSpawners(s *set) error {
	c := b.o.Config
	child := b.o.Name + toolnames.ChildSuffix
	if b.o.RunnerID != "" {
		child += "@" + b.o.RunnerID
	}
	safe := b.childSafe(s)
	if c.AllowSelfSpawn {
		if err := b.addSpawner(
			s, &spawner{child: child, safe: safe, most: 1,
				spec: llm.ToolSpec{Name: toolnames.SpawnSelf, Description: spawnDescription}}, jobSchema(safe, false)); err != nil {
			return err
		}
	}
	if !c.AllowParallelSubagents {
		return nil
	}
	most := min(c.Subagents(), limits.MaxSubagents)
	jobs := map[string]any{"type": "array", "minItems": 1, "maxItems": most, "items": jobSchema(safe, true)}
	return b.addSpawner(
		s, &spawner{child: child, safe: safe, most: most, parallel: true,
			spec: llm.ToolSpec{Name: toolnames.Parallel, Description: parallelDescription}},
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

// Repeatable marks the tool as repeatable: the key of each session consists of the key of the call,
// the position of the job, and the job.
func (t *spawner) Repeatable() {}

// check checks the whole call before anything is started.
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
	if r := e.matchSchema(arguments); r != nil {
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
		return &problem{Error: "no_jobs", Message: "There are no jobs, so nothing was started.",
			Hint: fmt.Sprintf("Pass 1 to %d jobs, each with a task.", t.most)}
	case n > t.most:
		return &problem{Error: "too_many_jobs",
			Message: fmt.Sprintf("There are %d jobs, but one call runs at most %d. Nothing was started.", n, t.most),
			Hint:    fmt.Sprintf("Pass at most %d jobs, and call the tool again for the others.", t.most)}
	}
	return nil
}

func (t *spawner) checkJob(j *job) *problem {
	for _, name := range j.ToolNames {
		if slices.Contains(t.safe, name) {
			continue
		}
		return &problem{Error: "unknown_tools",
			Message: fmt.Sprintf("tool_names has %q, which is not a tool of copies. Nothing was started.", name),
			Hint:    "The available tools are: " + toolList(t.safe) + "."}
	}
	if _, err := j.schema(); err != nil {
		return &problem{Error: "invalid_output_schema", Message: "output_schema: " + err.Error() + ". Nothing was started.",
			Hint: "Pass a valid JSON Schema, or none."}
	}
	return nil
}

// schema returns the compiled output_schema, or nil if there is none.
func (j *job) schema() (*paramschema.Schema, error) {
	if len(j.OutputSchema) == 0 {
		return nil, nil
	}
	return paramschema.Compile(j.OutputSchema)
}

// jobs parses the jobs of a call.
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

// Run runs the jobs concurrently. A failed job does not stop the others.
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

// run runs one job and sets its report. An error means that the turn cannot continue.
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
	var l turnLost
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.As(err, &l):
		return err
	default:
		r.Error = "The copy was not started: " + err.Error()
		var e *parley.Error
		if errors.As(err, &e) && e.Validation != nil {
			r.Faults = e.Validation.ValidationErrors
		}
		return nil
	}
	r.SessionID = s.SessionID
	if err := readWhole(ctx, c, s); err != nil {
		return err
	}
	t.readResult(ctx, c, s, schema, r)
	return nil
}

// readResult sets the report from the result of a session.
func (t *spawner) readResult(ctx context.Context, c *Call, s *parley.Session, schema *paramschema.Schema, r *report) {
	switch {
	case s.Status == parley.SessionInputRequired:
		stopSession(ctx, c, s)
		r.Error = "The copy asked a question and was stopped: " + sessionText(s.Result)
		return
	case s.Status != parley.SessionCompleted || s.Result == nil:
		p := sessionProblem(strings.Split(t.child, "@")[0], s)
		r.Error, r.Faults = p.Message, p.Faults
		return
	}
	if schema == nil {
		r.Status = "success"
		r.ResultText, r.ResultData, r.Attachment = s.Result.ResultText, s.Result.ResultData, s.Result.Attachment
		return
	}
	if len(s.Result.ResultData) == 0 {
		r.Error = "The copy returned no JSON, although there is an output_schema."
		return
	}
	faults, err := schema.Validate(s.Result.ResultData)
	switch {
	case err != nil:
		r.Error = "The result of the copy could not be checked against output_schema: " + err.Error()
	case len(faults) > 0:
		r.Error, r.Faults = "The result of the copy does not match output_schema.", faults
	default:
		r.Status, r.ResultData = "success", s.Result.ResultData
	}
}
