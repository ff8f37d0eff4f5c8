package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/parleyhub/parley"
)

// Limits of workflows.
const (
	// MaxSteps limits the steps, and MaxNesting the depth of groups.
	MaxSteps   = 64
	MaxNesting = 4
	// MaxRetries limits n of retry(n).
	MaxRetries = 5
	// MaxPathBytes limits a path.
	MaxPathBytes = 1 << 10
	// MaxStepNameBytes limits the name of a step.
	MaxStepNameBytes = 64
)

// Plan is a parsed workflow.
type Plan struct {
	root   node
	output *template // nil for the result of the last step
	count  int
}

// node is a step, or a group of nodes.
type node struct {
	step     *step
	parallel bool
	nodes    []node
}

// step is one session.
type step struct {
	name, agent string
	input       *template // an object
	continues   bool      // on_error continue
	retries     int
	optional    bool
}

// Parse parses the steps and the output of a workflow. It returns either a Plan or all faults. Each
// fault has its path, such as steps[1].input.query.
func Parse(steps, output json.RawMessage) (*Plan, []parley.ValidationError) {
	p := &parser{names: map[string]bool{}}
	plan := &Plan{}
	before := map[string]bool{}
	plan.root.nodes = p.nodes("steps", steps, 1, before)
	if len(output) > 0 {
		plan.output = p.template("output", output, before)
	}
	if plan.count = len(p.names); p.steps > MaxSteps {
		p.fault("steps", "expected at most %d steps", MaxSteps)
	}
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	return plan, nil
}

type parser struct {
	faults []parley.ValidationError
	names  map[string]bool
	steps  int
}

func (p *parser) fault(path, format string, args ...any) {
	p.faults = append(p.faults, parley.ValidationError{Path: path, Message: fmt.Sprintf(format, args...)})
}

// nodes parses a list. before has the names of the steps that ended before the list, and after the
// call also those of the list.
func (p *parser) nodes(path string, raw json.RawMessage, depth int, before map[string]bool) []node {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		p.fault(path, "expected a list of steps")
		return nil
	}
	var all []node
	for i, item := range list {
		all = append(all, p.node(fmt.Sprintf("%s[%d]", path, i), item, depth, before))
	}
	return all
}

// parallelNodes parses nodes that run concurrently, so that none of them can use the result of
// another.
func (p *parser) parallelNodes(path string, raw json.RawMessage, depth int, before map[string]bool) []node {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		p.fault(path, "expected a list of steps")
		return nil
	}
	var all []node
	ended := maps.Clone(before)
	for i, item := range list {
		own := maps.Clone(before)
		all = append(all, p.node(fmt.Sprintf("%s[%d]", path, i), item, depth, own))
		maps.Copy(ended, own)
	}
	maps.Copy(before, ended)
	return all
}

var stepMembers = []string{"agent", "input", "name", "on_error", "optional"}

func (p *parser) node(path string, raw json.RawMessage, depth int, before map[string]bool) node {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		p.fault(path, "expected a step, such as {name: find, agent: smart-search}, or a group: {parallel: [...]}")
		return node{}
	}
	for _, group := range []string{"parallel", "steps"} {
		inner, ok := members[group]
		if !ok {
			continue
		}
		if len(members) > 1 {
			p.fault(path, "expected no other members than %s", group)
		}
		if depth > MaxNesting {
			p.fault(path+"."+group, "expected at most %d nested groups", MaxNesting)
			return node{}
		}
		if group == "parallel" {
			return node{parallel: true, nodes: p.parallelNodes(path+"."+group, inner, depth+1, before)}
		}
		return node{nodes: p.nodes(path+"."+group, inner, depth+1, before)}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(stepMembers, name) {
			p.fault(path, "unknown member %q: expected %s, or a group: parallel or steps", brief(name),
				strings.Join(stepMembers, ", "))
		}
	}
	return node{step: p.step(path, members, before)}
}

var stepName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (p *parser) step(path string, members map[string]json.RawMessage, before map[string]bool) *step {
	p.steps++
	s := &step{name: p.text(path, members, "name"), agent: p.text(path, members, "agent")}
	switch {
	case s.name == "":
	case len(s.name) > MaxStepNameBytes || !stepName.MatchString(s.name):
		p.fault(path+".name", "expected 1 to %d letters, digits and _, not starting with a digit", MaxStepNameBytes)
	case p.names[s.name]:
		p.fault(path+".name", "duplicate step name")
	}
	if name, runner, at := strings.Cut(s.agent, "@"); s.agent != "" &&
		(!parley.ValidParticipantID(name) || at && !parley.ValidParticipantID(runner)) {
		p.fault(path+".agent", "expected the name of an agent, or name@runnerId")
	}
	if raw, ok := members["optional"]; ok && json.Unmarshal(raw, &s.optional) != nil {
		p.fault(path+".optional", "expected true or false")
	}
	p.onError(path, members["on_error"], s)
	input := members["input"]
	if input == nil {
		input = json.RawMessage("{}")
	}
	if !bytes.HasPrefix(bytes.TrimSpace(input), []byte("{")) {
		p.fault(path+".input", "expected an object with the parameters of the agent")
	} else {
		s.input = p.template(path+".input", input, before)
	}
	p.names[s.name], before[s.name] = true, true
	return s
}

func (p *parser) text(path string, members map[string]json.RawMessage, name string) (text string) {
	raw, ok := members[name]
	switch {
	case !ok:
		p.fault(path, "missing %s", name)
	case json.Unmarshal(raw, &text) != nil || text == "":
		p.fault(path+"."+name, "expected a string")
	}
	return text
}

var retry = regexp.MustCompile(`^retry\(([1-9])\)$`)

func (p *parser) onError(path string, raw json.RawMessage, s *step) {
	var text string
	if raw == nil {
		return
	}
	_ = json.Unmarshal(raw, &text) // an invalid value is reported below
	switch m := retry.FindStringSubmatch(text); {
	case text == "fail":
	case text == "continue":
		s.continues = true
	case m != nil && m[1] <= strconv.Itoa(MaxRetries):
		s.retries, _ = strconv.Atoi(m[1])
	default:
		p.fault(path+".on_error", "expected fail, continue, or retry(1) to retry(%d)", MaxRetries)
	}
}

// brief shortens an invalid name for an error.
func brief(name string) string {
	if len(name) > 64 {
		return name[:64]
	}
	return name
}
