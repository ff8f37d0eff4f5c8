// Package wire has the common parts of providers that call their vendor over HTTP: a client with
// limits and without redirects, and the mapping of failures to *llm.ProviderError. It imports no
// vendor SDK.
package wire
