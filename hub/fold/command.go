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

// EncodedEvent is an event and its stored bytes.
type EncodedEvent struct {
	Event parley.Event
	// Claim is the claim under which it was added, or nil.
	Claim *eventdata.ClaimHash
	Data  []byte
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

	encoded []byte   // the array of Data of Events
	run     decision // empty, except while the command is decided; a part of Decision to save an allocation
}

// maxKeptBytes is the largest array of encoded events that is used again.
const maxKeptBytes = 16 << 10

// Reset empties d for another command, and keeps its arrays.
func (d *Decision) Reset() {
	clear(d.Events[:cap(d.Events)])
	if *d = (Decision{Events: d.Events[:0], encoded: d.encoded[:0]}); cap(d.encoded) > maxKeptBytes {
		d.encoded = nil
	}
}
