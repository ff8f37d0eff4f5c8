package plants_test

// row is a test that must fail when a bug is planted.
type row struct {
	bug string // the name of a patch
	// pkg is the directory of the test below the root of the repository, and run the pattern for -run.
	pkg, run string
	// says is a pattern that the output must match, so that the test does not fail for another reason.
	says string
	// args are more arguments of the test.
	args []string
	// short rows are part of make test.
	short bool
	// linux says that the test is for Linux only.
	linux bool
}

// untilFound plays up to 1,000 duels. Which of them meets a bug depends on the scheduler too.
var untilFound = []string{"-duel.seeds", "1000", "-duel.first"}

// rows has at least one row for each bug.
var rows = []row{
	{
		bug: "no-sync", pkg: "hub/journal/bolt", run: "^TestFailedSyncOfMeta$",
		says: `the sync did not fail`, linux: true,
	},
	{bug: "early-ack", pkg: "hub", run: "^TestCrashBeforeSync$", says: `was answered before the commit`},
	{bug: "early-fan-out", pkg: "hub", run: "^TestManyOnPendingState$", says: `readers see what is not durable`},
	{
		bug: "early-answer", pkg: "hub/internal/conv", run: "^TestRound_TakesAllThatArrivedInFlight$",
		says: `before the commit that it depends on`, short: true,
	},
	{
		bug: "false-refusal", pkg: "hub/journal/bolt", run: "^TestErrorAfterMetaIsUnknown$",
		says: `append: journal: storage full`,
	},
	{
		bug: "late-dedupe", pkg: "hub", run: "^TestRetryOfTheClose$",
		says: `conversation_closed: the conversation is closed`,
	},
	{
		bug: "key-stays", pkg: "hub", run: "^TestKeyOfAFailedAppend$",
		says: `the retry of an append that was refused`,
	},
	{
		bug: "keys-forgotten", pkg: "hub", run: "^TestRetryOfTheClose$",
		says: `conversation_closed: the conversation is closed`,
	},
	{
		bug: "seq-gap", pkg: "hub/journal/bolt", run: "^TestStorageFullAtEveryWrite$",
		says: `invariants: .* record before it missing`,
	},
	{
		bug: "after-final", pkg: "hub/journal/bolt", run: "^TestConformance$/^PipelinedAfterRefusal$",
		says: `record after the final one`,
	},
	{bug: "two-claims", pkg: "hub", run: "^TestReplicasShareOneTurn$", says: `error <nil>, want claim_lost`},
	{
		bug: "no-fence", pkg: "hub", run: "^TestStaleHolderIsRefused$",
		says: `none of these can be next:\s+r1: final of turn 1`,
	},
	{bug: "no-takeover", pkg: "hub", run: "^TestClaimExpires$", says: `want\s+\[.*claim_ended\(expired\)`},
	{bug: "late-cursor", pkg: "hub", run: "^TestManySubscribers$", says: `got \d+ events, want \d+`},
	{bug: "early-cursor", pkg: "hub", run: "^TestSparsePages$", says: `"seq":1,.* after 1, next`, short: true},
	{bug: "late-listener", pkg: "hub", run: "^TestWaitRaces$", says: `wait \d+.*(deadline exceeded|overslept)`},
	{bug: "first-change", pkg: "hub", run: "^TestWaitRaces$", says: `has overslept`},
	{bug: "lost-wake", pkg: "rpc", run: "^TestPumpsMissNothing$", says: `told the last event \d times`},
	{
		bug: "endless-outbox", pkg: "rpc", run: "^TestUnreadPagesAreBounded$",
		says: `MiB are held for a peer that reads nothing`,
	},
	{
		bug: "patient-writes", pkg: "rpc", run: "^(TestSlowReader|TestDeafPeer)$",
		says: `the slow one should be gone`,
	},
	{bug: "no-pings", pkg: "rpc", run: "^TestDeadPeer$", says: `sockets after 30 s`},
	{bug: "second-run", pkg: "hub", run: "^TestLateRunnerRunsOnce$", says: `Attempt:2`},
	{
		bug: "children-stay", pkg: "executors/process", run: "^TestEndKillsAll$",
		says: `processes are left`, linux: true,
	},
	{bug: "guidance-of-own", pkg: "hub", run: "^TestGuidanceOverRestart$", says: `was told .* and after a restart`},
	{
		bug: "no-lock", pkg: "hub/journal/bolt", run: "^TestInUseByAnotherProcess$",
		says: `open of a directory in use: <nil>`,
	},
	{
		bug: "no-checksum", pkg: "hub/journal/bolt", run: "^TestRecordWithFlippedBit$",
		says: `with bit \d+ flipped, the record is read as`,
	},
	{bug: "no-chain", pkg: "hub/journal/bolt", run: "^TestBrokenChain$", says: `Read: <nil>, want damage`, short: true},
	{
		bug: "index-ahead", pkg: "hub/journal/bolt", run: "^TestErrorAfterMetaIsUnknown$",
		says: `scan shows what is not known to be durable`,
	},
	{
		bug: "checkpoint-ahead", pkg: "hub/journal/bolt", run: "^TestCrashAfterCheckpoint$",
		says: `invariants: head of .* log says`,
	},
	{
		bug: "impatient-drain", pkg: "rpc", run: "^TestShutdownAnswersWhatIsUnderWay$",
		says: `messages that were under way were not answered`,
	},
	{bug: "no-origin-check", pkg: "rpc", run: "^TestHostAndOrigin$", says: `Origin "http://localhost:3000": [24]0`},
	{bug: "no-host-check", pkg: "rpc", run: "^TestHostAndOrigin$", says: `Host "lan".*: [24]0`},
	{
		bug: "no-scope-check", pkg: "rpc", run: "^TestAuthorizationMatrix$",
		says: `read only, sendNote on own-.*: "", want "forbidden"`,
	},
	{bug: "open-traces", pkg: "hub", run: "^TestWhoSeesWhat$", says: `TRACE-B is shown: true`},
	{bug: "revoked-served", pkg: "hub", run: "^TestRevocation$", says: `error <nil>, want unauthenticated`},
	{
		bug: "early-refusal", pkg: "hub", run: "^TestRefusalsTakeTheSameTime$/^unknown$",
		says: `a known token is refused in \d.* of the time of another, expected 1`,
		args: []string{"-timing.pairs", "2000"},
	},
	{
		bug: "one-rate", pkg: "torture/network", run: "^TestFlood$",
		says: `a good client, .*: rate_limited`, linux: true,
	},
	{
		bug: "patient-door", pkg: "torture/network", run: "^TestSlowSockets$",
		says: `the hub has ended \[\d+ \d+ 0 \d+\]`, linux: true,
	},

	{
		bug: "late-updates", pkg: "torture/a2a", run: "^TestStreams$/^in_the_hub$",
		says: `the task at \S+ is .*, and was|P19: `,
	},
	{
		bug: "head-snapshot", pkg: "torture/a2a", run: "^TestStreams$/^in_the_hub$",
		says: `the task at \S+ is given as that at`,
	},
	{
		bug: "early-push", pkg: "torture/a2a", run: "^TestPush$/^in_the_hub$",
		says: `P19: .* (was not told before|were told)`,
	},
	{
		bug: "unwritten-start", pkg: "torture/llm", run: "^TestTurnsUnderKills$",
		says: `has run, and that was not written before`,
	},
	{bug: "runs-again", pkg: "torture/llm", run: "^TestTurnsUnderKills$", says: `has run 2 times, expected 1`},
	{
		bug: "asks-again", pkg: "torture/llm", run: "^TestTurnsUnderKills$",
		says: `refund has run 0 times, expected 1`,
	},
	{
		bug: "second-answer", pkg: "torture/llm", run: "^TestTurnsUnderKills$",
		says: `a second answer: .*, expected already_resolved`,
	},
	{bug: "ungated-tools", pkg: "executors/llm/tool", run: "^TestFailsClosed$", says: `it ran with \[`},
	{
		bug: "unsubscribed", pkg: "torture/triggers", run: "^TestTriggersUnderKills$",
		says: `matches wait, and nothing is done any more`,
	},
	{
		bug: "wake-stays", pkg: "torture/triggers", run: "^TestTriggersUnderKills$",
		says: `the session of seq \d+ begins once more|matches wait in the state of the hub, and all have ended`,
	},
	{
		bug: "turn-wake-stays", pkg: "torture/triggers", run: "^TestTriggersUnderKills$",
		says: `not_your_turn: turner has the floor|has claimed a turn, and nothing has woken it`,
	},
	{
		bug: "any-session", pkg: "torture/triggers", run: "^TestTriggersUnderKills$",
		says: `is not the one that is logged there|there is no such session|the end of a session that does not run`,
	},
	{
		bug: "no-compare", pkg: "hub/journal/jetstream", run: "^TestOneWins$",
		says: `batches followed the same seq`, short: true,
	},
	{bug: "blind-retry", pkg: "hub/journal/jetstream", run: "^TestOneWins$", says: `batches followed the same seq`},
	{
		bug: "local-check", pkg: "hub/journal/jetstream", run: "^TestLaggingNode$",
		says: `answered while the node did not know`,
	},
	{bug: "open-tasks", pkg: "torture/a2a", run: "^TestStrangers$", says: `P20: `},

	// The rules that make turns safe and live, on all states of a small world.
	{bug: "rule-stale-ref", pkg: "hub/desk", run: "^TestExplore$/^hang$", says: `words under a claim`, short: true},
	{bug: "rule-reset-atomic", pkg: "hub/desk", run: "^TestExplore$/^hang_crash$", says: `two attempts`},
	{bug: "rule-fresh-id", pkg: "hub/desk", run: "^TestExplore$/^restart_alone$", says: `nobody sees`},
	{bug: "rule-auto-claim", pkg: "hub/desk", run: "^TestExplore$/^pull$", says: `two attempts`},
	{bug: "rule-pull-once", pkg: "hub/desk", run: "^TestExplore$/^pull_dies$", says: `not asked again`},
	{bug: "rule-renew-cap", pkg: "hub/desk", run: "^TestExplore$/^renew$", says: `need never end`},
	{bug: "rule-key-claim", pkg: "hub/desk", run: "^TestExplore$/^hang$", says: `nobody sees`},
	{bug: "rule-turn-end", pkg: "hub/desk", run: "^TestExplore$/^yield$", says: `hides the words of another`},
	{bug: "rule-close-clears", pkg: "hub/desk", run: "^TestExplore$/^good$", says: `not current`, short: true},
	{bug: "rule-avoid-failed", pkg: "hub/desk", run: "^TestExplore$/^hang$", says: `not asked again`},
	{bug: "rule-late-ok", pkg: "hub/desk", run: "^TestExplore$/^slow$", says: `need never end`, short: true},
	{bug: "rule-floor-timer", pkg: "hub/desk", run: "^TestExplore$/^dead$", says: `need never end`, short: true},
	{bug: "rule-floor-timer", pkg: "hub/desk", run: "^TestExplore$/^nobody$", says: `no time runs`},
	{bug: "rule-grace-short", pkg: "hub/desk", run: "^TestExplore$/^two_hubs$", says: `ended as disconnected`},
	{bug: "rule-renew-log", pkg: "hub/desk", run: "^TestExplore$/^renew$", says: `not in the log`},

	// The same rules, and others, in duels of replicas on three hubs.
	{bug: "rule-stale-ref", pkg: "hub", run: "^TestDuel$", says: `seed \d+: .*the model: `, args: untilFound},
	{bug: "rule-fresh-refuse", pkg: "hub", run: "^TestDuel$", says: `seed \d+: .*refuse`, args: untilFound},
	{bug: "rule-watch-time", pkg: "hub", run: "^TestDuel$", says: `seed \d+: .*ends a claim of`, args: untilFound},
	{bug: "rule-renew-log", pkg: "hub", run: "^TestDuel$", says: `seed \d+: .*was granted`, args: untilFound},
	{
		bug: "rule-grace-short", pkg: "hub", run: "^TestDuel$",
		says: `seed \d+: .*though nobody has left it`, args: untilFound,
	},
	{bug: "rule-renew-cap", pkg: "hub", run: "^TestDuel$", says: `seed \d+: .*does not go on`, args: untilFound},
	{bug: "rule-close-clears", pkg: "hub", run: "^TestDuel$", says: `seed \d+: .*which has ended`, args: untilFound},
	{
		bug: "rule-stale-ref", pkg: "hub", run: "^TestStaleHolderIsRefused$",
		says: `none of these can be next:\s+r1: final of turn 1`,
	},

	// What attacks a running hub finds them too.
	{
		bug: "no-sync", pkg: "torture/disk", run: "^TestNothingBeforeSync$",
		says: `was acknowledged at \d+ after \d+ syncs`, linux: true,
	},
	{
		bug: "early-ack", pkg: "torture/disk", run: "^TestNothingBeforeSync$",
		says: `was answered before its sync|was acknowledged at \d+ after \d+ syncs`, linux: true,
	},
	{
		bug: "early-fan-out", pkg: "torture/disk", run: "^TestNothingBeforeSync$",
		says: `before the sync: tail gives`, linux: true,
	},
	{
		bug: "late-dedupe", pkg: "torture/power", run: "^TestLostReplies$",
		says: `under a key that is taken: conversation_closed`,
	},
	{
		bug: "keys-forgotten", pkg: "torture/power", run: "^TestLostReplies$",
		says: `is no duplicate|was answered .* and the first answer was`,
	},
	{
		bug: "no-compare", pkg: "torture/cluster", run: "^TestLogUnderFaults$",
		args: []string{"-cluster.faults", "1", "-cluster.cuts", "0", "-cluster.lasts", "3s"},
		says: `at hub \d: internal|P[1-5]: `,
	},
	{
		bug: "blind-retry", pkg: "torture/cluster", run: "^TestLogUnderFaults$",
		args: []string{"-cluster.faults", "1", "-cluster.cuts", "0", "-cluster.lasts", "3s"},
		says: `at hub \d: internal|P[1-5]: `,
	},
	{
		bug: "local-check", pkg: "torture/cluster", run: "^TestLogUnderFaults$",
		args: []string{"-cluster.faults", "22", "-cluster.cuts", "0", "-cluster.lasts", "3s"},
		says: `not_found: there is no such|cursor_ahead|P[1-5]: `,
	},
	{
		bug: "no-fence", pkg: "torture/simulation", run: "^TestSimulation$",
		args: []string{"-simulation.seeds", "6"},
		says: `P7: .* under a claim that does not stand`,
	},
	{
		bug: "two-claims", pkg: "torture/simulation", run: "^TestSimulation$",
		args: []string{"-simulation.seeds", "6"},
		says: `P6: .* while another stands: true`,
	},
}
