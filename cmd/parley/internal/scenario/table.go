package scenario

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/shape"
)

// root is the table of all that a scenario can say.
var root = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	shape.May("title", shape.Line("what the conversation is about", parley.MaxTitleBytes)),
	shape.Must("participants", shape.ListOf("who takes part, in the order of round_robin", 1, parley.MaxParticipants,
		participant)),
	shape.May("policy", policies),
	shape.May("startsWith", shape.ID("the participant who has turn 1; absent, the first one (the moderator with "+
		"moderator, anyone with open); with an opening, its author")),
	shape.May("limits", limits),
	shape.May("metadata", shape.Open("an object that is kept and returned; all participants read it",
		parley.MaxMetadataBytes)),
	shape.May("workspace", workspace),
	shape.May("opening", opening),
}}

var participant = &shape.Shape{Kind: shape.Object, Doc: "a seat", Members: []shape.Member{
	shape.Must("id", shape.ID("what tokens speak as; not hub")),
	shape.Must("kind", shape.Among("what sits there", parley.KindHuman, parley.KindAgent, parley.KindTool,
		parley.KindPeer)),
	shape.May("agent", shape.ID("the name of the agent that sits there, for kinds agent and tool; absent, the id")),
	shape.May("role", shape.Line("free text that rules see", parley.MaxRoleBytes)),
	shape.May("executor", shape.Among("where the agent may run, for kinds agent and tool; absent, any",
		parley.ExecutorAny, parley.ExecutorInternal, parley.ExecutorExternal)),
	shape.May("private", shape.Prose("a text for this participant alone", parley.MaxPrivateBytes)),
}}

var policies = &shape.Shape{Kind: shape.Object, Doc: "who has the floor when no turn is open; absent, round_robin",
	Members: []shape.Member{
		shape.Must("kind", shape.Among("the policy", parley.Policies...)),
		shape.May("rules", shape.ListOf("for kind rules: tried in order when a turn has ended", 1, parley.MaxRules, rule)),
		shape.May("moderator", shape.ID("for kind moderator: the participant who names the next")),
	}}

var rule = &shape.Shape{Kind: shape.Object, Doc: "who is next when something holds", Members: []shape.Member{
	shape.Must("when", expression("an expression in CEL that gives true or false; its variables are in protocol.md, "+
		"section 8")),
	shape.Must("next", shape.ID("the participant who has the floor then")),
}}

func expression(doc string) *shape.Shape { return shape.Prose(doc, parley.MaxExpressionBytes) }

var limits = &shape.Shape{Kind: shape.Object, Doc: "what ends turns and closes the conversation; all in protocol.md, " +
	"section 8", Members: []shape.Member{
	shape.May("maxTurns", shape.Number("turns of participants that have ended", 1, parley.MaxTurnsLimit)),
	shape.May("maxEvents", shape.Number("messages, traces, notes and attachments", 1, parley.MaxEventsLimit)),
	shape.May("maxBytes", shape.Number("bytes of the same", parley.MinBytesLimit, parley.MaxBytesLimit)),
	shape.May("idleTimeoutMs", shape.Number("ms since anything was said", parley.MinDurationMs, parley.MaxDurationMs)),
	shape.May("deadlineMs", shape.Number("ms since creation", parley.MinDurationMs, parley.MaxDurationMs)),
	shape.May("turnTimeoutMs", shape.Number("ms that an agent may take for its turn without a sign of life; given, it "+
		"holds for people and peers too",
		parley.MinDurationMs, parley.MaxTurnMs)),
	shape.May("onTurnTimeout", shape.Among("what comes of a turn that was not taken in time, or has failed too often; "+
		"absent, reoffer",
		parley.TurnReoffer, parley.TurnSkip, parley.TurnClose)),
	shape.May("maxAttempts", shape.Number("failed attempts at one turn", 1, parley.MaxAttemptsLimit)),
	shape.May("maxClaimMs", shape.Number("ms that one attempt may take, signs of life or not", parley.MinDurationMs,
		parley.MaxTurnMs)),
	shape.May("claimWindowMs", shape.Number("ms for which one executor is asked alone", parley.MinClaimWindowMs,
		parley.MaxClaimWindowMs)),
	shape.May("maxAutonomousTurns", shape.Number("turns since the last one of a human", 1, parley.MaxTurnsLimit)),
	shape.May("maxHops", shape.Number("wakes that may follow one from another", 1, parley.MaxHopsLimit)),
	shape.May("maxWakesPerMinute", shape.Number("how often within a minute one agent's events wake one agent", 1,
		parley.MaxWakesLimit)),
	shape.May("stopWhen", expression("an expression in CEL: when it holds after a message, the conversation is closed "+
		"as completed")),
}}

var workspace = shape.ID("the workspace that it belongs to: one that the token of its creator grants")

// opening is bound by the frame that carries it, not by the bytes of its text.
var opening = &shape.Shape{Kind: shape.Object, Doc: "the first message, with which its author begins and ends turn " +
	"1; text or data is needed", Members: []shape.Member{
	shape.May("from", shape.ID("the author; absent, who has turn 1")),
	shape.May("next", shape.ID("who is next, for the policies addressed and moderator")),
	shape.May("text", shape.Prose("what is said", parley.MaxEventBytes)),
	shape.May("data", shape.Any("any JSON that goes with it", parley.MaxEventBytes)),
	shape.May("schema", shape.Line("the name of the shape of data", parley.MaxTagBytes)),
	shape.May("tags", shape.ListOf("free labels", 0, parley.MaxTags, shape.Line("a label", parley.MaxTagBytes))),
}}
