package blueprint

import (
	"slices"

	"github.com/parleyhub/parley/executors/workflow"
	"github.com/parleyhub/parley/internal/shape"
)

// hostedMembers are those of files that are no commands.
var hostedMembers = []shape.Member{
	kind, name, agentID, description, subscriptions,
	shape.May("parameters_schema", schemaOf("a JSON Schema of what a session takes; absent, {prompt}")), output, timeout,
	labels,
}

// functionTable is all that the file of a function can say.
var functionTable = &shape.Shape{Kind: shape.Object, Members: hostedMembers}

// workflowMembers are those that only workflows have. What stands in them package workflow looks into.
var workflowMembers = []shape.Member{
	shape.Must("steps", &shape.Shape{Kind: shape.List, Doc: "what is done, in order: steps, or groups of them", Least: 1,
		Most: workflow.MaxSteps,
		Item: shape.Any("a step {name, agent, input, on_error, optional}, or a group {parallel: [...]} or {steps: [...]}",
			maxStepBytes)}),
	shape.May("output",
		shape.Any("the result: a JSONPath such as $.steps.a.output, or JSON in which there are some; absent, what the "+
			"last step has brought", maxStepBytes)),
}

// maxStepBytes bounds one step, or group, as JSON.
const maxStepBytes = 256 << 10

// workflowTable is all that the file of a workflow can say.
var workflowTable = &shape.Shape{Kind: shape.Object, Members: slices.Concat(hostedMembers, workflowMembers)}
