// Package llm calls models. A Provider makes one exchange with the models of one vendor. A Runtime
// combines a Provider with the capabilities of its models. It clamps parameters to the model,
// enforces budgets, retries calls, removes repeated pieces from streams, and computes usage, cost
// and checked output.
//
//	agent -> Runtime.Prepare -> Runtime.Run / RunStream -> Provider.Call -> the vendor's SDK
//
// The package imports no vendor SDK; the packages below it do. The types follow seed 003.
package llm
