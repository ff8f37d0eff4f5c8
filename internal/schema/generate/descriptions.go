package generate

// descriptions stand for comments that speak to readers of Go.
var descriptions = map[string]string{
	"AgentInfo": "A row of listAgents.",
	"Event":     "One record of a conversation: the bytes that are stored. The hash chain is made over them.",
	"Limits":    "Close a conversation without anybody's doing; one that is absent does not, but for the two that have a default.",
	"Message":   "The payload of a message. At least one of text, data and attachments is there. Other members are kept.",
	"Stats":     "What the hub has counted since it was started, and how it stands. The same numbers are at /metrics.",
	"System":    "The payload of a system event: kind says which of the other members are there.",

	"CreateTokenParams.Scopes": "scopes are, when absent, read, write, create and claim as far as the caller has them. Empty is refused.",
}
