package scenario

import (
	"regexp"

	"github.com/parleyhub/parley"
)

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func id(doc string) *shape {
	return &shape{kind: text, doc: doc, pattern: idPattern, expected: "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit"}
}

func line(doc string, most int64) *shape {
	return &shape{kind: text, doc: doc, most: most, plain: true}
}

func prose(doc string, most int64) *shape {
	return &shape{kind: text, doc: doc, most: most}
}

func number(doc string, least, most int64) *shape {
	return &shape{kind: integer, doc: doc, least: least, most: most}
}

func among[S ~string](doc string, choices ...S) *shape {
	s := &shape{kind: text, doc: doc}
	for _, c := range choices {
		s.choices = append(s.choices, string(c))
	}
	return s
}

func listOf(doc string, least, most int64, item *shape) *shape {
	return &shape{kind: list, doc: doc, least: least, most: most, item: item}
}

// root is the table of all that a scenario can say.
var root = &shape{kind: object, members: []member{
	{"title", false, line("what the conversation is about", parley.MaxTitleBytes)},
	{"participants", true, listOf("who takes part, in the order of round_robin", 1, parley.MaxParticipants, participant)},
	{"policy", false, policies},
	{"startsWith", false, id("the participant who has turn 1; absent, the first one (the moderator with moderator, anyone with open); with an opening, its author")},
	{"limits", false, limits},
	{"metadata", false, &shape{kind: object, open: true, most: parley.MaxMetadataBytes, doc: "an object that is kept and returned; all participants read it"}},
	{"opening", false, opening},
}}

var participant = &shape{kind: object, doc: "a seat", members: []member{
	{"id", true, id("what tokens speak as; not hub")},
	{"kind", true, among("what sits there", parley.KindHuman, parley.KindAgent, parley.KindTool, parley.KindPeer)},
	{"agent", false, id("the name of the agent that sits there, for kinds agent and tool; absent, the id")},
	{"role", false, line("free text that rules see", parley.MaxRoleBytes)},
	{"executor", false, among("where the agent may run, for kinds agent and tool; absent, any",
		parley.ExecutorAny, parley.ExecutorInternal, parley.ExecutorExternal)},
	{"private", false, prose("a text for this participant alone", parley.MaxPrivateBytes)},
}}

var policies = &shape{kind: object, doc: "who has the floor when no turn is open; absent, round_robin", members: []member{
	{"kind", true, among("the policy", parley.Policies...)},
	{"rules", false, listOf("for kind rules: tried in order when a turn has ended", 1, parley.MaxRules, rule)},
	{"moderator", false, id("for kind moderator: the participant who names the next")},
}}

var rule = &shape{kind: object, doc: "who is next when something holds", members: []member{
	{"when", true, expression("an expression in CEL that gives true or false; its variables are in protocol.md, section 8")},
	{"next", true, id("the participant who has the floor then")},
}}

func expression(doc string) *shape { return prose(doc, parley.MaxExpressionBytes) }

var limits = &shape{kind: object, doc: "what ends turns and closes the conversation; all in protocol.md, section 8", members: []member{
	{"maxTurns", false, number("turns of participants that have ended", 1, parley.MaxTurnsLimit)},
	{"maxEvents", false, number("messages, traces, notes and attachments", 1, parley.MaxEventsLimit)},
	{"maxBytes", false, number("bytes of the same", parley.MinBytesLimit, parley.MaxBytesLimit)},
	{"idleTimeoutMs", false, number("ms since anything was said", parley.MinDurationMs, parley.MaxDurationMs)},
	{"deadlineMs", false, number("ms since creation", parley.MinDurationMs, parley.MaxDurationMs)},
	{"turnTimeoutMs", false, number("ms that an agent may take for its turn without a sign of life; given, it holds for people and peers too",
		parley.MinDurationMs, parley.MaxTurnMs)},
	{"onTurnTimeout", false, among("what comes of a turn that was not taken in time, or has failed too often; absent, reoffer",
		parley.TurnReoffer, parley.TurnSkip, parley.TurnClose)},
	{"maxAttempts", false, number("failed attempts at one turn", 1, parley.MaxAttemptsLimit)},
	{"maxClaimMs", false, number("ms that one attempt may take, signs of life or not", parley.MinDurationMs, parley.MaxTurnMs)},
	{"claimWindowMs", false, number("ms for which one executor is asked alone", parley.MinClaimWindowMs, parley.MaxClaimWindowMs)},
	{"maxAutonomousTurns", false, number("turns since the last one of a human", 1, parley.MaxTurnsLimit)},
	{"stopWhen", false, expression("an expression in CEL: when it holds after a message, the conversation is closed as completed")},
}}

// opening is bound by the frame that carries it, not by the bytes of its text.
var opening = &shape{kind: object, doc: "the first message, with which its author begins and ends turn 1; text or data is needed", members: []member{
	{"from", false, id("the author; absent, who has turn 1")},
	{"next", false, id("who is next, for the policies addressed and moderator")},
	{"text", false, prose("what is said", parley.MaxEventBytes)},
	{"data", false, &shape{kind: anything, doc: "any JSON that goes with it", most: parley.MaxEventBytes}},
	{"schema", false, line("the name of the shape of data", parley.MaxTagBytes)},
	{"tags", false, listOf("free labels", 0, parley.MaxTags, line("a label", parley.MaxTagBytes))},
}}
