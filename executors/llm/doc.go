// Package llm calls models. A Provider makes one exchange with the models of one vendor; a Runtime is a Provider with what is known of its models, and adds all that is the same for
// every vendor: parameters clamped to what a model takes, budgets, retries, streams that repeat nothing, usage, cost and checked output.
//
//	agent -> Runtime.Prepare -> Runtime.Run / RunStream -> Provider.Call -> the vendor's SDK
//
// No vendor's SDK is imported here: see the packages below it. The shape is that of seed 003.
package llm
