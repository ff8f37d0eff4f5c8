package rpc

import (
	"github.com/parleyhub/parley"
	"github.com/prometheus/client_golang/prometheus"
)

// metric is one that a hub has. Its labels take few values, all known beforehand: never an id, nor anything that a caller has chosen.
type metric struct {
	name   string
	kind   prometheus.ValueType
	labels []string
	help   string
	// values gives each value with the values of the labels. It is nil for histograms.
	values func(n *parley.Stats, give give)
}

// give takes a value of a metric.
type give func(v float64, labels ...string)

// one makes the values of a metric without labels.
func one(value func(n *parley.Stats) int64) func(*parley.Stats, give) {
	return func(n *parley.Stats, give give) { give(float64(value(n))) }
}

// state makes the value of a metric that is 1 in one state, else 0.
func state(s parley.HubState) func(*parley.Stats, give) {
	return func(n *parley.Stats, give give) {
		if n.State == s {
			give(1)
		} else {
			give(0)
		}
	}
}

// The histograms.
const (
	appendDuration = "parley_append_duration_seconds"
	turnDuration   = "parley_turn_duration_seconds"
	claimWait      = "parley_claim_wait_seconds"
)

// histograms give their durations.
var histograms = map[string]func(n *parley.Stats) *parley.Durations{
	appendDuration: func(n *parley.Stats) *parley.Durations { return &n.Append },
	turnDuration:   func(n *parley.Stats) *parley.Durations { return &n.Turns },
	claimWait:      func(n *parley.Stats) *parley.Durations { return &n.ClaimWaits },
}

// metrics are all of them, in the order of docs/metrics.md.
var metrics = []metric{
	{"parley_build_info", prometheus.GaugeValue, []string{"version", "protocol"}, "Always 1; the labels tell the hub's version and the protocol's.",
		func(n *parley.Stats, give give) { give(1, n.Version, parley.ProtocolVersion) }},
	{"parley_ready", prometheus.GaugeValue, nil, "1 while the hub takes reads and writes, as /readyz says.", state(parley.HubReady)},
	{"parley_storage_full", prometheus.GaugeValue, nil, "1 for 10 s after an append found no room; reads go on.", state(parley.HubStorageFull)},
	{"parley_log_failed", prometheus.GaugeValue, nil, "1 when the outcome of a commit is unknown: no more writes until the hub is started again.", state(parley.HubFailed)},

	{"parley_events_appended_total", prometheus.CounterValue, []string{"type"}, "Events committed, by type.",
		func(n *parley.Stats, give give) {
			for t, count := range n.EventsAppended {
				give(float64(count), string(t))
			}
		}},
	{appendDuration, 0, nil, "Time from the decision on an append to its commit.", nil},
	{"parley_duplicates_total", prometheus.CounterValue, nil, "Writes answered with an earlier result.", one(func(n *parley.Stats) int64 { return n.Duplicates })},
	{"parley_refusals_total", prometheus.CounterValue, []string{"reason"}, "Calls and requests refused, by the reason of the error.",
		func(n *parley.Stats, give give) {
			for _, row := range parley.Errors {
				give(float64(n.Refusals[row.Reason()]), row.Reason())
			}
		}},
	{"parley_logins_refused_total", prometheus.CounterValue, nil, "Tokens and tickets shown and not taken.",
		one(func(n *parley.Stats) int64 { return n.LoginsRefused })},
	{"parley_connections_refused_total", prometheus.CounterValue, nil, "Connections closed because too many had not shown a token.",
		one(func(n *parley.Stats) int64 { return n.ConnectionsRefused })},

	{turnDuration, 0, nil, "Time of an agent's turn from the claim that brought its final message to that message.", nil},
	{claimWait, 0, nil, "Time of an agent's turn without a claim before it got one.", nil},
	{"parley_offers_total", prometheus.CounterValue, nil, "Turns that executors were asked to take.", one(func(n *parley.Stats) int64 { return n.Offers })},
	{"parley_claims_taken_total", prometheus.CounterValue, nil, "Claims taken.", one(func(n *parley.Stats) int64 { return n.ClaimsTaken })},
	{"parley_claims_ended_total", prometheus.CounterValue, []string{"reason"}, "Claims ended, by how; silent: the agent has said nothing final.",
		func(n *parley.Stats, give give) {
			for _, end := range parley.ClaimEnds {
				give(float64(n.ClaimsEnded[end]), string(end))
			}
		}},
	{"parley_claims", prometheus.GaugeValue, nil, "Claims that stand.", one(func(n *parley.Stats) int64 { return n.Claims })},
	{"parley_executors", prometheus.GaugeValue, nil, "Executors registered.", one(func(n *parley.Stats) int64 { return n.Executors })},

	{"parley_conversations_open", prometheus.GaugeValue, nil, "Conversations that are not closed.", one(func(n *parley.Stats) int64 { return n.ConversationsOpen })},
	{"parley_conversations_loaded", prometheus.GaugeValue, nil, "Conversations in memory.", one(func(n *parley.Stats) int64 { return n.ConversationsLoaded })},
	{"parley_subscribers", prometheus.GaugeValue, nil, "Subscriptions open, SSE streams among them.", one(func(n *parley.Stats) int64 { return n.Subscribers })},
	{"parley_subscriber_lag_events", prometheus.GaugeValue, []string{"stat"}, "Committed events that subscriptions have still to look at: the most of one (max), and of all (sum).",
		func(n *parley.Stats, give give) {
			give(float64(n.MaxLag), "max")
			give(float64(n.SumLag), "sum")
		}},
	{"parley_journal_bytes", prometheus.GaugeValue, nil, "Size of the log and its files on disk.", one(func(n *parley.Stats) int64 { return n.JournalBytes })},

	{"parley_sockets", prometheus.GaugeValue, []string{"state"}, "WebSockets open: pending ones have not shown a token.",
		func(n *parley.Stats, give give) {
			give(float64(n.PendingSockets), "pending")
			give(float64(n.Sockets-n.PendingSockets), "authenticated")
		}},
	{"parley_streams", prometheus.GaugeValue, nil, "SSE streams open.", one(func(n *parley.Stats) int64 { return n.Streams })},
	{"parley_requests", prometheus.GaugeValue, nil, "HTTP requests under way that make a call; SSE streams are not among them.",
		one(func(n *parley.Stats) int64 { return n.Requests })},
	{"parley_socket_received_frames_total", prometheus.CounterValue, nil, "Text frames received over WebSockets.", one(func(n *parley.Stats) int64 { return n.Received.Frames })},
	{"parley_socket_received_bytes_total", prometheus.CounterValue, nil, "Bytes of the text of those frames.", one(func(n *parley.Stats) int64 { return n.Received.Bytes })},
	{"parley_socket_sent_frames_total", prometheus.CounterValue, nil, "Text frames sent over WebSockets.", one(func(n *parley.Stats) int64 { return n.Sent.Frames })},
	{"parley_socket_sent_bytes_total", prometheus.CounterValue, nil, "Bytes of the text of those frames.", one(func(n *parley.Stats) int64 { return n.Sent.Bytes })},
}
