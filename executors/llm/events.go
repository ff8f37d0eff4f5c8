package llm

import "time"

// EventType says what a stream tells: the five of seed 003.
type EventType string

// The values of EventType.
const (
	EventStart    EventType = "start"    // first, once
	EventDelta    EventType = "delta"    // any number
	EventUsage    EventType = "usage"    // once, before the end
	EventComplete EventType = "complete" // last, or
	EventError    EventType = "error"    // last
)

// Event is one thing that a stream tells. A call that is retried goes on with the same stream: pieces that were told before are not told again.
// One that does not begin, as there is nothing to ask, tells nothing.
type Event struct {
	Type     EventType
	StreamID string
	Provider string
	Model    string
	At       time.Time
	// Delta is a piece of Result.Content; what a model says to refuse is none. Delta, ChunkIndex (from 0, without a gap) and IsJSON are of EventDelta. Restart is true where a retry has said something else than was told before: what was told so far does not
	// count, ChunkIndex begins at 0 again and Delta is the first piece of the new text.
	Delta      string
	ChunkIndex int
	IsJSON     bool
	Restart    bool
	// ToolCall is a piece of a call, of EventDelta without Delta.
	ToolCall *ToolCallChunk
	// Usage is of EventUsage: that of Result; Usage.Estimated where the vendor told none. Of a call that has failed it is what had come, estimated.
	Usage *Usage
	// Result is of EventComplete.
	Result *Result
	// Err is of EventError.
	Err error
}

// Sink hears of a stream, one event at a time. An error ends the run with it.
type Sink func(Event) error
