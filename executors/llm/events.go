package llm

import "time"

// EventType is the type of an event of a stream, as in seed 003.
type EventType string

// The values of EventType.
const (
	EventStart    EventType = "start"    // first, once
	EventDelta    EventType = "delta"    // any number
	EventUsage    EventType = "usage"    // once, before the end
	EventComplete EventType = "complete" // last, if the run succeeded
	EventError    EventType = "error"    // last, if the run failed
)

// Event is one event of a stream. A retried call continues the same stream and does not repeat
// pieces that were already sent. A run without any message to send emits no events.
type Event struct {
	Type     EventType
	StreamID string
	Provider string
	Model    string
	At       time.Time
	// Delta is a piece of Result.Content; refusals are not included. Delta, ChunkIndex, IsJSON and
	// Restart belong to EventDelta. ChunkIndex starts at 0 and has no gaps. Restart is true if a
	// retry returned other text than the stream already had. The consumer then drops all earlier
	// deltas: ChunkIndex restarts at 0, and Delta is the first piece of the new text.
	Delta      string
	ChunkIndex int
	IsJSON     bool
	Restart    bool
	// ToolCall is a piece of a tool call. It belongs to an EventDelta without Delta.
	ToolCall *ToolCallChunk
	// Usage belongs to EventUsage and equals Result.Usage. If the call failed, it is an estimate of
	// what was received.
	Usage *Usage
	// Result belongs to EventComplete.
	Result *Result
	// Err belongs to EventError.
	Err error
}

// Sink receives the events of a stream, one at a time. An error ends the run with that error.
type Sink func(Event) error
