// Package triggers matches events with the subscriptions of agents, starts the sessions that events
// start, and writes their answers. A match is part of the decision on its event and is logged with it,
// so it is never lost; the session starts later, from the log.
//
// # Guarantees
//
//   - Each match in a log has at most one session, also after a crash and with several hubs: the match
//     has the id of its session.
//   - An event gets one answer for each match that starts a session. If the session cannot start, the
//     answer has the reason.
//   - Subscriptions are matched without a lock and before the decision. While no agent has
//     subscriptions, nothing is matched.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| Service.Run | the hub | runs the queue (see package sessions) once the hub knows which sessions run |
//
// # Locks
//
//	| mutex | guards | taken |
//	|---|---|---|
//	| Service.mu | the agents with subscriptions | after the mutex of the runners |
//	| Service.startsMu | the conversations whose sessions wait | after Conversation.mu and that of sessions |
//
// Neither is taken while the other is held.
package triggers
