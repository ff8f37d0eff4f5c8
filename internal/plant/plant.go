// Package plant holds bugs that are planted on purpose, to see that the tests find them.
//
// A program built as usual has none of them: Planted is a constant then, and the compiler leaves out what stands behind it. Built with the tag
// "planted", it has the one that the environment names: PARLEY_PLANT=no-sync. Package torture/plants builds it so and says which test goes red for each.
package plant

// Bug is one of the bugs.
type Bug string

// The bugs. Each is the name in PARLEY_PLANT.
const (
	NoSync          Bug = "no-sync"          // commits are not synced to the disk
	EarlyAck        Bug = "early-ack"        // an append is acknowledged before it is committed
	EarlyFanOut     Bug = "early-fan-out"    // readers see events that are not committed
	FalseRefusal    Bug = "false-refusal"    // a commit that may be there is told to be refused for lack of room
	LateDedupe      Bug = "late-dedupe"      // whether the conversation is closed is asked before the key is looked up
	KeyStays        Bug = "key-stays"        // the key of an append that failed is remembered
	KeysForgotten   Bug = "keys-forgotten"   // keys are not read from the log again
	SeqGap          Bug = "seq-gap"          // an append that failed has used up its seq
	AfterFinal      Bug = "after-final"      // the journal takes events after the final one
	TwoClaims       Bug = "two-claims"       // a turn is claimed while a claim of it stands
	NoFence         Bug = "no-fence"         // an append that names a lost claim is taken
	NoTakeover      Bug = "no-takeover"      // a claim whose time is over goes on
	LateCursor      Bug = "late-cursor"      // a subscription begins one event too late
	EarlyCursor     Bug = "early-cursor"     // a tail begins one event too early
	LateListener    Bug = "late-listener"    // who waits looks first, and is to be woken only after that
	FirstChange     Bug = "first-change"     // a wait does not end with the first change
	LostWake        Bug = "lost-wake"        // a change while a subscription is about to rest does not wake it
	EndlessOutbox   Bug = "endless-outbox"   // what a peer does not take is kept without bound
	PatientWrites   Bug = "patient-writes"   // a peer that takes nothing is waited for
	NoPings         Bug = "no-pings"         // silent peers are not asked whether they live
	SecondRun       Bug = "second-run"       // a command that may not run twice is started again
	ChildrenStay    Bug = "children-stay"    // what a program leaves behind is not killed
	GuidanceOfOwn   Bug = "guidance-of-own"  // guidance rests on what is in memory only, and is another one after a restart
	NoLock          Bug = "no-lock"          // a directory is not locked: two hubs may write to it
	NoChecksum      Bug = "no-checksum"      // the checksum of a record is not looked at
	NoChain         Bug = "no-chain"         // the hash chain of a conversation is not looked at
	IndexAhead      Bug = "index-ahead"      // the index has records before they are in the log
	CheckpointAhead Bug = "checkpoint-ahead" // the index says that it has more than was written to it
	ImpatientDrain  Bug = "impatient-drain"  // a hub that stops drops what is under way
	NoOriginCheck   Bug = "no-origin-check"  // web pages of any origin may connect
	NoHostCheck     Bug = "no-host-check"    // any name may resolve to the hub
	NoScopeCheck    Bug = "no-scope-check"   // one method asks for no scope
	OpenTraces      Bug = "open-traces"      // whoever may read sees traces
	RevokedServed   Bug = "revoked-served"   // a token that was revoked is still good
	EarlyRefusal    Bug = "early-refusal"    // a token whose id is not known is refused before it is looked at
	OneRate         Bug = "one-rate"         // what one token does counts for all of them
	PatientDoor     Bug = "patient-door"     // a socket that shows no token is let stay
	LateUpdates     Bug = "late-updates"     // who comes back to a task is given what is one event too late
	HeadSnapshot    Bug = "head-snapshot"    // the task as it was at a cursor has the id of the head
	EarlyPush       Bug = "early-push"       // the cursor of a push notification moves before it is delivered
	OpenTasks       Bug = "open-tasks"       // tasks are not looked for at one agent alone
	UnwrittenStart  Bug = "unwritten-start"  // that a tool of an LLM agent runs is not written before
	RunsAgain       Bug = "runs-again"       // a tool that has run runs again in the next attempt
	UngatedTools    Bug = "ungated-tools"    // a tool that needs an approval runs without
	AsksAgain       Bug = "asks-again"       // the next attempt does not meet the approval that was asked for
	SecondAnswer    Bug = "second-answer"    // an approval is answered twice
	Unsubscribed    Bug = "unsubscribed"     // the end of any turn forgets the matches of all agents
	WakeStays       Bug = "wake-stays"       // a match is not over when its session has ended
	TurnWakeStays   Bug = "turn-wake-stays"  // a match is not over when the turn that was given it has ended
	AnySession      Bug = "any-session"      // the session that an event starts has another id each time that it is tried
	NoCompare       Bug = "no-compare"       // what comes to several nodes is taken whatever head it rests on
	BlindRetry      Bug = "blind-retry"      // a batch whose conversation has moved is written behind what moved it
	LocalCheck      Bug = "local-check"      // that a head is the head is told by a node that may be behind
)
