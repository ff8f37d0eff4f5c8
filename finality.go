package parley

// Finality is what a message ends. Only messages have it.
type Finality string

// The values of Finality.
const (
	// FinalityNone ends nothing: the message is progress within an open turn.
	FinalityNone Finality = "none"
	// FinalityTurn ends the turn. The policy decides which participant is next.
	FinalityTurn Finality = "turn"
	// FinalityConversation ends the turn and closes the conversation.
	FinalityConversation Finality = "conversation"
)

// Valid reports whether f is one of the three values.
func (f Finality) Valid() bool {
	return f == FinalityNone || f == FinalityTurn || f == FinalityConversation
}

// Final reports whether a message with this finality ends its turn.
func (f Finality) Final() bool { return f == FinalityTurn || f == FinalityConversation }
