package parley

// Stats has the counters of a hub since its start, and its state. /metrics has the same numbers. A
// client in the process of the hub does not see the counters of the servers: Refusals,
// LoginsRefused, ConnectionsRefused, and all from Sockets to Sent are zero.
type Stats struct {
	Version  string   `json:"version"`
	State    HubState `json:"state"`
	UptimeMs int64    `json:"uptimeMs"`

	// EventsAppended counts committed events by type, including those in conversations of the hub.
	EventsAppended map[EventType]int64 `json:"eventsAppended"`
	// Duplicates counts writes that were answered with an earlier result.
	Duplicates int64 `json:"duplicates"`
	// Append is the duration of appends, from the decision to the commit.
	Append Durations `json:"append"`
	// Refusals counts refused calls and requests by the reason of the error. It has only reasons that
	// occurred.
	Refusals map[string]int64 `json:"refusals"`
	// LoginsRefused counts refused tokens and tickets.
	LoginsRefused int64 `json:"loginsRefused"`
	// ConnectionsRefused counts connections that were closed because too many were not authenticated.
	ConnectionsRefused int64 `json:"connectionsRefused"`

	// Turns is the duration of the turns of agents, from the claim that led to the final message to
	// that message. ClaimWaits is how long the turns of agents waited for a claim.
	Turns      Durations `json:"turns"`
	ClaimWaits Durations `json:"claimWaits"`
	// Offers counts offers of turns to executors. ClaimsTaken counts claims, and ClaimsEnded counts
	// them by how they ended.
	Offers      int64              `json:"offers"`
	ClaimsTaken int64              `json:"claimsTaken"`
	ClaimsEnded map[ClaimEnd]int64 `json:"claimsEnded"`
	// Executors is the number of registered executors, Claims the number of current claims, and
	// ConversationsOpen the number of conversations that are not closed.
	Executors         int64 `json:"executors"`
	Claims            int64 `json:"claims"`
	ConversationsOpen int64 `json:"conversationsOpen"`

	// ConversationsLoaded is the number of conversations in memory.
	ConversationsLoaded int64 `json:"conversationsLoaded"`
	// Subscribers is the number of subscriptions, including SSE streams. MaxLag and SumLag are the
	// numbers of events that they have not examined yet.
	Subscribers int64 `json:"subscribers"`
	MaxLag      int64 `json:"maxLag"`
	SumLag      int64 `json:"sumLag"`
	// JournalBytes is the size of the log and its files on disk.
	JournalBytes int64 `json:"journalBytes"`

	// Sockets is the number of open WebSockets. PendingSockets is the number of those that are not
	// authenticated yet.
	Sockets        int64 `json:"sockets"`
	PendingSockets int64 `json:"pendingSockets"`
	// Streams is the number of open SSE streams.
	Streams int64 `json:"streams"`
	// Requests is the number of HTTP requests in progress that make a call, including that of stats.
	// SSE streams are not counted.
	Requests int64 `json:"requests"`
	// Received and Sent count the traffic of WebSockets.
	Received Traffic `json:"received"`
	Sent     Traffic `json:"sent"`
}

// HubState is the state of a hub.
type HubState string

// The values of HubState. Only a hub in the states ready and storage_full answers stats. /metrics
// also reports the other states.
const (
	HubReady HubState = "ready"
	// an append failed for lack of space in the last 10 s; reads still work
	HubStorageFull HubState = "storage_full"
	HubDraining    HubState = "draining"
	HubFailed      HubState = "failed" // the outcome of a commit is unknown: no writes until a restart
)

// Durations is a cumulative histogram. Buckets[i] counts the durations of at most BoundsMs[i].
// Count includes those beyond the last bound.
type Durations struct {
	Count    int64     `json:"count"`
	SumMs    float64   `json:"sumMs"`
	BoundsMs []float64 `json:"boundsMs"`
	Buckets  []int64   `json:"buckets"`
}

// Traffic counts text frames and the bytes of their text.
type Traffic struct {
	Frames int64 `json:"frames"`
	Bytes  int64 `json:"bytes"`
}
