// Package wire is what providers that reach their vendor over HTTP share: a client that is bounded and follows nobody elsewhere, and one table from what goes wrong to *llm.ProviderError.
// It imports no vendor's SDK.
package wire
