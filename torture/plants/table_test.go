package plants

import (
	"github.com/parleyhub/parley/internal/plant"
)

// row is a test that must go red.
type row struct {
	bug plant.Bug
	// pkg is where the test is, below the module, and run its name as a pattern of -run.
	pkg, run string
	// says is what the output of the red test must match, so that it is not red for another reason.
	says string
	// args are further arguments of the test.
	args []string
	// short has it run with all other tests.
	short bool
	// linux says that the test is for Linux only.
	linux bool
}

// rows has at least one row for each bug.
var rows = []row{
	{bug: plant.NoSync, pkg: "hub/journal/bolt", run: "^TestFailedSyncOfMeta$", says: `the sync did not fail`, linux: true},
	{bug: plant.EarlyAck, pkg: "hub", run: "^TestCrashBeforeSync$", says: `was answered before the commit`, short: true},
	{bug: plant.EarlyFanOut, pkg: "hub", run: "^TestManyOnPendingState$", says: `readers see what is not durable`},
	{bug: plant.FalseRefusal, pkg: "hub/journal/bolt", run: "^TestErrorAfterMetaIsUnknown$", says: `append: journal: storage full`},
	{bug: plant.LateDedupe, pkg: "hub", run: "^TestRetryOfTheClose$", says: `conversation_closed: the conversation is closed`, short: true},
	{bug: plant.KeyStays, pkg: "hub", run: "^TestKeyOfAFailedAppend$", says: `the retry of an append that was refused`},
	{bug: plant.KeysForgotten, pkg: "hub", run: "^TestRetryOfTheClose$", says: `conversation_closed: the conversation is closed`},
	{bug: plant.SeqGap, pkg: "hub/journal/bolt", run: "^TestStorageFullAtEveryWrite$", says: `invariants: .* record before it missing`},
	{bug: plant.AfterFinal, pkg: "hub/journal/bolt", run: "^TestConformance$/^PipelinedAfterRefusal$", says: `record after the final one`},
	{bug: plant.TwoClaims, pkg: "hub", run: "^TestReplicasShareOneTurn$", says: `error <nil>, want claim_lost`},
	{bug: plant.NoFence, pkg: "hub", run: "^TestModelSeesTheFence$", says: `with the fence on: .* the calls cannot have happened so`, short: true},
	{bug: plant.NoTakeover, pkg: "hub", run: "^TestClaimExpires$", says: `want\s+\[.*claim_ended\(expired\)`},
	{bug: plant.LateCursor, pkg: "hub", run: "^TestManySubscribers$", says: `got \d+ events, want \d+`},
	{bug: plant.EarlyCursor, pkg: "hub", run: "^TestSparsePages$", says: `"seq":1,.* after 1, next`, short: true},
	{bug: plant.LateListener, pkg: "hub", run: "^TestWaitRaces$", says: `wait \d+.*(deadline exceeded|overslept)`},
	{bug: plant.FirstChange, pkg: "hub", run: "^TestWaitRaces$", says: `has overslept`},
	{bug: plant.LostWake, pkg: "rpc", run: "^TestPumpsMissNothing$", says: `told the last event \d times`},
	{bug: plant.EndlessOutbox, pkg: "rpc", run: "^TestUnreadPagesAreBounded$", says: `MiB are held for a peer that reads nothing`},
	{bug: plant.PatientWrites, pkg: "rpc", run: "^(TestSlowReader|TestDeafPeer)$", says: `the slow one should be gone`},
	{bug: plant.NoPings, pkg: "rpc", run: "^TestDeadPeer$", says: `sockets after 30 s`},
	{bug: plant.SecondRun, pkg: "hub", run: "^TestLateRunnerRunsOnce$", says: `Attempt:2`},
	{bug: plant.ChildrenStay, pkg: "executors/process", run: "^TestEndKillsAll$", says: `processes are left`, linux: true},
	{bug: plant.GuidanceOfOwn, pkg: "hub", run: "^TestGuidanceOverRestart$", says: `was told .* and after a restart`},
	{bug: plant.NoLock, pkg: "hub/journal/bolt", run: "^TestInUseByAnotherProcess$", says: `open of a directory in use: <nil>`},
	{bug: plant.NoChecksum, pkg: "hub/journal/bolt", run: "^TestBitFlips$", says: `other contents are served as if whole`},
	{bug: plant.NoChain, pkg: "hub/journal/bolt", run: "^TestBrokenChain$", says: `Read: <nil>, want damage`},
	{bug: plant.IndexAhead, pkg: "hub/journal/bolt", run: "^TestErrorAfterMetaIsUnknown$", says: `scan shows what is not known to be durable`},
	{bug: plant.CheckpointAhead, pkg: "hub/journal/bolt", run: "^TestCrashAfterCheckpoint$", says: `invariants: head of .* log says`},
	{bug: plant.ImpatientDrain, pkg: "rpc", run: "^TestShutdownAnswersWhatIsUnderWay$", says: `messages that were under way were not answered`},
	{bug: plant.NoOriginCheck, pkg: "rpc", run: "^TestHostAndOrigin$", says: `Origin "http://localhost:3000": [24]0`},
	{bug: plant.NoHostCheck, pkg: "rpc", run: "^TestHostAndOrigin$", says: `Host "lan".*: [24]0`},
	{bug: plant.NoScopeCheck, pkg: "rpc", run: "^TestAuthorizationMatrix$", says: `read only, sendNote on own-.*: "", want "forbidden"`},
	{bug: plant.OpenTraces, pkg: "hub", run: "^TestWhoSeesWhat$", says: `TRACE-B is shown: true`},
	{bug: plant.RevokedServed, pkg: "hub", run: "^TestRevocation$", says: `error <nil>, want unauthenticated`},
	{bug: plant.EarlyRefusal, pkg: "hub", run: "^TestRefusalsTakeTheSameTime$/^unknown$", args: []string{"-timing.pairs", "2000"}, says: `a known token is refused in \d.* of the time of another, expected 1`},
	{bug: plant.OneRate, pkg: "torture/network", run: "^TestFlood$", says: `a good client, .*: rate_limited`, linux: true},
	{bug: plant.PatientDoor, pkg: "torture/network", run: "^TestSlowSockets$", says: `the hub has ended \[\d+ \d+ 0 \d+\]`, linux: true},

	{bug: plant.LateUpdates, pkg: "torture/a2a", run: "^TestStreams$/^in_the_hub$", says: `the task at \S+ is .*, and was|P19: `},
	{bug: plant.HeadSnapshot, pkg: "torture/a2a", run: "^TestStreams$/^in_the_hub$", says: `the task at \S+ is given as that at`},
	{bug: plant.EarlyPush, pkg: "torture/a2a", run: "^TestPush$/^in_the_hub$", says: `P19: .* (was not told before|were told)`},
	{bug: plant.UnwrittenStart, pkg: "torture/llm", run: "^TestTurnsUnderKills$", says: `has run, and that was not written before`},
	{bug: plant.RunsAgain, pkg: "torture/llm", run: "^TestTurnsUnderKills$", says: `has run 2 times, expected 1`},
	{bug: plant.AsksAgain, pkg: "torture/llm", run: "^TestTurnsUnderKills$", says: `refund has run 0 times, expected 1`},
	{bug: plant.SecondAnswer, pkg: "torture/llm", run: "^TestTurnsUnderKills$", says: `a second answer: .*, expected already_resolved`},
	{bug: plant.UngatedTools, pkg: "executors/llm/tool", run: "^TestFailsClosed$", says: `.`},
	{bug: plant.Unsubscribed, pkg: "torture/triggers", run: "^TestTriggersUnderKills$", says: `matches wait, and nothing is done any more`},
	{bug: plant.WakeStays, pkg: "torture/triggers", run: "^TestTriggersUnderKills$", says: `the session of seq \d+ begins once more|matches wait in the state of the hub, and all have ended`},
	{bug: plant.TurnWakeStays, pkg: "torture/triggers", run: "^TestTriggersUnderKills$", says: `not_your_turn: turner has the floor|has claimed a turn, and nothing has woken it`},
	{bug: plant.AnySession, pkg: "torture/triggers", run: "^TestTriggersUnderKills$", says: `is not the one that is logged there|there is no such session|the end of a session that does not run`},
	{bug: plant.NoCompare, pkg: "hub/journal/jetstream", run: "^TestOneWins$", says: `batches followed the same seq`, short: true},
	{bug: plant.BlindRetry, pkg: "hub/journal/jetstream", run: "^TestOneWins$", says: `batches followed the same seq`},
	{bug: plant.LocalCheck, pkg: "hub/journal/jetstream", run: "^TestLaggingNode$", says: `answered while the node did not know`},
	{bug: plant.OpenTasks, pkg: "torture/a2a", run: "^TestStrangers$", says: `P20: `, short: true},

	// What attacks a running hub finds them too.
	{bug: plant.NoSync, pkg: "torture/disk", run: "^TestNothingBeforeSync$", says: `was acknowledged at \d+ after \d+ syncs`, linux: true},
	{bug: plant.EarlyAck, pkg: "torture/disk", run: "^TestNothingBeforeSync$", says: `was answered before its sync|was acknowledged at \d+ after \d+ syncs`, linux: true},
	{bug: plant.EarlyFanOut, pkg: "torture/disk", run: "^TestNothingBeforeSync$", says: `before the sync: tail gives`, linux: true},
	{bug: plant.LateDedupe, pkg: "torture/power", run: "^TestLostReplies$", says: `under a key that is taken: conversation_closed`},
	{bug: plant.KeysForgotten, pkg: "torture/power", run: "^TestLostReplies$", says: `is no duplicate|was answered .* and the first answer was`},
	{bug: plant.NoCompare, pkg: "torture/cluster", run: "^TestLogUnderFaults$", args: []string{"-cluster.faults", "1", "-cluster.cuts", "0", "-cluster.lasts", "3s"}, says: `at hub \d: internal|P[1-5]: `},
	{bug: plant.BlindRetry, pkg: "torture/cluster", run: "^TestLogUnderFaults$", args: []string{"-cluster.faults", "1", "-cluster.cuts", "0", "-cluster.lasts", "3s"}, says: `at hub \d: internal|P[1-5]: `},
	{bug: plant.LocalCheck, pkg: "torture/cluster", run: "^TestLogUnderFaults$", args: []string{"-cluster.faults", "22", "-cluster.cuts", "0", "-cluster.lasts", "3s"}, says: `not_found: there is no such|cursor_ahead|P[1-5]: `},
	{bug: plant.NoFence, pkg: "torture/simulation", run: "^TestSimulation$", args: []string{"-simulation.seeds", "6"}, says: `P7: .* under a claim that does not stand`},
	{bug: plant.TwoClaims, pkg: "torture/simulation", run: "^TestSimulation$", args: []string{"-simulation.seeds", "6"}, says: `P6: .* while another stands: true`},
}
