// Package registry keeps the agents that can be asked to work: the blueprints that runners
// register, and the agents of the process of the hub. A [Registry] writes the records of runners to
// a reserved conversation. Its state is a fold of that log, and of the executors that are
// connected.
//
//	b, meets := r.Find("count", "", session.Demands)
//	if b == nil {
//		return errNoAgent
//	}
//
// # Guarantees
//
//   - A blueprint is found by the name of its agent. If several runners have a name, it means the
//     one that registered it first; the others are found as name@runnerId.
//   - A runner id belongs to the participant that registered it first, until the runner leaves.
//   - A runner leaves when it registers no blueprints, or when no hub of the journal has had a
//     connection of it for parley.OfflineMs.
//   - All rows of listAgents fit into one answer. A registration that does not fit is refused.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| Run | the hub | finds runners that are away for too long |
//	| a removal | Run | writes that such a runner left |
//	| a registration | RegisterBlueprints | compiles schemas, writes the record |
//	| a restore | Follow | registers a runner again that another hub removed by mistake |
//
// # Locks
//
//	| lock | is held while | before |
//	|---|---|---|
//	| Registry.writing | an event is written and read back | all others |
//	| Registry.reading | the log is read | turns.Dispatcher, Registry.mu |
//	| Registry.mu | memory is read or changed | cluster.Presence, observers of subscriptions |
//
// Connected and Disconnected are called with the mutex of turns.Dispatcher held, so that one is
// taken before Registry.mu.
package registry
