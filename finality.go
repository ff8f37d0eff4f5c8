package parley

// Finality says what a message ends. Only messages have one.
type Finality string

// The values of Finality.
const (
	// FinalityNone ends nothing: progress inside an open turn.
	FinalityNone Finality = "none"
	// FinalityTurn closes the turn; the policy names who is next.
	FinalityTurn Finality = "turn"
	// FinalityConversation closes the turn and the conversation.
	FinalityConversation Finality = "conversation"
)

// Valid reports whether f is one of the three values.
func (f Finality) Valid() bool {
	return f == FinalityNone || f == FinalityTurn || f == FinalityConversation
}

// Final reports whether a message with this finality closes its turn.
func (f Finality) Final() bool { return f == FinalityTurn || f == FinalityConversation }
