// Package scripted is a provider whose models are files. A script defines the answers of a model by
// request. It needs no network and costs nothing, so demos and tests use it.
//
//	# scripts/greeter.yaml, the model scripted:greeter
//	turns:
//	  - when: {last: weather}
//	    tool_calls: [{name: forecast, arguments: {city: "${params.city}"}}]
//	  - when: {tool: forecast}
//	    text: "It will be ${result.forecast.sky}."
//	  - text: Good day.
//
// The first turn whose condition holds answers. A turn with once answers only once. If no turn
// matches, the request fails with [ErrNoTurn], which describes the request.
//
// Instructions, messages and results are matched as the model gets them. An agent puts a message
// into a mark with its author, and escapes < as &lt;. Values that params takes from JSON are
// unescaped.
//
// An answer depends on the request alone, so another process with the same files returns the same.
// Whether a turn with once is used up is also read from the messages: they have a mark with their
// turn. Only errors, which leave no message, are counted in memory. An error with once is returned
// once for the same request, and once again after a restart.
package scripted
