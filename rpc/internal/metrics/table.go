package metrics

import (
	"github.com/parleyhub/parley"
	"github.com/prometheus/client_golang/prometheus"
)

// metric is a metric of the hub. Its labels have few values, which are all known before: never an id,
// nor anything that a caller chooses. It has either values or durations.
type metric struct {
	name      string
	kind      prometheus.ValueType
	labels    []string
	help      string
	values    valuesFunc
	durations func(n *parley.Stats) *parley.Durations // of a histogram
}

// A valuesFunc calls add with each value and its labels.
type valuesFunc func(n *parley.Stats, add addFunc)

type addFunc func(v float64, labels ...string)

// newGauge returns a gauge without labels.
func newGauge(name, help string, value func(n *parley.Stats) int64) metric {
	return metric{name: name, kind: prometheus.GaugeValue, help: help, values: single(value)}
}

// newCounter returns a counter without labels.
func newCounter(name, help string, value func(n *parley.Stats) int64) metric {
	return metric{name: name, kind: prometheus.CounterValue, help: help, values: single(value)}
}

func single(value func(n *parley.Stats) int64) valuesFunc {
	return func(n *parley.Stats, add addFunc) { add(float64(value(n))) }
}

// newHubState returns a gauge that is 1 in one state of the hub, and 0 otherwise.
func newHubState(name, help string, s parley.HubState) metric {
	return newGauge(name, help, func(n *parley.Stats) int64 {
		if n.State == s {
			return 1
		}
		return 0
	})
}

// table has the metrics of a hub in the order of docs/reference/metrics.md.
var table = []metric{
	{
		name: "parley_build_info", kind: prometheus.GaugeValue, labels: []string{"version", "protocol"},
		help:   "Always 1; the labels have the versions of the hub and the protocol.",
		values: func(n *parley.Stats, add addFunc) { add(1, n.Version, parley.ProtocolVersion) },
	},
	newHubState("parley_ready", "1 while the hub takes reads and writes, as /readyz says.", parley.HubReady),
	newHubState("parley_storage_full", "1 for 10 s after an append found no room; reads go on.", parley.HubStorageFull),
	newHubState("parley_log_failed",
		"1 when the outcome of a commit is unknown: no more writes until the hub is started again.", parley.HubFailed),

	{
		name: "parley_events_appended_total", kind: prometheus.CounterValue, labels: []string{"type"},
		help: "Events committed, by type.",
		values: func(n *parley.Stats, add addFunc) {
			for t, count := range n.EventsAppended {
				add(float64(count), string(t))
			}
		},
	},
	{
		name: "parley_append_duration_seconds", help: "Time from the decision on an append to its commit.",
		durations: func(n *parley.Stats) *parley.Durations { return &n.Append },
	},
	newCounter("parley_duplicates_total", "Writes answered with an earlier result.",
		func(n *parley.Stats) int64 { return n.Duplicates }),
	{
		name: "parley_refusals_total", kind: prometheus.CounterValue, labels: []string{"reason"},
		help: "Calls and requests refused, by the reason of the error.",
		values: func(n *parley.Stats, add addFunc) {
			for _, row := range parley.Errors {
				add(float64(n.Refusals[row.Reason()]), row.Reason())
			}
		},
	},
	newCounter("parley_logins_refused_total", "Tokens and tickets shown and not taken.",
		func(n *parley.Stats) int64 { return n.LoginsRefused }),
	newCounter("parley_connections_refused_total", "Connections closed because too many had not shown a token.",
		func(n *parley.Stats) int64 { return n.ConnectionsRefused }),

	{
		name:      "parley_turn_duration_seconds",
		help:      "Time of an agent's turn from the claim that brought its final message to that message.",
		durations: func(n *parley.Stats) *parley.Durations { return &n.Turns },
	},
	{
		name: "parley_claim_wait_seconds", help: "Time of an agent's turn without a claim before it got one.",
		durations: func(n *parley.Stats) *parley.Durations { return &n.ClaimWaits },
	},
	newCounter("parley_offers_total", "Turns that executors were asked to take.",
		func(n *parley.Stats) int64 { return n.Offers }),
	newCounter("parley_claims_taken_total", "Claims taken.", func(n *parley.Stats) int64 { return n.ClaimsTaken }),
	{
		name: "parley_claims_ended_total", kind: prometheus.CounterValue, labels: []string{"reason"},
		help: "Claims ended, by how; silent: the agent sent no final message.",
		values: func(n *parley.Stats, add addFunc) {
			for _, end := range parley.ClaimEnds {
				add(float64(n.ClaimsEnded[end]), string(end))
			}
		},
	},
	newGauge("parley_claims", "Active claims.", func(n *parley.Stats) int64 { return n.Claims }),
	newGauge("parley_executors", "Executors registered.", func(n *parley.Stats) int64 { return n.Executors }),

	newGauge("parley_conversations_open", "Conversations that are not closed.",
		func(n *parley.Stats) int64 { return n.ConversationsOpen }),
	newGauge("parley_conversations_loaded", "Conversations in memory.",
		func(n *parley.Stats) int64 { return n.ConversationsLoaded }),
	newGauge("parley_subscribers", "Subscriptions open, SSE streams among them.",
		func(n *parley.Stats) int64 { return n.Subscribers }),
	{
		name: "parley_subscriber_lag_events", kind: prometheus.GaugeValue, labels: []string{"stat"},
		help: "Committed events that subscriptions have still to look at: the most of one (max), and of all (sum).",
		values: func(n *parley.Stats, add addFunc) {
			add(float64(n.MaxLag), "max")
			add(float64(n.SumLag), "sum")
		},
	},
	newGauge("parley_journal_bytes", "Size of the log and its files on disk.",
		func(n *parley.Stats) int64 { return n.JournalBytes }),

	{
		name: "parley_sockets", kind: prometheus.GaugeValue, labels: []string{"state"},
		help: "WebSockets open: pending ones have not shown a token.",
		values: func(n *parley.Stats, add addFunc) {
			add(float64(n.PendingSockets), "pending")
			add(float64(n.Sockets-n.PendingSockets), "authenticated")
		},
	},
	newGauge("parley_streams", "SSE streams open.", func(n *parley.Stats) int64 { return n.Streams }),
	newGauge("parley_requests", "HTTP requests under way that make a call; SSE streams are not among them.",
		func(n *parley.Stats) int64 { return n.Requests }),
	newCounter("parley_socket_received_frames_total", "Text frames received over WebSockets.",
		func(n *parley.Stats) int64 { return n.Received.Frames }),
	newCounter("parley_socket_received_bytes_total", "Bytes of the text of those frames.",
		func(n *parley.Stats) int64 { return n.Received.Bytes }),
	newCounter("parley_socket_sent_frames_total", "Text frames sent over WebSockets.",
		func(n *parley.Stats) int64 { return n.Sent.Frames }),
	newCounter("parley_socket_sent_bytes_total", "Bytes of the text of those frames.",
		func(n *parley.Stats) int64 { return n.Sent.Bytes }),
}
