package scenario

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/shape"
)

// root is the table of all that a scenario can say.
var root = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	shape.May("title", shape.Line("what the conversation is about", parley.MaxTitleBytes)),
	shape.Must("participants", shape.ListOf("the participants, in the order of round_robin", 1, limits.MaxParticipants, participant)),
	shape.May("policy", policies),
	shape.May("startsWith", shape.ID("the participant of turn 1; absent, the first one (with moderator, the moderator; with open, anyone; with an opening, its author)")),
	shape.May("limits", limitsShape),
	shape.May("metadata", shape.Open("a JSON object that the hub stores and returns; all participants can read it", limits.MaxMetadataBytes)),
	shape.May("workspace", workspace),
	shape.May("opening", opening),
}}

var participant = &shape.Shape{Kind: shape.Object, Doc: "a seat", Members: []shape.Member{
	shape.Must("id", shape.ID("the id that tokens speak as; not hub")),
	shape.Must("kind", shape.Among("the kind of participant", parley.KindHuman, parley.KindAgent, parley.KindTool, parley.KindPeer)),
	shape.May("agent", shape.ID("the name of the agent, for kinds agent and tool; absent, the id")),
	shape.May("role", shape.Line("free text that rules see", limits.MaxRoleBytes)),
	shape.May("executor", shape.Among("where the agent may run, for kinds agent and tool; absent, any",
		parley.ExecutorAny, parley.ExecutorInternal, parley.ExecutorExternal)),
	shape.May("private", shape.Prose("a text for this participant alone", limits.MaxPrivateBytes)),
}}

var policies = &shape.Shape{Kind: shape.Object, Doc: "selects the participant of the next turn; absent, round_robin", Members: []shape.Member{
	shape.Must("kind", shape.Among("the policy", parley.Policies...)),
	shape.May("rules", shape.ListOf("for kind rules: tried in order when a turn ends", 1, limits.MaxRules, rule)),
	shape.May("moderator", shape.ID("for kind moderator: the participant that selects the next one")),
}}

var rule = &shape.Shape{Kind: shape.Object, Doc: "a condition and the next participant", Members: []shape.Member{
	shape.Must("when", expression("a CEL expression with a boolean value; its variables are in protocol.md, section 8")),
	shape.Must("next", shape.ID("the next participant if the condition is true")),
}}

func expression(doc string) *shape.Shape { return shape.Prose(doc, limits.MaxExpressionBytes) }

var limitsShape = &shape.Shape{Kind: shape.Object, Doc: "limits of turns and of the conversation; see protocol.md, section 8", Members: []shape.Member{
	shape.May("maxTurns", shape.Number("closed turns of participants", 1, limits.MaxTurnsLimit)),
	shape.May("maxEvents", shape.Number("messages, traces, notes and attachments", 1, parley.MaxEventsLimit)),
	shape.May("maxBytes", shape.Number("bytes of the same", limits.MinBytesLimit, parley.MaxBytesLimit)),
	shape.May("idleTimeoutMs", shape.Number("ms since the last event of a participant", limits.MinDurationMs, limits.MaxDurationMs)),
	shape.May("deadlineMs", shape.Number("ms since creation", limits.MinDurationMs, limits.MaxDurationMs)),
	shape.May("turnTimeoutMs", shape.Number("ms that an agent's turn may last without a renewal; if it is set, it applies to people and peers too",
		limits.MinDurationMs, limits.MaxTurnMs)),
	shape.May("onTurnTimeout", shape.Among("what happens to a turn that was not claimed in time, or failed too often; absent, reoffer",
		parley.TurnReoffer, parley.TurnSkip, parley.TurnClose)),
	shape.May("maxAttempts", shape.Number("failed attempts at one turn", 1, limits.MaxAttemptsLimit)),
	shape.May("maxClaimMs", shape.Number("ms that one attempt may take, with or without renewals", limits.MinDurationMs, limits.MaxTurnMs)),
	shape.May("claimWindowMs", shape.Number("ms for which only one executor is offered a turn", limits.MinClaimWindowMs, limits.MaxClaimWindowMs)),
	shape.May("maxAutonomousTurns", shape.Number("turns since the last turn of a human", 1, limits.MaxTurnsLimit)),
	shape.May("maxHops", shape.Number("triggered runs that may follow one from another", 1, limits.MaxHopsLimit)),
	shape.May("maxWakesPerMinute", shape.Number("runs per minute that the events of one agent may trigger for one agent", 1, limits.MaxWakesLimit)),
	shape.May("stopWhen", expression("a CEL expression: if it is true after a message, the hub closes the conversation as completed")),
}}

var workspace = shape.ID("the workspace of the conversation; the token of its creator must grant it")

// opening is bound by the frame that carries it, not by the bytes of its text.
var opening = &shape.Shape{Kind: shape.Object, Doc: "the first message: its author begins and ends turn 1 with it; text or data is required", Members: []shape.Member{
	shape.May("from", shape.ID("the author; absent, the participant of turn 1")),
	shape.May("next", shape.ID("the next participant, for the policies addressed and moderator")),
	shape.May("text", shape.Prose("the text of the message", parley.MaxEventBytes)),
	shape.May("data", shape.Any("any JSON value beside the text", parley.MaxEventBytes)),
	shape.May("schema", shape.Line("the name of the schema of data", limits.MaxTagBytes)),
	shape.May("tags", shape.ListOf("free labels", 0, limits.MaxTags, shape.Line("a label", limits.MaxTagBytes))),
}}
