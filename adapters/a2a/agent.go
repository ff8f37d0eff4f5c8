package a2a

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// Agent is one that is shown to the world: it has a card of its own, and a message to it begins a conversation.
type Agent struct {
	// Name is its place in URLs: an id as those of participants.
	Name string
	// Title is the name on the card; absent, Name.
	Title       string
	Description string
	// Version is that of the agent; absent, that of the program.
	Version string
	// Skills are what the card says that it can do; absent, one made of Name and Description.
	Skills []a2a.AgentSkill
	// InputModes and OutputModes are the media types on the card; absent, text/plain and application/json, and any file for input.
	InputModes, OutputModes []string
	// Room keeps tasks open: when the floor is back at the caller, its task needs input rather than being completed. It ends with the conversation.
	Room bool

	// Exactly one of the next two is set.

	// Speaks is the name of an agent of the hub. One that is deterministic is started as a session for each task; any other sits with the caller in a conversation.
	Speaks string
	// Scenario is what each context begins with.
	Scenario *Scenario
}

// Scenario is the conversation that a context begins with.
type Scenario struct {
	// Params are without conversationId and clientRequestId.
	Params parley.CreateConversationParams
	// Seat is the id of the participant in Params whose place the caller takes, under the caller's own id: also in startsWith, in rules and as moderator.
	Seat string
}
