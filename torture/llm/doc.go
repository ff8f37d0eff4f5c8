// Package llm kills the process of an LLM agent, or its hub, at named points of a turn that has
// tools and an approval: what is promised there is in docs/guarantees.md, P21 and P22.
package llm
