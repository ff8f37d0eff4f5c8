package generate

// descriptions stand for comments that speak to readers of Go.
var descriptions = map[string]string{
	"AgentInfo":      "A row of listAgents.",
	"ExecutorInfo":   "An executor in the answer of listAgents.",
	"Approval":       "A question of an agent that works on its turn: may I do this? It is answered once, or times out.",
	"ApprovalRecord": "What the events of an approval say of it: each kind has some of the members.",
	"Blueprint": "What a runner tells the hub of an agent that it runs: a command, of which what it is stays with " +
		"the runner, or an LLM agent, whose config the hub checks and keeps.",
	"Event": "One record of a conversation: the bytes that are stored. The hash chain is made over them.",
	"Limits": "Close a conversation without anybody's doing; one that is absent does not, but for the two that " +
		"have a default.",
	"Message": "The payload of a message. At least one of text, data, attachments, parameters and result is " +
		"there. Other members are kept.",
	"SessionResult":   "What a session has brought.",
	"ValidationError": "One thing that is wrong with parameters or a result.",
	"Stats": "What the hub has counted since it was started, and how it stands. The same numbers are at " +
		"/metrics.",
	"System": "The payload of a system event: kind says which of the other members are there.",

	"CreateTokenParams.Scopes": "scopes are, when absent, read, write, create and claim as far as the caller has them. " +
		"Empty is refused.",
}
