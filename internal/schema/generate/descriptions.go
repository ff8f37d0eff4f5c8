package generate

// descriptions replaces doc comments that only apply to Go.
var descriptions = map[string]string{
	"AgentInfo":      "A row of listAgents.",
	"ExecutorInfo":   "An executor in the answer of listAgents.",
	"Approval":       "A request for permission by an agent that works on its turn. It is decided once, or times out.",
	"ApprovalRecord": "The payload of the events of an approval: each kind has some of the members.",
	"Blueprint": "The registration of an agent that a runner runs. The hub does not see what a command is, but it " +
		"checks and stores the config of an LLM agent.",
	"Event": "One record of a conversation, exactly as it is stored. The hash chain covers these bytes.",
	"Limits": "Limits close a conversation automatically. An absent limit has no effect, except the two that " +
		"have a default.",
	"Message": "The payload of a message. At least one of text, data, attachments, parameters and result is " +
		"there. Other members are kept.",
	"SessionResult":   "The result of a session.",
	"ValidationError": "One fault of parameters or of a result.",
	"Stats": "Counters since the start of the hub, and its current state. The same numbers are at " +
		"/metrics.",
	"System": "The payload of a system event: kind says which of the other members are there.",

	"CreateTokenParams.Scopes": "scopes are, when absent, read, write, create and claim as far as the caller has them. " +
		"Empty is refused.",
}
