package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/parleyhub/parley/executors/llm/internal/toolschema"
	"github.com/parleyhub/parley/internal/paramschema"
)

// OutputName is the name of the schema of a Definition in requests.
const OutputName = "answer"

// Prepared is a definition with options, ready to run on one model. It can run any number of times,
// and concurrently.
type Prepared struct {
	request  Request
	options  Options
	can      Capabilities
	template *template // may be nil
	schema   *paramschema.Schema
}

const schemaInstructions = "\n\nAnswer only with JSON that matches this JSON Schema, without any other text: "

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Prepare checks a definition and adapts it to the model. Nil options are the zero value. The error
// names every invalid field.
//
// If the model has no schema parameter (Capabilities.NoSchema), Prepare appends the schema to the
// instructions.
func (r *Runtime) Prepare(ctx context.Context, d *Definition, o *Options) (*Prepared, error) {
	if o == nil {
		o = &Options{}
	}
	p := &Prepared{options: *o, can: r.Capabilities(d.Model)}
	err := errors.Join(ctx.Err(), d.check(), o.check(d), p.prepareOutput(d), p.prepareTemplate(d),
		p.can.checkParameters(d, o.ToolChoice))
	if d.MaxTokens > 0 && d.MaxTokens < p.can.MinOutputTokens {
		err = errors.Join(err, fmt.Errorf("max_tokens: the model %s takes at least %d", d.Model, p.can.MinOutputTokens))
	}
	if len(d.Tools) > 0 && p.can.NoTools {
		err = errors.Join(err, fmt.Errorf("tools: the model %s does not support tools", d.Model))
	}
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", r.Name(), err)
	}
	p.request.Model, p.request.API = d.Model, p.can.API
	p.request.Instructions = d.Instructions
	if p.schema != nil && p.can.NoSchema {
		p.request.Instructions += schemaInstructions + string(p.schema.Raw())
	}
	p.request.Tools, p.request.ToolChoice = slices.Clone(d.Tools), o.ToolChoice
	p.request.UseInstructions, p.request.ThinkTags = o.ResponsesUseInstructions, p.can.ThinkTags
	p.request.IdleTimeout = o.IdleTimeout
	p.request.IdempotencyKey, p.request.TraceID, p.request.Metadata = o.IdempotencyKey, o.TraceID, o.Metadata
	p.request.Parameters = p.can.parameters(d)
	p.prepareSampling(d)
	p.prepareMaxTokens(d)
	return p, nil
}

func (d *Definition) check() error {
	var errs []error
	if d.Model == "" {
		errs = append(errs, errors.New("missing model: expected the vendor's name of a model"))
	}
	if t := d.Temperature; t != nil && (!(*t >= 0) || math.IsInf(*t, 0)) {
		errs = append(errs, errors.New("temperature: expected at least 0"))
	}
	if p := d.TopP; p != nil && !(*p > 0 && *p <= 1) {
		errs = append(errs, errors.New("top_p: expected more than 0 and at most 1"))
	}
	if d.MaxTokens < 0 {
		errs = append(errs, errors.New("max_tokens: expected at least 0"))
	}
	for i, t := range d.Tools {
		switch {
		case !toolName.MatchString(t.Name):
			errs = append(errs, fmt.Errorf("tools[%d]: invalid name %q: expected 1 to 64 letters, digits, _ and -", i, t.Name))
		case slices.ContainsFunc(d.Tools[:i], func(o ToolSpec) bool { return o.Name == t.Name }):
			errs = append(errs, fmt.Errorf("tools[%d]: duplicate name %q", i, t.Name))
		case !isJSONObject(t.Parameters):
			errs = append(errs, fmt.Errorf("tools[%d]: parameters of %s: expected a JSON Schema of an object", i, t.Name))
		}
	}
	return errors.Join(errs...)
}

func isJSONObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}

func (o *Options) check(d *Definition) error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"budget.tokens", o.Budget.Tokens}, {"budget.time", int64(o.Budget.Time)}, {"max_retries", int64(o.MaxRetries)},
		{"max_tool_calls", int64(o.MaxToolCalls)},
		{"retry.min", int64(o.Retry.Min)}, {"retry.max", int64(o.Retry.Max)},
		{"idle_timeout", int64(o.IdleTimeout)}, {"request_timeout", int64(o.RequestTimeout)},
		{"streaming.every", int64(o.Streaming.Every)},
	} {
		if n.value < 0 {
			errs = append(errs, fmt.Errorf("%s: expected at least 0", n.name))
		}
	}
	if err := checkMetadata(o.Metadata); err != nil {
		errs = append(errs, err)
	}
	switch o.ToolChoice {
	case ToolsAuto, ToolsNone:
	case ToolsRequired:
		if len(d.Tools) == 0 {
			errs = append(errs, fmt.Errorf("tool_choice: %s requires at least one tool", o.ToolChoice))
		}
	default:
		name, ok := o.ToolChoice.Tool()
		if !ok || !slices.ContainsFunc(d.Tools, func(t ToolSpec) bool { return t.Name == name }) {
			errs = append(errs, fmt.Errorf("tool_choice: invalid value %q: expected nothing, %s, %s or a tool",
				o.ToolChoice, ToolsNone, ToolsRequired))
		}
	}
	return errors.Join(errs...)
}

func checkMetadata(m map[string]string) error {
	if len(m) > 16 {
		return errors.New("metadata: expected at most 16 members")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if n := utf8.RuneCountInString(name); n < 1 || n > 64 || utf8.RuneCountInString(m[name]) > 512 {
			return fmt.Errorf("metadata.%s: expected a name of 1 to 64 characters and a value of at most 512", name)
		}
	}
	return nil
}

func (p *Prepared) prepareTemplate(d *Definition) (err error) {
	if d.UserTemplate != "" {
		p.template, err = parseTemplate(d.UserTemplate)
	}
	return err
}

func (p *Prepared) prepareOutput(d *Definition) (err error) {
	if d.OutputSchema == nil {
		return nil
	}
	if p.schema, err = paramschema.Compile(d.OutputSchema); err != nil {
		return fmt.Errorf("output_schema: %w", err)
	}
	if p.can.NoSchema {
		return nil
	}
	sent := toolschema.CleanOutput(d.OutputSchema) // the answer is checked against the original
	p.request.Output = &OutputSchema{Name: OutputName, Schema: slices.Clone(sent)}
	if p.options.Lax {
		return nil
	}
	if raw, ok := strictSchema(sent, p.can.StrictSchema); ok {
		p.request.Output.Schema, p.request.Output.Strict = raw, true
	}
	return nil
}

// prepareSampling removes the parameters that the model does not accept, and clamps the others.
func (p *Prepared) prepareSampling(d *Definition) {
	temperature, topP := d.Temperature, d.TopP
	if p.options.Deterministic {
		temperature, topP = new(float64), new(float64)
		*topP = 1
	}
	can := &p.can
	switch {
	case can.NoTemperature:
		temperature = nil
	case temperature == nil:
	case can.FixedTemperature != nil:
		temperature = can.FixedTemperature
	case can.MaxTemperature != nil && *temperature > *can.MaxTemperature:
		temperature = can.MaxTemperature
	}
	if can.NoTopP || can.TemperatureOrTopP && temperature != nil {
		topP = nil
	}
	if p.request.ThinkingTokens > 0 { // the vendor refuses both
		temperature, topP = nil, nil
	}
	p.request.Temperature, p.request.TopP = temperature, topP
	if !can.NoSeed && can.API != APIResponses {
		p.request.Seed = p.options.Seed
	}
}

func (p *Prepared) prepareMaxTokens(d *Definition) {
	p.request.MaxTokens, p.request.MaxTokensParam = d.MaxTokens, p.can.MaxTokensParam
	if d.MaxTokens == 0 {
		p.request.MaxTokens = p.can.DefaultMaxTokens
	}
	if d.MaxTokens == 0 && p.request.ThinkingTokens > 0 { // thoughts count as output
		p.request.MaxTokens += p.request.ThinkingTokens
	}
	if most := p.can.MaxOutputTokens; most > 0 && p.request.MaxTokens > most {
		p.request.MaxTokens = most
	}
}

// newRequest returns the request of one run.
func (p *Prepared) newRequest(in *Input) (*Request, error) {
	req := p.request
	if in == nil {
		in = &Input{}
	}
	if p.template != nil {
		text, err := p.template.render(in.Variables)
		if err != nil {
			return nil, err
		}
		req.Messages = append(req.Messages, Message{Role: RoleUser, Text: text})
	}
	req.Messages = append(req.Messages, limitFiles(in.Messages, p.can.AcceptsImages(req.Model))...)
	if len(req.Messages) == 0 {
		return nil, errors.New("no message for the model: expected a user_template or a message")
	}
	return &req, nil
}
