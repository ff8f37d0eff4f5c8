package fold

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Command is a request to a conversation: an action, its author, and what the hub knows about the author.
type Command struct {
	Do   Action
	From string
	// Admin is true for a caller with that scope.
	Admin bool
	// Now is hub time. No event has an earlier At than the event before it.
	Now parley.Timestamp
	Key string
	// Traceparent is part of the events that the command is about. A retry may have another one.
	Traceparent string

	// Named is the claim that the caller names. Implied is the claim that the connection of the caller took last in this
	// conversation, for the turn ImpliedTurn.
	Named       *eventdata.ClaimHash
	Implied     *eventdata.ClaimHash
	ImpliedTurn int64
	// By is the id that the token of the caller speaks as, if it is not From. Otherwise it is empty.
	By string
	// Executor is the executor of the caller.
	Executor Executor
	// HeldMs is how long the hub has watched the claim Named. If an approval is pending, it is about the current claim.
	HeldMs int64

	// Before and After are the bytes around each encoded event in its array, so that a frame needs no copy.
	Before, After []byte
}

// Executor is the executor on whose connection a command arrived.
type Executor struct {
	// ID is empty if it is not registered.
	ID string
	// Internal is true in the process of the hub.
	Internal bool
	// Owner is the participant that registered it, and Labels are its labels.
	Owner  string
	Labels map[string]string
}

// EncodedEvent is an event and its stored bytes, which lie in Framed between the command's Before and After.
type EncodedEvent struct {
	Event parley.Event
	// Claim is the claim under which it was added, or nil.
	Claim  *eventdata.ClaimHash
	Data   []byte
	Framed []byte
}

// Decision is the outcome of a command: events to append, a result, or a refusal.
type Decision struct {
	// Events follow the state from which the command was decided. They are appended together or not at all.
	Events []EncodedEvent
	// State is the state after Events.
	State State
	// Seq and Turn are the result. Duplicate is true if it is the result of an earlier call.
	Seq, Turn int64
	Duplicate bool
	// Claimed is true if the command took the claim New. Claim is that claim, or the current claim of the author.
	Claimed bool
	Claim   *Claim
	// Err is a refusal. It is a *parley.Error.
	Err error

	run decision // empty, except while the command is decided; a part of Decision to save an allocation
}
