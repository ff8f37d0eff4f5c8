// Package llm kills the process of an LLM agent, or its hub, at named points of a turn with tools
// and an approval. docs/concepts/guarantees.md has the promises, P21 and P22.
package llm
