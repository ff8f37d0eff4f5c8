package parley

// Stats is what a hub has counted since it was started, and how it stands. The same numbers are at /metrics. A client inside the hub's
// process gets what the hub itself knows: what only doors know (Refusals, LoginsRefused, ConnectionsRefused, and from Sockets to Sent) is zero there.
type Stats struct {
	Version  string   `json:"version"`
	State    HubState `json:"state"`
	UptimeMs int64    `json:"uptimeMs"`

	// EventsAppended counts committed events by type, those of the hub's own conversations among them.
	EventsAppended map[EventType]int64 `json:"eventsAppended"`
	// Duplicates counts writes that were answered with an earlier result.
	Duplicates int64 `json:"duplicates"`
	// Append is how long appends took, from the decision to the commit.
	Append Durations `json:"append"`
	// Refusals counts refused calls and requests by the reason of the error. A reason that is absent was never given.
	Refusals map[string]int64 `json:"refusals"`
	// LoginsRefused counts the tokens and tickets that were shown and not taken.
	LoginsRefused int64 `json:"loginsRefused"`
	// ConnectionsRefused counts connections that were closed because too many had not shown a token.
	ConnectionsRefused int64 `json:"connectionsRefused"`

	// Turns is how long turns of agents took, from the claim that brought the final message to that message; ClaimWaits how long agents' turns were without a
	// claim before they got one.
	Turns      Durations `json:"turns"`
	ClaimWaits Durations `json:"claimWaits"`
	// Offers counts the turns that executors were asked to take; ClaimsTaken the claims, and ClaimsEnded how they ended.
	Offers      int64              `json:"offers"`
	ClaimsTaken int64              `json:"claimsTaken"`
	ClaimsEnded map[ClaimEnd]int64 `json:"claimsEnded"`
	// Executors are those that are registered now, Claims those that stand, and ConversationsOpen the conversations that are not closed.
	Executors         int64 `json:"executors"`
	Claims            int64 `json:"claims"`
	ConversationsOpen int64 `json:"conversationsOpen"`

	// ConversationsLoaded counts those in memory.
	ConversationsLoaded int64 `json:"conversationsLoaded"`
	// Subscribers counts subscriptions, SSE streams among them; MaxLag and SumLag are the events that they have still to look at.
	Subscribers int64 `json:"subscribers"`
	MaxLag      int64 `json:"maxLag"`
	SumLag      int64 `json:"sumLag"`
	// JournalBytes is the size of the log and its files on disk.
	JournalBytes int64 `json:"journalBytes"`

	// Sockets are the WebSockets that are open; PendingSockets those of them that have not shown a token.
	Sockets        int64 `json:"sockets"`
	PendingSockets int64 `json:"pendingSockets"`
	// Streams are the SSE streams that are open.
	Streams int64 `json:"streams"`
	// Requests are the HTTP requests under way that make a call, that of stats among them; SSE streams are not.
	Requests int64 `json:"requests"`
	// Received and Sent are what went over WebSockets.
	Received Traffic `json:"received"`
	Sent     Traffic `json:"sent"`
}

// HubState says how a hub stands.
type HubState string

// The states. Only a hub that is ready or full answers stats; /metrics tells the others too.
const (
	HubReady       HubState = "ready"
	HubStorageFull HubState = "storage_full" // an append found no room in the last 10 s; reads go on
	HubDraining    HubState = "draining"
	HubFailed      HubState = "failed" // the outcome of a commit is unknown: no more writes until it is started again
)

// Durations is a histogram. Buckets[i] counts those of at most BoundsMs[i], so it never falls from one to the next; Count has those beyond
// the last bound too.
type Durations struct {
	Count    int64     `json:"count"`
	SumMs    float64   `json:"sumMs"`
	BoundsMs []float64 `json:"boundsMs"`
	Buckets  []int64   `json:"buckets"`
}

// Traffic counts text frames, and the bytes of their text.
type Traffic struct {
	Frames int64 `json:"frames"`
	Bytes  int64 `json:"bytes"`
}
