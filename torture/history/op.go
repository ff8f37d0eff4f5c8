package history

import "fmt"

// Kind is what was asked for.
type Kind string

// The kinds of Op.
const (
	Append Kind = "append" // a message
	Tail   Kind = "tail"   // events after a seq
	Latest Kind = "latest" // the last seq, and whether the conversation is closed: getConversation; or only the seq: waitForChange
	own    Kind = "own"    // an event of the hub, for which nobody has called
)

// Result is what was answered.
type Result string

// The results of Op.
const (
	// Unknown is a call without an answer, or with outcome_unknown: it may have happened, and later than the caller's waiting.
	Unknown Result = ""
	// Done is success.
	Done Result = "done"
	// Closed is conversation_closed: the conversation had ended, and the key was not in it.
	Closed Result = "closed"
	// Refused is any other refusal. It says nothing of the log but that this call is not in it.
	Refused Result = "refused"
)

// Entry is an event of a conversation: its author, and the key that the author gave. One of the hub's own has no key.
type Entry struct {
	From string `json:"from"`
	Key  string `json:"key,omitempty"`
}

// Op is one call.
type Op struct {
	Conversation string `json:"conversation"`
	// Client is who called; of an Append, the author of the event.
	Client string `json:"client"`
	Kind   Kind   `json:"kind"`
	// Key is that of an Append, which always has one. Appends of a client with the same one are one event, however often they are sent.
	Key string `json:"key,omitempty"`
	// Closes is true for an Append that ends the conversation.
	Closes bool `json:"closes,omitempty"`
	// Begin and End are on one clock for all callers; the End of an Unknown does not count.
	Begin  int64  `json:"begin"`
	End    int64  `json:"end,omitempty"`
	Result Result `json:"result,omitempty"`
	// Seq is the seq that an Append was given, and the last seq that a Tail or Latest was told of.
	Seq int64 `json:"seq,omitempty"`
	// Since is the seq after which a Tail has read, and Seen all events from there on that it was given.
	Since int64   `json:"since,omitempty"`
	Seen  []Entry `json:"seen,omitempty"`
	// Over is what a Latest was told of the end: nil is nothing.
	Over *bool `json:"over,omitempty"`
}

// String writes the call in one line.
func (o *Op) String() string {
	s := fmt.Sprintf("%s: %s", o.Client, o.Kind)
	switch o.Kind {
	case Append:
		s += fmt.Sprintf(" of %q", o.Key)
	case Tail:
		s += fmt.Sprintf(" since %d of %d events", o.Since, len(o.Seen))
	}
	result := string(o.Result)
	if o.Result == Unknown {
		result = "unknown"
	}
	s += fmt.Sprintf(" in %d..%d: %s", o.Begin, o.End, result)
	if o.Seq > 0 {
		s += fmt.Sprintf(", seq %d", o.Seq)
	}
	if o.Over != nil && *o.Over || o.Closes {
		s += ", closed"
	}
	return s
}
