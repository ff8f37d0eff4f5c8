package a2a

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// Agent is an agent that the adapter publishes. It has a card, and a message to it begins a
// conversation.
type Agent struct {
	// Name is its name in URLs: a valid participant id.
	Name string
	// Title is the name on the card. The default is Name.
	Title       string
	Description string
	// Version is the version of the agent. The default is the version of the program.
	Version string
	// Skills are the skills on the card. The default is one skill made of Name and Description.
	Skills []a2a.AgentSkill
	// InputModes and OutputModes are the media types on the card. The default is text/plain and
	// application/json, and any file for input.
	InputModes, OutputModes []string
	// Room keeps tasks open: when the caller has the floor again, its task needs input instead of
	// being completed. The task ends with the conversation.
	Room bool

	// Exactly one of the next two is set.

	// Speaks is the name of an agent of the hub. A deterministic agent is started as a session for
	// each task. Any other agent takes part in a conversation with the caller.
	Speaks string
	// Scenario is the conversation with which each context begins.
	Scenario *Scenario
}

// Scenario is the conversation with which a context begins.
type Scenario struct {
	// Params has neither conversationId nor clientRequestId.
	Params parley.CreateConversationParams
	// Seat is the id of the participant in Params that the caller replaces, with its own id. The
	// replacement includes startsWith, rules and the moderator.
	Seat string
}
