// Package scripted is a provider whose models are files: what a model says stands in a script, by what it is asked. It needs no network and costs nothing, so demos and tests run on it.
//
//	# scripts/greeter.yaml, the model scripted:greeter
//	turns:
//	  - when: {last: weather}
//	    tool_calls: [{name: forecast, arguments: {city: "${params.city}"}}]
//	  - when: {tool: forecast}
//	    text: "It will be ${result.forecast.sky}."
//	  - text: Good day.
//
// The first turn whose when holds answers, unless it was once and is used up. A request that no turn fits fails with [ErrNoTurn], and says what was asked.
//
// Instructions, messages and results are matched as the model gets them. An agent shows a message in a mark that names its author, and writes &lt; for <; where params takes a text out of
// JSON, that is undone.
//
// An answer depends on the request alone: another process with the same files, or the same one after a restart, gives the same. Whether a turn that is once is used up is read from the
// messages too: a message of the model that came from it says so. Only an error, which leaves no message, is counted in memory: it is given once to the same request, and once more after
// a restart.
package scripted
