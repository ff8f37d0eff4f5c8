package blueprint

import (
	"slices"

	"github.com/parleyhub/parley/executors/workflow"
	"github.com/parleyhub/parley/internal/shape"
)

// hostedMembers are the members of files that are not commands.
var hostedMembers = []shape.Member{
	kind, name, agentID, description, subscriptions,
	shape.May("parameters_schema", schemaOf("a JSON Schema of the parameters; absent, {prompt}")), output, timeout,
	labels,
}

// functionTable defines the members of a function's file.
var functionTable = &shape.Shape{Kind: shape.Object, Members: hostedMembers}

// workflowMembers are the members that only workflows have. Package workflow checks their values.
var workflowMembers = []shape.Member{
	shape.Must("steps", &shape.Shape{Kind: shape.List, Doc: "the steps, in order, or groups of steps", Least: 1,
		Most: workflow.MaxSteps,
		Item: shape.Any("a step {name, agent, input, on_error, optional}, or a group {parallel: [...]} or {steps: [...]}",
			maxStepBytes)}),
	shape.May("output",
		shape.Any("the result: a JSONPath such as $.steps.a.output, or JSON that contains paths; absent, the result of the "+
			"last step", maxStepBytes)),
}

// maxStepBytes limits one step or group as JSON.
const maxStepBytes = 256 << 10

// workflowTable defines the members of a workflow's file.
var workflowTable = &shape.Shape{Kind: shape.Object, Members: slices.Concat(hostedMembers, workflowMembers)}
