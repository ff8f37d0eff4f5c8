// Package agentcontext builds the context of agents: one JSON object with the events that triggered
// an agent, and with the events that its context selectors fetch from the log. All agents get it
// from here, so that equal selectors return equal bytes.
//
//	result, err := service.GetContext(ctx, principal, &parley.GetContextParams{ConversationID: id})
//	if err != nil {
//		return err
//	}
//	prompt(result.Context)
//
// # A build
//
//	seat -> Agent and triggers -> matches of its selectors -> values, by hints -> document
//
// A build waits for vectors at most fetchTimeout.
//
// # Goroutines and locks
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| callEmbedder | a build | calls the embedder, at most maxCalls at once |
//
// Close does not wait for an embedder that does not return. The package has no mutex, and a build
// keeps no conversation locked.
package agentcontext
